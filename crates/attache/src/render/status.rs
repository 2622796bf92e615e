//! A policy's status in a word or two.

use attache_engine::policy::{PolicyTarget, TargetSpec};
use attache_engine::status::{Enforcement, PolicyStatus, ScopeCounts};

use crate::cli::again;
use crate::input::Input;

use super::some;
use super::spec::inline;
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

/// Why not all of it is in force, with the names of so many others.
pub fn why(input: &Input, status: &PolicyStatus, most: usize) -> String {
    let by: Vec<String> = status.by.iter().map(|policy| input.policy(*policy)).collect();
    match (status.message.as_str(), status.enforcement) {
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
pub fn no_policies(namespace: Option<&str>) -> String {
    let place = namespace.map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    format!("there are no policies{place}; for the kinds that are known see {}", again(&["get", "kinds"]))
}

/// A target, in the words of its policy.
pub fn target_words(target: &PolicyTarget) -> String {
    match &target.wanted {
        TargetSpec::Object { kind, namespace, name, section, .. } => {
            let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let section = section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
            format!("{kind}/{namespace}{name}{section}")
        }
        TargetSpec::Selected(selector) => {
            let section = selector.section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
            format!("{}{section} with {}", selector.kind, inline(&selector.labels))
        }
        TargetSpec::OwnNamespace => "its namespace".to_owned(),
        TargetSpec::Host(host) => format!("host {host}"),
        TargetSpec::Chosen(choice) => {
            let of: Vec<String> = choice.of.iter().map(|level| level.to_string().to_lowercase()).collect();
            let what = choice.labels.as_ref().map(|labels| format!("{}s with {}", of.join("s and "), inline(labels)));
            let namespaces = choice.namespaces.as_ref().map(|labels| format!("namespaces with {}", inline(labels)));
            what.into_iter().chain(namespaces).collect::<Vec<_>>().join(" in ")
        }
    }
}
