//! Audits as text.

use std::io;

use attache_answers::audit::{RequirementResult, UnusedBecause, UnusedException};
use attache_answers::did_you_mean;
use attache_answers::scopes::cut;

use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, paint};
use super::table::Table;
use super::{Screen, counted, joined, write_line};

/// The result for one requirement, with at most `most` names, or one more.
pub fn write_result(result: &RequirementResult, most: usize, screen: &mut Screen) -> io::Result<()> {
    let RequirementResult { require, checked, missing, excepted, idle, unrouted, near } = result;
    let (lacking, excused) = (missing.len(), excepted.len());
    let but = if excused == 0 { String::new() } else { format!(", {excused} excepted") };
    let verdict = match (*checked, lacking) {
        (0, _) => paint(PLAIN, "there are no targets to check"),
        (checked @ 2.., 0) if excused == 0 => paint(GOOD, format!("in force on all {checked} targets")),
        (checked, 0) => {
            paint(GOOD, format!("in force on {} of {}{but}", checked - excused, counted(checked, "target")))
        }
        (checked, _) => paint(BAD, format!("missing on {lacking} of {}{but}", counted(checked, "target"))),
    };
    write_line([paint(HEAD, require), paint(PLAIN, ": "), verdict], screen)?;
    let mut table = Table::plain(2);
    if *checked == 0 {
        table.row([paint(DIM, format!("see {}", screen.invocation.question(&["topology"]))).into()]);
    }
    if let Some((rule, near)) = near {
        table.row([format!("no effective policy has `{rule}`: {}", did_you_mean(near)).into()]);
    }
    let shown = cut(lacking, most);
    for it in &missing[..shown] {
        let scopes =
            if it.lacking == it.scopes { String::new() } else { format!("in {} of {} scopes", it.lacking, it.scopes) };
        table.row([paint(OBJECT, &it.target).into(), paint(DIM, scopes).into()]);
    }
    if shown < lacking {
        let see = screen.invocation.in_full();
        table.row([paint(DIM, format!("and {} more: {see}", lacking - shown)).into()]);
    }
    if !unrouted.is_empty() {
        let shown = cut(unrouted.len(), most);
        let more = if shown < unrouted.len() { format!(" and {} more", unrouted.len() - shown) } else { String::new() };
        table.row([
            paint(DIM, format!("counted, but not behind any route: {}{more}", joined(&unrouted[..shown]))).into()
        ]);
    }
    for it in excepted {
        let reason = format!("excepted: {}", until(&it.reason, it.until.as_deref()));
        table.row([paint(DIM, &it.missing.target).into(), paint(DIM, reason).into()]);
    }
    table.write(screen)?;
    write_unused(idle, screen)
}

/// The exceptions that are not used.
fn write_unused(unused: &[UnusedException], screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(2);
    for it in unused {
        let (object, reason) = (&it.object, until(&it.reason, it.until.as_deref()));
        let text = match it.why {
            UnusedBecause::Over => format!("the exception for {object} has expired: {reason}"),
            UnusedBecause::NotNeeded => format!("the exception for {object} is not needed: {reason}"),
            UnusedBecause::NotFound => {
                let help = it.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
                let message = it.message.as_deref().unwrap_or_default();
                format!("the exception for {object} has no effect: {message}{help}")
            }
        };
        table.row([paint(DIM, text).into()]);
    }
    table.write(screen)
}

/// A reason, and its last date.
fn until(reason: &str, until: Option<&str>) -> String {
    until.map_or_else(|| reason.to_owned(), |until| format!("{reason} (until {until})"))
}
