//! A policy's status in a word or two.

use attache_engine::status::{Enforcement, PolicyStatus, ScopeCounts};

use attache_answers::Snapshot;

use super::style::{BAD, GOOD, WARNING, paint};
use super::table::Cell;
use super::{Screen, some};

/// Why it is not accepted, or how much of it is in force.
pub fn status_word(status: &PolicyStatus) -> Cell {
    let style = match status.enforcement {
        _ if status.refused.is_some() => BAD,
        Enforcement::Enforced => GOOD,
        Enforcement::PartiallyEnforced => WARNING,
        Enforcement::Overridden | Enforcement::NotEnforced => BAD,
    };
    paint(style, status.refused.map_or(status.enforcement.name(), |reason| reason.name())).into()
}

/// In how many of its scopes some of it is in force.
pub fn in_force(status: &PolicyStatus) -> String {
    let scopes = status.scopes;
    format!("{} of {}", scopes.enforced.saturating_add(scopes.partial), scopes.total)
}

/// Why not all of it is in force, with the names of so many others.
pub fn why(input: &Snapshot, status: &PolicyStatus, most: usize) -> String {
    let by: Vec<String> = status.by.iter().map(|policy| input.policy(*policy)).collect();
    match (status.message().as_str(), status.enforcement) {
        ("", Enforcement::PartiallyEnforced) if by.is_empty() => {
            let ScopeCounts { total, enforced, partial, overridden } = status.scopes;
            let lacking = total.saturating_sub(enforced).saturating_sub(overridden);
            let has_condition = input.engine.policy(status.policy).blocks.iter().any(|block| block.when.is_some());
            let why = match (has_condition, partial) {
                (true, 0) => "its condition does not hold",
                (true, _) => "the condition of one of its blocks does not hold",
                (false, _) => "the object itself says otherwise",
            };
            format!("{why} in {lacking} of {total} scopes")
        }
        ("", _) if by.is_empty() => String::new(),
        ("", Enforcement::Overridden) => format!("all of it is taken by {}", some(&by, most)),
        ("", _) => format!("part of it is taken by {}", some(&by, most)),
        (message, _) => message.to_owned(),
    }
}

/// What to say where there is no policy to speak of.
pub fn no_policies(namespace: Option<&str>, screen: &Screen) -> String {
    let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    format!(
        "there are no policies{place}; for the kinds that are known see {}",
        screen.invocation.question(&["get", "kinds"])
    )
}
