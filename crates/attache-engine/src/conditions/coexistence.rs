//! How each policy relates to the other policies in its scopes.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};

use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::kinds::{DictatedBy, KindId, LowerPolicyField};
use crate::model::Model;
use crate::policy::PolicyId;
use crate::status::{AncestorSets, AncestorStatus};
use crate::topology::NodeId;

/// The other policies in the scopes of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coexistence {
    /// The higher policies that it is in force together with.
    pub merged_higher: BTreeSet<ChainPolicy>,
    /// The listeners on which it is reported as merged, each with the higher policy there.
    pub merged_at: BTreeMap<NodeId, ChainPolicy>,
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

    /// All relations of several.
    pub(super) fn union<'a>(all: impl Iterator<Item = &'a Coexistence>) -> Coexistence {
        let mut union = Coexistence::default();
        for Coexistence { merged_higher, merged_at, merged_lower, overridden_by } in all {
            union.merged_higher.extend(merged_higher);
            union.merged_at.extend(merged_at);
            union.merged_lower.extend(merged_lower);
            union.overridden_by.extend(overridden_by);
        }
        union
    }

    /// The relations that concern one ancestor.
    pub(super) fn at_ancestor(&self, ancestor: &AncestorStatus, sets: &mut AncestorSets<'_>) -> Coexistence {
        let Some(ancestor) = ancestor.node else { return Coexistence::default() };
        let set = sets.at(ancestor);
        let above: Vec<NodeId> = sets.get(set).to_vec();
        let mut is_below = |node: &NodeId| {
            let set = sets.at(*node);
            above.is_empty() || sets.get(set).iter().any(|it| above.contains(it))
        };
        Coexistence {
            merged_higher: self.merged_higher.iter().filter(|(_, node)| is_below(node)).copied().collect(),
            merged_at: self
                .merged_at
                .iter()
                .filter(|(node, _)| is_below(node))
                .map(|(node, it)| (*node, *it))
                .collect(),
            merged_lower: self.merged_lower.iter().filter(|node| is_below(node)).copied().collect(),
            overridden_by: self.overridden_by.iter().filter(|node| is_below(node)).copied().collect(),
        }
    }
}

impl Coexistence {
    /// What is reported for one listener.
    pub(super) fn at_listener(&self, listener: NodeId) -> Coexistence {
        let higher = self.merged_at.get(&listener).copied();
        Coexistence { merged_higher: higher.into_iter().collect(), ..Coexistence::default() }
    }
}

/// A policy on a node.
pub(super) type ChainPolicy = (PolicyId, NodeId);

impl Engine {
    /// The coexistence of the `wanted` policies of some kinds that reach a scope.
    pub(super) fn coexistences(
        &self,
        kinds: impl Iterator<Item = KindId>,
        wanted: &HashSet<PolicyId>,
    ) -> HashMap<PolicyId, Coexistence> {
        let mut found = HashMap::new();
        for model in kinds.filter_map(|kind| self.model(kind)) {
            for &(chain, _) in model.scope_counts(self.view()) {
                if accepted_in_chain(model, chain).any(|(policy, _)| wanted.contains(&policy)) {
                    self.coexist(model, chain, &mut found);
                }
            }
        }
        found
    }

    /// Adds the relations between the policies of one chain.
    fn coexist(&self, model: &Model, chain: ChainId, found: &mut HashMap<PolicyId, Coexistence>) {
        let effective = model.effective(self.view(), chain);
        let contributes = |policy: &PolicyId| {
            let at = effective.outcomes.binary_search_by_key(policy, |(policy, _)| *policy);
            at.is_ok_and(|at| effective.outcomes[at].1.contributes)
        };
        let policies: Vec<ChainPolicy> = accepted_in_chain(model, chain).collect();
        let requested = self.requested_merge(model, &policies);
        let is_in_force = |policy: &PolicyId| contributes(policy) || requested.contains(policy);
        let rivals = rivals(effective);
        let mut positions: HashMap<PolicyId, Vec<usize>> = HashMap::new();
        policies.iter().enumerate().for_each(|(at, (policy, _))| positions.entry(*policy).or_default().push(at));
        // The policies before a position, by node; first those that are not reported separately.
        let mut before: [BTreeMap<NodeId, LowerPolicies>; 2] = Default::default();
        for (position, (policy, node)) in policies.iter().enumerate() {
            let mine = found.entry(*policy).or_default();
            let separately = self.is_reported_separately(model, *node);
            let is_reported_with = |node: NodeId| self.is_reported_separately(model, node) == separately;
            let before = &mut before[usize::from(separately)];
            if is_in_force(policy) {
                let higher = policies[position + 1..].iter().filter(|(other, _)| other != policy && is_in_force(other));
                mine.merged_higher.extend(higher.filter(|(_, node)| is_reported_with(*node)));
                let lower = before.iter().filter(|(_, policies)| policies.in_force.has_other_than(*policy));
                mine.merged_lower.extend(lower.map(|(node, _)| *node));
            } else {
                let lower = before.iter().filter(|(_, policies)| policies.all.has_other_than(*policy));
                mine.overridden_by.extend(lower.map(|(node, _)| *node));
                let rivals = rivals.get(policy).into_iter().flatten().filter(|rival| *rival != policy);
                let higher = rivals.filter_map(|rival| positions.get(rival)).flatten().filter(|at| **at > position);
                mine.overridden_by.extend(higher.map(|at| policies[*at].1).filter(|node| is_reported_with(*node)));
            }
            let here = before.entry(*node).or_default();
            here.all.add(*policy);
            if is_in_force(policy) {
                here.in_force.add(*policy);
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

/// The policies of one node that are lower than another.
#[derive(Default)]
struct LowerPolicies {
    all: AnyPolicies,
    in_force: AnyPolicies,
}

/// A summary of a set of policies: whether it contains a policy other than a given one.
#[derive(Default)]
struct AnyPolicies {
    first: Option<PolicyId>,
    has_more: bool,
}

impl AnyPolicies {
    fn add(&mut self, policy: PolicyId) {
        self.has_more |= *self.first.get_or_insert(policy) != policy;
    }

    fn has_other_than(&self, policy: PolicyId) -> bool {
        self.has_more || self.first.is_some_and(|first| first != policy)
    }
}

/// The policies that each policy loses something to.
fn rivals(effective: &EffectivePolicy) -> HashMap<PolicyId, HashSet<PolicyId>> {
    let mut rivals: HashMap<PolicyId, HashSet<PolicyId>> = HashMap::new();
    for lost in &effective.superseded {
        rivals.entry(lost.policy).or_default().extend(lost.rivals());
    }
    rivals
}

/// The accepted policies of a chain, lowest first.
fn accepted_in_chain(model: &Model, chain: ChainId) -> impl Iterator<Item = ChainPolicy> {
    model.links(chain).filter_map(Link::node).flat_map(|node| {
        let accepted = model.stack(node).into_iter().flat_map(|stack| &stack.accepted);
        accepted.filter(|it| !it.is_absent()).map(move |attachment| (attachment.policy, node))
    })
}
