//! A report in JUnit's format, which build servers read.

use std::fmt::Write;
use std::sync::Arc;

use attache_engine::policytest::{Mismatch, UnmetExpectation};
use attache_engine::text::to_yaml;

use super::difference::places;
use super::{CaseResult, TestCase};

/// One suite for each file. Times are left out, so that the same tests have the same report.
pub fn report(cases: &[TestCase]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites {}>", counts(cases));
    for suite in cases.chunk_by(|a, b| Arc::ptr_eq(&a.file, &b.file)) {
        let file = suite.first().map_or("", |case| &case.file);
        let _ = writeln!(out, "  <testsuite name=\"{}\" {}>", escape(file), counts(suite));
        suite.iter().for_each(|case| out += &test_case(case));
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}

fn counts(cases: &[TestCase]) -> String {
    let count = |result| cases.iter().filter(|case| case.result() == result).count();
    let (failed, broken) = (count(CaseResult::Failed), count(CaseResult::Broken));
    format!("tests=\"{}\" failures=\"{failed}\" errors=\"{broken}\"", cases.len())
}

fn test_case(case: &TestCase) -> String {
    let (name, file, line) = (escape(&case.name), escape(&case.file), case.place.line);
    let start = format!("    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" line=\"{line}\"");
    let mut inside = String::new();
    for problem in &case.outcome.problems {
        let (message, text) = (escape(&problem.message), escape(&problem.to_string()));
        let _ = writeln!(inside, "      <error message=\"{message}\">{text}</error>");
    }
    for failure in &case.outcome.failures {
        let (message, text) = describe(failure);
        let _ = writeln!(inside, "      <failure message=\"{}\">{}</failure>", escape(&message), escape(&text));
    }
    match inside.as_str() {
        "" => format!("{start}/>\n"),
        inside => format!("{start}>\n{inside}    </testcase>\n"),
    }
}

fn describe(failure: &UnmetExpectation) -> (String, String) {
    let about = &failure.about;
    match &failure.mismatch {
        Mismatch::Missing { message } => (format!("{about}: {message}"), String::new()),
        Mismatch::Different { expected, actual } => (
            format!("{about}: differs at {}", places(&failure.mismatch)),
            format!("expected:\n{}actual:\n{}", to_yaml(expected), to_yaml(actual)),
        ),
    }
}

/// Text for XML, without characters that are not allowed in it.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(char),
            char if char.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}
