//! Updates the chains of the nodes that depend on an edit, and of no other nodes.

use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};

use super::propagate::{Ancestors, ReachingChains};
use super::ref_counts::{ChainBuilder, RefCounts};
use super::{CachedPolicy, Model};
use crate::chain::{ChainId, Chains, Hierarchy, Link, SetId};
use crate::engine_view::EngineView;
use crate::order::Stack;
use crate::policy::PolicyId;
use crate::tally::Tallies;
use crate::topology::{Level, NodeId};

/// A node that an update visited, and that may have changed: the chains that reach it, the paths to it, or whether it
/// is an effective target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeUpdate {
    pub node: NodeId,
    /// The set of chains before the update. `None` if the node did not belong to the hierarchy.
    pub before: Option<SetId>,
    /// The set of chains after the update. `None` if the node no longer belongs to the hierarchy.
    pub after: Option<SetId>,
    pub cause: UpdateCause,
    /// Whether the node is an effective target after the update.
    pub is_target: bool,
    /// Whether no other node has the same reference after the update.
    pub has_unique_name: bool,
}

/// Why an update visits a node, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UpdateCause {
    /// The chains that reach the node may have changed.
    Chains,
    /// The node may have become an effective target, or may no longer be one.
    Target,
    /// The paths to the node may have changed.
    Paths,
}

/// The nodes that an update still has to visit, parents before children.
#[derive(Debug, Default)]
struct UpdateQueue(Vec<Vec<(NodeId, UpdateCause)>>);

impl UpdateQueue {
    fn push(&mut self, rank: usize, node: NodeId, cause: UpdateCause) {
        if self.0.len() <= rank {
            self.0.resize_with(rank + 1, Vec::new);
        }
        self.0[rank].push((node, cause));
    }

    /// The nodes of one rank, each once with its strongest cause. `None` after the last rank.
    fn take(&mut self, rank: usize) -> Option<Vec<(NodeId, UpdateCause)>> {
        let mut nodes = std::mem::take(self.0.get_mut(rank)?);
        // A stable sort is fast here: the nodes are a few sorted runs.
        nodes.sort();
        nodes.dedup_by(|(node, cause), (first, strongest)| {
            *strongest = if node == first { *cause } else { *strongest };
            node == first
        });
        Some(nodes)
    }
}

impl Model {
    pub(crate) fn set_hierarchy(&mut self, hierarchy: Arc<Hierarchy>) {
        self.hierarchy = hierarchy;
    }

    pub(crate) fn set_stack(&mut self, node: NodeId, stack: Option<Stack>) {
        self.stacks.set(node, stack);
    }

    pub(crate) fn set_tallies(&mut self, tallies: Tallies) {
        self.tallies = tallies.into();
    }

    /// Clears the caches that depend on all nodes.
    pub(crate) fn clear_caches(&mut self) {
        self.with_backends = OnceLock::new();
        self.scope_counts = OnceLock::new();
    }

    /// Clears the effective policies of chains whose policies changed.
    pub(crate) fn clear_effective(&mut self, chains: &[ChainId]) {
        for chain in chains {
            *self.effective.entry(chain.0 as usize) = CachedPolicy::default();
        }
    }

    pub(crate) fn has_chain(&self, chain: ChainId) -> bool {
        self.chains.knows(chain)
    }

    /// The policies of a chain with the nodes that they are on, lowest first.
    pub(crate) fn policies_in_chain(&self, chain: ChainId) -> Vec<(NodeId, PolicyId)> {
        let nodes = self.chains.links(chain).filter_map(Link::node);
        let stacks = nodes.filter_map(|node| Some((node, self.stacks.get(node)?)));
        stacks.flat_map(|(node, stack)| stack.accepted.iter().map(move |it| (node, it.policy))).collect()
    }

    /// Fills `nodes` with the nodes of the only scope that ends at `node`. Returns whether there is exactly one.
    pub(crate) fn single_path(&self, view: EngineView<'_>, node: NodeId, nodes: &mut Vec<NodeId>) -> bool {
        nodes.clear();
        let mut next = Some(node);
        while let Some(node) = next {
            let [edge] = self.hierarchy.parent_edges(node) else { return false };
            nodes.push(node);
            next = edge.parent;
        }
        nodes.reverse();
        if nodes.iter().any(|node| self.unlinked_ancestors(view, *node).next().is_some()) {
            let mut all = Vec::with_capacity(nodes.len() * 2);
            for node in nodes.drain(..) {
                for ancestor in self.unlinked_ancestors(view, node) {
                    if !all.contains(&ancestor) {
                        all.push(ancestor);
                    }
                }
                all.push(node);
            }
            *nodes = all;
        }
        true
    }

