//! Totals of everything.

use attache_engine::{Enforcement, Level, Severity};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::lint::FindingList;
use crate::snapshot::Snapshot;

/// The document `Summary`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    api_version: &'static str,
    kind: &'static str,
    /// The number of objects.
    pub objects: usize,
    /// The number of Gateways.
    pub gateways: usize,
    /// The number of routes, of all kinds.
    pub routes: usize,
    /// The number of backends, of all kinds.
    pub backends: usize,
    /// The number of policies, by enforcement.
    pub policies: PolicyTotals,
    /// The number of lint findings.
    pub problems: ProblemTotals,
}

/// The number of policies, by enforcement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyTotals {
    /// All policies.
    pub total: usize,
    /// Policies of which everything is in force.
    pub enforced: usize,
    /// Policies of which a part is in force.
    pub partially_enforced: usize,
    /// Policies that other policies override everywhere.
    pub overridden: usize,
    /// Policies that have no effect for another reason.
    pub not_enforced: usize,
    /// Policies that are not accepted.
    pub not_accepted: usize,
}

/// The number of lint findings, without suppressed ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProblemTotals {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Findings that are not problems, but good to know.
    pub infos: usize,
}

impl ProblemTotals {
    /// All of them.
    pub fn total(&self) -> usize {
        self.errors + self.warnings + self.infos
    }
}

/// Totals of a snapshot. `findings` are those of the same snapshot.
pub fn summary(snapshot: &Snapshot, findings: &FindingList) -> Summary {
    let engine = &snapshot.engine;
    let mut policies = PolicyTotals::default();
    for status in engine.policy_statuses() {
        policies.total += 1;
        let count = match status.enforcement {
            _ if status.refused.is_some() => &mut policies.not_accepted,
            Enforcement::Enforced => &mut policies.enforced,
            Enforcement::PartiallyEnforced => &mut policies.partially_enforced,
            Enforcement::Overridden => &mut policies.overridden,
            _ => &mut policies.not_enforced,
        };
        *count += 1;
    }
    let mut problems = ProblemTotals::default();
    for finding in findings.items.iter().filter(|finding| finding.suppressed.is_none()) {
        *match finding.severity {
            Severity::Error => &mut problems.errors,
            Severity::Warning => &mut problems.warnings,
            Severity::Info => &mut problems.infos,
        } += 1;
    }
    let (mut gateways, mut routes, mut backends) = (0, 0, 0);
    for (_, node) in engine.topology().nodes() {
        match node.level {
            Level::Gateway => gateways += 1,
            Level::Route => routes += 1,
            Level::Backend => backends += 1,
            _ => {}
        }
    }
    let (api_version, kind) = (API_VERSION, "Summary");
    Summary { api_version, kind, objects: engine.objects().len(), gateways, routes, backends, policies, problems }
}
