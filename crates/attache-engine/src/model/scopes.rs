//! Scopes: the paths from the roots to a node. There can be very many, so they are listed on demand.

use std::ops::ControlFlow;
use std::sync::Arc;

use hashbrown::HashMap;

use super::Model;
use super::propagate::{ExistingChains, stack_node};
use crate::chain::{ChainId, Link, ParentEdge};
use crate::engine_view::EngineView;
use crate::policy::PolicyId;
use crate::topology::{Level, NodeId, NodeRef};

/// A path from a root to a node, with the chain of policies along it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The nodes, the root first.
    pub nodes: Vec<NodeId>,
    /// The Namespace whose requests the scope is for. `None` means all requests.
    pub from: Option<NodeId>,
    /// The policies along the path.
    pub chain: ChainId,
}

impl Scope {
    /// The node at which the scope ends.
    pub fn end(&self) -> Option<NodeId> {
        self.nodes.last().copied()
    }

    /// The scope with the references of its nodes.
    pub fn reference(&self, view: EngineView<'_>) -> ScopeRef {
        let node = |node: &NodeId| Arc::new(view.node_ref(*node));
        ScopeRef { nodes: self.nodes.iter().map(node).collect(), from: self.from.as_ref().map(node) }
    }
}

/// A scope as references, which mean the same in every engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeRef {
    /// The nodes, the root first.
    pub nodes: Vec<Arc<NodeRef>>,
    /// The Namespace whose requests the scope is for. `None` means all requests.
    pub from: Option<Arc<NodeRef>>,
}

impl ScopeRef {
    /// The node at which the scope ends: the effective target.
    pub fn target(&self) -> Option<&NodeRef> {
        self.nodes.last().map(Arc::as_ref)
    }
}

/// Whether a chain reaches a node on a path that does not enter a Namespace before the node. Cached by node, chain and
/// Namespace, because it is needed for all nodes below.
pub(crate) type NamespaceFreePaths = HashMap<(NodeId, ChainId, NodeId), bool>;

impl Model {
    /// Calls `found` with every scope that ends at `node`.
    pub fn scopes(&self, view: EngineView<'_>, node: NodeId, found: &mut impl FnMut(Scope)) {
        self.scopes_within(view, node, &|_| true, found);
    }

    /// Calls `found` with every scope that ends at `node` and leads only through parents that are `included`. Namespaces
    /// and the Services of ports need not be included.
    pub fn scopes_within(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        included: &impl Fn(NodeId) -> bool,
        found: &mut impl FnMut(Scope),
    ) {
        _ = self.try_scopes_within(view, node, included, &mut |scope| {
            found(scope);
            ControlFlow::Continue(())
        });
    }

    /// As [`Model::scopes_within`], until `found` breaks.
    pub fn try_scopes_within(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        included: &impl Fn(NodeId) -> bool,
        found: &mut impl FnMut(Scope) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.hierarchy.has(node) {
            true => self.with_node(view, node).climb(view, node, included, &mut Vec::new(), found),
            false => ControlFlow::Continue(()),
        }
    }

    /// Extends a path, which is given from its end, up to the roots.
    fn climb(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        included: &impl Fn(NodeId) -> bool,
        path: &mut Vec<(NodeId, ParentEdge)>,
        found: &mut impl FnMut(Scope) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for &edge in self.hierarchy.parent_edges(node) {
            path.push((node, edge));
            match edge.parent {
                Some(parent) if !included(parent) => {}
                Some(parent) => self.climb(view, parent, included, path, found)?,
                None => self.descend(view, path, &mut Vec::new(), ChainId::EMPTY, found)?,
            }
            path.pop();
        }
        ControlFlow::Continue(())
    }

