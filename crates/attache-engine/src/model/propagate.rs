//! Propagates chains from the roots down to all nodes.

use std::sync::Arc;

use super::{CachedPolicy, Model};
use crate::chain::{ChainId, ChainSets, Chains, EdgeTraffic, HierarchyEntry, Link, MergeContext, ParentEdge, SetId};
use crate::engine_view::EngineView;
use crate::kinds::Class;
use crate::topology::{Level, NodeId, NodeMap, NodeVec};

/// Chains that can be extended by a link.
pub(super) trait ExtendChains {
    fn chains(&self) -> &Chains;

    /// The chain that extends `chain` by a link.
    fn extend(&mut self, chain: ChainId, link: Link) -> ChainId;
}

/// Adds missing chains.
impl ExtendChains for Chains {
    fn chains(&self) -> &Chains {
        self
    }

    fn extend(&mut self, chain: ChainId, link: Link) -> ChainId {
        self.push(chain, link, Chains::next)
    }
}

/// Chains to which none is added.
pub(super) struct ExistingChains<'c>(pub &'c Chains);

impl ExtendChains for ExistingChains<'_> {
    fn chains(&self) -> &Chains {
        self.0
    }

    fn extend(&mut self, chain: ChainId, link: Link) -> ChainId {
        self.0.find(chain, link).unwrap_or(chain)
    }
}

/// What propagation reads about the ancestors of a node.
pub(super) trait Ancestors {
    /// The set of chains that reach a node.
    fn set_at(&self, node: NodeId) -> Option<SetId>;
    fn has_policies(&self, node: NodeId) -> bool;
}

impl Ancestors for Model {
    fn set_at(&self, node: NodeId) -> Option<SetId> {
        self.set_reaching(node)
    }

    fn has_policies(&self, node: NodeId) -> bool {
        self.stacks.has(node)
    }
}

/// The nodes that propagation has visited.
struct Visited {
    sets: NodeVec<Option<SetId>>,
    have_policies: NodeVec<bool>,
}

impl Ancestors for Visited {
    fn set_at(&self, node: NodeId) -> Option<SetId> {
        self.sets[node]
    }

    fn has_policies(&self, node: NodeId) -> bool {
        self.have_policies[node]
    }
}

/// Buffers for the chains that reach one node, reused for the next node.
#[derive(Default)]
pub(super) struct ReachingChains {
    pub chains: Vec<(ChainId, u64)>,
    continued: Vec<ChainId>,
}

impl Model {
    /// Finds the chains that reach each node, parents before children.
    pub(super) fn propagate(&mut self, view: EngineView<'_>) {
        let hierarchy = Arc::clone(&self.hierarchy);
        let mut chains = std::mem::replace(&mut self.chains, Chains::none());
        let sets = NodeVec::new(view.topology, &self.reaching);
        let mut visited = Visited { sets, have_policies: NodeVec::new(view.topology, &NodeMap::default()) };
        self.stacks.nodes().for_each(|node| visited.have_policies[node] = true);
        let mut reaching = ReachingChains::default();
        for &node in hierarchy.order(view.topology) {
            let Some(entry) = hierarchy.entry(node) else { continue };
            if visited.sets[node].is_some() || self.is_below_targets(view, node) {
                continue;
            }
            let known = self.find_reaching(view, &mut chains, node, entry, &visited, &mut reaching);
            let set = known.unwrap_or_else(|| self.sets.intern(&mut reaching.chains, ChainSets::next));
            visited.sets[node] = Some(set);
        }
        self.reaching = visited.sets.into();
        self.set_chains(chains);
    }

    /// Finds the chains that reach some nodes, and those above them on which they depend.
    pub(super) fn propagate_to(&mut self, view: EngineView<'_>, nodes: &[NodeId]) {
        let hierarchy = Arc::clone(&self.hierarchy);
        let mut chains = std::mem::replace(&mut self.chains, Chains::none());
        let mut reaching = ReachingChains::default();
        let mut todo: Vec<NodeId> = nodes.to_vec();
        while let Some(&node) = todo.last() {
            let entry = hierarchy.entry(node).filter(|_| self.set_at(node).is_none());
            let Some(entry) = entry else {
                todo.pop();
                continue;
            };
            let above = entry.parent_edges().iter().filter_map(|edge| edge.parent).chain(entry.service);
            let missing = above.filter(|it| *it != node && hierarchy.has(*it) && self.set_at(*it).is_none());
            let first = todo.len();
            todo.extend(missing);
            if todo.len() == first {
                let known = self.find_reaching(view, &mut chains, node, entry, self, &mut reaching);
                let set = known.unwrap_or_else(|| self.sets.intern(&mut reaching.chains, ChainSets::next));
                *self.reaching.entry(node) = Some(set);
            }
        }
        self.set_chains(chains);
    }

    /// Replaces the chains by more of them. The new ones are folded on demand.
    fn set_chains(&mut self, chains: Chains) {
        let effective = self.effective.iter().cloned();
        self.effective = effective.chain(std::iter::repeat_with(CachedPolicy::default)).take(chains.bound()).collect();
        self.chains = chains;
    }

