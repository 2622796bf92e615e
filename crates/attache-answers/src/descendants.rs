//! The nodes below an object, by level. A GatewayClass can have a million, and several answers need them.

use std::collections::{BTreeMap, BTreeSet};

use attache_engine::{Level, NodeId};

use crate::reach::{NodeCount, node_counts};
use crate::snapshot::Snapshot;

/// Nodes, and everything below them.
#[derive(Debug)]
pub(crate) struct Descendants {
    /// The nodes of each level, sorted.
    pub by_level: BTreeMap<Level, Vec<NodeId>>,
    /// The Namespaces of the nodes of each level.
    pub namespaces: BTreeMap<Level, BTreeSet<NodeId>>,
    /// The number of nodes of each kind.
    pub counts: Vec<NodeCount>,
}

impl Descendants {
    /// Some nodes, and everything below them.
    pub fn new(snapshot: &Snapshot, nodes: impl IntoIterator<Item = NodeId>) -> Descendants {
        let topology = snapshot.engine.topology();
        let by_level = topology.below_by_level(nodes);
        let namespaces = by_level.iter().map(|(level, nodes)| {
            let mut namespaces: Vec<NodeId> = nodes.iter().filter_map(|node| topology.namespace(*node)).collect();
            // Most neighbours are in the same one.
            namespaces.dedup();
            (*level, namespaces.into_iter().collect())
        });
        let namespaces = namespaces.collect();
        let counts = node_counts(snapshot, by_level.values().flatten());
        Descendants { by_level, namespaces, counts }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.by_level.values().map(Vec::len).sum()
    }

    /// All nodes.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + Clone {
        self.by_level.values().flatten().copied()
    }

    /// Whether a node is among them.
    pub fn contains(&self, snapshot: &Snapshot, node: NodeId) -> bool {
        let level = snapshot.engine.topology()[node].level;
        self.by_level.get(&level).is_some_and(|nodes| nodes.binary_search(&node).is_ok())
    }
}
