//! The policies that affect a node, and those that affect an object with its sections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::model::{Model, NamespaceFreePaths};
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// A target and the policies that affect it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStatus {
    /// The target.
    pub target: NodeId,
    /// The policies that contribute to an effective policy in a scope of the target, in the order of names.
    pub affected_by: Vec<PolicyId>,
}

impl Engine {
    /// The status of every node that is affected by a policy on it or above it, in the order of ids.
    pub fn target_statuses(&self) -> Vec<TargetStatus> {
        self.target_statuses_among(self.models(), self.topology().order().iter().rev().copied())
    }

    /// The statuses of all nodes, given in the order of ids, with sections rolled up: a policy that affects a section
    /// affects its object.
    pub fn rolled_up(&self, mut statuses: Vec<TargetStatus>) -> Vec<TargetStatus> {
        let topology = self.topology();
        let mut missing: BTreeMap<NodeId, Vec<PolicyId>> = BTreeMap::new();
        let position = |statuses: &[TargetStatus], node: NodeId| statuses.binary_search_by_key(&node, |it| it.target);
        for status in statuses.iter().filter(|status| topology[status.target].section.is_some()) {
            let whole = topology.whole(status.target);
            let known = position(&statuses, whole).map_or(&[][..], |at| &statuses[at].affected_by);
            let mut new = status.affected_by.iter().filter(|policy| !known.contains(policy)).peekable();
            if new.peek().is_some() {
                missing.entry(whole).or_default().extend(new);
            }
        }
        let mut added = Vec::new();
        for (target, mut affected_by) in missing {
            match position(&statuses, target) {
                Ok(at) => {
                    statuses[at].affected_by.append(&mut affected_by);
                    self.sort_policies(&mut statuses[at].affected_by);
                }
                Err(_) => {
                    self.sort_policies(&mut affected_by);
                    added.push(TargetStatus { target, affected_by });
                }
            }
        }
        statuses.extend(added);
        statuses.sort_by_key(|status| status.target);
        statuses
    }

    /// Like [`Engine::target_statuses`], from models that were built for some nodes, and for these nodes only. The
    /// status of a node is complete if all of its scopes end at one of the nodes.
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
                self.sort_policies(&mut affected_by);
                TargetStatus { target, affected_by }
            })
            .collect();
        targets.sort_by_key(|status| status.target);
        targets
    }

    /// The policies that affect each node. Policies that contribute at an effective target are propagated up along its
    /// chains, as far as the policy is part of the chain.
    fn affected(&self, model: &Model, nodes: impl Iterator<Item = NodeId>) -> HashMap<NodeId, Vec<PolicyId>> {
        let view = self.view();
        let mut below: HashMap<(NodeId, ChainId), Vec<PolicyId>> = HashMap::new();
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        let mut paths = NamespaceFreePaths::default();
        let mut in_chains: HashMap<ChainId, Vec<PolicyId>> = HashMap::new();
        for node in nodes {
            // No policy contributes below the effective targets.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::{ROUTED_SERVICE, engine, kind, node, policy, policy_id};

    const ANY: &str = "targets: [Gateway, Route], strategies: [atomic, merge, patch]";

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
    fn what_affects_a_section_affects_its_object() {
        let kind = kind("targets: [Gateway, Route], strategies: [atomic], numberedRules: true");
        let on_rule = "
apiVersion: example.io/v1
kind: TestPolicy
metadata: {name: p, namespace: default}
spec: {targetRef: {kind: HTTPRoute, name: r, sectionName: rule-1}, a: 1}
---
";
        let engine = engine(&[ROUTED_SERVICE, &kind, on_rule].concat());
        let names = |statuses: Vec<TargetStatus>| {
            statuses.iter().map(|it| engine.topology().name(engine.objects(), it.target)).collect::<Vec<_>>()
        };
        assert_eq!(names(engine.target_statuses()), ["HTTPRoute/default/r#rule-1"]);
        let rolled_up = engine.rolled_up(engine.target_statuses());
        assert!(rolled_up.iter().all(|it| it.affected_by == [policy_id(&engine, "p")]));
        assert_eq!(names(rolled_up), ["HTTPRoute/default/r", "HTTPRoute/default/r#rule-1"]);
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
