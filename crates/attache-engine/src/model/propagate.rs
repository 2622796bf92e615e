//! How chains spread from the roots down.

use std::sync::Arc;

use super::{Folded, Model};
use crate::chain::{ChainId, ChainSets, Chains, HierarchyEntry, Link, MergeContext, ParentEdge, SetId};
use crate::engine_view::EngineView;
use crate::kinds::Class;
use crate::topology::{Level, NodeId, NodeMap, NodeVec};

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

/// What is known of the nodes above one.
pub(super) trait Above {
    fn set_at(&self, node: NodeId) -> Option<SetId>;
    fn has_policies(&self, node: NodeId) -> bool;
}

impl Above for Model {
    fn set_at(&self, node: NodeId) -> Option<SetId> {
        self.at.get(node).copied().flatten()
    }

    fn has_policies(&self, node: NodeId) -> bool {
        self.stacks.has(node)
    }
}

/// The same while all nodes are passed.
struct Passed {
    sets: NodeVec<Option<SetId>>,
    stacked: NodeVec<bool>,
}

impl Above for Passed {
    fn set_at(&self, node: NodeId) -> Option<SetId> {
        self.sets[node]
    }

    fn has_policies(&self, node: NodeId) -> bool {
        self.stacked[node]
    }
}

/// The chains that arrive at a node, while they are found. Used again for the next one.
#[derive(Default)]
pub(super) struct Arriving {
    pub chains: Vec<(ChainId, u64)>,
    next: Vec<ChainId>,
}

impl Model {
    /// Finds the chains that reach each node, parents before children.
    pub(super) fn propagate(&mut self, view: EngineView<'_>) {
        let hierarchy = Arc::clone(&self.hierarchy);
        let mut chains = std::mem::replace(&mut self.chains, Chains::none());
        let sets = NodeVec::new(view.topology, &self.at);
        let mut passed = Passed { sets, stacked: NodeVec::new(view.topology, &NodeMap::default()) };
        self.stacks.nodes().for_each(|node| passed.stacked[node] = true);
        let mut arriving = Arriving::default();
        for &node in hierarchy.order(view.topology) {
            let Some(place) = hierarchy.place(node) else { continue };
            if passed.sets[node].is_some() || self.is_beyond(view, node) {
                continue;
            }
            let known = self.reaching(view, &mut chains, node, place, &passed, &mut arriving);
            let set = known.unwrap_or_else(|| self.sets.intern(&mut arriving.chains, ChainSets::next));
            passed.sets[node] = Some(set);
        }
        self.at = passed.sets.into();
        let folded = self.folded.iter().cloned();
        self.folded = folded.chain(std::iter::repeat_with(Folded::default)).take(chains.bound()).collect();
        self.chains = chains;
    }

    /// The set of the chains that reach a node, if it is one that is known; else its chains are `arriving`.
    pub(super) fn reaching(
        &self,
        view: EngineView<'_>,
        chains: &mut impl Linking,
        node: NodeId,
        place: &HierarchyEntry,
        above: &impl Above,
        arriving: &mut Arriving,
    ) -> Option<SetId> {
        let adds = self.adds(view, node, place, above);
        let set_before =
            |arrival: &ParentEdge| arrival.parent.and_then(|parent| above.set_at(parent)).unwrap_or(SetId::ROOT);
        let passes_on = |arrival: &ParentEdge| self.passes_on(view, *arrival, node);
        if let [arrival] = place.arrivals()
            && !adds
            && passes_on(arrival)
        {
            return Some(set_before(arrival));
        }
        // Where neither the port nor its Service has policies, both have met the same.
        if place.is_like_service
            && !adds
            && let Some(set) = place.service.and_then(|service| above.set_at(service))
        {
            return Some(set);
        }
        arriving.chains.clear();
        let mut arrivals = place.arrivals().iter().map(|it| (it, set_before(it), passes_on(it))).peekable();
        while let Some((arrival, set, passes_on)) = arrivals.next() {
            // Those that arrive with the same go on with the same.
            let mut alike = 1u64;
            while arrivals.next_if(|(it, at, on)| *at == set && it.from == arrival.from && *on == passes_on).is_some() {
                alike += 1;
            }
            for &(chain, scopes) in self.sets.get(set) {
                let scopes = scopes.saturating_mul(alike);
                if passes_on && !adds {
                    arriving.chains.push((chain, scopes));
                    continue;
                }
                arriving.next.clear();
                self.step(view, chains, *arrival, node, chain, &mut arriving.next);
                arriving.chains.extend(arriving.next.iter().map(|chain| (*chain, scopes)));
            }
        }
        None
    }

