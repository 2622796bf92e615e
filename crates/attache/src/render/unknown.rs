//! What an answer depends on and the input does not have.

use std::io::Write;

use attache_answers::scopes::cut;
use attache_engine::Unknown;

/// How many are named after an answer before the rest is only counted.
const MOST: usize = 5;

/// Prints after an answer what it assumes, and what is unknown.
pub fn show(unknown: &[Unknown]) {
    let shown = cut(unknown.len(), MOST);
    let mut stderr = anstream::stderr().lock();
    // If standard error is closed, the notes are lost.
    for it in &unknown[..shown] {
        let _ = writeln!(stderr, "note: {it}");
    }
    if shown < unknown.len() {
        let _ =
            writeln!(stderr, "note: {} more are not in the input: see `unknown` of `-o json`", unknown.len() - shown);
    }
}
