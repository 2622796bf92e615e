//! Questions about the topologies before and after a batch together.

use hashbrown::HashSet;

use crate::engine_parts::EngineParts;
use crate::topology::{NodeId, Topology};

/// The parts of the engines before and after a batch.
#[derive(Clone, Copy)]
pub(super) struct BothSides<'s>(pub [&'s EngineParts; 2]);

impl<'s> BothSides<'s> {
    /// Some nodes and all nodes that are linked to them in one direction, directly or not, before or after the batch.
    pub fn closure(
        self,
        from: impl IntoIterator<Item = NodeId>,
        linked: fn(&Topology, NodeId) -> &[NodeId],
    ) -> HashSet<NodeId> {
        let mut found = HashSet::new();
        let mut todo: Vec<NodeId> = from.into_iter().collect();
        while let Some(node) = todo.pop() {
            if found.insert(node) {
                self.0.iter().for_each(|side| todo.extend(linked(&side.topology, node)));
            }
        }
        found
    }

    /// All nodes of the objects that own some nodes, before and after the batch.
    pub fn nodes_of_same_objects(self, nodes: impl IntoIterator<Item = NodeId>) -> impl Iterator<Item = NodeId> + 's {
        let having = move |node: NodeId| self.0.into_iter().filter(move |side| side.topology.has(node));
        let wholes = nodes.into_iter().flat_map(move |node| having(node).map(move |side| side.topology.whole(node)));
        let wholes: HashSet<NodeId> = wholes.collect();
        wholes.into_iter().flat_map(move |whole| {
            having(whole).flat_map(move |side| {
                [whole].into_iter().chain(side.topology.sections(whole)).chain(side.topology.frontend(whole))
            })
        })
    }
}
