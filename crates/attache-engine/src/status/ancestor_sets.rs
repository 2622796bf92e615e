//! The Gateways and mesh Services through which requests reach nodes.

use hashbrown::HashMap;

use crate::topology::{Level, NodeId, NodeMap, NodeVec, Topology};

/// The id of a set of ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AncestorSetId(u32);

impl AncestorSetId {
    /// No ancestors.
    pub const EMPTY: AncestorSetId = AncestorSetId(0);
}

/// The ancestors of nodes, computed on demand. Nodes with the same ancestors share a set.
pub(crate) struct AncestorSets<'t> {
    topology: &'t Topology,
    by_node: NodeVec<Option<AncestorSetId>>,
    /// Each set is sorted.
    sets: Vec<Vec<NodeId>>,
    ids: HashMap<Vec<NodeId>, AncestorSetId>,
}

impl<'t> AncestorSets<'t> {
    pub fn new(topology: &'t Topology) -> Self {
        let by_node = NodeVec::new(topology, &NodeMap::default());
        let ids = HashMap::from_iter([(Vec::new(), AncestorSetId::EMPTY)]);
        AncestorSets { topology, by_node, sets: vec![Vec::new()], ids }
    }

    /// The ancestors of a set, sorted.
    pub fn get(&self, id: AncestorSetId) -> &[NodeId] {
        &self.sets[id.0 as usize]
    }

    /// The Gateways and mesh Services above a node. A Gateway is its own ancestor.
    pub fn at(&mut self, node: NodeId) -> AncestorSetId {
        if let Some(known) = self.by_node[node] {
            return known;
        }
        let (topology, it) = (self.topology, &self.topology[node]);
        let found = match it.level {
            Level::Gateway | Level::Frontend => self.intern(vec![node]),
            // Requests reach a port through the rules that name it.
            Level::BackendPort if !it.across().is_empty() => self.union(topology.rules_naming(node)),
            _ => self.union(it.parents()),
        };
        self.by_node[node] = Some(found);
        found
    }

    fn union(&mut self, nodes: &[NodeId]) -> AncestorSetId {
        let mut last = AncestorSetId::EMPTY;
        let mut ids: Vec<AncestorSetId> = Vec::new();
        for node in nodes {
            let id = self.at(*node);
            // Adjacent nodes mostly have the same ancestors.
            if id != last {
                ids.push(id);
                last = id;
            }
        }
        self.union_of_sets(ids)
    }

    /// The set of all ancestors of some sets.
    pub fn union_of_sets(&mut self, mut ids: Vec<AncestorSetId>) -> AncestorSetId {
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| *id != AncestorSetId::EMPTY);
        match ids.as_slice() {
            [] => AncestorSetId::EMPTY,
            [one] => *one,
            several => {
                let mut all: Vec<NodeId> = several.iter().flat_map(|id| self.get(*id)).copied().collect();
                all.sort_unstable();
                all.dedup();
                self.intern(all)
            }
        }
    }

    /// The ancestors that are in both sets.
    pub fn intersection(&mut self, one: AncestorSetId, other: AncestorSetId) -> AncestorSetId {
        if one == other {
            return one;
        }
        let others = self.get(other);
        let common = self.get(one).iter().filter(|node| others.binary_search(node).is_ok()).copied().collect();
        self.intern(common)
    }

    fn intern(&mut self, sorted: Vec<NodeId>) -> AncestorSetId {
        if let Some(known) = self.ids.get(&sorted) {
            return *known;
        }
        let id = AncestorSetId(self.sets.len() as u32);
        self.sets.push(sorted.clone());
        self.ids.insert(sorted, id);
        id
    }
}
