//! Statuses as text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use attache_answers::scopes::cut;
use attache_answers::status::{PolicyStatusDocument, ScopeCountsDocument, SupersededDocument, TargetStatusDocument};
use attache_engine::{Enforcement, NodeRef, ObjectRef, Path};

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

/// The number of effective targets below it on which a policy is in force, and the number of its rules that are: `5 of
/// 5 Services, 3 of 4 policy rules`.
pub fn in_force(status: &PolicyStatusDocument) -> String {
    let ScopeCountsDocument { total, enforced, partial, .. } = status.scopes;
    let targets = match &status.effective_targets {
        Some(targets) => {
            let what = targets.kind.as_deref().unwrap_or("target");
            counted_of(targets.in_force as u64, targets.total as u64, what)
        }
        None => counted_of(enforced.saturating_add(partial), total, "scope"),
    };
    let is_everywhere = status.effective_targets.as_ref().is_none_or(|targets| targets.in_force == targets.total);
    match &status.rules {
        Some(rules) if rules.in_force < rules.total && rules.in_force > 0 => {
            format!("{targets}, {}", counted_of(rules.in_force as u64, rules.total as u64, "policy rule"))
        }
        // Not on every path of requests to a target.
        Some(_) if is_everywhere && status.enforcement == Enforcement::PartiallyEnforced => {
            match enforced.saturating_add(partial) {
                some if some < total => format!("{targets}, by {}", counted_of(some, total, "path")),
                _ => format!("{targets}, in part"),
            }
        }
        _ => targets,
    }
}

/// `3 of 4 scopes`.
pub fn counted_of(some: u64, all: u64, what: &str) -> String {
    format!("{some} of {all} {what}{}", if all == 1 { "" } else { "s" })
}

/// Explains the word "scope".
pub fn write_scope_note(screen: &mut Screen) -> io::Result<()> {
    let note = "scope: one path from a Gateway to a route rule or backend; the policies along it are merged";
    writeln!(screen, "\n{}", paint(DIM, note))
}

/// Why not all of a policy is in force, with the names of at most `most` others, or one more.
pub fn why(status: &PolicyStatusDocument, most: usize) -> String {
    let mut reasons = Vec::new();
    if !status.accepted.message.is_empty() {
        reasons.push(status.accepted.message.clone());
    }
    match status.enforcement {
        _ if status.accepted.refused.is_some() => {}
        Enforcement::PartiallyEnforced if status.by.is_empty() && reasons.is_empty() => {
            let ScopeCountsDocument { total, enforced, partial, overridden } = status.scopes;
            let lacking = total.saturating_sub(enforced).saturating_sub(overridden);
            let why = match (status.has_condition, partial) {
                (true, 0) => "its condition does not hold",
                (true, _) => "the condition of one of its blocks does not hold",
                (false, _) => "the object itself sets it",
            };
            reasons.push(format!("{why} in {lacking} of {total} scopes"));
        }
        Enforcement::PartiallyEnforced => reasons.extend(overridden_parts(&status.superseded, &status.by, most)),
        _ if status.by.is_empty() => {}
        Enforcement::Overridden => reasons.push(format!("fully overridden by {}", some(&status.by, most))),
        Enforcement::Enforced | Enforcement::NotEnforced => {
            reasons.push(format!("partly overridden by {}", some(&status.by, most)));
        }
    }
    reasons.join("; ")
}

/// `partly overridden by RetryPolicy/a/b (attempts, timeout), RetryPolicy/a/c (attempts)`. Without the parts if they are
/// not known.
pub fn overridden_parts(superseded: &[SupersededDocument], by: &[ObjectRef], most: usize) -> Option<String> {
    let others: Vec<String> = match superseded {
        [] => by.iter().map(ToString::to_string).collect(),
        known => known.iter().filter_map(|parts| Some(format!("{} ({})", parts.by.as_ref()?, paths(parts)))).collect(),
    };
    (!others.is_empty()).then(|| format!("partly overridden by {}", some(&others, most)))
}

/// The overridden parts, at most a few.
fn paths(parts: &SupersededDocument) -> String {
    const MOST_PATHS: usize = 3;
    let name = |path: &Path| if path.is_empty() { "all of it".to_owned() } else { path.to_string() };
    let names: Vec<String> = parts.paths.iter().map(name).collect();
    some(&names, MOST_PATHS)
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
    table.write(screen)?;
    let notes = policies.iter().flat_map(|status| status.notes.iter().map(move |note| (&status.policy, note)));
    let notes: Vec<String> = notes.map(|(policy, note)| format!("{policy}: {note}")).collect();
    if !notes.is_empty() {
        writeln!(screen)?;
    }
    notes.into_iter().try_for_each(|note| write_line(paint(DIM, note), screen))
}

pub fn write_targets(targets: &[TargetStatusDocument], most: usize, screen: &mut Screen) -> io::Result<()> {
    if targets.is_empty() {
        return Ok(());
    }
    writeln!(screen)?;
    let affected: BTreeMap<&NodeRef, &[ObjectRef]> =
        targets.iter().map(|status| (&status.target, status.affected_by.as_slice())).collect();
    // A section that is affected by the same policies as the whole object is left out. A Service that is the parent of
    // routes has two nodes with one name.
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

/// The message if there is no policy in the input, or none in a namespace.
pub fn write_no_policies(namespace: Option<&str>, screen: &mut Screen) -> io::Result<()> {
    let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    let see = screen.invocation.question(&["get", "kinds"]);
    write_line(format!("there are no policies{place}; for the kinds that are known see {see}"), screen)
}
