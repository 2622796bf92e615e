//! Scopes: the paths from the roots to a node. They are listed only when somebody looks.

use hashbrown::HashMap;

use super::Model;
use super::propagate::{Known, stack_node};
use crate::chain::{ChainId, Link, ParentEdge};
use crate::engine_view::EngineView;
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// A path from a root to a node, with what meets on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub nodes: Vec<NodeId>,
    /// Only requests from this Namespace are meant.
    pub from: Option<NodeId>,
    pub chain: ChainId,
}

impl Scope {
    /// Where it ends.
    pub fn end(&self) -> Option<NodeId> {
        self.nodes.last().copied()
    }
}

/// Which chains reach a node without having met a Namespace: asked again for everything below.
pub(crate) type Free = HashMap<(NodeId, ChainId, NodeId), bool>;

impl Model {
    /// Every scope that ends at `node`.
    pub fn scopes(&self, view: EngineView<'_>, node: NodeId, found: &mut impl FnMut(Scope)) {
        self.scopes_within(view, node, &|_| true, found);
    }

    /// Every scope that ends at `node` and has no nodes but those of the `way`, apart from what is right above them
    /// without being their parent.
    pub fn scopes_within(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        way: &impl Fn(NodeId) -> bool,
        found: &mut impl FnMut(Scope),
    ) {
        if self.hierarchy.has(node) {
            self.at(view, node).climb(view, node, way, &mut Vec::new(), found);
        }
    }

    /// Prolongs a path, given from its end, up to the roots.
    fn climb(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        way: &impl Fn(NodeId) -> bool,
        path: &mut Vec<(NodeId, ParentEdge)>,
        found: &mut impl FnMut(Scope),
    ) {
        for &arrival in self.hierarchy.arrivals(node) {
            path.push((node, arrival));
            match arrival.parent {
                Some(parent) if !way(parent) => {}
                Some(parent) => self.climb(view, parent, way, path, found),
                None => self.descend(view, path, &mut Vec::new(), ChainId::EMPTY, found),
            }
            path.pop();
        }
    }

    /// Follows a path down, with the chain so far.
    fn descend(
        &self,
        view: EngineView<'_>,
        path: &[(NodeId, ParentEdge)],
        nodes: &mut Vec<NodeId>,
        chain: ChainId,
        found: &mut impl FnMut(Scope),
    ) {
        let [rest @ .., (node, arrival)] = path else {
            found(Scope { nodes: nodes.clone(), from: self.chains.from(chain), chain });
            return;
        };
        let before = nodes.len();
        for above in self.above(view, *node) {
            if !nodes.contains(&above) {
                nodes.push(above);
            }
        }
        nodes.push(*node);
        let mut next = Vec::new();
        self.step(view, &mut Known(&self.chains), *arrival, *node, chain, &mut next);
        for chain in next {
            self.descend(view, rest, nodes, chain, found);
        }
        nodes.truncate(before);
    }

    /// The parents of a node with the chains that go on as `chain` at it.
    pub(crate) fn before(&self, view: EngineView<'_>, node: NodeId, chain: ChainId) -> Vec<(NodeId, ChainId)> {
        let mut found = Vec::new();
        let mut next = Vec::new();
        let Some(place) = self.hierarchy.place(node) else { return found };
        let adds = self.adds(view, node, place, self);
        for &arrival in place.arrivals() {
            let Some(parent) = arrival.parent.filter(|parent| self.concerns(view, *parent, node)) else { continue };
            if !adds && self.passes_on(view, arrival, node) {
                let is_there = self.chains_at(view, parent).binary_search_by_key(&chain, |(chain, _)| *chain).is_ok();
                found.extend(is_there.then_some((parent, chain)));
                continue;
            }
            for &(before, _) in self.chains_at(view, parent) {
                next.clear();
                self.step(view, &mut Known(&self.chains), arrival, node, before, &mut next);
                if next.contains(&chain) {
                    found.push((parent, before));
                }
            }
        }
        found
    }

    /// What stands right above a node without being its parent, with the policies of `chain` at it or above it.
    pub(crate) fn above_on(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        chain: ChainId,
        free: &mut Free,
    ) -> Vec<(NodeId, Vec<PolicyId>)> {
        let mut below = vec![stack_node(view, node)];
        let above: Vec<NodeId> = self.above(view, node).collect();
        let mut found = Vec::new();
        for &it in above.iter().rev() {
            let is_namespace = view.topology.namespace(node) == Some(it);
            if is_namespace && !self.is_free(view, node, chain, it, free) {
                continue;
            }
            let nodes = self.chains.links(chain).filter_map(Link::node).filter(|met| !below.contains(met));
            let stacks = nodes.filter_map(|met| self.stacks.get(met));
            found.push((it, stacks.flat_map(|stack| stack.accepted.iter().map(|it| it.policy)).collect()));
            below.push(it);
        }
        found
    }

    /// Whether there is a scope with this chain in which nothing above `node` lives in the Namespace.
    fn is_free(&self, view: EngineView<'_>, node: NodeId, chain: ChainId, namespace: NodeId, free: &mut Free) -> bool {
        if let Some(known) = free.get(&(node, chain, namespace)) {
            return *known;
        }
        let mut next = Vec::new();
        for &arrival in self.hierarchy.arrivals(node).iter().filter(|arrival| arrival.parent.is_none()) {
            self.step(view, &mut Known(&self.chains), arrival, node, ChainId::EMPTY, &mut next);
        }
        let is_free = next.contains(&chain)
            || self.before(view, node, chain).into_iter().any(|(parent, before)| {
                view.topology.namespace(parent) != Some(namespace)
                    && self.is_free(view, parent, before, namespace, free)
            });
        free.insert((node, chain, namespace), is_free);
        is_free
    }
}
