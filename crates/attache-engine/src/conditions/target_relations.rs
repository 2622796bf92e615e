//! Which policies override or merge with others, as reported by controllers that compare targets only.
//!
//! A policy on a Gateway, ListenerSet or listener is reported as overridden for every route below it that has a policy
//! of its own, and for every listener. It does not matter whether both policies apply to one request.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use super::coexistence::Coexistence;
use crate::attachment::Attachment;
use crate::engine::Engine;
use crate::kinds::KindId;
use crate::model::Model;
use crate::order::Stack;
use crate::policy::PolicyId;
use crate::status::AncestorStatus;
use crate::topology::{Level, NodeId, RouteParent, Topology};

/// The relations of a policy, by its targets.
#[derive(Clone, Debug, Default)]
pub(super) struct TargetRelations(BTreeMap<NodeId, Coexistence>);

impl TargetRelations {
    /// The relations on all targets.
    pub fn on_all(&self) -> Coexistence {
        Coexistence::union(self.0.values())
    }

    fn on(&mut self, target: NodeId) -> &mut Coexistence {
        self.0.entry(target).or_default()
    }
}

/// The targets of policies of one kind, by their ancestors.
#[derive(Default)]
struct TargetTree {
    /// The listeners, ListenerSets and routes with policies, each below the node that they are attached to.
    below: HashMap<NodeId, BTreeSet<NodeId>>,
    /// The routes with policies that name a listener which this Gateway or ListenerSet does not have.
    astray: HashMap<NodeId, BTreeSet<NodeId>>,
    /// The ListenerSets with something below, by the Gateway that they name.
    sets: HashMap<NodeId, BTreeSet<NodeId>>,
    /// The routes whose policies merge with a policy on this node.
    merged: HashMap<NodeId, BTreeSet<NodeId>>,
}

impl TargetTree {
    fn add_route(&mut self, route: NodeId, parent: &RouteParent) {
        let (map, above) = match (&parent.section, parent.listener) {
            (Some(_), None) => (&mut self.astray, parent.owner),
            (_, listener) => (&mut self.below, listener.unwrap_or(parent.owner)),
        };
        map.entry(above).or_default().insert(route);
        self.sets.entry(parent.gateway).or_default().insert(parent.owner);
    }

    fn below(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.below.get(&node).into_iter().flatten().copied()
    }

    /// What is below a Gateway or ListenerSet, or below its listeners.
    fn below_owner(&self, topology: &Topology, owner: NodeId) -> impl Iterator<Item = NodeId> {
        let astray = self.astray.get(&owner).into_iter().flatten().copied();
        self.below(owner).chain(astray).chain(topology.sections(owner).flat_map(|listener| self.below(listener)))
    }
}

impl Engine {
    /// The relations of every policy of some kinds to the policies on targets above or below.
    pub(super) fn target_relations(&self, kinds: impl Iterator<Item = KindId>) -> HashMap<PolicyId, TargetRelations> {
        let mut found = HashMap::new();
        for model in kinds.filter_map(|kind| self.model(kind)) {
            self.relate(model, &mut found);
        }
        found
    }

    /// The relations that concern an ancestor: those on the targets that it is reported for.
    pub(super) fn relations_at(&self, relations: &TargetRelations, ancestor: &AncestorStatus) -> Coexistence {
        let on_targets = || ancestor.targets.iter().filter_map(|target| Some((*target, relations.0.get(target)?)));
        let mut found = Coexistence::union(on_targets().map(|(_, relations)| relations));
        // Each target is reported over the one before, the highest last.
        let order = |target: NodeId| (self.report_rank(target), self.position(ancestor.status.policy, target));
        let last = |nodes: fn(&Coexistence) -> &BTreeSet<NodeId>| {
            let reported = on_targets().filter(|(_, relations)| !nodes(relations).is_empty());
            let last = reported.max_by_key(|(target, _)| order(*target));
            last.map(|(_, relations)| nodes(relations).clone()).unwrap_or_default()
        };
        found.overridden_by = last(|relations| &relations.overridden_by);
        found.merged_lower = last(|relations| &relations.merged_lower);
        let is_its = |listener: &NodeId| {
            ancestor.node.is_some_and(|node| node == *listener || node == self.topology().whole(*listener))
        };
        found.merged_at.retain(|listener, _| is_its(listener));
        found.merged_higher = found.merged_at.values().copied().collect();
        found
    }

    /// The order in which targets of one ancestor are reported.
    fn report_rank(&self, target: NodeId) -> usize {
        let topology = self.topology();
        let is_on_set = topology[topology.whole(target)].level == Level::ListenerSet;
        match topology[target].level {
            Level::RouteRule => 0,
            Level::Route => 1,
            Level::Listener if is_on_set => 2,
            Level::ListenerSet => 3,
            Level::Listener => 4,
            _ => 5,
        }
    }

    /// The position of a node among the targets of a policy.
    fn position(&self, policy: PolicyId, node: NodeId) -> Option<usize> {
        self.attachments().for_policy(policy).to.iter().position(|it| it.node == node)
    }

