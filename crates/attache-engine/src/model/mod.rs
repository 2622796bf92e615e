//! The policies of one kind over the whole topology: the chains that reach each node, and the effective policy of each
//! chain.
//!
//! ```text
//! hierarchy + stacks ─→ propagate   the chains that reach each node, interned as sets
//!                       ├ scopes      the paths from the roots to a node, listed on demand
//!                       ├ layers      the layers of a chain, which are the input of the fold
//!                       └ own         targets that set the fields themselves which policies merge into
//! an edited topology ─→ update      the chains of the nodes that depend on the edit
//!                       ├ ref_counts  which chains and sets are still used
//!                       └ unchanged   which nodes are the same in two independent states
//! ```
//!
//! Backends have many parents, and most kinds have their effective targets above them. The chains of backends are
//! therefore computed on demand: see [`Model::is_below_targets`].

mod layers;
mod own;
mod propagate;
mod ref_counts;
mod scopes;
mod unchanged;
mod update;

use std::sync::{Arc, OnceLock};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::chain::{ChainId, ChainSets, Chains, Hierarchy, Levels, Link, MergeContext, SetId, is_effective_target};
use crate::engine_view::EngineView;
use crate::fold::EffectivePolicy;
use crate::kinds::{Class, InheritancePaths, KindId, PolicyKind, Units};
use crate::object::GroupKind;
use crate::order::{Stack, Stacks};
use crate::persistent::PersistentVec;
use crate::tally::Tallies;
use crate::topology::{Level, Node, NodeId, NodeMap};
use crate::value::Value;

pub(crate) use own::{is_empty, without_empty};
pub(crate) use propagate::stack_node;
pub(crate) use ref_counts::RefCounts;
pub(crate) use scopes::NamespaceFreePaths;
pub use scopes::{Scope, ScopeRef};
pub(crate) use unchanged::NodeMapping;
pub(crate) use update::{NodeUpdate, UpdateCause};

/// The policies of one kind, and of the kinds that it leads, over the whole topology.
///
/// A model borrows nothing: its methods take the view of the engine that it belongs to. A clone shares everything and
/// is cheap.
#[derive(Clone, Debug)]
pub struct Model {
    /// The kind.
    pub id: KindId,
    /// The description of the kind.
    pub kind: Arc<PolicyKind>,
    units: Arc<Units>,
    hierarchy: Arc<Hierarchy>,
    /// Whether nodes can change how policies merge.
    has_contexts: bool,
    /// Whether policies merge into fields of their targets.
    has_own: bool,
    /// The Namespace whose policies apply to the whole cluster.
    root: Option<NodeId>,
    stacks: Stacks,
    chains: Chains,
    sets: ChainSets,
    /// The set of chains that reach each node. `None` for nodes outside of the hierarchy.
    reaching: NodeMap<Option<SetId>>,
    effective: PersistentVec<CachedPolicy>,
    /// The same model with the chains of backends: see [`Model::is_below_targets`].
    with_backends: OnceLock<Arc<Model>>,
    /// The backends whose chains it has. `None` for all.
    wanted_backends: Option<Arc<[NodeId]>>,
    /// Whether this model has the chains of backends.
    has_backends: bool,
    scope_counts: OnceLock<Arc<[(ChainId, u64)]>>,
    tallies: OnceLock<Tallies>,
    /// The levels that can have effective targets.
    target_levels: Levels,
    /// The levels at which every node that requests reach is an effective target.
    full_target_levels: Levels,
}

/// Effective targets that the same chains reach.
#[derive(Clone, Debug)]
pub struct TargetsWithChains<'m> {
    /// The chains, sorted, each with its number of scopes at one of the targets.
    pub chains: &'m [(ChainId, u64)],
    /// The targets.
    pub targets: Vec<NodeId>,
}

/// The effective policy of a chain, computed on demand. Models that share a chain share its cache.
#[derive(Clone, Debug, Default)]
struct CachedPolicy(Arc<OnceLock<Arc<EffectivePolicy>>>);

impl Model {
    /// Finds the chains that reach each node of the hierarchy.
    pub fn new(
        view: EngineView<'_>,
        id: KindId,
        kind: &PolicyKind,
        hierarchy: Arc<Hierarchy>,
        stacks: Stacks,
    ) -> Model {
        let root = kind.hierarchy.root_namespace.as_ref();
        let root = root.and_then(|name| view.topology.find_namespace(view.objects, name));
        let mut model = Model {
            id,
            kind: Arc::new(kind.clone()),
            units: Arc::new(kind.units()),
            hierarchy,
            has_contexts: MergeContext::applies_to(kind),
            has_own: !kind.merging.merges_into.is_empty(),
            root,
            stacks,
            chains: Chains::default(),
            sets: ChainSets::default(),
            reaching: NodeMap::default(),
            effective: PersistentVec::default(),
            with_backends: OnceLock::new(),
            wanted_backends: None,
            has_backends: !has_targets_above_backends_only(kind),
            scope_counts: OnceLock::new(),
            tallies: OnceLock::new(),
            target_levels: target_levels(kind),
            full_target_levels: full_target_levels(kind),
        };
        model.propagate(view);
        model
    }

