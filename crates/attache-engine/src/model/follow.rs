//! How chains spread anew from where something changed, and no further than it makes a difference.

use std::sync::{Arc, OnceLock};

use hashbrown::{HashMap, HashSet};

use super::propagate::{Above, Arriving};
use super::ref_counts::{ChainBuilder, RefCounts};
use super::{Folded, Model};
use crate::chain::{ChainId, Chains, Hierarchy, Link, SetId};
use crate::engine_view::EngineView;
use crate::order::Stack;
use crate::policy::PolicyId;
use crate::topology::{Level, NodeId};

/// A node that other chains reach than before, or on other ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub node: NodeId,
    pub before: Option<SetId>,
    pub after: Option<SetId>,
    pub cause: Cause,
    /// Whether it is an effective target now.
    pub is_target: bool,
    /// Whether no other node has its name now.
    pub is_alone: bool,
}

/// Why a node is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// Other chains may reach it.
    Chains,
    /// It may have become an effective target, or be one no more.
    Itself,
    /// The ways to it may be others.
    Ways,
}

/// Nodes that have to be looked at, parents before children.
#[derive(Debug, Default)]
struct Queue(Vec<Vec<(NodeId, Cause)>>);

impl Queue {
    fn push(&mut self, rank: usize, node: NodeId, cause: Cause) {
        if self.0.len() <= rank {
            self.0.resize_with(rank + 1, Vec::new);
        }
        self.0[rank].push((node, cause));
    }

    /// Those of one rank, each once with its strongest cause.
    fn take(&mut self, rank: usize) -> Option<Vec<(NodeId, Cause)>> {
        let mut nodes = std::mem::take(self.0.get_mut(rank)?);
        // Most come in order, one run after the other.
        nodes.sort();
        nodes.dedup_by(|(node, cause), (first, strongest)| {
            *strongest = if node == first { *cause } else { *strongest };
            node == first
        });
        Some(nodes)
    }
}

impl Model {
    pub(crate) fn hierarchy(&self) -> &Arc<Hierarchy> {
        &self.hierarchy
    }

    pub(crate) fn set_hierarchy(&mut self, hierarchy: Arc<Hierarchy>) {
        self.hierarchy = hierarchy;
    }

    /// Forgets what was found for those who asked.
    pub(crate) fn renew(&mut self) {
        self.whole = OnceLock::new();
        self.counts = OnceLock::new();
    }

    pub(crate) fn set_stack(&mut self, node: NodeId, stack: Option<Stack>) {
        self.stacks.set(node, stack);
    }

    pub(crate) fn root(&self) -> Option<NodeId> {
        self.root
    }

    pub(crate) fn knows(&self, chain: ChainId) -> bool {
        self.chains.knows(chain)
    }

    /// The policies of a chain with where they stand, lowest first.
    pub(crate) fn standing(&self, chain: ChainId) -> Vec<(NodeId, PolicyId)> {
        let nodes = self.chains.links(chain).filter_map(Link::node);
        let stacks = nodes.filter_map(|node| Some((node, self.stacks.get(node)?)));
        stacks.flat_map(|(node, stack)| stack.accepted.iter().map(move |it| (node, it.policy))).collect()
    }

    /// The nodes of the only scope that ends at a node, if there is but one way to it.
    pub(crate) fn only_way(&self, view: EngineView<'_>, node: NodeId, nodes: &mut Vec<NodeId>) -> bool {
        nodes.clear();
        let mut at = Some(node);
        while let Some(node) = at {
            let [arrival] = self.hierarchy.arrivals(node) else { return false };
            nodes.push(node);
            at = arrival.parent;
        }
        nodes.reverse();
        if nodes.iter().any(|node| self.above(view, *node).next().is_some()) {
            let mut all = Vec::with_capacity(nodes.len() * 2);
            for node in nodes.drain(..) {
                for above in self.above(view, node) {
                    if !all.contains(&above) {
                        all.push(above);
                    }
                }
                all.push(node);
            }
            *nodes = all;
        }
        true
    }

