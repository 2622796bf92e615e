//! Keys that occur more than once in a map.
//!
//! kubectl silently takes the last value. If the `---` between two manifests is missing, half of their fields are lost
//! like this.

use super::build::RepeatedKey;
use crate::object::SourceLocation;
use crate::problem::{Problem, ProblemCode};

/// One problem for each map with repeated keys.
pub fn problems(document: u32, repeated: &[RepeatedKey]) -> impl Iterator<Item = Problem> {
    repeated.chunk_by(|a, b| a.map == b.map).filter_map(move |keys| {
        let first = keys.iter().min_by_key(|key| key.ignored)?;
        let is_two_objects = first.map.is_empty() && keys.iter().any(|it| it.key == "kind");
        let help = if is_two_objects { "put `---` between two objects" } else { "keep one of them" };
        let problem = Problem::error(message(keys)).code(ProblemCode::RepeatedKey).help(help);
        let problem = problem.in_document(document, first.ignored);
        Some(Problem { path: Some(first.map.key(first.key.clone())), ..problem })
    })
}

fn message(keys: &[RepeatedKey]) -> String {
    let mut keys: Vec<&RepeatedKey> = keys.iter().collect();
    keys.sort_by_key(|key| key.ignored);
    let names: Vec<String> = keys.iter().map(|it| format!("`{}`", it.map.key(it.key.clone()))).collect();
    let line = |it: &&RepeatedKey| match it.used {
        // A whole file can be on one line.
        location @ SourceLocation { line, .. } if line == it.ignored.line => location.to_string(),
        SourceLocation { line, .. } => line.to_string(),
    };
    let lines: Vec<String> = keys.iter().map(line).collect();
    let (names, lines) = (names.join(", "), lines.join(", "));
    match keys.len() {
        1 => format!("{names} is written again on line {lines}, and only that one counts"),
        _ => format!("{names} are written again on lines {lines}, and only those count"),
    }
}