    fn relate(&self, model: &Model, found: &mut HashMap<PolicyId, TargetRelations>) {
        let (objects, topology) = (self.objects(), self.topology());
        let mut tree = TargetTree::default();
        for route in self.routes_with_policies(model) {
            let mut parents = topology.route_parents(objects, route);
            parents.retain(|parent| self.handles(model.id, parent.gateway));
            parents.iter().for_each(|parent| tree.add_route(route, parent));
            self.merge_route(model, route, &parents, &mut tree, found);
        }
        let is_taken = |stack: &Stack| stack.accepted.iter().any(|it| !it.is_absent());
        for (node, _) in model.stacks().iter().filter(|(_, stack)| is_taken(stack)) {
            let owner = topology.whole(node);
            let Some(gateway) = topology.gateway(objects, owner) else { continue };
            match topology[node].level {
                Level::Listener => _ = tree.below.entry(owner).or_default().insert(node),
                Level::ListenerSet => _ = tree.below.entry(gateway).or_default().insert(node),
                _ => {}
            }
            tree.sets.entry(gateway).or_default().insert(owner);
        }
        for (node, stack) in model.stacks().iter() {
            let overriding = self.overriding(model, &tree, node);
            let merged = tree.merged.get(&node);
            for policy in stack.accepted.iter().map(|attachment| attachment.policy) {
                let relations = found.entry(policy).or_default().on(node);
                relations.overridden_by.extend(&overriding);
                relations.merged_lower.extend(merged.into_iter().flatten());
            }
        }
    }

    /// The routes that policies of a kind target, as a whole or by rule, even if the policy is refused there.
    fn routes_with_policies(&self, model: &Model) -> BTreeSet<NodeId> {
        let topology = self.topology();
        let is_route = |node: &NodeId| matches!(topology[*node].level, Level::Route | Level::RouteRule);
        let mut routes: BTreeSet<NodeId> =
            model.stacks().nodes().filter(is_route).map(|node| topology.whole(node)).collect();
        for refusal in self.attachments().refused() {
            let is_of_kind = || self.kinds().leader(self.policy(refusal.policy).kind) == model.id;
            let Some(target) = refusal.target.filter(|_| is_of_kind()) else { continue };
            let target = self.policy(refusal.policy).targets.get(target);
            let node = target.and_then(|target| self.named_object(refusal.policy, &target.spec));
            routes.extend(node.filter(is_route));
        }
        routes
    }

    /// Adds the policies that the policies of a route and its rules merge with, if they ask for a merge: the nearest
    /// policy above each listener that the route can be attached to.
    fn merge_route(
        &self,
        model: &Model,
        route: NodeId,
        parents: &[RouteParent],
        tree: &mut TargetTree,
        found: &mut HashMap<PolicyId, TargetRelations>,
    ) {
        let topology = self.topology();
        let nodes = [route].into_iter().chain(topology.sections(route));
        let merging: Vec<&Attachment> = nodes
            .filter_map(|node| model.stack(node))
            .flat_map(|stack| &stack.accepted)
            .filter(|it| !it.is_absent() && self.policy(it.policy).requested_strategy.is_some())
            .collect();
        if merging.is_empty() {
            return;
        }
        let listeners = parents.iter().flat_map(|parent| parent.listeners.iter().map(move |it| (*it, parent)));
        for (listener, parent) in listeners {
            let above = [listener, parent.owner, parent.gateway].into_iter();
            let nearest = above.filter_map(|node| Some((node, model.stack(node)?.accepted.first()?.policy))).next();
            let Some((node, other)) = nearest else { continue };
            tree.merged.entry(node).or_default().insert(route);
            for attachment in &merging {
                let relations = found.entry(attachment.policy).or_default().on(attachment.node);
                relations.merged_higher.insert((other, node));
                relations.merged_at.insert(listener, (other, node));
            }
        }
    }

    /// The nodes that are reported to override a policy on `node`.
    fn overriding(&self, model: &Model, tree: &TargetTree, node: NodeId) -> BTreeSet<NodeId> {
        let topology = self.topology();
        let mut found: BTreeSet<NodeId> = match topology[node].level {
            Level::Gateway => {
                let sets = tree.sets.get(&node).into_iter().flatten().filter(|set| **set != node);
                let owners = [node].into_iter().chain(sets.copied());
                owners.flat_map(|owner| tree.below_owner(topology, owner)).collect()
            }
            Level::ListenerSet => tree.below_owner(topology, node).collect(),
            Level::Listener => {
                let is_route = |node: &NodeId| topology[*node].level == Level::Route;
                tree.below(node).chain(tree.below(topology.whole(node)).filter(is_route)).collect()
            }
            Level::Route => {
                let has_policy = |rule: &NodeId| model.stack(*rule).is_some_and(|stack| !stack.accepted.is_empty());
                topology.sections(node).filter(has_policy).collect()
            }
            _ => BTreeSet::new(),
        };
        if let Some(merged) = tree.merged.get(&node) {
            found.retain(|node| !merged.contains(node));
        }
        found
    }
}
