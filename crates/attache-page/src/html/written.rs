//! An object as written: its YAML, with the line of the file and the policies in the margin.

use attache_answers::spec_lines;
use attache_engine::{Object, ObjectRef, Path, Value};
use maud::{Markup, html};

use super::{more, policy};

/// The number of lines, and of notes beside a line, that are shown.
const MOST: usize = 1000;
const MOST_NOTES: usize = 3;

/// A policy that is attached to a part of an object, or sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarginNote {
    /// The part.
    pub path: Path,
    /// The policy.
    pub policy: ObjectRef,
    /// Whether the policy sets the value. If not, it is attached to the part.
    pub sets_value: bool,
}

/// The YAML of an object: `body` is its content as it is shown. Each note is beside the first line of its part.
pub fn written(object: &Object, body: &Value, notes: &[MarginNote]) -> Markup {
    let lines = spec_lines(body);
    let shown = attache_answers::scopes::cut(lines.len(), MOST);
    let mut open: Vec<&MarginNote> = notes.iter().collect();
    let has_places = object.locate(&Path::default()).is_some();
    let rows = lines[..shown].iter().map(|line| {
        let (here, rest): (Vec<_>, Vec<_>) = open.iter().partition(|note| line.path.starts_with(&note.path));
        open = rest;
        (line, object.locate(&line.path).filter(|_| has_places), here)
    });
    let rows: Vec<_> = rows.collect();
    html! {
        div.scroll tabindex="0" role="region" aria-label="YAML" {
            table.written {
                thead.sr { tr { th scope="col" { "line" } th scope="col" { "YAML" } th scope="col" { "policies" } } }
                tbody {
                    @for (line, place, notes) in rows {
                        tr data-key=(line.path.to_string()) {
                            td.place { @if let Some(place) = place { (place.line) } }
                            td.line { code { (line.text) } }
                            td.origin {
                                @for note in notes.iter().take(MOST_NOTES) { span.note { (policy(&note.policy)) @if note.sets_value { " sets this" } } }
                                (more(notes.len().saturating_sub(MOST_NOTES)))
                            }
                        }
                    }
                }
            }
        }
        @if shown < lines.len() { p { (more(lines.len() - shown)) " lines" } }
    }
}