    /// The group and kind of the policies.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.kind.group, &self.kind.kind)
    }

    /// Whether a node is a backend, below all effective targets of the kind. Its chains are computed on demand.
    pub(crate) fn is_below_targets(&self, view: EngineView<'_>, node: NodeId) -> bool {
        !self.has_backends && self.is_level_below_targets(view.topology[node].level)
    }

    fn is_level_below_targets(&self, level: Level) -> bool {
        !self.has_backends && matches!(level, Level::Backend | Level::BackendPort)
    }

    /// This model, or the one with the chains of backends if the node is a backend that this one does not cover.
    fn with_node(&self, view: EngineView<'_>, node: NodeId) -> &Model {
        if !self.is_below_targets(view, node) {
            return self;
        }
        self.with_backends.get_or_init(|| {
            let mut model = Model { with_backends: OnceLock::new(), has_backends: true, ..self.clone() };
            match &self.wanted_backends {
                None => model.propagate(view),
                Some(backends) => model.propagate_to(view, backends),
            }
            Arc::new(model)
        })
    }

    /// The same model, which has the chains of these backends only. They are computed faster than those of all.
    pub(crate) fn with_backends_among(&self, nodes: &Arc<[NodeId]>) -> Model {
        Model { wanted_backends: Some(Arc::clone(nodes)), ..self.clone() }
    }

    /// This model, or the one with the chains of backends if only that one has the chain.
    fn with_chain(&self, chain: ChainId) -> &Model {
        match self.with_backends.get().filter(|_| !self.chains.knows(chain)) {
            Some(model) => model,
            None => self,
        }
    }

    /// The chains that reach a node, each with its number of scopes.
    pub fn chains_at(&self, view: EngineView<'_>, node: NodeId) -> &[(ChainId, u64)] {
        let model = self.with_node(view, node);
        model.set_reaching(node).map_or(&[], |set| model.sets.get(set))
    }

    /// The effective policy of a chain. It is computed once.
    pub fn effective(&self, view: EngineView<'_>, chain: ChainId) -> &Arc<EffectivePolicy> {
        let model = self.with_chain(chain);
        model.effective[chain.0 as usize].0.get_or_init(|| Arc::new(model.fold(view, chain, None)))
    }

    /// The effective policy of a chain merged over a value that the target itself sets.
    pub fn effective_over(&self, view: EngineView<'_>, chain: ChainId, own: &Value) -> EffectivePolicy {
        self.with_chain(chain).fold(view, chain, Some(own))
    }

    /// Computes the effective policies of all chains that reach effective targets, in parallel.
    pub fn fold_all(&self, view: EngineView<'_>) {
        self.scope_counts(view).par_iter().for_each(|(chain, _)| _ = self.effective(view, *chain));
    }

    /// The chains that reach effective targets, sorted, each with its number of scopes.
    pub fn scope_counts(&self, view: EngineView<'_>) -> &[(ChainId, u64)] {
        self.scope_counts.get_or_init(|| {
            // Count sets first, because most targets share their set with others.
            let mut targets = vec![0u64; self.sets.bound()];
            for (_, set) in self.targets_with_sets(view) {
                targets[set.0 as usize] += 1;
            }
            let mut counts = vec![0u64; self.effective.len()];
            for (set, targets) in targets.into_iter().enumerate().filter(|(_, targets)| *targets > 0) {
                for &(chain, scopes) in self.sets.get(SetId(set as u32)) {
                    let count = &mut counts[chain.0 as usize];
                    *count = count.saturating_add(scopes.saturating_mul(targets));
                }
            }
            let chains = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
            chains.map(|(i, count)| (ChainId(i as u32), count)).collect()
        })
    }

    /// The tallies of all policies: their outcomes, counted in all scopes.
    pub(crate) fn tallies(&self, view: EngineView<'_>) -> &Tallies {
        if self.tallies.get().is_none() {
            // Fold outside of `get_or_init`: rayon inside it can deadlock.
            self.fold_all(view);
        }
        self.tallies.get_or_init(|| {
            let mut tallies = Tallies::default();
            for &(chain, scopes) in self.scope_counts(view) {
                for (policy, outcome) in &self.effective(view, chain).outcomes {
                    let tally = tallies.entry(policy.0.0 as usize).get_or_insert_default();
                    Arc::make_mut(tally).count(i128::from(scopes), outcome);
                }
            }
            tallies
        })
    }

    /// The effective targets, each with the set of the chains that reach it.
    pub(crate) fn targets_with_sets<'m>(&'m self, view: EngineView<'m>) -> impl Iterator<Item = (NodeId, SetId)> + 'm {
        let nodes = self.hierarchy.among(self.target_levels, view.topology).iter().copied();
        let with_set = nodes.filter_map(|node| Some((node, self.set_reaching(node)?)));
        with_set.filter(move |(node, _)| self.is_effective_target(view, *node))
    }

    /// The effective targets, grouped by the chains that reach them: there are few groups, and many targets.
    pub fn targets_by_chains<'m>(&'m self, view: EngineView<'m>) -> Vec<TargetsWithChains<'m>> {
        self.grouped_by_chains(self.targets_with_sets(view))
    }

    /// The effective targets among some nodes, grouped by the chains that reach them.
    pub fn targets_among<'m>(
        &'m self,
        view: EngineView<'m>,
        nodes: impl IntoIterator<Item = NodeId>,
    ) -> Vec<TargetsWithChains<'m>> {
        let targets = nodes.into_iter().filter(|node| self.is_effective_target(view, *node));
        self.grouped_by_chains(targets.filter_map(|node| Some((node, self.set_reaching(node)?))))
    }

    fn grouped_by_chains(&self, targets: impl Iterator<Item = (NodeId, SetId)>) -> Vec<TargetsWithChains<'_>> {
        let mut groups: Vec<TargetsWithChains<'_>> = Vec::new();
        let mut group_of: Vec<Option<usize>> = vec![None; self.sets.bound()];
        for (target, set) in targets {
            let group = *group_of[set.0 as usize].get_or_insert_with(|| {
                groups.push(TargetsWithChains { chains: self.sets.get(set), targets: Vec::new() });
                groups.len() - 1
            });
            groups[group].targets.push(target);
        }
        groups
    }

    /// The chains of a set, sorted, each with its number of scopes.
    pub(crate) fn chains_in_set(&self, set: SetId) -> &[(ChainId, u64)] {
        self.sets.get(set)
    }

    /// The set of chains that reach a node. `None` if the node is outside of the hierarchy, or a backend that the model
    /// does not cover.
    pub(crate) fn set_reaching(&self, node: NodeId) -> Option<SetId> {
        self.reaching.get(node).copied().flatten()
    }

    /// The nodes that have effective policies of this kind, in the order of the topology.
    pub fn effective_targets<'m>(&'m self, view: EngineView<'m>) -> impl Iterator<Item = NodeId> + 'm {
        view.topology.nodes().map(|(node, _)| node).filter(move |&node| self.is_effective_target(view, node))
    }

    /// Whether a node has effective policies of this kind.
    pub fn is_effective_target(&self, view: EngineView<'_>, node: NodeId) -> bool {
        self.is_target_if_member(view, node, &view.topology[node]) && self.hierarchy.has(node)
    }

    /// Whether a node is an effective target if it belongs to the hierarchy.
    #[inline]
    fn is_target_if_member(&self, view: EngineView<'_>, node: NodeId, it: &Node) -> bool {
        // Most nodes are at levels that have no targets.
        self.target_levels.has(it.level)
            && it.is_live()
            && (self.full_target_levels.has(it.level)
                || is_effective_target(&self.kind, view.objects, view.topology, node))
    }

    /// The policies of this kind on a node.
    pub fn stack(&self, node: NodeId) -> Option<&Stack> {
        self.stacks.get(node)
    }

    /// The policies of this kind on all nodes.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// The links of a chain, lowest first.
    pub fn links(&self, chain: ChainId) -> impl Iterator<Item = Link> + '_ {
        self.with_chain(chain).chains.links(chain)
    }

    pub(crate) fn hierarchy(&self) -> &Arc<Hierarchy> {
        &self.hierarchy
    }

    pub(crate) fn root(&self) -> Option<NodeId> {
        self.root
    }
}

/// The levels that can have effective targets of a kind.
fn target_levels(kind: &PolicyKind) -> Levels {
    Levels::matching(|level| {
        kind.class == Class::Direct
            || kind
                .hierarchy
                .effective_targets
                .iter()
                .any(|target| target.includes_object(level, |_| true) || target.level().is_section_of(level))
    })
}

/// The levels at which all nodes are effective targets of a kind, whatever their own kind is.
fn full_target_levels(kind: &PolicyKind) -> Levels {
    Levels::matching(|level| {
        kind.class == Class::Inherited
            && kind.hierarchy.effective_kinds.is_empty()
            && kind.hierarchy.effective_targets.iter().any(|target| {
                target.includes_object(level, |_| false) && target.level().is_section() == level.is_section()
            })
    })
}

/// Whether all effective targets of a kind are above backends.
fn has_targets_above_backends_only(kind: &PolicyKind) -> bool {
    let targets = &kind.hierarchy.effective_targets;
    kind.class == Class::Inherited
        && kind.hierarchy.paths == InheritancePaths::Topology
        && targets.iter().all(|target| target.level() < Level::Backend)
}
