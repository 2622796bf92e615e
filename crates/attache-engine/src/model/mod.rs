//! One kind of policy over the whole topology: which chains reach each node, and what each chain comes to.

mod follow;
mod layers;
mod propagate;
mod ref_counts;
mod scopes;
mod unchanged;

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

pub(crate) use follow::{Cause, Moved};
pub(crate) use propagate::stack_node;
pub(crate) use ref_counts::RefCounts;
pub(crate) use scopes::Free;
pub use scopes::Scope;
pub(crate) use unchanged::NodeMapping;

#[derive(Clone, Debug)]
pub struct Model {
    pub id: KindId,
    pub kind: Arc<PolicyKind>,
    units: Arc<Units>,
    hierarchy: Arc<Hierarchy>,
    /// Whether nodes can change how policies of the kind merge.
    has_contexts: bool,
    /// The Namespace that stands on top of all others.
    root: Option<NodeId>,
    stacks: Stacks,
    chains: Chains,
    sets: ChainSets,
    /// The set of chains that reach each node; nothing for nodes outside the hierarchy.
    at: NodeMap<Option<SetId>>,
    folded: PersistentVec<Folded>,
    /// With the chains of backends, too: see [`Model::is_beyond`].
    whole: OnceLock<Arc<Model>>,
    is_whole: bool,
    counts: OnceLock<Arc<[(ChainId, u64)]>>,
    tallies: OnceLock<Tallies>,
    /// The levels at which there can be effective targets.
    ends: Levels,
    /// Those at which every node that requests reach is one.
    all_ends: Levels,
}

/// What a chain comes to, once somebody has asked. Whoever shares the chain shares it.
#[derive(Clone, Debug, Default)]
struct Folded(Arc<OnceLock<Arc<EffectivePolicy>>>);

impl Model {
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
            root,
            stacks,
            chains: Chains::default(),
            sets: ChainSets::default(),
            at: NodeMap::default(),
            folded: PersistentVec::default(),
            whole: OnceLock::new(),
            is_whole: !ends_before_backends(kind),
            counts: OnceLock::new(),
            tallies: OnceLock::new(),
            ends: ends(kind),
            all_ends: all_ends(kind),
        };
        model.propagate(view);
        model
    }

    /// Whether a node lies beyond all effective targets: its chains are found when somebody asks. Backends have many
    /// parents, and most kinds end with rules.
    pub(crate) fn is_beyond(&self, view: EngineView<'_>, node: NodeId) -> bool {
        !self.is_whole && self.is_beyond_at(view.topology[node].level)
    }

    fn is_beyond_at(&self, level: Level) -> bool {
        !self.is_whole && matches!(level, Level::Backend | Level::BackendPort)
    }

    /// The model that knows the chains of a node.
    fn at(&self, view: EngineView<'_>, node: NodeId) -> &Model {
        if !self.is_beyond(view, node) {
            return self;
        }
        self.whole.get_or_init(|| {
            let mut whole = Model { whole: OnceLock::new(), is_whole: true, ..self.clone() };
            whole.propagate(view);
            Arc::new(whole)
        })
    }

    /// The model that knows a chain.
    fn with(&self, chain: ChainId) -> &Model {
        match self.whole.get().filter(|_| !self.chains.knows(chain)) {
            Some(whole) => whole,
            None => self,
        }
    }

    /// The chains that reach a node, each with the number of scopes in which it does.
    pub fn chains_at(&self, view: EngineView<'_>, node: NodeId) -> &[(ChainId, u64)] {
        let model = self.at(view, node);
        model.at.get(node).copied().flatten().map_or(&[], |set| model.sets.get(set))
    }

    /// What a chain comes to. Worked out once.
    pub fn effective(&self, view: EngineView<'_>, chain: ChainId) -> &Arc<EffectivePolicy> {
        let model = self.with(chain);
        model.folded[chain.0 as usize].0.get_or_init(|| Arc::new(model.fold(view, chain, None)))
    }

    /// Works out every chain that reaches an effective target.
    pub fn fold_all(&self, view: EngineView<'_>) {
        self.scope_counts(view).par_iter().for_each(|(chain, _)| _ = self.effective(view, *chain));
    }

    /// The chains that reach effective targets, in order, each with the number of scopes in which it does.
    pub fn scope_counts(&self, view: EngineView<'_>) -> &[(ChainId, u64)] {
        self.counts.get_or_init(|| {
            // By sets first: most targets have the same as others.
            let mut targets = vec![0u64; self.sets.bound()];
            for &node in self.hierarchy.among(self.ends, view.topology) {
                if let Some(set) = self.at.get(node).copied().flatten()
                    && self.is_effective_target(view, node)
                {
                    targets[set.0 as usize] += 1;
                }
            }
            let mut counts = vec![0u64; self.folded.len()];
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

    /// What became of each policy in all scopes together.
    pub(crate) fn tallies(&self, view: EngineView<'_>) -> &Tallies {
        if self.tallies.get().is_none() {
            // In parallel, and so not below: who waits for other threads must not keep them waiting.
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

    pub(crate) fn set_tallies(&mut self, tallies: Tallies) {
        self.tallies = tallies.into();
    }

    /// What a chain comes to over a value that the object itself has.
    pub fn over(&self, view: EngineView<'_>, chain: ChainId, own: &Value) -> EffectivePolicy {
        self.with(chain).fold(view, chain, Some(own))
    }

    /// The nodes that effective policies of this kind are for, in the order of the topology.
    pub fn effective_targets<'m>(&'m self, view: EngineView<'m>) -> impl Iterator<Item = NodeId> + 'm {
        view.topology.nodes().map(|(node, _)| node).filter(move |&node| self.is_effective_target(view, node))
    }

    pub fn is_effective_target(&self, view: EngineView<'_>, node: NodeId) -> bool {
        self.may_be_target(view, node, &view.topology[node]) && self.hierarchy.has(node)
    }

    /// Whether a node is an effective target if it belongs to the hierarchy.
    fn may_be_target(&self, view: EngineView<'_>, node: NodeId, it: &Node) -> bool {
        // Most are at levels at which there are none.
        self.ends.has(it.level)
            && it.is_live()
            && (self.all_ends.has(it.level) || is_effective_target(&self.kind, view.objects, view.topology, node))
    }

    /// The group and kind of the policies.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.kind.group, &self.kind.kind)
    }

    pub fn stack(&self, node: NodeId) -> Option<&Stack> {
        self.stacks.get(node)
    }

    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    pub fn links(&self, chain: ChainId) -> impl Iterator<Item = Link> + '_ {
        self.with(chain).chains.links(chain)
    }
}

/// The levels at which a kind can have effective targets.
fn ends(kind: &PolicyKind) -> Levels {
    Levels::of(|level| {
        kind.class == Class::Direct
            || kind
                .hierarchy
                .effective_targets
                .iter()
                .any(|target| target.includes_object(level, |_| true) || target.level().is_section_of(level))
    })
}

/// The levels at which all nodes are effective targets of a kind, whatever they are.
fn all_ends(kind: &PolicyKind) -> Levels {
    Levels::of(|level| {
        kind.class == Class::Inherited
            && kind.hierarchy.effective_targets.iter().any(|target| {
                target.includes_object(level, |_| false) && target.level().is_section() == level.is_section()
            })
    })
}

/// Whether all effective targets of a kind come before backends.
fn ends_before_backends(kind: &PolicyKind) -> bool {
    let targets = &kind.hierarchy.effective_targets;
    kind.class == Class::Inherited
        && kind.hierarchy.paths == InheritancePaths::Topology
        && targets.iter().all(|target| target.level() < Level::Backend)
}
