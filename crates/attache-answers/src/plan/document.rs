use attache_engine::change::{Change, Changes, Leaf};
use attache_engine::status::PolicyStatus;
use attache_engine::value::Value;
use serde::Serialize;

use super::Touched;
use super::deletion::Deletion;
use crate::lint::{OfFinding, of_finding};
use crate::list::API_VERSION;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanDocument<'c> {
    api_version: &'static str,
    kind: &'static str,
    touched: Touched,
    deleted: Vec<OfDeletion>,
    changes: Vec<OfChange<'c>>,
    policies: Vec<OfPolicy<'c>>,
    findings: OfFindings<'c>,
}

#[derive(Debug, Serialize)]
struct OfDeletion {
    object: String,
    with: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfChange<'c> {
    policy_kind: &'c str,
    scopes: Vec<OfScope<'c>>,
    before: Option<&'c Value>,
    after: Option<&'c Value>,
    leaves: Vec<OfLeaf<'c>>,
}

#[derive(Debug, Serialize)]
pub struct OfScope<'c> {
    scope: &'c [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'c str>,
}

#[derive(Debug, Serialize)]
pub struct OfLeaf<'c> {
    path: String,
    before: Option<Set<'c>>,
    after: Option<Set<'c>>,
}

#[derive(Debug, Serialize)]
struct Set<'c> {
    value: &'c Value,
    policy: Option<&'c str>,
}

#[derive(Debug, Serialize)]
struct OfFindings<'c> {
    new: Vec<OfFinding<'c>>,
    fixed: Vec<OfFinding<'c>>,
}

#[derive(Debug, Serialize)]
struct OfPolicy<'c> {
    policy: &'c str,
    before: Option<&'static str>,
    after: Option<&'static str>,
}

pub fn plan_document<'c>(changes: &'c Changes, deletions: &[Deletion]) -> PlanDocument<'c> {
    let of_change = |change: &'c Change| OfChange {
        policy_kind: &change.policy_kind,
        scopes: of_scopes(change),
        before: change.before.as_ref().and_then(|effective| effective.spec.as_ref()),
        after: change.after.as_ref().and_then(|effective| effective.spec.as_ref()),
        leaves: of_leaves(change),
    };
    PlanDocument {
        api_version: API_VERSION,
        kind: "Plan",
        touched: Touched::by(&changes.effective),
        deleted: deletions
            .iter()
            .map(|it| OfDeletion {
                object: it.object.to_string(),
                with: it.with.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        changes: changes.effective.iter().map(of_change).collect(),
        policies: changes
            .statuses
            .iter()
            .map(|change| OfPolicy {
                policy: &change.policy,
                before: change.before.as_ref().map(word),
                after: change.after.as_ref().map(word),
            })
            .collect(),
        findings: OfFindings {
            new: changes.new_findings.iter().map(of_finding).collect(),
            fixed: changes.fixed_findings.iter().map(of_finding).collect(),
        },
    }
}

pub fn of_scopes(change: &Change) -> Vec<OfScope<'_>> {
    change.scopes.iter().map(|it| OfScope { scope: &it.nodes, from: it.from.as_deref() }).collect()
}

pub fn of_leaves(change: &Change) -> Vec<OfLeaf<'_>> {
    let leaves = change.leaves.iter().map(|leaf| OfLeaf {
        path: leaf.path.to_string(),
        before: leaf.before.as_ref().map(set),
        after: leaf.after.as_ref().map(set),
    });
    leaves.collect()
}

fn set(leaf: &Leaf) -> Set<'_> {
    Set { value: &leaf.value, policy: leaf.policy.as_deref() }
}

/// Why a policy is not accepted, or how much of it is in force.
pub fn word(status: &PolicyStatus) -> &'static str {
    status.refused.map_or(status.enforcement.name(), |reason| reason.name())
}
