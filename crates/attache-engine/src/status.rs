//! The status of policies and targets.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::attachment::{Attachment, AttachmentError, Refusal, RejectionReason};
use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::model::{Model, NamespaceFreePaths};
use crate::object::ObjectRef;
use crate::policy::PolicyId;
use crate::tally::{Tally, policy_tally};
use crate::topology::NodeId;

pub use crate::tally::{Enforcement, ScopeCounts};

/// The status of a policy, over every scope that it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatus {
    /// The policy.
    pub policy: PolicyId,
    /// Why it is not accepted; `None` if it is accepted on one of its targets.
    pub refused: Option<RejectionReason>,
    /// What else there is to say. Displayed as the message of the status.
    pub explanation: Option<StatusExplanation>,
    /// How much of it is in force.
    pub enforcement: Enforcement,
    /// The policies that it lost to, in the order of names.
    pub by: Vec<PolicyId>,
    /// The scopes that it reaches.
    pub scopes: ScopeCounts,
}

impl PolicyStatus {
    /// The explanation for people; empty if there is none.
    pub fn message(&self) -> String {
        self.explanation.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// Why a policy, or part of it, is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusExplanation {
    /// Some or all of its targets are refused.
    Refused(Vec<AttachmentError>),
    /// It is switched off.
    Disabled,
    /// It reaches no scope.
    NotInPath,
    /// Its condition holds nowhere.
    ConditionFalse,
    /// Its targets set everything that it sets.
    SetByTarget,
    /// Its targets set some of what it sets.
    PartlySetByTarget,
}

impl fmt::Display for StatusExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StatusExplanation::Refused(errors) => {
                for (at, error) in errors.iter().enumerate() {
                    write!(f, "{}{error}", if at == 0 { "" } else { "; " })?;
                }
                return Ok(());
            }
            StatusExplanation::Disabled => "it is disabled",
            StatusExplanation::NotInPath => "nothing below its target receives traffic",
            StatusExplanation::ConditionFalse => "its condition holds nowhere",
            StatusExplanation::SetByTarget => "what it targets sets all of it itself",
            StatusExplanation::PartlySetByTarget => "what it targets sets part of it itself",
        })
    }
}

/// A target and the policies that affect it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStatus {
    /// The target.
    pub target: NodeId,
    /// The policies that contribute to an effective policy in a scope of the target, in the order of names.
    pub affected_by: Vec<PolicyId>,
}

impl Engine {
    /// The status of every policy, in the order of names.
    pub fn policy_statuses(&self) -> Vec<PolicyStatus> {
        self.build_tallies();
        self.policies().map(|(policy, _)| self.policy_status(policy)).collect()
    }

    /// Builds the tallies of all models, in parallel.
    pub(crate) fn build_tallies(&self) {
        self.models().par_iter().for_each(|model| _ = model.tallies(self.view()));
    }

    /// The status of the policy with this reference. `None` if there is no such policy.
    pub fn status(&self, policy: &ObjectRef) -> Option<PolicyStatus> {
        self.find_policy(policy).map(|policy| self.policy_status(policy))
    }

    /// The status of a policy.
    pub fn policy_status(&self, policy: PolicyId) -> PolicyStatus {
        let model = self.parts().policies.get(policy).and_then(|it| self.model(it.kind));
        let tally = model.map(|model| policy_tally(model.tallies(self.view()), policy)).unwrap_or_default();
        let is_its = |attachment: &Attachment| attachment.policy == policy;
        let is_accepted = self.stacks_of(policy).any(|stack| stack.accepted.iter().any(is_its));
        let refusals = self.refusals(policy);
        let mut status = policy_status(policy, &tally, is_accepted, self.policy(policy).disabled, refusals);
        if !is_accepted {
            status.by = self.rivals(policy).map(|(_, winner)| winner).collect();
        }
        status.by.sort_by(|a, b| self.policy_id(*a).cmp(self.policy_id(*b)));
        status.by.dedup();
        status
    }

    /// The status of every node that is affected by a policy on it or above it, in the order of ids.
    pub fn target_statuses(&self) -> Vec<TargetStatus> {
        self.target_statuses_among(self.models(), self.topology().order().iter().rev().copied())
    }

    /// As [`Engine::target_statuses`], from models that were built for some nodes, and for these nodes only. The status of a
    /// node is complete if all of its scopes end at one of the nodes.
    pub fn target_statuses_within(&self, models: &[Model], nodes: &BTreeSet<NodeId>) -> Vec<TargetStatus> {
        let (topology, deepest) = (self.topology(), self.topology().deepest());
        let mut order = Vec::from_iter(nodes.iter().copied());
        order.sort_by_cached_key(|node| Reverse(topology.rank(deepest, *node)));
        self.target_statuses_among(models, order.into_iter())
    }

