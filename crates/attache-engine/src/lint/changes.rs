//! The findings that a batch of edits causes and fixes.

use hashbrown::HashMap;

use super::fold_facts::FoldFacts;
use super::{Finding, FindingKey, lint, lint_region};
use crate::incremental::{LintRegion, Report};

/// The findings that differ between the two sides of a batch. Suppressed findings do not count.
#[derive(Clone, Debug, Default)]
pub struct FindingChanges {
    /// The findings that only the side after the batch has.
    pub new: Vec<Finding>,
    /// The findings that only the side before the batch has.
    pub fixed: Vec<Finding>,
}

impl FindingChanges {
    /// Lints both sides of a batch, as far as the batch can affect them, and compares the findings.
    pub fn between(report: &Report) -> FindingChanges {
        let (sides, region) = (report.sides(), report.lint_region());
        let find = |side: usize| {
            let mut findings = match &region {
                Some(LintRegion { objects, policies }) => {
                    let facts = || FoldFacts::for_policies(sides[side], policies, || report.ref_counts(side));
                    lint_region(sides[side], &objects[side], facts)
                }
                None => lint(sides[side], &[]),
            };
            findings.retain(|finding| finding.suppressed.is_none());
            findings
        };
        let (before, after) = rayon::join(|| find(0), || find(1));
        FindingChanges { new: without(&after, &before), fixed: without(&before, &after) }
    }
}

/// The findings that are not among `others`. A finding that occurs twice is removed only if it occurs twice there.
fn without(findings: &[Finding], others: &[Finding]) -> Vec<Finding> {
    let mut counts: HashMap<FindingKey, usize> = HashMap::new();
    for finding in others {
        *counts.entry(finding.key()).or_default() += 1;
    }
    let is_new = |finding: &&Finding| match counts.get_mut(&finding.key()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    findings.iter().filter(is_new).cloned().collect()
}
