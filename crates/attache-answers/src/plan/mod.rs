//! What a change of the input would change.

mod deletion;
mod edits;

use std::collections::BTreeSet;

use attache_engine::{
    Changes, EffectiveChange, GroupKind, IncrementalEngine, Level, Object, ObjectRef, PolicyStatus, Report,
    StatusChange, Value,
};
use serde::Serialize;

use crate::change::{ChangeGroup, LeafDocument, groups, leaf_documents, scope_documents};
use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::lint::FindingDocument;
use crate::object_query::ObjectQuery;
use crate::scopes::ScopeDocument;
use crate::snapshot::Snapshot;

pub use deletion::Deletion;
pub use edits::is_cluster_scoped;

/// A change of the input.
#[derive(Clone, Debug, Default)]
pub struct PlanQuery {
    /// Objects that are created, or replace those of the same name.
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
    /// What is deleted.
    pub deleted: Vec<Deletion>,
    /// The scopes whose effective policy changes, grouped by what was and will be in force.
    pub changes: Vec<PlannedChange>,
    /// The policies whose status changes.
    pub policies: Vec<PlannedStatus>,
    /// The lint findings that the change causes and fixes.
    pub findings: PlannedFindings,
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
    /// Its status before the change, in a word. `None` if it is new.
    pub before: Option<&'static str>,
    /// Its status after the change, in a word. `None` if it is deleted.
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

/// Applies a change to an engine, and says what it changes. `before` is the state of the engine.
pub fn plan(
    before: &Snapshot,
    engine: &mut IncrementalEngine,
    query: PlanQuery,
) -> Result<(PlanDocument, Report), QueryError> {
    let deletions = deletions(before, &query)?;
    let report = engine.apply(edits::edits(before, query.apply, deletions.iter().flat_map(Deletion::all)));
    Ok((PlanDocument::new(&report.changes(), deletions), report))
}

/// What is deleted of the objects that exist and those that are applied.
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

impl PlanDocument {
    fn new(changes: &Changes, deleted: Vec<Deletion>) -> PlanDocument {
        let status = |change: &StatusChange| PlannedStatus {
            policy: change.policy.clone(),
            before: change.before.as_ref().map(word),
            after: change.after.as_ref().map(word),
        };
        PlanDocument {
            api_version: API_VERSION,
            kind: "Plan",
            touched: Touched::new(&changes.effective),
            deleted,
            changes: changes.effective.iter().map(PlannedChange::new).collect(),
            policies: changes.statuses.iter().map(status).collect(),
            findings: PlannedFindings {
                new: changes.new_findings.iter().map(FindingDocument::new).collect(),
                fixed: changes.fixed_findings.iter().map(FindingDocument::new).collect(),
            },
            groups: groups(&changes.effective),
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

impl Touched {
    fn new(changes: &[EffectiveChange]) -> Touched {
        let (mut routes, mut backends, mut namespaces) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let scopes = changes.iter().flat_map(|change| &change.scopes);
        for node in scopes.clone().flat_map(|scope| &scope.nodes).filter(|node| node.section.is_none()) {
            match node.object_level() {
                Level::Route => _ = routes.insert(node),
                Level::Backend => _ = backends.insert(node),
                _ => continue,
            }
            namespaces.insert(&node.object.namespace);
        }
        namespaces.retain(|namespace| !namespace.is_empty());
        Touched { scopes: scopes.count(), routes: routes.len(), backends: backends.len(), namespaces: namespaces.len() }
    }
}

/// Why a policy is not accepted, or else how much of it is in force.
fn word(status: &PolicyStatus) -> &'static str {
    status.refused.map_or(status.enforcement.name(), |reason| reason.name())
}
