//! Everything that a batch of edits changes: effective policies, statuses of policies, and lint findings.

use crate::change::{EffectiveChange, StatusChange};
use crate::incremental::Report;
use crate::lint::{Finding, FindingChanges};

/// Everything that a batch of edits changes.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The scopes whose effective policy changes, grouped by what changes.
    pub effective: Vec<EffectiveChange>,
    /// The policies whose status changes, sorted by policy.
    pub statuses: Vec<StatusChange>,
    /// The lint findings that the batch causes.
    pub new_findings: Vec<Finding>,
    /// The lint findings that the batch fixes.
    pub fixed_findings: Vec<Finding>,
}

impl Changes {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.effective.is_empty()
            && self.statuses.is_empty()
            && self.new_findings.is_empty()
            && self.fixed_findings.is_empty()
    }
}

impl Report {
    /// Everything that the batch changes, with the lint findings that it causes and fixes.
    pub fn changes(&self) -> Changes {
        let FindingChanges { new, fixed } = FindingChanges::between(self);
        Changes {
            effective: self.effective(),
            statuses: self.policies().into_iter().filter(StatusChange::is_significant).collect(),
            new_findings: new,
            fixed_findings: fixed,
        }
    }
}
