//! An effective policy, line by line, with the origin of each line.

use std::collections::BTreeSet;

use attache_answers::effective::{LostValue, OriginDocument};
use attache_answers::matrix::OriginLevel;
use attache_answers::{SpecLine, inline, spec_lines};
use attache_engine::{BlockKind, ObjectRef, Value};
use maud::{Markup, html};

use super::{level_tag, loss, node, policies, policy};

/// The number of lines of an answer, of policies of a line, and of lost values, that are shown.
const MOST: usize = 400;
const MOST_POLICIES: usize = 4;
const MOST_LOST: usize = 50;

/// A spec, with the origin of every line.
pub fn computed(spec: &Value, origins: &[OriginDocument], about: &ObjectRef, is_merged: bool) -> Markup {
    let lines = spec_lines(spec);
    html! {
        table.computed {
            thead.sr { tr { th scope="col" { "in force" } th scope="col" { "set by" } } }
            tbody { (computed_lines(&lines, origins, about, is_merged)) }
        }
    }
}

/// Lines, each with its origin.
fn computed_lines(lines: &[SpecLine], origins: &[OriginDocument], about: &ObjectRef, is_merged: bool) -> Markup {
    let shown = attache_answers::scopes::cut(lines.len(), MOST);
    html! {
        @for line in &lines[..shown] {
            tr data-key=(line.path.to_string()) {
                td.line { code { (line.text) } }
                td.origin { (line_origin(line, origins, about, is_merged)) }
            }
        }
        @if shown < lines.len() { tr { td colspan="2" { (super::more(lines.len() - shown)) " lines" } } }
    }
}

fn line_origin(line: &SpecLine, origins: &[OriginDocument], about: &ObjectRef, is_merged: bool) -> Markup {
    let covering = origins.iter().find(|origin| line.path.starts_with(&origin.path));
    let is_leaf = !line.text.ends_with(':');
    let inside = origins.iter().filter(|origin| is_leaf && origin.path.starts_with(&line.path));
    let inside: BTreeSet<&ObjectRef> = inside.map(|origin| &origin.policy).collect();
    match covering {
        Some(origin) => {
            let is_first = origin.path == line.path || origin.path.is_empty() && line.path.segments().len() <= 1;
            if is_first { origin_line(origin, about) } else { same_origin(origin) }
        }
        None if !inside.is_empty() => {
            let more = inside.len().saturating_sub(MOST_POLICIES);
            html! { (policies(inside.into_iter().take(MOST_POLICIES))) (super::more(more)) }
        }
        None if is_merged && is_leaf => html! { span.dim { "its own" } },
        None => html! {},
    }
}

fn origin_line(origin: &OriginDocument, about: &ObjectRef) -> Markup {
    html! {
        (level_tag(OriginLevel::new(&origin.target, about))) " "
        (policy(&origin.policy)) " "
        span.dim { @if origin.block != BlockKind::Bare { (origin.block.name()) " " } "on " (node(&origin.target)) }
    }
}

/// The origin of a further line of a rule, whose first line has the link.
fn same_origin(origin: &OriginDocument) -> Markup {
    html! { span.again { bdi { (origin.policy.name) } } }
}

/// Values that lost, struck out, with the reason.
pub fn lost_values(lost: &[LostValue]) -> Markup {
    let shown = attache_answers::scopes::cut(lost.len(), MOST_LOST);
    html! {
        @if !lost.is_empty() {
            table.computed {
                thead.sr { tr { th scope="col" { "lost" } th scope="col" { "set by, and why it lost" } } }
                tbody {
                    @for it in &lost[..shown] {
                        tr.lost {
                            td.line {
                                span.mark { "✗" }
                                del { code { (it.origin.path) @if let Some(value) = &it.value { ": " (inline(value)) } } }
                            }
                            td.origin { (policy(&it.origin.policy)) span.why { " – " (loss(&it.sentence())) } }
                        }
                    }
                }
            }
            (super::more(lost.len() - shown))
        }
    }
}
