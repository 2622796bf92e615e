//! A policy's status in a word or two.

use attache_core::status::{Enforcement, PolicyStatus};

use crate::cli::program;

use super::style::{BAD, GOOD, WARNING, paint};
use super::table::Cell;

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

/// What to say where there is no policy to speak of.
pub fn no_policies(namespace: Option<&str>) -> String {
    let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    format!("there are no policies{place}: see {} get kinds for the kinds that are known", program())
}