    /// The chains that reach some effective targets, each with its number of scopes.
    pub(crate) fn scope_counts_at(&self, targets: &[NodeId]) -> HashMap<ChainId, i128> {
        // Count sets first, because most targets share their set with others.
        let mut sets: HashMap<SetId, i128> = HashMap::new();
        for set in targets.iter().filter_map(|target| self.set_at(*target)) {
            *sets.entry(set).or_default() += 1;
        }
        let mut counts = HashMap::new();
        for (set, targets) in sets {
            for (chain, scopes) in self.sets.get(set) {
                *counts.entry(*chain).or_default() += targets * i128::from(*scopes);
            }
        }
        counts
    }

    /// Updates the chains of the `dirty` nodes and, as far as they change, of the nodes below them. `removed` nodes are
    /// no longer in the topology.
    pub(crate) fn update_chains(
        &mut self,
        view: EngineView<'_>,
        ref_counts: &mut RefCounts,
        dirty: &[(NodeId, UpdateCause)],
        removed: &[NodeId],
    ) -> Vec<NodeUpdate> {
        let mut updates = Vec::with_capacity(dirty.len() + removed.len());
        for &node in removed {
            if let Some(before) = self.set_at(node) {
                *self.reaching.entry(node) = None;
                ref_counts.drop_set_uses(before, 1);
                let (cause, is_target, has_unique_name) = (UpdateCause::Paths, false, false);
                updates.push(NodeUpdate { node, before: Some(before), after: None, cause, is_target, has_unique_name });
            }
        }
        let deepest = view.topology.deepest();
        let rank = |node| view.topology.rank(deepest, node);
        let mut queue = UpdateQueue::default();
        dirty.iter().for_each(|(node, cause)| queue.push(rank(*node), *node, *cause));
        let chains = std::mem::replace(&mut self.chains, Chains::none());
        let mut builder = ChainBuilder { chains, ref_counts, new: Vec::new() };
        let mut reaching = ReachingChains::default();
        let mut current = 0;
        while let Some(nodes) = queue.take(current) {
            let first = updates.len();
            for (node, cause) in nodes {
                let it = &view.topology[node];
                if self.is_level_below_targets(it.level) {
                    continue;
                }
                let has_other_paths = cause == UpdateCause::Paths;
                let before = self.set_at(node);
                let after = self
                    .hierarchy
                    .entry(node)
                    .map(|entry| self.find_reaching(view, &mut builder, node, entry, self, &mut reaching));
                let is_member = after.is_some();
                let after =
                    after.map(|known| known.unwrap_or_else(|| self.intern_set(&mut builder, &mut reaching.chains)));
                if after != before || cause > UpdateCause::Chains {
                    let is_target = is_member && self.is_target_if_member(view, node, it);
                    let has_unique_name = !it.may_share_name();
                    updates.push(NodeUpdate { node, before, after, cause, is_target, has_unique_name });
                }
                if after != before || has_other_paths || !is_member {
                    let other_paths = has_other_paths || before.is_some() != after.is_some();
                    let cause = if other_paths { UpdateCause::Paths } else { UpdateCause::Chains };
                    // A route can have very many children, which are rules: their rank is the next one.
                    let rank = |child| if it.level == Level::Route { current + 1 } else { rank(child) };
                    self.for_each_child(view, node, |child| queue.push(rank(child), child, cause));
                }
            }
            // Only nodes of higher ranks read the sets of these nodes.
            let of_rank = &updates[first..];
            let changed = of_rank.iter().filter(|it| it.after != it.before);
            self.reaching.set_sorted(changed.map(|it| (it.node, it.after)));
            for alike in of_rank.chunk_by(|a, b| a.after == b.after) {
                if let Some(set) = alike[0].after {
                    *builder.ref_counts.set_uses(set) += alike.len() as u32;
                }
            }
            for alike in of_rank.chunk_by(|a, b| a.before == b.before) {
                if let Some(set) = alike[0].before {
                    builder.ref_counts.drop_set_uses(set, alike.len() as u32);
                }
            }
            current += 1;
        }
        let ChainBuilder { chains, new, .. } = builder;
        self.chains = chains;
        self.clear_effective(&new);
        updates
    }

