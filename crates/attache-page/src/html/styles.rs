//! Every candidate block, the strongest first, with lost values struck out.

use attache_answers::explain::Candidate;
use attache_answers::matrix::OriginLevel;
use attache_answers::{LossSentence, value_lines};
use attache_engine::{BlockKind, ObjectRef, Path};
use maud::{Markup, html};

use super::{level_tag, node, policy, policy_list};

/// The number of blocks, of lines of each, and of policies that a value would have lost to as well, that are shown.
const MOST: usize = 50;
const MOST_LINES: usize = 200;
const MOST_RIVALS: usize = 3;

/// Blocks, the strongest first.
pub fn candidates(candidates: &[Candidate], about: &ObjectRef) -> Markup {
    let shown = attache_answers::scopes::cut(candidates.len(), MOST);
    html! {
        ol.candidates {
            @for it in &candidates[..shown] {
                li data-key={ (it.policy.to_string()) " " (it.block.name()) " " (it.target.to_string()) } {
                    div.head {
                        (level_tag(OriginLevel::new(&it.target, about))) " "
                        (policy(&it.policy)) " "
                        span.dim { @if it.block != BlockKind::Bare { (it.block.name()) " " } "on " (node(&it.target)) }
                    }
                    p.details { (details(it)) }
                    (lines(it))
                }
            }
        }
        @if shown < candidates.len() { p { (super::more(candidates.len() - shown)) } }
    }
}

/// The strategy of a block, its condition, its age and its location.
fn details(it: &Candidate) -> String {
    let place = it.file.as_ref().map(|file| it.line.map_or(file.clone(), |line| format!("{file}:{line}")));
    let parts = [
        (!it.is_exclusive).then(|| format!("strategy {}", it.strategy)),
        it.when.as_ref().map(|when| format!("when {when}")),
        (!it.removes.is_empty()).then(|| format!("removes {}", it.removes.join(", "))),
        Some(it.created.as_ref().map_or("not created yet".to_owned(), |created| format!("created {created}"))),
        it.last_changed.as_ref().map(|change| format!("last changed by {} at {}", change.manager, change.time)),
        place,
    ];
    let managers = it.managed_by.iter().map(|manager| format!("managed by {manager}"));
    parts.into_iter().flatten().chain(managers).collect::<Vec<_>>().join(" · ")
}

fn lines(it: &Candidate) -> Markup {
    let all = value_lines(&it.value, &Path::default());
    let shown = attache_answers::scopes::cut(all.len(), MOST_LINES);
    let mut told: Vec<&Path> = Vec::new();
    let rows = all[..shown].iter().map(|line| {
        let lost = it.lost.iter().find(|lost| line.path.starts_with(&lost.path));
        let reason = lost.filter(|lost| !told.contains(&&lost.path));
        told.extend(reason.map(|lost| &lost.path));
        (line, lost.is_some(), reason)
    });
    let rows: Vec<_> = rows.collect();
    let untold = it.lost.iter().filter(|lost| !told.contains(&&lost.path));
    html! {
        table.computed {
            tbody {
                @for (line, is_lost, reason) in rows {
                    tr.lost[is_lost] {
                        td.line {
                            @if is_lost {
                                // The indentation is not struck out.
                                @let (indent, text) = line.text.split_at(line.text.len() - line.text.trim_start().len());
                                span.mark { "✗" } code { (indent) del { (text) } }
                            } @else { code { (line.text) } }
                        }
                        td.origin { @if let Some(lost) = reason { span.why { (loss(&lost.sentence())) } } }
                    }
                }
                @for lost in untold {
                    tr.lost {
                        td.line { span.mark { "✗" } del { code { (lost.path) } } }
                        td.origin { span.why { (loss(&lost.sentence())) } }
                    }
                }
            }
        }
        @if shown < all.len() { p { (super::more(all.len() - shown)) " lines" } }
    }
}

/// Why a value lost.
pub fn loss(sentence: &LossSentence<'_>) -> Markup {
    html! {
        (sentence.before)
        @if let Some(by) = sentence.by { " " (policy(by)) }
        @if !sentence.after.is_empty() { " " (sentence.after) }
        @if !sentence.also_by.is_empty() { " (also " (policy_list(sentence.also_by, MOST_RIVALS)) ")" }
        @if let Some(warning) = sentence.warning { ": " (warning) }
    }
}
