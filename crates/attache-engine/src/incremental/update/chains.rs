//! Updates the chains that reach each node.

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::hierarchies::ChangedEntries;
use super::stacks::UpdatedStacks;
use super::{NextEngine, UpdateContext};
use crate::chain::{ChainId, SetId};
use crate::engine_view::EngineView;
use crate::model::{Model, NodeUpdate, RefCounts, UpdateCause};
use crate::topology::{Level, NodeId};

/// The number of edited nodes from which on all cores are used.
const MANY_NODES: usize = 5_000;

/// The changes of one kind.
#[derive(Debug)]
pub(in crate::incremental) struct KindUpdate {
    /// The index of the model.
    pub model: usize,
    pub nodes: Vec<NodeUpdate>,
    pub refolded: RefoldedChains,
}

/// Chains that exist before and after the changes, whose policies changed.
#[derive(Debug, Default)]
pub(in crate::incremental) struct RefoldedChains {
    /// Sorted.
    pub chains: Vec<ChainId>,
    /// The first nodes that the chains reach.
    first_nodes: Vec<NodeId>,
}

impl RefoldedChains {
    /// The nodes that `some` of the chains reach.
    pub fn nodes(&self, view: EngineView<'_>, model: &Model, some: &HashSet<ChainId>) -> Vec<NodeId> {
        if some.is_empty() {
            return Vec::new();
        }
        let all = self.chains.iter().copied().collect();
        let mut nodes = model.nodes_reached_by(view, &self.first_nodes, &all);
        // Most nodes share their set with others.
        let mut sets: HashMap<SetId, bool> = HashMap::new();
        let has_some = |set: SetId| model.chains_in_set(set).iter().any(|(chain, _)| some.contains(chain));
        nodes.retain(|node| {
            model.set_reaching(*node).is_some_and(|set| *sets.entry(set).or_insert_with(|| has_some(set)))
        });
        nodes
    }
}

/// Updates the chains of all models, as far as their stacks or hierarchies changed.
pub(super) fn update(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    stacks: &UpdatedStacks,
    changed_entries: &[ChangedEntries],
    models: &mut [Model],
    ref_counts: &mut [RefCounts],
) -> Vec<KindUpdate> {
    let of_all_kinds = dirty_nodes(context, next);
    let all: Vec<_> = models.iter_mut().zip(ref_counts).zip(changed_entries).enumerate().collect();
    let updates = in_parallel_if_many(next, all, |(index, ((model, ref_counts), changed_entries))| {
        // A node outside of the hierarchy needs no update: if the entries of nodes below it changed, they are among the
        // changed entries themselves.
        let before = context.before.models().get(index);
        let is_member =
            |node: &NodeId| model.hierarchy().has(*node) || before.is_some_and(|before| before.hierarchy().has(*node));
        let changed_entries = changed_entries.iter().map(|node| (*node, UpdateCause::Paths));
        let live_edits = next.edits.live_changed.iter().map(|node| (*node, UpdateCause::Target));
        let mut dirty = Vec::with_capacity(changed_entries.len() + live_edits.len() + of_all_kinds.len());
        dirty.extend(changed_entries.chain(live_edits).filter(|(node, _)| is_member(node)));
        dirty.extend(&of_all_kinds);
        let restacked = stacks.nodes.get(&model.id).map_or(&[][..], Vec::as_slice);
        let refolded = update_restacked(context, next, [before, Some(model)], ref_counts, restacked, &mut dirty);
        model.clear_effective(&refolded.chains);
        let nodes = match dirty.is_empty() && next.edits.removed.is_empty() {
            true => Vec::new(),
            false => model.update_chains(next.parts.view(), ref_counts, &dirty, &next.edits.removed),
        };
        (!nodes.is_empty() || !refolded.chains.is_empty()).then_some(KindUpdate { model: index, nodes, refolded })
    });
    updates.into_iter().flatten().collect()
}

/// The nodes that have to be updated for all kinds: those of changed objects, and those whose Namespace changed.
fn dirty_nodes(context: &UpdateContext<'_>, next: &NextEngine) -> Vec<(NodeId, UpdateCause)> {
    let topology = &next.parts.topology;
    let mut dirty: Vec<(NodeId, UpdateCause)> = Vec::new();
    for id in context.changed_content().filter(|id| next.parts.objects.shared(*id).is_some()) {
        let whole = NodeId::whole(id);
        let nodes = [whole].into_iter().chain(topology.sections(whole)).chain(topology.frontend(whole));
        dirty.extend(nodes.map(|node| (node, UpdateCause::Target)));
    }
    let renamespaced = next.edits.renamespaced.iter().copied().filter(|node| topology.has(*node));
    dirty.extend(renamespaced.map(|node| (node, UpdateCause::Paths)));
    dirty
}

/// Finds the chains whose policies changed because a stack did. If the set of Namespaces changes whose requests have
/// policies of their own, the nodes below get other chains, and become dirty.
fn update_restacked(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    [before, after]: [Option<&Model>; 2],
    ref_counts: &RefCounts,
    restacked: &[NodeId],
    dirty: &mut Vec<(NodeId, UpdateCause)>,
) -> RefoldedChains {
    let mut refolded = RefoldedChains::default();
    for &node in restacked {
        let [was, is] = [before, after].map(|model| model.and_then(|model| model.stack(node)));
        let mut first_nodes = Vec::new();
        first_nodes_below(context, next, after.and_then(Model::root), node, |node| first_nodes.push(node));
        let chains = if was.is_some() && is.is_some() { ref_counts.chains_with(node) } else { Vec::new() };
        // With policies for the same consumers before and after, the same chains continue below the node.
        if was.map(|was| &was.consumers) != is.map(|is| &is.consumers) {
            let chains = chains.iter().copied().collect();
            let reached = before.map(|model| model.nodes_reached_by(context.before.view(), &first_nodes, &chains));
            let nodes = first_nodes.iter().copied().chain(reached.into_iter().flatten());
            let nodes = nodes.filter(|node| next.parts.topology.has(*node));
            dirty.extend(nodes.map(|node| (node, UpdateCause::Chains)));
        }
        if !chains.is_empty() {
            refolded.chains.extend(chains);
            refolded.first_nodes.extend(first_nodes);
        }
    }
    refolded.chains.sort_unstable();
    refolded.chains.dedup();
    refolded
}

/// The first nodes on all paths whose chains contain the policies on a node: the node itself; the objects in it if it
/// is a Namespace; all nodes if it is the root Namespace.
pub(super) fn first_nodes_below(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    root: Option<NodeId>,
    node: NodeId,
    mut found: impl FnMut(NodeId),
) {
    let topology = &next.parts.topology;
    found(node);
    let mut add_object = |node: NodeId| {
        [node].into_iter().chain(topology.sections(node)).chain(topology.frontend(node)).for_each(&mut found);
    };
    match topology.node(node).map(|it| it.level) {
        _ if root == Some(node) => topology.nodes().for_each(|(node, _)| add_object(node)),
        Some(Level::Namespace) => {
            let name = topology.id(&next.parts.objects, node).name.as_str();
            context.objects.in_namespace(name).for_each(|id| add_object(NodeId::whole(id)));
        }
        _ => add_object(node),
    }
}

/// Maps items to results, in parallel if many nodes were edited.
pub(super) fn in_parallel_if_many<T: Send, R: Send>(
    next: &NextEngine,
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    match next.edits.nodes.len() < MANY_NODES {
        true => items.into_iter().map(work).collect(),
        false => items.into_par_iter().map(work).collect(),
    }
}
