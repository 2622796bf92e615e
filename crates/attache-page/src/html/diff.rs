//! Changes of effective policies, before and after.

use attache_answers::change::{ChangeSummary, LeafDocument, SetValue};
use attache_answers::inline;
use attache_answers::scopes::TargetOrPath;
use maud::{Markup, html};

use super::{counted, grouped, more, node, policies};
use crate::log::NAMES;

/// The number of groups, and of values of each, that are shown.
const GROUPS: usize = 50;
const LEAVES: usize = 60;

/// Changed effective policies, grouped by the values that change.
pub fn change_groups(groups: &[ChangeSummary]) -> Markup {
    let shown = attache_answers::scopes::cut(groups.len(), GROUPS);
    html! {
        @for group in &groups[..shown] { (change_group(group)) }
        (more(groups.len() - shown))
    }
}

fn change_group(group: &ChangeSummary) -> Markup {
    let shown = attache_answers::scopes::cut(group.place_count, NAMES).min(group.places.len());
    let leaves = attache_answers::scopes::cut(group.leaves.len(), LEAVES);
    html! {
        article.answer {
            header {
                h3 { (group.policy_kind.kind) @if !group.policy_kind.group.is_empty() { span.dim { "." (group.policy_kind.group) } } }
                p.places {
                    "on " @if group.targets > 1 { strong { (grouped(group.targets)) " places: " } }
                    @for (i, place) in group.places[..shown].iter().enumerate() {
                        @if i > 0 { ", " }
                        @match place {
                            TargetOrPath::Target(target) => (node(target)),
                            TargetOrPath::Path(scope) => bdi { (scope) },
                        }
                    }
                    (more(group.place_count - shown))
                    span.dim { " · " (counted(group.scopes, "scope")) }
                }
            }
            @if group.leaves.is_empty() { p { "The same policies apply in another order." } }
            table.diff {
                thead.sr { tr { th scope="col" { "change" } th scope="col" { "value" } th scope="col" { "set by" } } }
                tbody { @for leaf in &group.leaves[..leaves] { (leaf_rows(leaf)) } }
            }
            (more(group.leaves.len() - leaves))
        }
    }
}

fn leaf_rows(leaf: &LeafDocument) -> Markup {
    let row = |class: &str, word: &str, mark: &str, set: &SetValue| {
        html! {
            tr.(class) {
                td.mark { span.sr { (word) } span aria-hidden="true" { (mark) } }
                td.line { code { (leaf.path) ": " (inline(&set.value)) } }
                td.origin { (policies(&set.policies)) }
            }
        }
    };
    html! {
        @if let Some(before) = &leaf.before { (row("removed", "before", "−", before)) }
        @if let Some(after) = &leaf.after { (row("added", "after", "+", after)) }
    }
}
