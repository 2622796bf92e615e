//! Input that could not be read, or that is not used as it is written.

use super::finding::{Finding, Findings};
use super::rule;
use crate::problem::Problem;

pub fn problems(reading: &[Problem], findings: &mut Findings) {
    for problem in reading {
        let rule = if problem.is_error() { &rule::UNUSABLE_INPUT } else { &rule::DUBIOUS_INPUT };
        let mut finding = Finding::from_problem(rule, problem);
        if problem.file.is_some() {
            finding.problem.help.get_or_insert_with(|| rule.fix.to_owned());
        }
        findings.push(finding);
    }
}