    /// The status of some nodes, given with children before parents.
    fn target_statuses_among(
        &self,
        models: &[Model],
        nodes: impl Iterator<Item = NodeId> + Clone + Sync,
    ) -> Vec<TargetStatus> {
        let by_kind: Vec<_> = models.par_iter().map(|model| self.affected(model, nodes.clone())).collect();
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        for (node, policies) in by_kind.into_iter().flatten() {
            affected.entry(node).or_default().extend(policies);
        }
        let mut targets: Vec<TargetStatus> = affected
            .into_iter()
            .filter(|(_, affected_by)| !affected_by.is_empty())
            .map(|(target, mut affected_by)| {
                affected_by.sort_by(|a, b| self.policy_id(*a).cmp(self.policy_id(*b)));
                affected_by.dedup();
                TargetStatus { target, affected_by }
            })
            .collect();
        targets.sort_by_key(|status| status.target);
        targets
    }

    /// The policies that affect each node. Those that contribute at an effective target are passed up along its chains, as
    /// far as the policy is part of the chain.
    fn affected(&self, model: &Model, nodes: impl Iterator<Item = NodeId>) -> HashMap<NodeId, Vec<PolicyId>> {
        let view = self.view();
        let mut below: HashMap<(NodeId, ChainId), Vec<PolicyId>> = HashMap::new();
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        let mut paths = NamespaceFreePaths::default();
        let mut in_chains: HashMap<ChainId, Vec<PolicyId>> = HashMap::new();
        for node in nodes {
            // Nothing contributes beyond the effective targets.
            if model.is_below_targets(view, node) {
                continue;
            }
            let is_target = model.is_effective_target(view, node);
            for &(chain, _) in model.chains_at(view, node).iter().filter(|(chain, _)| *chain != ChainId::EMPTY) {
                let mut policies = below.remove(&(node, chain)).unwrap_or_default();
                if is_target {
                    let outcomes = &model.effective(view, chain).outcomes;
                    policies.extend(outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy));
                }
                if policies.is_empty() {
                    continue;
                }
                policies.sort();
                policies.dedup();
                affected.entry(node).or_default().extend(&policies);
                for (above, known) in model.policies_at_unlinked_ancestors(view, node, chain, &mut paths) {
                    affected.entry(above).or_default().extend(policies.iter().filter(|it| known.contains(it)));
                }
                for (parent, before) in model.preceding_chains(view, node, chain) {
                    if before == ChainId::EMPTY {
                        continue;
                    }
                    let known = in_chains.entry(before).or_insert_with(|| chain_policies(model, before));
                    let passed = below.entry((parent, before)).or_default();
                    passed.extend(policies.iter().filter(|policy| known.contains(policy)));
                }
            }
        }
        affected
    }
}

/// The accepted policies of a chain.
fn chain_policies(model: &Model, chain: ChainId) -> Vec<PolicyId> {
    let stacks = model.links(chain).filter_map(Link::node).filter_map(|node| model.stack(node));
    stacks.flat_map(|stack| stack.accepted.iter().map(|attachment| attachment.policy)).collect()
}

