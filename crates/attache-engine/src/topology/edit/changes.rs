//! What an update changed in a topology.

use hashbrown::HashSet;

use crate::topology::NodeId;

/// The nodes that an update changed.
#[derive(Debug, Default)]
pub struct TopologyChanges {
    /// Nodes that are new, or whose links changed.
    pub nodes: UniqueNodes,
    /// Nodes that requests reach now and did not before, or the other way round.
    pub live_changed: Vec<NodeId>,
    /// Nodes whose Namespace has another node than before.
    pub renamespaced: Vec<NodeId>,
    /// Nodes that were removed.
    pub removed: Vec<NodeId>,
    /// Free places among the parts, each with its length. They are from earlier updates.
    pub(super) free: Vec<(u32, u32)>,
    /// Places that this update freed. The next update may use them.
    pub(super) freed: Vec<(u32, u32)>,
}

impl TopologyChanges {
    /// No changes yet, with the free places from earlier updates.
    pub fn new(free: Vec<(u32, u32)>) -> TopologyChanges {
        TopologyChanges { free, ..TopologyChanges::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.as_slice().is_empty() && self.removed.is_empty() && self.renamespaced.is_empty()
    }

    /// The free places for the next update.
    pub fn into_free(mut self) -> Vec<(u32, u32)> {
        self.free.append(&mut self.freed);
        self.free
    }
}

/// Nodes in the order in which they were added, each once.
#[derive(Debug, Default)]
pub struct UniqueNodes {
    nodes: Vec<NodeId>,
    known: HashSet<NodeId>,
}

impl UniqueNodes {
    pub fn push(&mut self, node: NodeId) {
        if self.known.insert(node) {
            self.nodes.push(node);
        }
    }

    pub fn as_slice(&self) -> &[NodeId] {
        &self.nodes
    }
}
