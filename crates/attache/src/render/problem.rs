//! What is wrong, on standard error.

use std::io::Write;

use anstyle::Style;
use attache_answers::scopes::cut;
use attache_engine::{Problem, Severity, SourceLocation};

use super::style::{BAD, DIM, INFO, WARNING, paint};
use crate::source::Excerpts;

/// A longer line was not written by a person.
const MAX_LINE: usize = 200;

pub fn show(problem: &Problem) {
    show_all([problem]);
}

/// Shows problems with the lines they are about. If standard error is closed there is nobody to tell.
pub fn show_all<'p>(problems: impl IntoIterator<Item = &'p Problem>) {
    let mut excerpts = Excerpts::default();
    let mut stderr = anstream::stderr().lock();
    for problem in problems {
        let _ = stderr.write_all(text(problem, excerpts.line(problem)).as_bytes());
    }
}

/// How many problems are shown in full.
const MOST: usize = 20;

/// The first problems, errors before warnings, and how many more there are.
pub fn show_some<'p>(problems: impl Iterator<Item = &'p Problem>) {
    let mut problems: Vec<&Problem> = problems.collect();
    problems.sort_by_key(|problem| problem.severity);
    let shown = cut(problems.len(), MOST);
    show_all(problems[..shown].iter().copied());
    if shown < problems.len() {
        let errors = problems[shown..].iter().filter(|problem| problem.is_error()).count();
        let warnings = problems.len() - shown - errors;
        let _ = writeln!(anstream::stderr(), "and {errors} more errors, {warnings} more warnings");
    }
}

pub fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARNING,
        Severity::Info => INFO,
    }
}

/// A problem with the line that it is about.
fn text(problem: &Problem, line: Option<&str>) -> String {
    let style = severity_style(problem.severity).bold();
    let mut out = format!("{} {}\n", paint(style, format!("{}:", problem.severity)), problem.message);
    if let Some(place) = problem.file_location() {
        // Most files have one document: the first needs no number.
        let document = problem.document.filter(|document| *document > 1);
        let document = document.map(|document| format!(" (document {document})")).unwrap_or_default();
        out += &format!("{}\n", paint(DIM, format!("  --> {place}{document}")));
        if let (Some(line), Some(location)) = (line, problem.location) {
            out += &excerpt(line, location, |mark| paint(style, mark).to_string());
        }
    }
    if let Some(object) = &problem.object {
        let path = problem.path.as_ref().map(|path| format!(", {path}")).unwrap_or_default();
        out += &format!("{}\n", paint(DIM, format!("   in {object}{path}")));
    }
    if let Some(help) = &problem.help {
        out += &format!("{}\n", paint(DIM, format!("  help: {help}")));
    }
    out
}

/// The line, with a mark under the place.
fn excerpt(line: &str, place: SourceLocation, mark: impl Fn(&str) -> String) -> String {
    if line.chars().count() > MAX_LINE {
        return String::new();
    }
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    let line = line.replace('\t', " ");
    let before = " ".repeat(usize::from(place.column).saturating_sub(1));
    format!(" {margin} |\n {number} | {line}\n {margin} | {before}{}\n", mark("^"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_shown_with_a_mark_under_the_place() {
        let place = SourceLocation { line: 12, column: 8 };
        let problem = Problem { location: Some(place), ..Problem::error("no such color").in_file(&"p.yaml".into()) };
        let text = anstream::adapter::strip_str(&text(&problem.help("use red"), Some("\tcolor: blue"))).to_string();
        insta::assert_snapshot!(text, @r"
        error: no such color
          --> p.yaml:12:8
            |
         12 |  color: blue
            |        ^
          help: use red
        ");
    }
}