    /// Whether every chain before a node goes on at it.
    pub(super) fn passes_on(&self, view: EngineView<'_>, arrival: ParentEdge, node: NodeId) -> bool {
        arrival.from.is_none() && arrival.parent.is_none_or(|parent| self.concerns(view, parent, node))
    }

    /// Whether a policy at `above` is for a node below it, too: a Direct one is for the very thing it targets.
    pub(super) fn concerns(&self, view: EngineView<'_>, above: NodeId, node: NodeId) -> bool {
        self.kind.class == Class::Inherited || view.topology.whole(above) == view.topology.whole(node)
    }

    /// Whether a chain can become longer at a node.
    pub(super) fn adds(&self, view: EngineView<'_>, node: NodeId, place: &HierarchyEntry, above: &impl Above) -> bool {
        let has_policies = |node: NodeId| above.has_policies(node);
        !self.stacks.is_empty()
            && (has_policies(node)
                || place.service.is_some_and(has_policies)
                // Who comes from a node of the same Namespaces has met their policies.
                || place.is_entrance && self.namespaces(view, node).any(has_policies)
                || self.context(view, node).is_some())
    }

    /// How policies merge from a node on, if the node changes that.
    fn context(&self, view: EngineView<'_>, node: NodeId) -> Option<MergeContext> {
        let context = self.has_contexts.then(|| MergeContext::at(&self.kind, view.objects, view.topology, node));
        context.filter(|context| *context != MergeContext::default())
    }

    /// What stands right above a node on every path, without being one of its parents: its Namespaces, its Service.
    pub(crate) fn above(&self, view: EngineView<'_>, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        self.namespaces(view, node).chain(self.service(view, node))
    }

    fn namespaces(&self, view: EngineView<'_>, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let in_namespace = self.hierarchy.in_namespace(node);
        let namespace = view.topology.namespace(node).filter(|_| in_namespace);
        let root = self.root.filter(|root| in_namespace && Some(*root) != namespace && *root != node);
        root.into_iter().chain(namespace)
    }

    fn service(&self, view: EngineView<'_>, node: NodeId) -> Option<NodeId> {
        let is_port = view.topology[node].level == Level::BackendPort;
        is_port.then(|| view.topology.whole(node)).filter(|&service| self.hierarchy.has(service))
    }

    /// The chains with which one goes on at `node`.
    pub(super) fn step(
        &self,
        view: EngineView<'_>,
        chains: &mut impl Linking,
        arrival: ParentEdge,
        node: NodeId,
        chain: ChainId,
        out: &mut Vec<ChainId>,
    ) {
        let Some(chain) = self.enter(view, chains, arrival, node, chain) else { return };
        let first = out.len();
        out.push(chain);
        for above in self.above(view, node).chain([stack_node(view, node)]) {
            if self.concerns(view, above, node) {
                self.pass(chains, above, first, out);
            }
        }
        if let Some(context) = self.context(view, node) {
            for chain in out[first..].iter_mut().filter(|chain| **chain != ChainId::EMPTY) {
                *chain = chains.link(*chain, Link::Context(context));
            }
        }
    }

    /// The chain with which one arrives at `node`, if it does.
    fn enter(
        &self,
        view: EngineView<'_>,
        chains: &mut impl Linking,
        arrival: ParentEdge,
        node: NodeId,
        chain: ChainId,
    ) -> Option<ChainId> {
        let goes_on = arrival.parent.is_none_or(|parent| self.concerns(view, parent, node));
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
            Link::Context(_) => false,
        })
    }
}

/// Where the policies of a node are found: those on a Service hold for its frontend too.
pub(crate) fn stack_node(view: EngineView<'_>, node: NodeId) -> NodeId {
    match view.topology[node].level {
        Level::Frontend => view.topology.whole(node),
        _ => node,
    }
}
