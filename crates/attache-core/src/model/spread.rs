//! How chains spread from the roots down.

use std::sync::Arc;

use super::{Folded, Model, World};
use crate::chain::{Arrival, ChainId, ChainSets, Chains, Link, SetId, Terms};
use crate::kinds::Class;
use crate::topology::{Level, NodeId};

/// Where chains are looked up and, while they spread, made.
pub(super) trait Linking {
    fn chains(&self) -> &Chains;
    fn link(&mut self, chain: ChainId, link: Link) -> ChainId;
}

impl Linking for Chains {
    fn chains(&self) -> &Chains {
        self
    }

    fn link(&mut self, chain: ChainId, link: Link) -> ChainId {
        self.push(chain, link, Chains::next)
    }
}

/// Chains that have all been made.
pub(super) struct Known<'c>(pub &'c Chains);

impl Linking for Known<'_> {
    fn chains(&self) -> &Chains {
        self.0
    }

    fn link(&mut self, chain: ChainId, link: Link) -> ChainId {
        self.0.find(chain, link).unwrap_or(chain)
    }
}

impl Model {
    /// Finds the chains that reach each node, parents before children.
    pub(super) fn spread(&mut self, world: World<'_>) {
        let hierarchy = Arc::clone(&self.hierarchy);
        let mut chains = std::mem::replace(&mut self.chains, Chains::none());
        let (mut arriving, mut next) = (Vec::new(), Vec::new());
        for &node in world.topology.order() {
            if !hierarchy.has(node) || self.is_beyond(world, node) || self.set_at(node).is_some() {
                continue;
            }
            let known = self.reaching(world, &mut chains, node, &mut arriving, &mut next);
            let set = known.unwrap_or_else(|| self.sets.intern(&mut arriving, ChainSets::next));
            *self.at.entry(node) = Some(set);
        }
        for chain in self.folded.len()..chains.bound() {
            *self.folded.entry(chain) = Folded::default();
        }
        self.chains = chains;
    }

    /// The set of the chains that reach a node, if it is one that is known; else its chains are `arriving`.
    pub(super) fn reaching(
        &self,
        world: World<'_>,
        chains: &mut impl Linking,
        node: NodeId,
        arriving: &mut Vec<(ChainId, u64)>,
        next: &mut Vec<ChainId>,
    ) -> Option<SetId> {
        let arrivals = self.hierarchy.arrivals(node);
        let adds = self.adds(world, arrivals, node);
        let passes_on = |arrival| self.passes_on(world, arrival, node);
        if let &[arrival] = arrivals
            && !adds
            && passes_on(arrival)
        {
            return Some(self.set_before(arrival));
        }
        arriving.clear();
        // Those that arrive with the same go on with the same.
        let alike = |a: &Arrival, b: &Arrival| {
            a.from == b.from && self.set_before(*a) == self.set_before(*b) && passes_on(*a) == passes_on(*b)
        };
        for alike in arrivals.chunk_by(alike) {
            let arrival = alike[0];
            let times = |scopes: u64| scopes.saturating_mul(alike.len() as u64);
            for &(chain, scopes) in self.sets.get(self.set_before(arrival)) {
                if !adds && passes_on(arrival) {
                    arriving.push((chain, times(scopes)));
                    continue;
                }
                next.clear();
                self.step(world, chains, arrival, node, chain, next);
                arriving.extend(next.iter().map(|chain| (*chain, times(scopes))));
            }
        }
        None
    }

    fn set_before(&self, arrival: Arrival) -> SetId {
        arrival.parent.and_then(|parent| self.at.get(parent).copied().flatten()).unwrap_or(SetId::ROOT)
    }

    /// Whether every chain before a node goes on at it.
    pub(super) fn passes_on(&self, world: World<'_>, arrival: Arrival, node: NodeId) -> bool {
        arrival.from.is_none() && arrival.parent.is_none_or(|parent| self.concerns(world, parent, node))
    }

    /// Whether a policy at `above` is for a node below it, too: a Direct one is for the very thing it targets.
    pub(super) fn concerns(&self, world: World<'_>, above: NodeId, node: NodeId) -> bool {
        self.kind.class == Class::Inherited || world.topology.whole(above) == world.topology.whole(node)
    }

    /// Whether a chain can become longer at a node.
    pub(super) fn adds(&self, world: World<'_>, arrivals: &[Arrival], node: NodeId) -> bool {
        let has_policies = |node: NodeId| self.stacks.has(node);
        // Who comes from a node of the same Namespaces has met their policies.
        let comes_in =
            |arrival: &Arrival| arrival.parent.is_none_or(|parent| !self.are_neighbours(world, parent, node));
        !self.stacks.is_empty()
            && (has_policies(stack_node(world, node))
                || self.service(world, node).is_some_and(has_policies)
                || self.namespaces(world, node).any(has_policies) && arrivals.iter().any(comes_in)
                || self.terms(world, node).is_some())
    }

