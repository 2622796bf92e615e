//! What is wrong, on standard error.

use std::io::Write;

use attache_core::problem::{Problem, Severity};

use super::style::{BAD, DIM, WARNING, paint};

/// Shows a problem. If standard error is closed there is nobody to tell.
pub fn show(problem: &Problem) {
    let text = problem.to_string();
    let style = match problem.severity {
        Severity::Error => BAD.bold(),
        Severity::Warning => WARNING.bold(),
    };
    let label = format!("{}:", problem.severity);
    let rest = text.strip_prefix(&label).unwrap_or(&text);
    let (message, details) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{}{message}", paint(style, label));
    for line in details.lines() {
        let _ = writeln!(stderr, "{}", paint(DIM, line));
    }
}
