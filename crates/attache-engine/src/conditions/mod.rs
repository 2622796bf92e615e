//! The status of policies and targets as Kubernetes conditions, in the words of their system.
//!
//! A kind's [`StatusTemplate`](crate::kinds::StatusTemplate) lists conditions, each for some states of a policy. The first
//! template of a type whose state holds becomes a condition: placeholders such as `{by}` are filled in.
//!
//! ```text
//! scopes, or targets ─→ coexistence, target_relations   which policies are overridden or merged with others
//! status, details    ─→ policy_facts                    the conditions of a policy, over all ancestors or for one
//!                       notes                           where the conditions differ from what is in force
//! affected targets   ─→ target_reports                  the conditions of targets, or their annotations
//! ```

mod coexistence;
mod notes;
mod policy_facts;
mod target_relations;
mod target_reports;

use std::collections::BTreeSet;

use hashbrown::HashSet;

use crate::attachment::RejectionReason;
use crate::engine::Engine;
use crate::kinds::{ConditionTemplate, KindId, PolicyKind, PolicyRelations};
use crate::object::ObjectRef;
use crate::policy::PolicyId;
use crate::status::{AncestorSets, AncestorStatus, MAX_ANCESTORS, PolicyDetails, PolicyStatus, SupersededParts};
use crate::topology::{Level, NodeId};
use coexistence::Coexistence;
use policy_facts::PolicyFacts;
use target_relations::TargetRelations;

pub use notes::StatusNote;
pub use target_reports::TargetReport;

/// A Kubernetes condition, without the time of the last transition, which only the writer knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatusCondition {
    /// The type of the condition: `Accepted`.
    pub r#type: String,
    /// Whether its status is `True`; otherwise it is `False`.
    pub is_true: bool,
    /// The reason, as one word.
    pub reason: String,
    /// A message for users.
    pub message: String,
    /// The generation of the object that the condition is about.
    pub observed_generation: Option<i64>,
}

/// What the status of a policy reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReport {
    /// The conditions over all ancestors, sorted by type.
    pub conditions: Vec<StatusCondition>,
    /// The conditions for each ancestor, in the order of [`PolicyDetails::ancestors`].
    pub ancestors: Vec<(AncestorStatus, Vec<StatusCondition>)>,
    /// The parts of the policy that are not in force, by the policy that they lost to.
    pub superseded: Vec<SupersededParts>,
    /// Where the conditions, as the controller of the kind writes them, differ from what is in force.
    pub notes: Vec<StatusNote>,
}

/// The relations that the status of a policy mentions.
enum Relations {
    /// To the policies that it meets.
    Met,
    /// To the policies on targets above or below.
    ByTarget(TargetRelations),
}

impl Engine {
    /// What the status of each policy reports. Chains without any of the policies are skipped.
    pub fn policy_reports(&self, statuses: &[PolicyStatus]) -> Vec<PolicyReport> {
        let wanted: HashSet<PolicyId> = statuses.iter().map(|status| status.policy).collect();
        let kinds: BTreeSet<KindId> =
            statuses.iter().map(|status| self.kinds().leader(self.policy(status.policy).kind)).collect();
        let met = self.coexistences(kinds.iter().copied(), &wanted);
        let by_targets = kinds.into_iter().filter(|kind| has_target_relations(self.kinds().get(*kind)));
        let by_targets = self.target_relations(by_targets);
        let details = self.policy_details(statuses);
        let (mut sets, alone) = (AncestorSets::new(self.topology()), Coexistence::default());
        let report = |(status, details): (&PolicyStatus, PolicyDetails)| {
            let met = met.get(&status.policy).unwrap_or(&alone);
            let reported = match has_target_relations(self.kinds().get(self.policy(status.policy).kind)) {
                true => Relations::ByTarget(by_targets.get(&status.policy).cloned().unwrap_or_default()),
                false => Relations::Met,
            };
            self.report(status, details, met, &reported, &mut sets)
        };
        statuses.iter().zip(details).map(report).collect()
    }