    pub(crate) fn chains_of(&self, set: SetId) -> &[(ChainId, u64)] {
        self.sets.get(set)
    }

    /// The chains that are met at some effective targets, each with the number of scopes in which it is.
    pub(crate) fn met_at(&self, targets: &[NodeId]) -> HashMap<ChainId, i128> {
        // By sets first: most targets have the same as others.
        let mut sets: HashMap<SetId, i128> = HashMap::new();
        for set in targets.iter().filter_map(|target| self.set_at(*target)) {
            *sets.entry(set).or_default() += 1;
        }
        let mut met = HashMap::new();
        for (set, targets) in sets {
            for (chain, scopes) in self.sets.get(set) {
                *met.entry(*chain).or_default() += targets * i128::from(*scopes);
            }
        }
        met
    }

    /// Looks again at some nodes, and at what depends on them. `gone` are not there any more.
    pub(crate) fn follow(
        &mut self,
        view: EngineView<'_>,
        ref_counts: &mut RefCounts,
        dirty: impl Iterator<Item = (NodeId, Cause)>,
        gone: &[NodeId],
    ) -> Vec<Moved> {
        let mut moved = Vec::new();
        for &node in gone {
            if let Some(before) = self.set_at(node) {
                *self.at.entry(node) = None;
                ref_counts.exchange(Some(before), None, 1);
                let (cause, is_target, is_alone) = (Cause::Ways, false, false);
                moved.push(Moved { node, before: Some(before), after: None, cause, is_target, is_alone });
            }
        }
        let deepest = view.topology.deepest();
        let rank = |node| view.topology.rank(deepest, node);
        let mut queue = Queue::default();
        dirty.for_each(|(node, look)| queue.push(rank(node), node, look));
        let chains = std::mem::replace(&mut self.chains, Chains::none());
        let mut growing = ChainBuilder { chains, ref_counts, new: Vec::new() };
        let mut arriving = Arriving::default();
        let mut at = 0;
        while let Some(nodes) = queue.take(at) {
            let first = moved.len();
            for (node, cause) in nodes {
                let it = &view.topology[node];
                if self.is_beyond_at(it.level) {
                    continue;
                }
                let on_other_ways = cause == Cause::Ways;
                let before = self.set_at(node);
                let after = self
                    .hierarchy
                    .place(node)
                    .map(|place| self.reaching(view, &mut growing, node, place, self, &mut arriving));
                let is_member = after.is_some();
                let after = after.map(|known| known.unwrap_or_else(|| self.intern(&mut growing, &mut arriving.chains)));
                if after != before || cause > Cause::Chains {
                    let is_target = is_member && self.may_be_target(view, node, it);
                    let is_alone = !it.may_share_name();
                    moved.push(Moved { node, before, after, cause, is_target, is_alone });
                }
                if after != before || on_other_ways || !is_member {
                    let ways = on_other_ways || before.is_some() != after.is_some();
                    let cause = if ways { Cause::Ways } else { Cause::Chains };
                    // What is below a route, and that may be much, are its rules.
                    let rank = |below| if it.level == Level::Route { at + 1 } else { rank(below) };
                    self.below(view, node, |below| queue.push(rank(below), below, cause));
                }
            }
            // Only what comes after them looks where they are.
            let of_rank = moved[first..].iter().filter(|it| it.after != it.before);
            self.at.set_sorted(of_rank.map(|it| (it.node, it.after)));
            for alike in moved[first..].chunk_by(|a, b| (a.before, a.after) == (b.before, b.after)) {
                if let Some(Moved { before, after, .. }) = alike.first() {
                    growing.ref_counts.exchange(*before, *after, alike.len() as u32);
                }
            }
            at += 1;
        }
        let ChainBuilder { chains, new, .. } = growing;
        self.chains = chains;
        for chain in new {
            *self.folded.entry(chain.0 as usize) = Folded::default();
        }
        moved
    }

