//! Input that could not be used as it is.

use super::{Finding, Findings, rule};
use crate::problem::Problem;

pub fn problems(reading: &[Problem], findings: &mut Findings) {
    for problem in reading {
        let rule = if problem.is_error() { &rule::UNUSABLE_INPUT } else { &rule::DUBIOUS_INPUT };
        let mut problem = problem.clone();
        if problem.file.is_some() {
            problem.help.get_or_insert_with(|| rule.fix.to_owned());
        }
        findings.push(Finding { rule, problem, suppressed: None });
    }
}
