//! Changes as they happen.

use std::sync::Arc;

use attache_engine::{
    EffectiveChange, EffectivePolicy, GroupKind, LeafChange, NodeRef, ObjectRef, PolicyStatus, Report, ScopeRef,
    StatusChange, TargetChange,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::change::{ChangeGroup, LeafDocument, groups, leaf_documents, redact_groups, redact_leaves, scope_documents};
use crate::document::API_VERSION;
use crate::effective::EffectiveDocument;
use crate::scopes::ScopeDocument;
use crate::snapshot::Snapshot;
use crate::status::{PolicyStatusDocument, without_conditions, without_coverage};

/// Selects the changes to show.
#[derive(Clone, Debug)]
pub enum ChangeFilter {
    /// Everything, in one namespace or in all.
    Everything {
        /// The namespace.
        namespace: Option<String>,
    },
    /// The changes that concern one object: of scopes that pass through it, of values that it sets, of its status.
    Object(NodeRef),
}

/// The changes that a batch of edits causes and a filter includes.
#[derive(Debug)]
pub struct WatchedChanges<'r> {
    report: &'r Report,
    effective: Vec<EffectiveChange>,
    policies: Vec<StatusChange>,
    /// The targets whose affecting policies changed.
    pub targets: Vec<TargetChange>,
    redacts: bool,
}

/// A policy whose status changed.
#[derive(Clone, Debug)]
pub struct PolicyStatusChange {
    /// The policy.
    pub policy: ObjectRef,
    /// Its status before the change, without conditions. `None` if the policy is new.
    pub before: Option<PolicyStatusDocument>,
    /// Its status after the change, without conditions. `None` if the policy was deleted.
    pub after: Option<PolicyStatusDocument>,
}

/// The document `Change`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeDocument {
    api_version: &'static str,
    kind: &'static str,
    /// The time of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// What changed.
    #[serde(flatten)]
    pub change: AnyChange,
}

/// What changed.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AnyChange {
    /// The effective policy of some scopes.
    Effective {
        /// The kind of the policies.
        policy_kind: GroupKind,
        /// The scopes.
        scopes: Vec<ScopeDocument>,
        /// The effective policy before the change.
        before: Option<EffectiveDocument>,
        /// The effective policy after the change.
        after: Option<EffectiveDocument>,
        /// The values that changed.
        leaves: Vec<LeafDocument>,
    },
    /// The status of a policy.
    PolicyStatus {
        /// The policy.
        policy: ObjectRef,
        /// Its status before the change.
        before: Option<Box<PolicyStatusDocument>>,
        /// Its status after the change.
        after: Option<Box<PolicyStatusDocument>>,
    },
    /// The policies that affect a target.
    TargetStatus {
        /// The target.
        target: NodeRef,
        /// The policies before the change.
        before: AffectedBy,
        /// The policies after the change.
        after: AffectedBy,
    },
}

/// The policies that affect a target.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AffectedBy {
    /// The policies, sorted.
    pub affected_by: Vec<ObjectRef>,
}

impl<'r> WatchedChanges<'r> {
    /// The changes of a report that a filter includes.
    pub fn new(report: &'r Report, filter: &ChangeFilter) -> WatchedChanges<'r> {
        let (mut effective, mut policies, mut targets) = (report.effective(), report.policies(), report.targets());
        for change in &mut effective {
            if !filter.sets(&change.leaves) {
                change.scopes.retain(|scope| filter.includes_scope(scope));
            }
        }
        effective.retain(|change| !change.scopes.is_empty());
        policies.retain(|change| filter.includes_object(&change.policy));
        targets.retain(|change| filter.includes(&change.target));
        WatchedChanges { report, effective, policies, targets, redacts: false }
    }

    /// The same without the values that a PolicyKind lists under `redact`.
    pub fn redacting(self) -> WatchedChanges<'r> {
        WatchedChanges { redacts: true, ..self }
    }

