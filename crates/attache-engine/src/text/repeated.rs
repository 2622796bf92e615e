//! Keys that a map has more than once. kubectl takes the last value and says nothing, and so half of two manifests gets lost
//! where the `---` between them is missing.

use super::build::Repeated;
use crate::object::SourceLocation;
use crate::problem::Problem;

/// One for each map.
pub fn problems(document: u32, repeated: &[Repeated]) -> impl Iterator<Item = Problem> {
    repeated.chunk_by(|a, b| a.map == b.map).filter_map(move |keys| {
        let first = keys.iter().min_by_key(|key| key.lost)?;
        let is_two_objects = first.map.is_empty() && keys.iter().any(|it| it.key == "kind");
        let help = if is_two_objects { "put `---` between two objects" } else { "keep one of them" };
        let problem = Problem::error(message(keys)).in_document(document, first.lost).help(help);
        Some(Problem { path: Some(first.map.key(first.key.clone())), ..problem })
    })
}

fn message(keys: &[Repeated]) -> String {
    let mut keys: Vec<&Repeated> = keys.iter().collect();
    keys.sort_by_key(|key| key.lost);
    let names: Vec<String> = keys.iter().map(|it| format!("`{}`", it.map.key(it.key.clone()))).collect();
    let line = |it: &&Repeated| match it.kept {
        // All of a file can be on one line.
        SourceLocation { line, column } if line == it.lost.line => format!("{line}:{column}"),
        SourceLocation { line, .. } => line.to_string(),
    };
    let lines: Vec<String> = keys.iter().map(line).collect();
    let (names, lines) = (names.join(", "), lines.join(", "));
    match keys.len() {
        1 => format!("{names} is written again on line {lines}, and only that one counts"),
        _ => format!("{names} are written again on lines {lines}, and only those count"),
    }
}
