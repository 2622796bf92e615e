//! Where a policy applies, what it affects, and which policies override it where.

use std::collections::BTreeSet;

use attache_engine::{Enforcement, NodeId, NodeRef, ObjectRef, Path, PolicyId, PolicyStatus, Reach, ReachPart, Scope};
use serde::Serialize;

use crate::coverage::{RuleCounts, TargetCounts};
use crate::descendants::node_counts;
use crate::document::API_VERSION;
use crate::effective::LostPath;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::scopes::ScopeDocument;
use crate::snapshot::Snapshot;
use crate::status::{Accepted, PolicyStatusDocument, ScopeCountsDocument, SupersededDocument, with_coverage};
use crate::suggestions::nearest_rules;

pub use crate::descendants::NodeCount;

/// The policy of the question.
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
    /// Its scopes, grouped by the rules that are in force.
    pub parts: Vec<ReachPartDocument>,
    /// The number of affected nodes of each kind.
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
    /// The number of scopes.
    pub scopes: usize,
    /// The effective targets of the scopes.
    pub targets: Vec<NodeRef>,
    /// The scopes that end at targets where scopes of other parts, or scopes without the policy, end too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<ScopeDocument>,
    /// The rules that are in force. An empty path is the whole policy.
    pub in_force: Vec<Path>,
    /// The rules that are not in force.
    pub lost: Vec<LostPath>,
    /// The targets at which no scope of another part ends.
    #[serde(skip)]
    pub whole_targets: Vec<NodeRef>,
}

/// How far one rule of a policy is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReach {
    /// The rule. An empty path is the whole policy.
    pub path: Path,
    /// The number of targets on which it is in force.
    pub in_force: usize,
    /// The number of targets that the policy reaches.
    pub total: usize,
    /// Why it is not in force on the others, each reason once.
    pub lost: Vec<LostPath>,
}

/// The reach of a policy, in numbers. Its cost does not depend on the number of scopes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReachSummary {
    /// Whether the policy is accepted.
    pub accepted: Accepted,
    /// Whether all of it, a part of it or nothing of it is in force.
    pub enforcement: Enforcement,
    /// In how many scopes it is in force.
    pub scopes: ScopeCountsDocument,
    /// On how many effective targets it is in force.
    pub effective_targets: TargetCounts,
    /// How many of its rules are in force.
    pub rules: RuleCounts,
    /// The policies that override it, or a part of it.
    pub by: Vec<ObjectRef>,
    /// Which parts of it are overridden somewhere, and by which policy.
    pub superseded: Vec<SupersededDocument>,
}

/// The reach of policies, in their order.
pub fn reach_summaries(snapshot: &Snapshot, policies: &[PolicyId]) -> Vec<ReachSummary> {
    let statuses: Vec<PolicyStatus> = policies.iter().map(|policy| snapshot.engine.policy_status(*policy)).collect();
    let summary = |status: PolicyStatusDocument| {
        let PolicyStatusDocument { accepted, enforcement, by, scopes, effective_targets, rules, superseded, .. } =
            status;
        let (effective_targets, rules) = (effective_targets.unwrap_or_default(), rules.unwrap_or_default());
        ReachSummary { accepted, enforcement, scopes, effective_targets, rules, by, superseded }
    };
    with_coverage(snapshot, &statuses).into_iter().map(summary).collect()
}

/// The reach of a policy.
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
            affected_counts: node_counts(&snapshot.engine, &reach.affected),
            status,
        }
    }
}

/// The rules of a policy that applies in these parts. A part of a rule that is lost separately counts as a rule, instead
/// of the value that contains it.
pub fn rule_reaches(parts: &[ReachPartDocument]) -> Vec<RuleReach> {
    let paths = parts.iter().flat_map(|part| part.in_force.iter().chain(part.lost.iter().map(|lost| &lost.path)));
    let paths: BTreeSet<&Path> = paths.collect();
    let contains_another = |path: &Path| paths.iter().any(|other| *other != path && other.starts_with(path));
    let rules = paths.iter().filter(|path| !contains_another(path));
    rules.map(|path| RuleReach::new(path, parts)).collect()
}

impl RuleReach {
    fn new(path: &Path, parts: &[ReachPartDocument]) -> RuleReach {
        let (mut in_force, mut lost): (usize, Vec<LostPath>) = (0, Vec::new());
        for part in parts {
            if part.in_force.iter().any(|it| path.starts_with(it)) {
                in_force += part.targets.len();
            }
            for it in part.lost.iter().filter(|it| path.starts_with(&it.path)) {
                let is_told = |told: &LostPath| (&told.cause.by, told.cause.reason) == (&it.cause.by, it.cause.reason);
                if !lost.iter().any(is_told) {
                    lost.push(it.clone());
                }
            }
        }
        let total = parts.iter().map(|part| part.targets.len()).sum();
        RuleReach { path: path.clone(), in_force, total, lost }
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