    /// A document for each change: effective policies first, then policies, then targets.
    pub fn documents(&self, time: Option<Timestamp>) -> Vec<ChangeDocument> {
        let [before, after] = self.sides();
        let effective = self.effective.iter().map(|change| {
            let mut leaves = leaf_documents(&change.leaves);
            redact_leaves(&after, &change.policy_kind, &mut leaves);
            AnyChange::Effective {
                policy_kind: change.policy_kind.clone(),
                scopes: scope_documents(&change.scopes),
                before: effective_document(&before, change, &change.before),
                after: effective_document(&after, change, &change.after),
                leaves,
            }
        });
        let was = self.statuses(|change| &change.before, |statuses| without_coverage(&before, statuses));
        let is = self.statuses(|change| &change.after, |statuses| without_coverage(&after, statuses));
        let policies = self.policies.iter().zip(was.into_iter().zip(is));
        let policies = policies.map(|(change, (before, after))| AnyChange::PolicyStatus {
            policy: change.policy.clone(),
            before: before.map(Box::new),
            after: after.map(Box::new),
        });
        let targets = self.targets.iter().map(|change| AnyChange::TargetStatus {
            target: change.target.clone(),
            before: AffectedBy { affected_by: change.before.clone() },
            after: AffectedBy { affected_by: change.after.clone() },
        });
        let time = time.map(|time| time.to_string());
        let document = |change| ChangeDocument { api_version: API_VERSION, kind: "Change", time: time.clone(), change };
        effective.chain(policies).chain(targets).map(document).collect()
    }

    /// The changes of effective policies, grouped by the values that changed.
    pub fn groups(&self) -> Vec<ChangeGroup> {
        let [_, after] = self.sides();
        let mut groups = groups(&self.effective);
        redact_groups(&after, &mut groups);
        groups
    }

    /// The policies whose status changed.
    pub fn policies(&self) -> Vec<PolicyStatusChange> {
        let [before, after] = self.sides();
        let was = self.statuses(|change| &change.before, |statuses| without_conditions(&before, statuses));
        let is = self.statuses(|change| &change.after, |statuses| without_conditions(&after, statuses));
        let changes = self.policies.iter().zip(was.into_iter().zip(is));
        changes
            .map(|(change, (before, after))| PolicyStatusChange { policy: change.policy.clone(), before, after })
            .collect()
    }

    fn sides(&self) -> [Snapshot; 2] {
        [&self.report.before, &self.report.after].map(|engine| {
            let snapshot = Snapshot::new(Arc::clone(engine), Vec::new());
            if self.redacts { snapshot.redacting() } else { snapshot }
        })
    }

    /// The status of each policy on one side. Those that exist there are computed together.
    fn statuses(
        &self,
        side: impl Fn(&StatusChange) -> &Option<PolicyStatus>,
        documents: impl FnOnce(&[PolicyStatus]) -> Vec<PolicyStatusDocument>,
    ) -> Vec<Option<PolicyStatusDocument>> {
        let existing: Vec<PolicyStatus> = self.policies.iter().filter_map(|change| side(change).clone()).collect();
        let mut documents = documents(&existing).into_iter();
        self.policies.iter().map(|change| side(change).as_ref().and_then(|_| documents.next())).collect()
    }
}

fn effective_document(
    snapshot: &Snapshot,
    change: &EffectiveChange,
    effective: &Option<Arc<EffectivePolicy>>,
) -> Option<EffectiveDocument> {
    let kinds = snapshot.engine.kinds();
    let kind = kinds.get(kinds.find(&change.policy_kind.group, &change.policy_kind.kind)?);
    effective.as_ref().map(|effective| EffectiveDocument::new(snapshot, effective, kind))
}

impl ChangeFilter {
    /// Whether the object is a policy that sets one of these values, or did.
    fn sets(&self, leaves: &[LeafChange]) -> bool {
        let ChangeFilter::Object(NodeRef { object, section: None }) = self else { return false };
        let mut sides = leaves.iter().flat_map(|leaf| leaf.before.iter().chain(&leaf.after));
        sides.any(|leaf| leaf.policies.contains(object))
    }

    fn includes_scope(&self, scope: &ScopeRef) -> bool {
        match self {
            ChangeFilter::Everything { .. } => scope.target().is_some_and(|target| self.includes(target)),
            ChangeFilter::Object(wanted) => scope.nodes.iter().chain(&scope.from).any(|node| **node == *wanted),
        }
    }

    /// Whether a node is included. An object includes its sections.
    fn includes(&self, node: &NodeRef) -> bool {
        match self {
            ChangeFilter::Object(wanted) if wanted.section.is_some() => node == wanted,
            _ => self.includes_object(&node.object),
        }
    }

    fn includes_object(&self, id: &ObjectRef) -> bool {
        match self {
            ChangeFilter::Everything { namespace: None } => true,
            ChangeFilter::Everything { namespace: Some(wanted) } => id.namespace == wanted.as_str(),
            ChangeFilter::Object(wanted) => wanted.section.is_none() && wanted.object == *id,
        }
    }
}
