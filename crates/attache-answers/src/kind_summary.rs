//! How a policy kind works, in a sentence.

use attache_engine::kinds::{Class, DictatedBy, LevelName, Participation, PolicyKind, SameLevel, Strategy};

/// How a policy kind works, in a sentence.
pub(crate) fn kind_summary(kind: &PolicyKind) -> String {
    let name = kind.full_name();
    if kind.class == Class::Direct {
        return format!("{name} is direct: it holds for the very thing that it targets; {}", between_two(kind));
    }
    let (targets, effective) = (either(&kind.targets.allowed), either(&kind.hierarchy.effective_targets));
    format!("{name} is inherited: on a {targets}, it holds for every {effective} below; {}", how_they_meet(kind))
}

fn how_they_meet(kind: &PolicyKind) -> String {
    let same_level = between_two(kind);
    match &kind.merging.dictated_by {
        _ if kind.accumulates() => "all that meet apply, one after the other".to_owned(),
        _ if *kind.default_strategy() == Strategy::FIRST_MATCH => {
            "of all that meet, the first that matches counts".to_owned()
        }
        DictatedBy::Annotation(_) => {
            format!("the more specific one wins unless an annotation of the route says otherwise; {same_level}")
        }
        DictatedBy::Lower { .. } => {
            format!("the most specific one counts, and says whether it merges with one above; {same_level}")
        }
        _ if kind.has_blocks() => {
            format!("defaults give way to more specific policies, overrides beat them; {same_level}")
        }
        _ if kind.participation() == Participation::MostSpecific => {
            format!("the most specific one counts alone; {same_level}")
        }
        _ => format!("field by field the more specific one wins; {same_level}"),
    }
}

fn between_two(kind: &PolicyKind) -> &'static str {
    match kind.same_level() {
        SameLevel::OldestIsHigher => "of two on one target the older counts as the higher",
        SameLevel::OldestWins => "of two on one target the older wins",
        SameLevel::OldestAlone => "of several on one target the oldest counts alone",
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