    /// The set of the chains that reach a node, if an existing set can be reused. Otherwise the chains are in `reaching`.
    pub(super) fn find_reaching(
        &self,
        view: EngineView<'_>,
        chains: &mut impl ExtendChains,
        node: NodeId,
        entry: &HierarchyEntry,
        ancestors: &impl Ancestors,
        reaching: &mut ReachingChains,
    ) -> Option<SetId> {
        let extends = self.extends_chains(view, node, entry, ancestors);
        let set_of_parent =
            |edge: &ParentEdge| edge.parent.and_then(|parent| ancestors.set_at(parent)).unwrap_or(SetId::ROOT);
        let passes_all = |edge: &ParentEdge| self.passes_all(view, *edge, node);
        if let [edge] = entry.parent_edges()
            && !extends
            && passes_all(edge)
        {
            return Some(set_of_parent(edge));
        }
        // A port without policies has the chains of its Service if that has no policies either.
        if entry.is_like_service
            && !extends
            && let Some(set) = entry.service.and_then(|service| ancestors.set_at(service))
        {
            return Some(set);
        }
        reaching.chains.clear();
        let mut edges = entry.parent_edges().iter().map(|it| (it, set_of_parent(it), passes_all(it))).peekable();
        while let Some((edge, set, passes_all)) = edges.next() {
            // Edges with the same chains extend them in the same way.
            let mut alike = 1u64;
            while edges
                .next_if(|(it, at, all)| *at == set && it.traffic == edge.traffic && *all == passes_all)
                .is_some()
            {
                alike += 1;
            }
            for &(chain, scopes) in self.sets.get(set) {
                let scopes = scopes.saturating_mul(alike);
                if passes_all && !extends {
                    reaching.chains.push((chain, scopes));
                    continue;
                }
                reaching.continued.clear();
                self.continue_chain(view, chains, *edge, node, chain, &mut reaching.continued);
                reaching.chains.extend(reaching.continued.iter().map(|chain| (*chain, scopes)));
            }
        }
        None
    }

    /// Whether all chains of a parent continue at the node.
    pub(super) fn passes_all(&self, view: EngineView<'_>, edge: ParentEdge, node: NodeId) -> bool {
        edge.traffic == EdgeTraffic::All && edge.parent.is_none_or(|parent| self.applies_below(view, parent, node))
    }

    /// Whether a policy on `ancestor` applies to `node` too. A Direct policy applies only to the object that it targets.
    pub(super) fn applies_below(&self, view: EngineView<'_>, ancestor: NodeId, node: NodeId) -> bool {
        self.kind.class == Class::Inherited || view.topology.whole(ancestor) == view.topology.whole(node)
    }

    /// Whether chains are extended at a node.
    pub(super) fn extends_chains(
        &self,
        view: EngineView<'_>,
        node: NodeId,
        entry: &HierarchyEntry,
        ancestors: &impl Ancestors,
    ) -> bool {
        let has_policies = |node: NodeId| ancestors.has_policies(node);
        !self.stacks.is_empty()
            && (has_policies(node)
                || entry.service.is_some_and(has_policies)
                // Chains that come from a node of the same Namespaces have their policies already.
                || entry.is_entrance && self.namespaces(view, node).any(has_policies)
                || self.context(view, node).is_some()
                || self.merges_into(view, node))
    }

    /// How policies merge from a node on, if the node changes it.
    fn context(&self, view: EngineView<'_>, node: NodeId) -> Option<MergeContext> {
        let context = self.has_contexts.then(|| MergeContext::at(&self.kind, view.objects, view.topology, node));
        context.filter(|context| *context != MergeContext::default())
    }

    /// The nodes directly above a node on every path that are not its parents: its Namespaces and, for a port, its
    /// Service.
    pub(crate) fn unlinked_ancestors(
        &self,
        view: EngineView<'_>,
        node: NodeId,
    ) -> impl Iterator<Item = NodeId> + use<> {
        self.namespaces(view, node).chain(self.service(view, node))
    }

    /// The root Namespace and the Namespace of a node, if they are above it in the hierarchy.
    fn namespaces(&self, view: EngineView<'_>, node: NodeId) -> impl Iterator<Item = NodeId> + use<> {
        let in_namespace = self.hierarchy.in_namespace(node);
        let namespace = view.topology.namespace(node).filter(|_| in_namespace);
        let root = self.root.filter(|root| in_namespace && Some(*root) != namespace && *root != node);
        root.into_iter().chain(namespace)
    }

    /// The Service of a port, if it belongs to the hierarchy.
    fn service(&self, view: EngineView<'_>, node: NodeId) -> Option<NodeId> {
        let is_port = view.topology[node].level == Level::BackendPort;
        is_port.then(|| view.topology.whole(node)).filter(|&service| self.hierarchy.has(service))
    }