fn policy_status(
    policy: PolicyId,
    tally: &Tally,
    is_accepted: bool,
    is_disabled: bool,
    refusals: Vec<Refusal>,
) -> PolicyStatus {
    let (scopes, enforcement) = (tally.scopes(), tally.enforcement());
    let enforcement = if is_accepted { enforcement } else { Enforcement::NotEnforced };
    PolicyStatus {
        policy,
        // A policy that is not accepted may have no refusal: it names no target and waits for a filter to name it.
        refused: refusals.first().map(Refusal::reason).filter(|_| !is_accepted),
        explanation: match enforcement {
            _ if !refusals.is_empty() => {
                Some(StatusExplanation::Refused(refusals.into_iter().map(|refusal| *refusal.error).collect()))
            }
            Enforcement::NotEnforced if is_disabled => Some(StatusExplanation::Disabled),
            Enforcement::NotEnforced if scopes.total == 0 => Some(StatusExplanation::NotInPath),
            Enforcement::NotEnforced => Some(StatusExplanation::ConditionFalse),
            Enforcement::Overridden if tally.lost_to_target() => Some(StatusExplanation::SetByTarget),
            Enforcement::PartiallyEnforced if tally.lost_to_target() => Some(StatusExplanation::PartlySetByTarget),
            Enforcement::Enforced | Enforcement::PartiallyEnforced | Enforcement::Overridden => None,
        },
        enforcement,
        by: tally.by().collect(),
        scopes,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::{ROUTED_SERVICE, dated_policy, engine, kind, node, policy, policy_id};

    const ANY: &str = "targets: [Gateway, Route], strategies: [atomic, merge, patch]";

    /// The status of the policy `p`: its reason, enforcement, whom it lost to, and the message.
    fn status(documents: &[&str]) -> (Option<RejectionReason>, Enforcement, Vec<String>, String) {
        let engine = engine(&[&[ROUTED_SERVICE], documents].concat().concat());
        let status = engine.policy_status(policy_id(&engine, "p"));
        let by = status.by.iter().map(|policy| engine.policy_id(*policy).name.to_string()).collect();
        (status.refused, status.enforcement, by, status.message())
    }

    #[test]
    fn a_policy_that_nothing_overrides_is_enforced() {
        let found = status(&[&kind(ANY), &policy("p", "Gateway/g", "a: 1")]);
        assert_eq!(found, (None, Enforcement::Enforced, vec![], String::new()));
    }

    #[test]
    fn a_policy_that_lost_some_rules_names_who_won() {
        let found = status(&[
            &kind(ANY),
            &policy("p", "Gateway/g", "defaults: {strategy: patch, a: 1, b: 1}"),
            &policy("q", "HTTPRoute/r", "a: 2"),
        ]);
        assert_eq!(found, (None, Enforcement::PartiallyEnforced, vec!["q".to_owned()], String::new()));
    }

    #[test]
    fn a_policy_that_lost_everything_is_overridden() {
        let found =
            status(&[&kind(ANY), &policy("p", "HTTPRoute/r", "a: 1"), &policy("q", "Gateway/g", "overrides: {a: 2}")]);
        assert_eq!(found, (None, Enforcement::Overridden, vec!["q".to_owned()], String::new()));
    }

    #[test]
    fn a_policy_without_scopes_says_so() {
        let lonely = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: lonely, namespace: default}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
";
        let (refused, enforcement, by, message) = status(&[&kind(ANY), lonely, &policy("p", "Gateway/lonely", "a: 1")]);
        assert_eq!((refused, enforcement, by), (None, Enforcement::NotEnforced, vec![]));
        assert_eq!(message, StatusExplanation::NotInPath.to_string());
    }

    #[test]
    fn a_policy_whose_condition_never_holds_is_not_enforced() {
        let found = status(&[&kind(ANY), &policy("p", "Gateway/g", "overrides: {a: 1, when: 'spec.b == 1'}")]);
        assert_eq!(found, (None, Enforcement::NotEnforced, vec![], StatusExplanation::ConditionFalse.to_string()));
    }

    #[test]
    fn a_disabled_policy_says_so() {
        let kind = kind(&format!("{ANY}, disabled: spec.paused, fields: {{ignored: [paused]}}"));
        let found = status(&[&kind, &policy("p", "Gateway/g", "paused: true, a: 1")]);
        assert_eq!(found, (None, Enforcement::NotEnforced, vec![], StatusExplanation::Disabled.to_string()));
    }

    #[test]
    fn a_conflicted_policy_names_who_was_first() {
        let (refused, enforcement, by, message) = status(&[
            &kind(&format!("{ANY}, sameLevel: RejectNewer")),
            &dated_policy("p", "2021-01-01T00:00:00Z", "Gateway/g", "a: 1"),
            &dated_policy("q", "2020-01-01T00:00:00Z", "Gateway/g", "a: 2"),
        ]);
        assert_eq!(refused, Some(RejectionReason::Conflicted));
        assert_eq!((enforcement, by), (Enforcement::NotEnforced, vec!["q".to_owned()]));
        assert_eq!(message, "TestPolicy/default/q has attached to Gateway/default/g before it");
    }

    #[test]
    fn refused_targets_are_explained_even_if_others_are_accepted() {
        let policy = "
apiVersion: example.io/v1
kind: TestPolicy
metadata: {name: p, namespace: default}
spec: {targetRefs: [{kind: Gateway, name: g}, {kind: HTTPRoute, name: r, sectionName: x}], a: 1}
";
        let (refused, enforcement, _, message) = status(&[&kind(ANY), policy]);
        assert_eq!((refused, enforcement), (None, Enforcement::Enforced));
        assert_eq!(message, "HTTPRoute/default/r has no section `x`: it has `rule-1`");
    }

    #[test]
    fn a_policy_affects_its_target_and_everything_below() {
        let engine = engine(&[ROUTED_SERVICE, &kind(ANY), &policy("p", "HTTPRoute/r", "a: 1")].concat());
        let statuses = engine.target_statuses();
        let names: Vec<String> =
            statuses.iter().map(|it| engine.topology().name(engine.objects(), it.target)).collect();
        assert_eq!(names, ["HTTPRoute/default/r", "HTTPRoute/default/r#rule-1"]);
        assert!(statuses.iter().all(|it| it.affected_by == [policy_id(&engine, "p")]));
    }

    #[test]
    fn a_policy_that_lost_everywhere_affects_nothing() {
        let documents = [
            ROUTED_SERVICE,
            &kind(ANY),
            &policy("p", "HTTPRoute/r", "a: 1"),
            &policy("q", "Gateway/g", "overrides: {a: 2}"),
        ];
        let engine = engine(&documents.concat());
        let route = node(&engine, "HTTPRoute/default/r");
        let status = engine.target_statuses().into_iter().find(|it| it.target == route).unwrap();
        assert_eq!(status.affected_by, [policy_id(&engine, "q")]);
    }
}
