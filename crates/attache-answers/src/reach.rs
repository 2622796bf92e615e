//! Where a policy applies, what it affects, and which policies override it where.

use std::collections::BTreeMap;

use attache_engine::{Level, NodeId, NodeRef, ObjectRef, Path, PolicyId, Reach, ReachPart, Scope};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::effective::LostPath;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::scopes::ScopeDocument;
use crate::snapshot::Snapshot;
use crate::status::{PolicyStatusDocument, with_coverage};
use crate::suggestions::nearest_rules;

/// Which policy to look at.
#[derive(Clone, Debug)]
pub struct ReachQuery {
    /// The policy.
    pub policy: ObjectQuery,
    /// Only this rule of it: its name, or its dotted path.
    pub rule: Option<String>,
    /// The namespace of the policy.
    pub namespace: Option<String>,
}

/// The document `Reach`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachDocument {
    api_version: &'static str,
    kind: &'static str,
    /// The policy.
    pub policy: ObjectRef,
    /// Everything at or below its targets in the scopes where some of it is in force.
    pub affected: Vec<NodeRef>,
    /// What becomes of it, for each group of scopes in which that is the same.
    pub parts: Vec<ReachPartDocument>,
    /// How many nodes of each kind it affects.
    #[serde(skip)]
    pub affected_counts: Vec<NodeCount>,
    /// Its status.
    #[serde(skip)]
    pub status: PolicyStatusDocument,
}

/// Scopes in which the same rules of a policy are in force.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachPartDocument {
    /// How many scopes there are.
    pub scopes: usize,
    /// The effective targets of the scopes.
    pub targets: Vec<NodeRef>,
    /// The scopes that end at targets where scopes of other parts end, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<ScopeDocument>,
    /// The rules that are in force. An empty path is the whole policy.
    pub in_force: Vec<Path>,
    /// The rules that are not.
    pub lost: Vec<LostPath>,
    /// The targets at which no scope of another part ends.
    #[serde(skip)]
    pub whole_targets: Vec<NodeRef>,
}

/// How many nodes of a kind there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeCount {
    /// What they are: `Gateway`, `HTTPRoute rule`.
    pub kind: String,
    /// How many there are.
    pub count: usize,
}

/// Where a policy applies.
pub fn reach(snapshot: &Snapshot, query: &ReachQuery) -> Result<ReachDocument, QueryError> {
    let policy = snapshot.find_policy(&query.policy, query.namespace.as_deref())?;
    let reach = snapshot.engine.reach(policy, query.rule.as_deref());
    if let Some(rule) = query.rule.as_ref().filter(|_| reach.parts.is_empty()) {
        let parts = snapshot.engine.reach(policy, None).parts;
        let paths = parts.iter().flat_map(|part| part.in_force.iter().chain(part.lost.iter().map(|it| &it.path)));
        if !parts.is_empty() {
            let near = nearest_rules(rule, paths);
            return Err(QueryError::RuleNotFound {
                policy: Box::new(snapshot.policy_ref(policy)),
                rule: rule.clone(),
                near,
            });
        }
    }
    Ok(ReachDocument::new(snapshot, policy, &reach))
}

impl ReachDocument {
    pub(crate) fn new(snapshot: &Snapshot, policy: PolicyId, reach: &Reach) -> ReachDocument {
        let status = with_coverage(snapshot, &[snapshot.engine.policy_status(policy)]).remove(0);
        ReachDocument {
            api_version: API_VERSION,
            kind: "Reach",
            policy: snapshot.policy_ref(policy),
            affected: snapshot.node_refs(&reach.affected),
            parts: reach.parts.iter().map(|part| ReachPartDocument::new(snapshot, reach, part)).collect(),
            affected_counts: node_counts(snapshot, &reach.affected),
            status,
        }
    }
}

impl ReachPartDocument {
    fn new(snapshot: &Snapshot, reach: &Reach, part: &ReachPart) -> ReachPartDocument {
        let is_divided = |scope: &&Scope| scope.end().is_some_and(|end| reach.divided.contains(&end));
        let ends = part.ends();
        let whole: Vec<NodeId> = ends.iter().copied().filter(|end| !reach.divided.contains(end)).collect();
        ReachPartDocument {
            scopes: part.scopes.len(),
            targets: snapshot.node_refs(&ends),
            ways: part.scopes.iter().filter(is_divided).map(|scope| ScopeDocument::new(snapshot, scope)).collect(),
            in_force: part.in_force.clone(),
            lost: part.lost.iter().map(|lost| LostPath::new(snapshot, lost)).collect(),
            whole_targets: snapshot.node_refs(&whole),
        }
    }
}

/// How many nodes of each kind there are, the highest level first.
pub(crate) fn node_counts(snapshot: &Snapshot, nodes: &[NodeId]) -> Vec<NodeCount> {
    let mut counts: BTreeMap<String, (Level, usize)> = BTreeMap::new();
    for node in nodes {
        let level = snapshot.engine.topology()[*node].level;
        // A Service that is the parent of routes has a node of another level.
        let (highest, count) = counts.entry(snapshot.node_kind(*node)).or_insert((level, 0));
        *highest = level.min(*highest);
        *count += 1;
    }
    let mut counts: Vec<(Level, NodeCount)> =
        counts.into_iter().map(|(kind, (level, count))| (level, NodeCount { kind, count })).collect();
    counts.sort_by_key(|(level, _)| *level);
    counts.into_iter().map(|(_, count)| count).collect()
}