    /// The set of these chains. A new set starts as unused.
    fn intern_set(&mut self, builder: &mut ChainBuilder<'_>, chains: &mut Vec<(ChainId, u64)>) -> SetId {
        let mut is_new = false;
        let free = &mut builder.ref_counts.free_sets;
        let set = self.sets.intern(chains, |sets| {
            is_new = true;
            free.pop().unwrap_or_else(|| sets.next())
        });
        if is_new {
            builder.ref_counts.add_set(set, chains);
        }
        set
    }

    /// The nodes that any of the chains reaches, if the first nodes that the chains reach are among `from`.
    pub(crate) fn nodes_reached_by(
        &self,
        view: EngineView<'_>,
        from: &[NodeId],
        chains: &HashSet<ChainId>,
    ) -> Vec<NodeId> {
        let mut sets: HashMap<SetId, bool> = HashMap::new();
        let mut seen: HashSet<NodeId> = HashSet::new();
        let mut found = Vec::new();
        let mut todo = from.to_vec();
        while let Some(node) = todo.pop() {
            if !view.topology.has(node) || self.is_below_targets(view, node) || !seen.insert(node) {
                continue;
            }
            let has_any = |set: SetId| self.sets.get(set).iter().any(|(chain, _)| chains.contains(chain));
            let set = self.set_at(node);
            let is_reached = set.is_some_and(|set| *sets.entry(set).or_insert_with(|| has_any(set)));
            found.extend(is_reached.then_some(node));
            if is_reached || !self.hierarchy.has(node) {
                self.for_each_child(view, node, |child| todo.push(child));
            }
        }
        found.sort_unstable();
        found
    }

    /// The nodes that can be directly below a node on a path.
    fn for_each_child(&self, view: EngineView<'_>, node: NodeId, mut found: impl FnMut(NodeId)) {
        let topology = view.topology;
        let level = topology[node].level;
        if !self.has_backends && level == Level::RouteRule {
            // The children are backends, which this model does not cover, or other routes.
            if topology.deepest() == 0 {
                return;
            }
            let routes = topology.children(node).iter().filter(|it| topology[**it].level == Level::Route);
            return routes.for_each(|route| found(*route));
        }
        topology.children(node).iter().for_each(|child| found(*child));
        if level == Level::RouteRule {
            topology.ports_named(node).iter().for_each(|port| found(*port));
        }
        if self.hierarchy.has_waypoints() && matches!(level, Level::GatewayClass | Level::Namespace | Level::Gateway) {
            let is_behind = |it: &NodeId| self.hierarchy.parent_edges(*it).iter().any(|edge| edge.parent == Some(node));
            topology.nodes().map(|(it, _)| it).filter(is_behind).for_each(found);
        }
    }

    /// Removes the chains and sets that are no longer used, and frees their ids.
    pub(crate) fn release_unused(&mut self, ref_counts: &mut RefCounts) {
        for set in std::mem::take(&mut ref_counts.unused_sets) {
            if *ref_counts.set_uses(set) > 0 || self.sets.get(set).is_empty() {
                continue;
            }
            for (chain, _) in self.sets.get(set) {
                ref_counts.drop_chain_use(*chain);
            }
            self.sets.remove(set);
            ref_counts.free_sets.push(set);
        }
        while let Some(chain) = ref_counts.unused_chains.pop() {
            if *ref_counts.chain_uses(chain) > 0 || chain == ChainId::EMPTY {
                continue;
            }
            let Some((parent, link)) = self.chains.remove(chain) else { continue };
            self.clear_effective(&[chain]);
            ref_counts.remove_chain(chain, parent, link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectId;

    #[test]
    fn the_queue_gives_each_node_once_with_its_strongest_cause() {
        let [a, b] = [1, 2].map(|id| NodeId::whole(ObjectId(id)));
        let mut queue = UpdateQueue::default();
        queue.push(1, b, UpdateCause::Chains);
        queue.push(0, b, UpdateCause::Chains);
        queue.push(0, a, UpdateCause::Target);
        queue.push(0, b, UpdateCause::Paths);
        queue.push(0, a, UpdateCause::Chains);
        assert_eq!(queue.take(0), Some(vec![(a, UpdateCause::Target), (b, UpdateCause::Paths)]));
        assert_eq!(queue.take(1), Some(vec![(b, UpdateCause::Chains)]));
        assert!(queue.take(2).is_none());
    }
}
