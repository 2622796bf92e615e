//! The status that each policy and each target should have.

use std::collections::{BTreeSet, HashMap};

use attache_engine::kinds::KindId;
use attache_engine::{Enforcement, NodeRef, ObjectRef, PolicyId, PolicyStatus, ScopeCounts, TargetStatus};
use attache_engine::{RejectionReason, StatusCondition};
use serde::Serialize;

use crate::coverage::{Coverage, RuleCounts, TargetCounts, coverage};
use crate::document::API_VERSION;
use crate::snapshot::Snapshot;

/// The document `StatusList`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusList {
    api_version: &'static str,
    kind: &'static str,
    /// Every policy.
    pub policies: Vec<PolicyStatusDocument>,
    /// Every node that policies affect.
    pub targets: Vec<TargetStatusDocument>,
}

/// The status of a policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatusDocument {
    /// The policy.
    pub policy: ObjectRef,
    /// Whether it is accepted.
    pub accepted: Accepted,
    /// Whether all of it, a part of it or nothing of it is in force.
    pub enforcement: Enforcement,
    /// The policies that override it, or a part of it.
    pub by: Vec<ObjectRef>,
    /// In how many scopes it is in force.
    pub scopes: ScopeCountsDocument,
    /// On how many effective targets it is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_targets: Option<TargetCounts>,
    /// How many of its rules are in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleCounts>,
    /// Its conditions, in the words of its system.
    pub conditions: Vec<ConditionDocument>,
    /// Whether a block of it has a condition.
    #[serde(skip)]
    pub has_condition: bool,
}

/// Whether a policy is accepted.
#[derive(Clone, Debug, Serialize)]
pub struct Accepted {
    /// `True` or `False`.
    pub status: &'static str,
    /// `Accepted`, or why it is not.
    pub reason: &'static str,
    /// More about the reason.
    pub message: String,
    /// Why it is not accepted.
    #[serde(skip)]
    pub refused: Option<RejectionReason>,
}

/// In how many scopes a policy is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeCountsDocument {
    /// All scopes that it reaches.
    pub total: u64,
    /// Those in which all of it is in force.
    pub enforced: u64,
    /// Those in which a part of it is in force.
    pub partial: u64,
    /// Those in which nothing of it is in force, because other policies override it.
    pub overridden: u64,
}

/// A Kubernetes condition, without the time of the last transition.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionDocument {
    /// The type.
    pub r#type: String,
    /// `True` or `False`.
    pub status: &'static str,
    /// The reason.
    pub reason: String,
    /// The message.
    pub message: String,
    /// The generation of the object that the condition is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A node that policies affect.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetStatusDocument {
    /// The node.
    pub target: NodeRef,
    /// The policies that set something in one of its scopes.
    pub affected_by: Vec<ObjectRef>,
    /// Its conditions, one for each kind of policy.
    pub conditions: Vec<ConditionDocument>,
}

/// The status of all policies and targets, in one namespace or in all.
pub fn status(snapshot: &Snapshot, namespace: Option<&str>) -> StatusList {
    let policies = policy_statuses(snapshot, namespace);
    StatusList { api_version: API_VERSION, kind: "StatusList", policies, targets: target_statuses(snapshot, namespace) }
}

/// The status of all policies, in one namespace or in all.
pub fn policy_statuses(snapshot: &Snapshot, namespace: Option<&str>) -> Vec<PolicyStatusDocument> {
    let mut statuses = snapshot.engine.policy_statuses();
    statuses
        .retain(|status| namespace.is_none_or(|wanted| snapshot.engine.policy_id(status.policy).namespace == wanted));
    with_coverage(snapshot, &statuses)
}

/// The status of all targets, in one namespace or in all.
pub fn target_statuses(snapshot: &Snapshot, namespace: Option<&str>) -> Vec<TargetStatusDocument> {
    let mut statuses = snapshot.engine.target_statuses();
    statuses.retain(|status| snapshot.is_in(status.target, namespace));
    let document = |status: &TargetStatus| TargetStatusDocument {
        target: snapshot.node_ref(status.target),
        affected_by: snapshot.policy_refs(&status.affected_by),
        conditions: documents(snapshot.engine.target_conditions(status)),
    };
    statuses.iter().map(document).collect()
}

/// Statuses, with how much of each policy is in force.
pub(crate) fn with_coverage(snapshot: &Snapshot, statuses: &[PolicyStatus]) -> Vec<PolicyStatusDocument> {
    let engine = &snapshot.engine;
    let only = match statuses {
        [status] => Some(status.policy),
        _ => None,
    };
    let kinds = statuses.iter().map(|status| engine.kinds().leader(engine.policy(status.policy).kind));
    let kinds: BTreeSet<KindId> = kinds.collect();
    let models = kinds.into_iter().filter_map(|kind| engine.model(kind));
    let coverage: HashMap<PolicyId, Coverage> = models.flat_map(|model| coverage(snapshot, model, only)).collect();
    let mut documents = without_coverage(snapshot, statuses);
    for (document, status) in documents.iter_mut().zip(statuses) {
        let Coverage { targets, rules } = coverage.get(&status.policy).cloned().unwrap_or_default();
        (document.effective_targets, document.rules) = (Some(targets), Some(rules));
    }
    documents
}

/// Statuses with conditions, but without how much of each policy is in force.
pub(crate) fn without_coverage(snapshot: &Snapshot, statuses: &[PolicyStatus]) -> Vec<PolicyStatusDocument> {
    let mut all = without_conditions(snapshot, statuses);
    for (document, conditions) in all.iter_mut().zip(snapshot.engine.policy_conditions(statuses)) {
        document.conditions = documents(conditions);
    }
    all
}

/// Statuses without conditions. Conditions depend on all policies of a kind, and take longer.
pub(crate) fn without_conditions(snapshot: &Snapshot, statuses: &[PolicyStatus]) -> Vec<PolicyStatusDocument> {
    let document = |status: &PolicyStatus| {
        let ScopeCounts { total, enforced, partial, overridden } = status.scopes;
        PolicyStatusDocument {
            policy: snapshot.policy_ref(status.policy),
            accepted: Accepted {
                status: if status.refused.is_none() { "True" } else { "False" },
                reason: status.refused.map_or("Accepted", |reason| reason.name()),
                message: status.message(),
                refused: status.refused,
            },
            enforcement: status.enforcement,
            by: snapshot.policy_refs(&status.by),
            scopes: ScopeCountsDocument { total, enforced, partial, overridden },
            effective_targets: None,
            rules: None,
            conditions: Vec::new(),
            has_condition: snapshot.engine.policy(status.policy).blocks.iter().any(|block| block.when.is_some()),
        }
    };
    statuses.iter().map(document).collect()
}

pub(crate) fn documents(conditions: Vec<StatusCondition>) -> Vec<ConditionDocument> {
    conditions.into_iter().map(ConditionDocument::from).collect()
}

impl From<StatusCondition> for ConditionDocument {
    fn from(condition: StatusCondition) -> Self {
        let StatusCondition { r#type, is_true, reason, message, observed_generation } = condition;
        let status = if is_true { "True" } else { "False" };
        ConditionDocument { r#type, status, reason, message, observed_generation }
    }
}

impl PolicyStatusDocument {
    /// Why the policy is not accepted, or else how much of it is in force: `Conflicted`, `PartiallyEnforced`.
    pub fn word(&self) -> &'static str {
        self.accepted.refused.map_or(self.enforcement.name(), |reason| reason.name())
    }
}
