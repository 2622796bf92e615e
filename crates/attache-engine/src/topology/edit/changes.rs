//! The changes of a topology by an update.

use crate::object::ObjectId;
use crate::topology::NodeId;
use crate::topology::node::DistinctNodes;

/// The nodes that an update changed.
#[derive(Debug, Default)]
pub struct TopologyChanges {
    /// Nodes that are new, or whose links changed.
    pub nodes: DistinctNodes,
    /// Nodes that requests newly reach or no longer reach, and routes that requests reach over different links.
    pub live_changed: Vec<NodeId>,
    /// Nodes whose Namespace node was replaced.
    pub renamespaced: Vec<NodeId>,
    /// Nodes that were removed.
    pub removed: Vec<NodeId>,
    /// Gateways and ListenerSets whose listeners may serve different hostnames.
    pub reisolated: Vec<ObjectId>,
    /// Listeners whose routes changed: see [`Topology::is_idle`](crate::topology::Topology::is_idle).
    pub(super) stream_listeners: Vec<NodeId>,
    /// Free ranges of the parts, from earlier updates.
    pub(super) free: Vec<(u32, u32)>,
    /// Ranges that this update freed. The next update may use them.
    pub(super) freed: Vec<(u32, u32)>,
}

impl TopologyChanges {
    /// No changes yet, with the free ranges of earlier updates.
    pub fn new(free: Vec<(u32, u32)>) -> TopologyChanges {
        TopologyChanges { free, ..TopologyChanges::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.removed.is_empty() && self.renamespaced.is_empty()
    }

    /// Takes the free ranges for the next update.
    pub fn take_free(&mut self) -> Vec<(u32, u32)> {
        let mut free = std::mem::take(&mut self.free);
        free.append(&mut self.freed);
        free
    }
}
