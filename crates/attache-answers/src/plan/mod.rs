//! The effects of a change of the input, before it is made.

mod deletion;
mod edits;

use std::collections::BTreeSet;

use attache_engine::lint::{Finding, FindingChanges};
use attache_engine::{
    Changes, EffectiveChange, Engine, GroupKind, Impact, IncrementalEngine, NodeRef, Object, ObjectRef, Path,
    PolicyStatus, Report, StatusChange, Value,
};
use serde::Serialize;

use crate::change::{
    ChangeGroup, ChangeSummary, LeafDocument, groups, leaf_documents, redact_groups, redact_leaves, scope_documents,
    summaries,
};
use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::lint::FindingDocument;
use crate::object_query::ObjectQuery;
use crate::scopes::{ScopeDocument, is_routed};
use crate::snapshot::Snapshot;

pub use deletion::Deletion;
pub use edits::is_cluster_scoped;

/// A change of the input.
#[derive(Clone, Debug, Default)]
pub struct PlanQuery {
    /// Objects that are created, or that replace those with the same name.
    pub apply: Vec<Object>,
    /// Objects that are deleted.
    pub delete: Vec<ObjectQuery>,
    /// The namespace of the objects that are deleted.
    pub namespace: Option<String>,
}

/// The document `Plan`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanDocument {
    api_version: &'static str,
    kind: &'static str,
    /// How much the change affects.
    pub touched: Touched,
    /// The deleted objects.
    pub deleted: Vec<Deletion>,
    /// The scopes whose effective policy changes, grouped by the policy before and after.
    pub changes: Vec<PlannedChange>,
    /// The policies whose status changes.
    pub policies: Vec<PlannedStatus>,
    /// The lint findings that the change causes and fixes.
    pub findings: PlannedFindings,
    /// Backends whose effective policy changes, and that no route leads to any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unrouted: Vec<NodeRef>,
    /// The same as `changes`, grouped by the values that change.
    #[serde(skip)]
    pub groups: Vec<ChangeGroup>,
}

/// How much a change affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// The scopes whose effective policy changes.
    pub scopes: usize,
    /// The routes in those scopes.
    pub routes: usize,
    /// The backends in those scopes.
    pub backends: usize,
    /// The namespaces of those routes and backends.
    pub namespaces: usize,
}

/// Scopes whose effective policy changes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedChange {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The scopes.
    pub scopes: Vec<ScopeDocument>,
    /// The spec before the change.
    pub before: Option<Value>,
    /// The spec after the change.
    pub after: Option<Value>,
    /// The values that change.
    pub leaves: Vec<LeafDocument>,
}

/// A policy whose status changes.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedStatus {
    /// The policy.
    pub policy: ObjectRef,
    /// Its status before the change, as one word. `None` if it is new.
    pub before: Option<&'static str>,
    /// Its status after the change, as one word. `None` if it is deleted.
    pub after: Option<&'static str>,
}

/// The lint findings that a change causes and fixes.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedFindings {
    /// The findings that it causes.
    pub new: Vec<FindingDocument>,
    /// The findings that it fixes.
    pub fixed: Vec<FindingDocument>,
}

/// Applies a change to an engine, and returns its effects. `before` is the state of the engine.
pub fn plan(
    before: &Snapshot,
    engine: &mut IncrementalEngine,
    query: PlanQuery,
) -> Result<(PlanDocument, Report), QueryError> {
    let deletions = deletions(before, &query)?;
    let report = engine.apply(edits::edits(before, query.apply, deletions.iter().flat_map(Deletion::all)));
    let changes = report.changes();
    let mut document = PlanDocument::new(&changes, deletions);
    document.unrouted = unrouted(&changes, &report);
    document.redact(before);
    Ok((document, report))
}

/// The effects of a change in numbers, with the first names of what it affects.
#[derive(Clone, Debug)]
pub struct PlanSummary {
    /// How much the change affects.
    pub touched: Touched,
    /// The deleted objects.
    pub deleted: Vec<Deletion>,
    /// The scopes whose effective policy changes, grouped by the values that change.
    pub groups: Vec<ChangeSummary>,
    /// The policies whose status changes.
    pub policies: Vec<PlannedStatus>,
    /// The lint findings that the change causes and fixes.
    pub findings: PlannedFindings,
}