    /// Follows a path from its root down, extending the chain at each node.
    fn descend(
        &self,
        view: EngineView<'_>,
        path: &[(NodeId, ParentEdge)],
        nodes: &mut Vec<NodeId>,
        chain: ChainId,
        found: &mut impl FnMut(Scope) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let [rest @ .., (node, edge)] = path else {
            return found(Scope { nodes: nodes.clone(), from: self.chains.consumer(chain), chain });
        };
        let len = nodes.len();
        for ancestor in self.unlinked_ancestors(view, *node) {
            if !nodes.contains(&ancestor) {
                nodes.push(ancestor);
            }
        }
        nodes.push(*node);
        let mut continued = Vec::new();
        self.continue_chain(view, &mut ExistingChains(&self.chains), *edge, *node, chain, &mut continued);
        for chain in continued {
            self.descend(view, rest, nodes, chain, found)?;
        }
        nodes.truncate(len);
        ControlFlow::Continue(())
    }

    /// The parents of a node, each with the chains at it that continue as `chain` at the node.
    pub(crate) fn preceding_chains(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        chain: ChainId,
    ) -> Vec<(NodeId, ChainId)> {
        let mut found = Vec::new();
        let mut continued = Vec::new();
        let Some(entry) = self.hierarchy.entry(node) else { return found };
        let extends = self.extends_chains(view, node, entry, self);
        for &edge in entry.parent_edges() {
            let Some(parent) = edge.parent.filter(|parent| self.applies_below(view, *parent, node)) else { continue };
            if !extends && self.passes_all(view, edge, node) {
                let has_chain = self.chains_at(view, parent).binary_search_by_key(&chain, |(chain, _)| *chain).is_ok();
                found.extend(has_chain.then_some((parent, chain)));
                continue;
            }
            for &(preceding, _) in self.chains_at(view, parent) {
                continued.clear();
                self.continue_chain(view, &mut ExistingChains(&self.chains), edge, node, preceding, &mut continued);
                if continued.contains(&chain) {
                    found.push((parent, preceding));
                }
            }
        }
        found
    }

    /// The Namespaces and the Service that are above a node without being its parents, each with the policies of `chain`
    /// that are on it or above it.
    pub(crate) fn policies_at_unlinked_ancestors(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        chain: ChainId,
        known: &mut NamespaceFreePaths,
    ) -> Vec<(NodeId, Vec<PolicyId>)> {
        let mut below = vec![stack_node(view, node)];
        let ancestors: Vec<NodeId> = self.unlinked_ancestors(view, node).collect();
        let mut found = Vec::new();
        for &ancestor in ancestors.iter().rev() {
            let is_namespace = view.topology.namespace(node) == Some(ancestor);
            // The root Namespace is above the first node of a path.
            let is_above = match is_namespace {
                true => self.has_path_outside(view, node, chain, ancestor, known),
                false => view.topology[ancestor].level != Level::Namespace || self.starts_path(node),
            };
            if !is_above {
                continue;
            }
            let nodes = self.chains.links(chain).filter_map(Link::node).filter(|node| !below.contains(node));
            let stacks = nodes.filter_map(|node| self.stacks.get(node));
            found.push((ancestor, stacks.flat_map(|stack| stack.accepted.iter().map(|it| it.policy)).collect()));
            below.push(ancestor);
        }
        found
    }

    /// Whether a path can start at a node, or below a node that is outside of Namespaces.
    fn starts_path(&self, node: NodeId) -> bool {
        let is_inside = |parent: NodeId| self.hierarchy.in_namespace(parent);
        !self.hierarchy.parent_edges(node).iter().all(|edge| edge.parent.is_some_and(is_inside))
    }

    /// Whether a scope with this chain has no node of the Namespace above `node`.
    fn has_path_outside(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        chain: ChainId,
        namespace: NodeId,
        known: &mut NamespaceFreePaths,
    ) -> bool {
        if let Some(known) = known.get(&(node, chain, namespace)) {
            return *known;
        }
        let mut continued = Vec::new();
        for &edge in self.hierarchy.parent_edges(node).iter().filter(|edge| edge.parent.is_none()) {
            self.continue_chain(view, &mut ExistingChains(&self.chains), edge, node, ChainId::EMPTY, &mut continued);
        }
        let is_outside = continued.contains(&chain)
            || self.preceding_chains(view, node, chain).into_iter().any(|(parent, preceding)| {
                view.topology.namespace(parent) != Some(namespace)
                    && self.has_path_outside(view, parent, preceding, namespace, known)
            });
        known.insert((node, chain, namespace), is_outside);
        is_outside
    }
}