    fn intern(&mut self, growing: &mut ChainBuilder<'_>, arriving: &mut Vec<(ChainId, u64)>) -> SetId {
        let mut is_new = false;
        let free = &mut growing.ref_counts.free_sets;
        let set = self.sets.intern(arriving, |sets| {
            is_new = true;
            free.pop().unwrap_or_else(|| sets.next())
        });
        if is_new {
            *growing.ref_counts.set(set) = 0;
            growing.ref_counts.idle_sets.push(set);
            for (chain, _) in arriving {
                *growing.ref_counts.chain(*chain) += 1;
            }
        }
        set
    }

    /// Chains come to something else: the policies on their nodes are others, or say something else.
    pub(crate) fn refold(&mut self, chains: &[ChainId]) {
        for chain in chains {
            *self.folded.entry(chain.0 as usize) = Folded::default();
        }
    }

    /// The nodes that some chains reach, if they are met first at the nodes `from`.
    pub(crate) fn meeting(&self, view: EngineView<'_>, from: &[NodeId], chains: &HashSet<ChainId>) -> Vec<NodeId> {
        let mut sets: HashMap<SetId, bool> = HashMap::new();
        let mut seen: HashSet<NodeId> = HashSet::new();
        let mut found = Vec::new();
        let mut todo = from.to_vec();
        while let Some(node) = todo.pop() {
            if !view.topology.has(node) || self.is_beyond(view, node) || !seen.insert(node) {
                continue;
            }
            let has_some = |set: SetId| self.sets.get(set).iter().any(|(chain, _)| chains.contains(chain));
            let set = self.set_at(node);
            let is_met = set.is_some_and(|set| *sets.entry(set).or_insert_with(|| has_some(set)));
            found.extend(is_met.then_some(node));
            if is_met || !self.hierarchy.has(node) {
                self.below(view, node, |below| todo.push(below));
            }
        }
        found.sort_unstable();
        found
    }

    /// What may stand right below a node.
    fn below(&self, view: EngineView<'_>, node: NodeId, mut found: impl FnMut(NodeId)) {
        let topology = view.topology;
        let level = topology[node].level;
        if !self.is_whole && level == Level::RouteRule {
            // Only backends, which are beyond, or other routes.
            if topology.deepest() == 0 {
                return;
            }
            let routes = topology.children(node).iter().filter(|it| topology[**it].level == Level::Route);
            return routes.for_each(|route| found(*route));
        }
        topology.children(node).iter().for_each(|below| found(*below));
        if level == Level::RouteRule {
            topology.ports_named(node).iter().for_each(|port| found(*port));
        }
        if self.hierarchy.has_waypoints() && matches!(level, Level::GatewayClass | Level::Gateway) {
            let is_behind = |it: &NodeId| self.hierarchy.arrivals(*it).iter().any(|from| from.parent == Some(node));
            topology.nodes().map(|(it, _)| it).filter(is_behind).for_each(found);
        }
    }

    /// Forgets the chains and sets that nobody uses.
    pub(crate) fn forget(&mut self, ref_counts: &mut RefCounts) {
        for set in std::mem::take(&mut ref_counts.idle_sets) {
            if *ref_counts.set(set) > 0 || self.sets.get(set).is_empty() {
                continue;
            }
            for (chain, _) in self.sets.get(set) {
                let uses = ref_counts.chain(*chain);
                *uses = uses.saturating_sub(1);
                ref_counts.idle_chains.push(*chain);
            }
            self.sets.remove(set);
            ref_counts.free_sets.push(set);
        }
        while let Some(chain) = ref_counts.idle_chains.pop() {
            if *ref_counts.chain(chain) > 0 || chain == ChainId::EMPTY {
                continue;
            }
            let Some((above, link)) = self.chains.remove(chain) else { continue };
            *self.folded.entry(chain.0 as usize) = Folded::default();
            ref_counts.drop(chain, above, link);
        }
    }
}
