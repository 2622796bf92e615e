//! What policies have to do with the other policies in their scopes.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::kinds::{DictatedBy, KindId, LowerPolicyField};
use crate::model::Model;
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// The other policies that one meets, over all of its scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coexistence {
    /// The higher policies that it is in force together with.
    pub merged_higher: BTreeSet<PolicyId>,
    /// The nodes of the lower policies that it is in force together with.
    pub merged_lower: BTreeSet<NodeId>,
    /// The nodes of the policies that override all of it somewhere.
    pub overridden_by: BTreeSet<NodeId>,
}

impl Coexistence {
    /// Whether it is in force together with another policy somewhere.
    pub fn is_merged(&self) -> bool {
        !self.merged_higher.is_empty() || !self.merged_lower.is_empty()
    }
}

/// A policy on a node of a chain.
type ChainPolicy = (PolicyId, NodeId);

impl Engine {
    /// The coexistence of every policy of some kinds that reaches a scope.
    pub(super) fn coexistences(&self, kinds: BTreeSet<KindId>) -> HashMap<PolicyId, Coexistence> {
        let mut found = HashMap::new();
        for model in kinds.into_iter().filter_map(|kind| self.model(kind)) {
            for &(chain, _) in model.scope_counts(self.view()) {
                self.coexist(model, chain, &mut found);
            }
        }
        found
    }

    /// Adds what the policies of one chain have to do with each other.
    fn coexist(&self, model: &Model, chain: ChainId, found: &mut HashMap<PolicyId, Coexistence>) {
        let effective = model.effective(self.view(), chain);
        let contributes = |policy: &PolicyId| {
            let at = effective.outcomes.binary_search_by_key(policy, |(policy, _)| *policy);
            at.is_ok_and(|at| effective.outcomes[at].1.contributes)
        };
        let policies = chain_policies(model, chain);
        let requested = self.requested_merge(model, &policies);
        let is_in_force = |policy: &PolicyId| contributes(policy) || requested.contains(policy);
        for (position, (policy, node)) in policies.iter().enumerate() {
            let mine = found.entry(*policy).or_default();
            let separately = self.is_reported_separately(model, *node);
            let others = policies.iter().enumerate().filter(|(_, (other, node))| {
                other != policy && self.is_reported_separately(model, *node) == separately
            });
            if is_in_force(policy) {
                for (at, (other, node)) in others.filter(|(_, (other, _))| is_in_force(other)) {
                    if at > position {
                        mine.merged_higher.insert(*other);
                    } else {
                        mine.merged_lower.insert(*node);
                    }
                }
            } else {
                let lost_to = |other: &PolicyId| {
                    effective.superseded.iter().any(|lost| lost.policy == *policy && lost.by == Some(*other))
                };
                let winners = others.filter(|(at, (other, _))| *at < position || lost_to(other));
                mine.overridden_by.extend(winners.map(|(_, (_, node))| *node));
            }
        }
    }

    /// The lowest policy and the one that it asks to be merged with. They count as merged even if one contributes nothing.
    fn requested_merge(&self, model: &Model, policies: &[ChainPolicy]) -> Vec<PolicyId> {
        let (DictatedBy::Lower(LowerPolicyField { with, .. }), Some((lowest, node))) =
            (&model.kind.merging.dictated_by, policies.first())
        else {
            return Vec::new();
        };
        let is_merge_level = |node: NodeId| with.iter().any(|name| name.level() == self.topology()[node].level);
        if self.policy(*lowest).requested_strategy.is_none() || is_merge_level(*node) {
            return Vec::new();
        }
        let other = policies.iter().find(|(_, node)| is_merge_level(*node));
        other.map_or(Vec::new(), |(other, _)| vec![*lowest, *other])
    }

    /// Whether the policies on a node are reported without regard to those at other levels.
    fn is_reported_separately(&self, model: &Model, node: NodeId) -> bool {
        let level = self.topology()[node].level;
        model.kind.status.apart.iter().any(|name| name.level() == level)
    }
}

/// The accepted policies of a chain, lowest first.
fn chain_policies(model: &Model, chain: ChainId) -> Vec<ChainPolicy> {
    let mut policies = Vec::new();
    for node in model.links(chain).filter_map(Link::node) {
        let stack = model.stack(node).into_iter().flat_map(|stack| &stack.accepted);
        policies.extend(stack.map(|attachment| (attachment.policy, node)));
    }
    policies
}