    /// Adds the chains that extend `chain` at `node` to `continued`: one, or several if Namespaces have policies for
    /// their own requests.
    pub(super) fn continue_chain(
        &self,
        view: EngineView<'_>,
        chains: &mut impl ExtendChains,
        edge: ParentEdge,
        node: NodeId,
        chain: ChainId,
        continued: &mut Vec<ChainId>,
    ) {
        let Some(chain) = self.enter(view, chains, edge, node, chain) else { return };
        let first = continued.len();
        continued.push(chain);
        for ancestor in self.unlinked_ancestors(view, node).chain([stack_node(view, node)]) {
            if self.applies_below(view, ancestor, node) {
                self.add_policies(chains, ancestor, first, continued);
            }
        }
        if let Some(context) = self.context(view, node) {
            // Without policies so far, the context matters for the routes that a rule delegates to.
            let counts_below = delegates(view, node);
            for chain in continued[first..].iter_mut().filter(|chain| counts_below || **chain != ChainId::EMPTY) {
                *chain = chains.extend(*chain, Link::Context(context));
            }
        }
        if self.merges_into(view, node) {
            for chain in continued[first..].iter_mut().filter(|chain| **chain != ChainId::EMPTY) {
                *chain = chains.extend(*chain, Link::Target(node));
            }
        }
    }

    /// The chain with which requests enter `node` along an edge. `None` if they do not enter.
    fn enter(
        &self,
        view: EngineView<'_>,
        chains: &mut impl ExtendChains,
        edge: ParentEdge,
        node: NodeId,
        chain: ChainId,
    ) -> Option<ChainId> {
        let continues = edge.parent.is_none_or(|parent| self.applies_below(view, parent, node));
        if continues && edge.traffic == EdgeTraffic::All {
            return Some(chain);
        }
        // Consumer-specific chains rejoin here.
        if chains.chains().links(chain).any(|link| matches!(link, Link::From(_))) {
            return None;
        }
        let (only, unhandled) = (chains.chains().consumer(chain), chains.chains().unhandled(chain));
        let chain = if continues { chain } else { ChainId::EMPTY };
        let unhandled_here = match edge.traffic {
            EdgeTraffic::Unhandled(root) => Some(root),
            EdgeTraffic::All | EdgeTraffic::From(_) => None,
        };
        match unhandled.or(unhandled_here) {
            Some(_) if continues && unhandled.is_some() => return Some(chain),
            Some(root) => return Some(chains.extend(chain, Link::Unhandled(root))),
            None => {}
        }
        let from = match edge.traffic {
            EdgeTraffic::From(namespace) => Some(namespace),
            EdgeTraffic::All | EdgeTraffic::Unhandled(_) => None,
        };
        match (only, from) {
            (Some(here), Some(there)) if here != there => None,
            (None, Some(namespace)) => Some(chains.extend(chain, Link::Only(namespace))),
            (Some(namespace), _) if !continues => Some(chains.extend(chain, Link::Only(namespace))),
            _ => Some(chain),
        }
    }

    /// Adds the policies on a node to the chains from index `first` on. Each Namespace that has policies for its own
    /// requests there gets a chain of its own.
    fn add_policies(&self, chains: &mut impl ExtendChains, node: NodeId, first: usize, continued: &mut Vec<ChainId>) {
        let Some(stack) = self.stacks.get(node) else { return };
        for at in first..continued.len() {
            let chain = continued[at];
            if chains.chains().contains(chain, node) {
                continue;
            }
            for &namespace in &stack.consumers {
                if !self.has_own_chain(chains.chains(), chain, namespace) {
                    let own = chains.extend(chain, Link::From(namespace));
                    continued.push(chains.extend(own, Link::Node(node)));
                }
            }
            continued[at] = chains.extend(chain, Link::Node(node));
        }
    }

    /// Whether requests from `namespace` already have a chain of their own beside this one.
    fn has_own_chain(&self, chains: &Chains, chain: ChainId, namespace: NodeId) -> bool {
        chains.links(chain).any(|link| match link {
            Link::Node(node) => self.stacks.get(node).is_some_and(|stack| stack.consumers.contains(&namespace)),
            Link::From(_) | Link::Only(_) => true,
            Link::Context(_) | Link::Unhandled(_) | Link::Target(_) => false,
        })
    }
}

/// Whether a rule names a backend that can be another route.
fn delegates(view: EngineView<'_>, node: NodeId) -> bool {
    let is_rule = view.topology[node].level == Level::RouteRule;
    let rule = view.topology.section_value(view.objects, node).filter(|_| is_rule);
    let mut backends = rule.map_or(&[][..], |rule| rule.list_at("backendRefs")).iter();
    backends.any(|backend| backend.get_str("kind").is_some_and(|kind| kind != "Service"))
}

/// The node that has the stack of a node: policies on a Service apply to its frontend too.
pub(crate) fn stack_node(view: EngineView<'_>, node: NodeId) -> NodeId {
    match view.topology[node].level {
        Level::Frontend => view.topology.whole(node),
        _ => node,
    }
}