/// The same as [`plan`] in numbers, which takes less time. `names` is the number of places of each change to name.
pub fn plan_summary(
    before: &Snapshot,
    engine: &mut IncrementalEngine,
    query: PlanQuery,
    names: usize,
) -> Result<(PlanSummary, Report), QueryError> {
    let deleted = deletions(before, &query)?;
    let report = engine.apply(edits::edits(before, query.apply, deleted.iter().flat_map(Deletion::all)));
    let effects = || (summaries(&report, names), report.impact());
    let (findings, (mut groups, impact)) = rayon::join(|| FindingChanges::between(&report), effects);
    for group in &mut groups {
        redact_leaves(before, &group.policy_kind, &mut group.leaves);
    }
    let summary = PlanSummary {
        touched: Touched::with_impact(groups.iter().map(|group| group.scopes).sum(), impact),
        deleted,
        groups,
        policies: report.policies().iter().filter(|it| it.is_significant()).map(PlannedStatus::new).collect(),
        findings: PlannedFindings::new(&findings.new, &findings.fixed),
    };
    Ok((summary, report))
}

/// The deletions, of objects that exist or are applied.
fn deletions(before: &Snapshot, query: &PlanQuery) -> Result<Vec<Deletion>, QueryError> {
    let objects = before.engine.objects().iter().map(|(_, object)| object).chain(&query.apply);
    let deletion = |object: &ObjectQuery| {
        let found = before.find(object, query.namespace.as_deref())?;
        match found.section {
            None => Ok(Deletion::new(found.object, objects.clone())),
            Some(_) => Err(QueryError::SectionDeleted { section: Box::new(found) }),
        }
    };
    query.delete.iter().map(deletion).collect()
}

/// The backends in changed scopes that a route leads to before a change, and none after it.
fn unrouted(changes: &Changes, report: &Report) -> Vec<NodeRef> {
    let targets = changes.effective.iter().flat_map(|change| &change.scopes).filter_map(|scope| scope.target());
    let backends: BTreeSet<NodeRef> = targets.map(NodeRef::whole).collect();
    let is_routed_in = |engine: &Engine, node: &NodeRef| engine.find_node(node).map(|node| is_routed(engine, node));
    let is_cut_off = |node: &NodeRef| {
        let exists = report.after.objects().find(&node.object).is_some();
        exists && is_routed_in(&report.before, node) == Some(true) && is_routed_in(&report.after, node) == Some(false)
    };
    backends.into_iter().filter(is_cut_off).collect()
}

impl PlanDocument {
    fn new(changes: &Changes, deleted: Vec<Deletion>) -> PlanDocument {
        PlanDocument {
            api_version: API_VERSION,
            kind: "Plan",
            touched: Touched::new(&changes.effective),
            deleted,
            changes: changes.effective.iter().map(PlannedChange::new).collect(),
            policies: changes.statuses.iter().map(PlannedStatus::new).collect(),
            findings: PlannedFindings::new(&changes.new_findings, &changes.fixed_findings),
            groups: groups(&changes.effective),
            unrouted: Vec::new(),
        }
    }

    /// Leaves out the values that are not shown to readers of a snapshot.
    fn redact(&mut self, snapshot: &Snapshot) {
        redact_groups(snapshot, &mut self.groups);
        for PlannedChange { policy_kind, before, after, leaves, .. } in &mut self.changes {
            redact_leaves(snapshot, policy_kind, leaves);
            for spec in before.iter_mut().chain(after) {
                *spec = snapshot.shown_of(policy_kind, &Path::default(), spec);
            }
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        let PlannedFindings { new, fixed } = &self.findings;
        self.changes.is_empty() && self.policies.is_empty() && new.is_empty() && fixed.is_empty()
    }
}

impl PlannedChange {
    fn new(change: &EffectiveChange) -> PlannedChange {
        PlannedChange {
            policy_kind: change.policy_kind.clone(),
            scopes: scope_documents(&change.scopes),
            before: change.before.as_ref().and_then(|effective| effective.spec.clone()),
            after: change.after.as_ref().and_then(|effective| effective.spec.clone()),
            leaves: leaf_documents(&change.leaves),
        }
    }
}

impl PlannedStatus {
    fn new(change: &StatusChange) -> PlannedStatus {
        PlannedStatus {
            policy: change.policy.clone(),
            before: change.before.as_ref().map(word),
            after: change.after.as_ref().map(word),
        }
    }
}

impl PlannedFindings {
    fn new(new: &[Finding], fixed: &[Finding]) -> PlannedFindings {
        PlannedFindings {
            new: new.iter().map(FindingDocument::new).collect(),
            fixed: fixed.iter().map(FindingDocument::new).collect(),
        }
    }
}

impl Touched {
    fn new(changes: &[EffectiveChange]) -> Touched {
        Touched::with_impact(changes.iter().map(|change| change.scopes.len()).sum(), Impact::new(changes))
    }

    fn with_impact(scopes: usize, impact: Impact) -> Touched {
        let Impact { routes, backends, namespaces, .. } = impact;
        Touched { scopes, routes, backends, namespaces }
    }
}

/// Why a policy is not accepted, or else how much of it is in force.
fn word(status: &PolicyStatus) -> &'static str {
    status.refused.map_or(status.enforcement.name(), |reason| reason.name())
}