    /// Whether the same Namespaces stand above two nodes.
    fn are_neighbours(&self, world: World<'_>, one: NodeId, other: NodeId) -> bool {
        world.topology.namespace(one) == world.topology.namespace(other)
            && self.hierarchy.in_namespace(one) == self.hierarchy.in_namespace(other)
    }

    /// The terms that a node sets, if it sets any.
    fn terms(&self, world: World<'_>, node: NodeId) -> Option<Terms> {
        let terms = self.terms_matter.then(|| Terms::of(&self.kind, world.objects, world.topology, node));
        terms.filter(|terms| *terms != Terms::default())
    }

    /// What stands right above a node on every path, without being one of its parents: its Namespaces, its Service.
    pub(super) fn above(&self, world: World<'_>, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        self.namespaces(world, node).chain(self.service(world, node))
    }

    fn namespaces(&self, world: World<'_>, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let in_namespace = self.hierarchy.in_namespace(node);
        let namespace = world.topology.namespace(node).filter(|_| in_namespace);
        let root = self.root.filter(|root| in_namespace && Some(*root) != namespace && *root != node);
        root.into_iter().chain(namespace)
    }

    fn service(&self, world: World<'_>, node: NodeId) -> Option<NodeId> {
        let is_port = world.topology.node(node).level == Level::BackendPort;
        is_port.then(|| world.topology.whole(node)).filter(|&service| self.hierarchy.has(service))
    }

    /// The chains with which one goes on at `node`.
    pub(super) fn step(
        &self,
        world: World<'_>,
        chains: &mut impl Linking,
        arrival: Arrival,
        node: NodeId,
        chain: ChainId,
        out: &mut Vec<ChainId>,
    ) {
        let Some(chain) = self.enter(world, chains, arrival, node, chain) else { return };
        let first = out.len();
        out.push(chain);
        for above in self.above(world, node).chain([stack_node(world, node)]) {
            if self.concerns(world, above, node) {
                self.pass(chains, above, first, out);
            }
        }
        if let Some(terms) = self.terms(world, node) {
            for chain in out[first..].iter_mut().filter(|chain| **chain != ChainId::EMPTY) {
                *chain = chains.link(*chain, Link::On(terms));
            }
        }
    }

    /// The chain with which one arrives at `node`, if it does.
    fn enter(
        &self,
        world: World<'_>,
        chains: &mut impl Linking,
        arrival: Arrival,
        node: NodeId,
        chain: ChainId,
    ) -> Option<ChainId> {
        let goes_on = arrival.parent.is_none_or(|parent| self.concerns(world, parent, node));
        if goes_on && arrival.from.is_none() {
            return Some(chain);
        }
        // Those who had a chain apart are among the others again.
        if chains.chains().links(chain).any(|link| matches!(link, Link::From(_))) {
            return None;
        }
        let only = chains.chains().from(chain);
        let chain = if goes_on { chain } else { ChainId::EMPTY };
        match (only, arrival.from) {
            (Some(here), Some(there)) if here != there => None,
            (None, Some(namespace)) => Some(chains.link(chain, Link::Only(namespace))),
            (Some(namespace), _) if !goes_on => Some(chains.link(chain, Link::Only(namespace))),
            _ => Some(chain),
        }
    }

    /// Takes chains, from the `first` on, past one node: with its policies, and apart for each namespace that has some of
    /// its own there.
    fn pass(&self, chains: &mut impl Linking, node: NodeId, first: usize, going: &mut Vec<ChainId>) {
        let Some(stack) = self.stacks.get(node) else { return };
        for at in first..going.len() {
            let chain = going[at];
            if chains.chains().contains(chain, node) {
                continue;
            }
            for &namespace in &stack.consumers {
                if !self.is_apart(chains.chains(), chain, namespace) {
                    let apart = chains.link(chain, Link::From(namespace));
                    going.push(chains.link(apart, Link::Node(node)));
                }
            }
            going[at] = chains.link(chain, Link::Node(node));
        }
    }

    /// Whether requests from `namespace` have a chain apart from this one already.
    fn is_apart(&self, chains: &Chains, chain: ChainId, namespace: NodeId) -> bool {
        chains.links(chain).any(|link| match link {
            Link::Node(met) => self.stacks.get(met).is_some_and(|stack| stack.consumers.contains(&namespace)),
            Link::From(_) | Link::Only(_) => true,
            Link::On(_) => false,
        })
    }
}

/// Where the policies of a node are found: those on a Service hold for its frontend too.
pub(crate) fn stack_node(world: World<'_>, node: NodeId) -> NodeId {
    match world.topology.node(node).level {
        Level::Frontend => world.topology.whole(node),
        _ => node,
    }
}
