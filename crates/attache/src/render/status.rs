//! Statuses as text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use attache_answers::scopes::cut;
use attache_answers::status::{PolicyStatusDocument, ScopeCountsDocument, TargetStatusDocument};
use attache_engine::{Enforcement, NodeRef, ObjectRef};

use super::style::{BAD, DIM, GOOD, OBJECT, POLICY, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, joined, some, write_line};

/// Why a policy is not accepted, or how much of it is in force.
pub fn status_word(status: &PolicyStatusDocument) -> Cell {
    let style = match status.enforcement {
        _ if status.accepted.refused.is_some() => BAD,
        Enforcement::Enforced => GOOD,
        Enforcement::PartiallyEnforced => WARNING,
        Enforcement::Overridden | Enforcement::NotEnforced => BAD,
    };
    paint(style, status.word()).into()
}

/// On how many of the effective targets below it a policy is in force, and how many of its rules are:
/// `5 of 5 Services, 3 of 4 rules`.
pub fn in_force(status: &PolicyStatusDocument) -> String {
    let ScopeCountsDocument { total, enforced, partial, .. } = status.scopes;
    let targets = match &status.effective_targets {
        Some(targets) => {
            let what = targets.kind.as_deref().unwrap_or("target");
            counted_of(targets.in_force as u64, targets.total as u64, what)
        }
        None => counted_of(enforced.saturating_add(partial), total, "scope"),
    };
    match &status.rules {
        Some(rules) if rules.in_force < rules.total && rules.in_force > 0 => {
            format!("{targets}, {}", counted_of(rules.in_force as u64, rules.total as u64, "rule"))
        }
        _ => targets,
    }
}

/// `3 of 4 scopes`.
pub fn counted_of(some: u64, all: u64, what: &str) -> String {
    format!("{some} of {all} {what}{}", if all == 1 { "" } else { "s" })
}

/// Explains the word, for those who see it for the first time.
pub fn write_scope_note(screen: &mut Screen) -> io::Result<()> {
    let note = "scope: one path from a Gateway down to a rule or backend, along which policies meet";
    writeln!(screen, "\n{}", paint(DIM, note))
}

/// Why not all of a policy is in force, with the names of at most `most` others, or one more.
pub fn why(status: &PolicyStatusDocument, most: usize) -> String {
    let by = &status.by;
    match (status.accepted.message.as_str(), status.enforcement) {
        ("", Enforcement::PartiallyEnforced) if by.is_empty() => {
            let ScopeCountsDocument { total, enforced, partial, overridden } = status.scopes;
            let lacking = total.saturating_sub(enforced).saturating_sub(overridden);
            let why = match (status.has_condition, partial) {
                (true, 0) => "its condition does not hold",
                (true, _) => "the condition of one of its blocks does not hold",
                (false, _) => "the object itself says otherwise",
            };
            format!("{why} in {lacking} of {total} scopes")
        }
        ("", _) if by.is_empty() => String::new(),
        ("", Enforcement::Overridden) => format!("fully overridden by {}", some(by, most)),
        ("", _) => format!("partly overridden by {}", some(by, most)),
        (message, _) => message.to_owned(),
    }
}

pub fn write_policies(
    policies: &[PolicyStatusDocument],
    namespace: Option<&str>,
    screen: &mut Screen,
) -> io::Result<()> {
    if policies.is_empty() {
        return write_no_policies(namespace, screen);
    }
    let mut table = Table::new(&["POLICY", "STATUS", "IN FORCE ON", "WHY"]);
    for status in policies {
        table.row([
            paint(POLICY, &status.policy).into(),
            status_word(status),
            in_force(status).into(),
            why(status, usize::MAX).into(),
        ]);
    }
    table.write(screen)
}

pub fn write_targets(targets: &[TargetStatusDocument], most: usize, screen: &mut Screen) -> io::Result<()> {
    if targets.is_empty() {
        return Ok(());
    }
    writeln!(screen)?;
    let affected: BTreeMap<&NodeRef, &[ObjectRef]> =
        targets.iter().map(|status| (&status.target, status.affected_by.as_slice())).collect();
    // A section that the same policies affect as the whole object is left out. A Service that is the parent of routes
    // has two nodes with one name.
    let mut seen = BTreeSet::new();
    let mut listed: Vec<&TargetStatusDocument> = Vec::new();
    for status in targets {
        let is_new = seen.insert((&status.target, &status.affected_by));
        let whole = affected.get(&status.target.whole());
        let is_different = status.target.section.is_none() || whole != Some(&&*status.affected_by);
        if most == usize::MAX || is_new && is_different {
            listed.push(status);
        }
    }
    let shown = cut(listed.len(), most);
    let mut table = Table::new(&["TARGET", "AFFECTED BY"]);
    for status in &listed[..shown] {
        table.row([paint(OBJECT, &status.target).into(), paint(POLICY, joined(&status.affected_by)).into()]);
    }
    table.write(screen)?;
    if shown < listed.len() {
        let more = format!("and {} more: {}", listed.len() - shown, screen.invocation.in_full());
        writeln!(screen, "{}", paint(DIM, more))?;
    }
    Ok(())
}

/// There is no policy in the input, or none in a namespace.
pub fn write_no_policies(namespace: Option<&str>, screen: &mut Screen) -> io::Result<()> {
    let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    let see = screen.invocation.question(&["get", "kinds"]);
    write_line(format!("there are no policies{place}; for the kinds that are known see {see}"), screen)
}
