//! The status that each policy and each target should have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::kinds::KindId;
use attache_engine::{AncestorStatus, Path, PolicyReport, RejectionReason, StatusCondition};
use attache_engine::{Enforcement, NodeRef, ObjectRef, PolicyId, PolicyStatus, ScopeCounts, TargetStatus};
use attache_engine::{SupersededParts, TargetReport};
use serde::Serialize;
use smol_str::SmolStr;

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
    /// How much of it is in force.
    pub enforcement: Enforcement,
    /// The policies that override it, or a part of it.
    pub by: Vec<ObjectRef>,
    /// The number of scopes in which it is in force.
    pub scopes: ScopeCountsDocument,
    /// The number of effective targets on which it is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_targets: Option<TargetCounts>,
    /// The number of its rules that are in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleCounts>,
    /// The parts of it that are overridden somewhere, and by which policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<SupersededDocument>,
    /// Its conditions, as its controller reports them.
    pub conditions: Vec<ConditionDocument>,
    /// Its conditions for each ancestor: each Gateway or mesh Service through which requests arrive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<AncestorDocument>,
    /// Differences between the reported conditions and what is in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether a block of it has a condition.
    #[serde(skip)]
    pub has_condition: bool,
}

/// Parts of a policy that one other policy overrides.
#[derive(Clone, Debug, Serialize)]
pub struct SupersededDocument {
    /// The other policy. Absent if the target itself sets the parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<ObjectRef>,
    /// The parts. An empty path is the whole policy.
    pub paths: Vec<Path>,
}

/// The status of a policy for one ancestor, as in `status.ancestors`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AncestorDocument {
    /// The ancestor.
    pub ancestor_ref: AncestorReference,
    /// The controller of the ancestor.
    pub controller_name: SmolStr,
    /// The conditions for this ancestor.
    pub conditions: Vec<ConditionDocument>,
    /// The ancestor.
    #[serde(skip)]
    pub ancestor: NodeRef,
    /// Why the policy is not accepted there, or how much of it is in force.
    #[serde(skip)]
    pub word: &'static str,
    /// Why not all of it is in force.
    #[serde(skip)]
    pub message: String,
    /// Which parts of it are overridden there.
    #[serde(skip)]
    pub superseded: Vec<SupersededDocument>,
}

/// A reference to an ancestor, as in the Gateway API.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AncestorReference {
    /// The group; empty for the core group.
    pub group: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// The namespace. Absent for a cluster-scoped object.
    #[serde(skip_serializing_if = "SmolStr::is_empty")]
    pub namespace: SmolStr,
    /// The name.
    pub name: SmolStr,
    /// The listener, rule or port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_name: Option<SmolStr>,
}

/// Whether a policy is accepted.
#[derive(Clone, Debug, Serialize)]
pub struct Accepted {
    /// `True` or `False`.
    pub status: &'static str,
    /// `Accepted`, or why it is not.
    pub reason: &'static str,
    /// Details of the reason.
    pub message: String,
    /// Why it is not accepted.
    #[serde(skip)]
    pub refused: Option<RejectionReason>,
}

/// The number of scopes in which a policy is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeCountsDocument {
    /// All scopes that it reaches.
    pub total: u64,
    /// Scopes in which all of it is in force.
    pub enforced: u64,
    /// Scopes in which a part of it is in force.
    pub partial: u64,
    /// Scopes in which nothing of it is in force, because other policies override it.
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
    /// The policies that set a value in one of its scopes.
    pub affected_by: Vec<ObjectRef>,
    /// Its conditions, one for each kind of policy.
    pub conditions: Vec<ConditionDocument>,
    /// Annotations with the same content, for an object without `status.conditions`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
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
    let mut statuses = snapshot.engine.rolled_up(snapshot.engine.target_statuses());
    statuses.retain(|status| snapshot.is_in(status.target, namespace));
    let document = |(status, report): (&TargetStatus, TargetReport)| TargetStatusDocument {
        target: snapshot.node_ref(status.target),
        affected_by: snapshot.policy_refs(&status.affected_by),
        conditions: documents(report.conditions),
        annotations: report.annotations,
    };
    statuses.iter().zip(snapshot.engine.target_reports(&statuses)).map(document).collect()
}

/// Statuses with their coverage.
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

/// Statuses with conditions, but without coverage.
pub(crate) fn without_coverage(snapshot: &Snapshot, statuses: &[PolicyStatus]) -> Vec<PolicyStatusDocument> {
    let mut all = without_conditions(snapshot, statuses);
    for (document, report) in all.iter_mut().zip(snapshot.engine.policy_reports(statuses)) {
        let PolicyReport { conditions, ancestors, superseded, notes } = report;
        document.conditions = documents(conditions);
        document.superseded = superseded_documents(snapshot, superseded);
        let ancestor = |(status, conditions)| AncestorDocument::new(snapshot, status, conditions);
        document.ancestors = ancestors.into_iter().map(ancestor).collect();
        document.notes = notes.iter().map(ToString::to_string).collect();
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
            superseded: Vec::new(),
            conditions: Vec::new(),
            ancestors: Vec::new(),
            notes: Vec::new(),
            has_condition: snapshot.engine.policy(status.policy).blocks.iter().any(|block| block.when.is_some()),
        }
    };
    statuses.iter().map(document).collect()
}

pub(crate) fn documents(conditions: Vec<StatusCondition>) -> Vec<ConditionDocument> {
    conditions.into_iter().map(ConditionDocument::from).collect()
}

fn superseded_documents(snapshot: &Snapshot, superseded: Vec<SupersededParts>) -> Vec<SupersededDocument> {
    let document =
        |SupersededParts { by, paths }| SupersededDocument { by: by.map(|by| snapshot.policy_ref(by)), paths };
    superseded.into_iter().map(document).collect()
}

impl AncestorDocument {
    fn new(snapshot: &Snapshot, at: AncestorStatus, conditions: Vec<StatusCondition>) -> AncestorDocument {
        let AncestorStatus { ancestor, controller_name, status, superseded, .. } = at;
        let ObjectRef { group, kind, namespace, name, .. } = ancestor.object.clone();
        AncestorDocument {
            ancestor_ref: AncestorReference { group, kind, namespace, name, section_name: ancestor.section.clone() },
            controller_name,
            conditions: documents(conditions),
            word: status.refused.map_or(status.enforcement.name(), |reason| reason.name()),
            message: status.message(),
            superseded: superseded_documents(snapshot, superseded),
            ancestor,
        }
    }
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
