//! What lacks a policy that it should have, for a person.

use std::io;

use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, paint};
use super::table::Table;
use super::{Screen, cut, write_line};
use attache_answers::Snapshot;
use attache_answers::audit::{Finding, Idle, Why};
use attache_answers::did_you_mean;

/// What came of one requirement, with so many names.
pub fn write_finding(input: &Snapshot, finding: &Finding, most: usize, screen: &mut Screen) -> io::Result<()> {
    let Finding { required, checked, lacking, excepted, idle, near } = finding;
    let (missing, excused) = (lacking.len(), excepted.len());
    let but = if excused == 0 { String::new() } else { format!(", {excused} excepted") };
    let verdict = match (*checked, missing) {
        (0, _) => paint(PLAIN, "there is nothing that it could be on"),
        (checked @ 2.., 0) if excused == 0 => paint(GOOD, format!("in force on all {checked}")),
        (checked, 0) => paint(GOOD, format!("in force on {} of {checked}{but}", checked - excused)),
        (checked, _) => paint(BAD, format!("missing on {missing} of {checked}{but}")),
    };
    write_line([paint(HEAD, required), paint(PLAIN, ": "), verdict], screen)?;
    let mut table = Table::plain(2);
    if *checked == 0 {
        table.row([paint(DIM, format!("see {}", screen.invocation.question(&["topology"]))).into()]);
    }
    if !near.is_empty() {
        let rule = required.rule.as_deref().unwrap_or_default();
        table.row([format!("nothing that is in force has `{rule}`: {}", did_you_mean(near)).into()]);
    }
    let shown = cut(missing, most);
    for it in &lacking[..shown] {
        let scopes =
            if it.lacking == it.scopes { String::new() } else { format!("in {} of {} scopes", it.lacking, it.scopes) };
        table.row([paint(OBJECT, input.name(it.node)).into(), paint(DIM, scopes).into()]);
    }
    if shown < missing {
        table.row([paint(DIM, format!("and {} more: {}", missing - shown, screen.invocation.in_full())).into()]);
    }
    for (it, exception) in excepted {
        table.row([paint(DIM, input.name(it.node)).into(), paint(DIM, format!("excepted: {exception}")).into()]);
    }
    table.write(screen)?;
    write_idle(idle, screen)
}

/// The exceptions by which nothing is excepted.
fn write_idle(idle: &[Idle], screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(2);
    for Idle { exception, why } in idle {
        let object = &exception.object;
        let text = match why {
            Why::Over => format!("the exception for {object} is over: {exception}"),
            Why::NotNeeded => format!("the exception for {object} is not needed: {exception}"),
            Why::NotFound(problem) => {
                let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
                format!("the exception for {object} is for nothing: {}{help}", problem.message)
            }
        };
        table.row([paint(DIM, text).into()]);
    }
    table.write(screen)
}
