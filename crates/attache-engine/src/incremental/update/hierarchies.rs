//! Updates the hierarchy entries of edited nodes, and of the nodes below them.

use std::sync::Arc;

use super::chains::in_parallel_if_many;
use super::{ImpactRegion, NextEngine, UpdateContext};
use crate::chain::Hierarchy;
use crate::model::Model;
use crate::topology::{Level, NodeId, Topology};

/// The nodes whose entry in the hierarchy of a model changed.
pub(super) type ChangedEntries = Arc<[NodeId]>;

/// Updates the hierarchies of all models. Returns the changed nodes of each model.
pub(super) fn update(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    region: Option<&ImpactRegion>,
    models: &mut [Model],
) -> Vec<ChangedEntries> {
    if next.edits.is_empty() && !context.can_change_inheritance() {
        return vec![Arc::default(); models.len()];
    }
    let edited = NodesByRank::edited(next);
    // Models of kinds with the same shape share a hierarchy.
    let mut shared: Vec<Arc<Hierarchy>> = Vec::new();
    for model in models.iter() {
        if !shared.iter().any(|it| Arc::ptr_eq(it, model.hierarchy())) {
            shared.push(Arc::clone(model.hierarchy()));
        }
    }
    let updated = in_parallel_if_many(next, shared, |before| {
        let mut after = Hierarchy::clone(&before);
        if let Some(ImpactRegion { nodes: [_, nodes], .. }) = region {
            after.restrict_to(nodes);
        }
        let changed: ChangedEntries = update_entries(context, next, &mut after, edited.clone()).into();
        (before, Arc::new(after), changed)
    });
    let replace = |model: &mut Model| {
        let (_, after, changed) = updated.iter().find(|(before, ..)| Arc::ptr_eq(before, model.hierarchy()))?;
        model.set_hierarchy(Arc::clone(after));
        Some(Arc::clone(changed))
    };
    models.iter_mut().map(|model| replace(model).unwrap_or_default()).collect()
}

/// Updates the entries of one hierarchy, parents before children. Returns the nodes whose entry changed.
fn update_entries(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    hierarchy: &mut Hierarchy,
    mut queue: NodesByRank,
) -> Vec<NodeId> {
    let (objects, topology) = (&next.parts.objects, &next.parts.topology);
    next.edits.removed.iter().for_each(|node| hierarchy.forget(*node));
    if hierarchy.depends_on_objects() {
        let changed = context.changes.iter().filter(|change| change.fields.labels || change.fields.spec);
        let changed = changed.map(|change| NodeId::whole(change.id)).filter(|node| topology.has(*node));
        changed.for_each(|node| queue.push(topology, node));
    }
    let mut changed = Vec::new();
    let mut buffer = Vec::new();
    let mut rank = 0;
    while let Some(nodes) = queue.take(rank) {
        for node in nodes.into_iter().filter(|node| hierarchy.update(objects, topology, *node, &mut buffer)) {
            changed.push(node);
            topology.children(node).iter().for_each(|child| queue.push(topology, *child));
            if topology[node].level == Level::RouteRule {
                topology.ports_named(node).iter().for_each(|port| queue.push(topology, *port));
            }
        }
        rank += 1;
    }
    changed
}

/// Nodes by their rank: parents have lower ranks than children.
#[derive(Clone, Debug)]
struct NodesByRank {
    deepest: u32,
    nodes: Vec<Vec<NodeId>>,
}

impl NodesByRank {
    /// The existing nodes that were edited, or whose Namespace changed.
    fn edited(next: &NextEngine) -> NodesByRank {
        let topology = &next.parts.topology;
        let mut by_rank = NodesByRank { deepest: topology.deepest(), nodes: Vec::new() };
        let edited = next.edits.nodes.iter().chain(&next.edits.renamespaced).copied();
        edited.filter(|node| topology.has(*node)).for_each(|node| by_rank.push(topology, node));
        by_rank.nodes.iter_mut().for_each(sort_runs);
        by_rank
    }

    fn push(&mut self, topology: &Topology, node: NodeId) {
        let rank = topology.rank(self.deepest, node);
        if self.nodes.len() <= rank {
            self.nodes.resize_with(rank + 1, Vec::new);
        }
        self.nodes[rank].push(node);
    }

    /// The nodes of a rank, each once. `None` after the last rank.
    fn take(&mut self, rank: usize) -> Option<Vec<NodeId>> {
        let mut nodes = std::mem::take(self.nodes.get_mut(rank)?);
        sort_runs(&mut nodes);
        Some(nodes)
    }
}

/// Sorts nodes, each once. A stable sort is fast here: the nodes are a few sorted runs.
fn sort_runs(nodes: &mut Vec<NodeId>) {
    nodes.sort();
    nodes.dedup();
}
