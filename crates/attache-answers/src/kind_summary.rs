//! A summary of a policy kind, in a sentence.

use attache_engine::kinds::{Class, DictatedBy, LevelName, Participation, PolicyKind, SameLevel, Strategy};

/// A summary of a policy kind, in a sentence.
pub(crate) fn kind_summary(kind: &PolicyKind) -> String {
    let name = kind.full_name();
    if kind.class == Class::Direct {
        return format!("{name} is direct: it applies to its target only; {}", between_two(kind));
    }
    let (targets, effective) = (either(&kind.targets.allowed), either(&kind.hierarchy.effective_targets));
    format!("{name} is inherited: a policy on a {targets} applies to every {effective} below; {}", how_they_meet(kind))
}

fn how_they_meet(kind: &PolicyKind) -> String {
    let same_level = between_two(kind);
    match &kind.merging.dictated_by {
        _ if kind.accumulates() => "all policies of a scope apply, one after the other".to_owned(),
        _ if *kind.default_strategy() == Strategy::FIRST_MATCH => {
            "of the policies of a scope, the first that matches a request counts".to_owned()
        }
        DictatedBy::Annotation(_) => {
            format!("the more specific one wins, unless an annotation of the route changes that; {same_level}")
        }
        DictatedBy::Lower { .. } => {
            format!("the most specific one counts, and decides whether it is merged with one above; {same_level}")
        }
        _ if kind.has_blocks() => {
            format!("more specific policies replace defaults, but not overrides; {same_level}")
        }
        _ if kind.participation() == Participation::MostSpecific => {
            format!("only the most specific one counts; {same_level}")
        }
        _ => format!("field by field the more specific one wins; {same_level}"),
    }
}

fn between_two(kind: &PolicyKind) -> &'static str {
    match kind.same_level() {
        SameLevel::OldestIsHigher => "of two on one target the older counts as the less specific",
        SameLevel::OldestWins => "of two on one target the older wins",
        SameLevel::OldestAlone => "of several on one target only the oldest counts",
        SameLevel::RejectNewer => "of two on one target the newer is not accepted",
    }
}

/// `Gateway, Namespace or HTTPRoute`.
fn either(levels: &[LevelName]) -> String {
    let words: Vec<String> = levels.iter().map(ToString::to_string).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "target".to_owned(),
    }
}
