use attache_engine::change::{EffectiveChange, Leaf};
use attache_engine::object::ObjectRef;
use attache_engine::plan::Changes;
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
    policies: Vec<OfPolicy>,
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
    policy_kind: String,
    scopes: Vec<OfScope>,
    before: Option<&'c Value>,
    after: Option<&'c Value>,
    leaves: Vec<OfLeaf<'c>>,
}

#[derive(Debug, Serialize)]
pub struct OfScope {
    scope: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
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
    policy: Option<String>,
}

#[derive(Debug, Serialize)]
struct OfFindings<'c> {
    new: Vec<OfFinding<'c>>,
    fixed: Vec<OfFinding<'c>>,
}

#[derive(Debug, Serialize)]
struct OfPolicy {
    policy: String,
    before: Option<&'static str>,
    after: Option<&'static str>,
}

pub fn plan_document<'c>(changes: &'c Changes, deletions: &[Deletion]) -> PlanDocument<'c> {
    let of_change = |change: &'c EffectiveChange| OfChange {
        policy_kind: change.policy_kind.to_string(),
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
                policy: change.policy.to_string(),
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

pub fn of_scopes(change: &EffectiveChange) -> Vec<OfScope> {
    let scopes = change.scopes.iter().map(|it| OfScope {
        scope: it.nodes.iter().map(ToString::to_string).collect(),
        from: it.from.as_ref().map(ToString::to_string),
    });
    scopes.collect()
}

pub fn of_leaves(change: &EffectiveChange) -> Vec<OfLeaf<'_>> {
    let leaves = change.leaves.iter().map(|leaf| OfLeaf {
        path: leaf.path.to_string(),
        before: leaf.before.as_ref().map(set),
        after: leaf.after.as_ref().map(set),
    });
    leaves.collect()
}

fn set(leaf: &Leaf) -> Set<'_> {
    Set { value: &leaf.value, policy: setters(leaf) }
}

/// The policies that set a value, if any does: `RetryPolicy/baker/patient, RetryPolicy/baker/hasty`.
pub fn setters(leaf: &Leaf) -> Option<String> {
    let names = leaf.policies.iter().map(ObjectRef::to_string).collect::<Vec<_>>();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Why a policy is not accepted, or how much of it is in force.
pub fn word(status: &PolicyStatus) -> &'static str {
    status.refused.map_or(status.enforcement.name(), |reason| reason.name())
}