    /// The report of one policy. `met` are the policies that it meets, `relations` those that its status mentions.
    fn report(
        &self,
        status: &PolicyStatus,
        details: PolicyDetails,
        met: &Coexistence,
        relations: &Relations,
        sets: &mut AncestorSets<'_>,
    ) -> PolicyReport {
        let kind = self.kinds().get(self.policy(status.policy).kind);
        let PolicyDetails { superseded, ancestors, is_truncated } = details;
        let refused = reported_refusal(kind, status, &ancestors);
        let on_all_targets = match relations {
            Relations::Met => None,
            Relations::ByTarget(relations) => Some(relations.on_all()),
        };
        let reported = on_all_targets.as_ref().unwrap_or(met);
        let facts = PolicyFacts::new(self, kind, status, refused, &superseded, reported);
        let mut report = PolicyReport {
            conditions: facts.conditions(),
            notes: notes::find(status, refused, met, reported, &ancestors),
            ancestors: Vec::with_capacity(ancestors.len()),
            superseded: Vec::new(),
        };
        report.notes.extend(notes::known(&facts));
        let is_single = ancestors.len() == 1;
        let own: Vec<NodeId> = ancestors.iter().filter_map(|ancestor| ancestor.node).collect();
        let mut on_own: Vec<(NodeId, Vec<StatusCondition>)> = Vec::new();
        for ancestor in ancestors {
            let refused = ancestor_refusal(kind, &ancestor.status);
            let filtered = match relations {
                Relations::Met => (!is_single).then(|| met.at_ancestor(&ancestor, sets)),
                Relations::ByTarget(relations) => Some(self.relations_at(relations, &ancestor)),
            };
            let reported = filtered.as_ref().unwrap_or(reported);
            let listeners = self.reported_listeners(&ancestor, reported);
            let facts = PolicyFacts::new(self, kind, &ancestor.status, refused, &ancestor.superseded, reported);
            let is_for_all = |template: &ConditionTemplate| listeners.is_empty() || !template.per_listener;
            let conditions = facts.some_conditions(is_for_all);
            let mut per_listener = Vec::new();
            for listener in listeners {
                let (reported, ancestor) = (reported.at_listener(listener), self.at_listener(&ancestor, listener));
                let facts = PolicyFacts::new(self, kind, &ancestor.status, refused, &[], &reported);
                let conditions = facts.some_conditions(|template| template.per_listener);
                match own.contains(&listener) {
                    true => on_own.push((listener, conditions)),
                    false => per_listener.push((ancestor, conditions)),
                }
            }
            report.ancestors.push((ancestor, conditions));
            report.ancestors.extend(per_listener.into_iter().filter(|(_, conditions)| !conditions.is_empty()));
        }
        for (listener, conditions) in on_own {
            let Some((_, known)) = report.ancestors.iter_mut().find(|(it, _)| it.node == Some(listener)) else {
                continue;
            };
            known.retain(|it| conditions.iter().all(|other| other.r#type != it.r#type));
            known.extend(conditions);
            known.sort();
        }
        let is_truncated = is_truncated || report.ancestors.len() > MAX_ANCESTORS;
        report.ancestors.truncate(MAX_ANCESTORS);
        if let Some((ancestor, conditions)) = report.ancestors.last_mut().filter(|_| is_truncated) {
            conditions.push(self.aggregated(ancestor.status.policy));
            conditions.sort();
        }
        report.superseded = superseded;
        report
    }

    /// The listeners of a Gateway or ListenerSet on which a policy is reported as merged with another.
    fn reported_listeners(&self, ancestor: &AncestorStatus, reported: &Coexistence) -> Vec<NodeId> {
        let is_its = |listener: &&NodeId| Some(self.topology().whole(**listener)) == ancestor.node;
        reported.merged_at.keys().filter(is_its).copied().collect()
    }

    /// The same status for a listener of the ancestor.
    fn at_listener(&self, ancestor: &AncestorStatus, listener: NodeId) -> AncestorStatus {
        AncestorStatus {
            ancestor: self.view().node_ref(listener),
            node: Some(listener),
            superseded: Vec::new(),
            ..ancestor.clone()
        }
    }

    /// The condition of the last ancestor if there are more than a status can have.
    fn aggregated(&self, policy: PolicyId) -> StatusCondition {
        StatusCondition {
            r#type: "Aggregated".to_owned(),
            is_true: true,
            reason: "Aggregated".to_owned(),
            message: format!(
                "Ancestors have been truncated because the number of policy ancestors exceeds {}.",
                MAX_ANCESTORS
            ),
            observed_generation: self.policy_object(policy).generation(),
        }
    }

    /// `namespace/name` of policies, separated by spaces.
    fn policy_names(&self, policies: impl IntoIterator<Item = PolicyId>) -> String {
        let mut ids: Vec<&ObjectRef> = policies.into_iter().map(|policy| self.policy_id(policy)).collect();
        ids.sort();
        let names = ids.into_iter().map(|id| {
            if id.namespace.is_empty() { id.name.to_string() } else { format!("{}/{}", id.namespace, id.name) }
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// The name of a node in templates: the level of a section or a route, or the kind of any other object.
    fn target_type(&self, node: NodeId) -> String {
        let topology = self.topology();
        let owner = topology[topology.whole(node)].level;
        match topology[node].level {
            Level::Listener if owner == Level::ListenerSet => "ListenerSetListener".to_owned(),
            Level::Listener => "Listener".to_owned(),
            Level::Route => "Route".to_owned(),
            Level::RouteRule => "RouteRule".to_owned(),
            Level::BackendPort => "BackendPort".to_owned(),
            _ => topology.id(self.objects(), node).kind.to_string(),
        }
    }
}

pub(crate) fn has_target_relations(kind: &PolicyKind) -> bool {
    kind.status.relations == PolicyRelations::Targets
}

/// Why a policy is reported as not accepted for an ancestor.
fn ancestor_refusal(kind: &PolicyKind, status: &PolicyStatus) -> Option<RejectionReason> {
    status.refused.or_else(|| status.main_refusal().filter(|_| kind.status.refused_by_one_target))
}

/// Why a policy is reported as not accepted for all of its ancestors.
fn reported_refusal(kind: &PolicyKind, status: &PolicyStatus, ancestors: &[AncestorStatus]) -> Option<RejectionReason> {
    if status.refused.is_some() || !kind.status.refused_by_one_target {
        return status.refused;
    }
    let existing = ancestors.iter().filter(|ancestor| ancestor.node.is_some());
    let refusals: Option<Vec<RejectionReason>> =
        existing.map(|ancestor| ancestor_refusal(kind, &ancestor.status)).collect();
    refusals?.first().copied()
}

#[cfg(test)]
mod tests;
