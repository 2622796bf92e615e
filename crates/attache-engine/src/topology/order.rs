//! Every node in an order in which parents come before children.

use super::{Level, Node, NodeId, Topology};

impl Topology {
    /// Every node, parents before children.
    pub fn order(&self) -> &[NodeId] {
        self.order.get_or_init(|| self.sorted().into())
    }

    /// Where a node stands in the order, parents before children: by level, routes and rules by depth of delegation.
    pub(crate) fn rank(&self, deepest: u32, id: NodeId) -> usize {
        self.rank_of(deepest, &self[id])
    }

    fn rank_of(&self, deepest: u32, node: &Node) -> usize {
        let level = node.level as usize;
        match node.level {
            Level::Route | Level::RouteRule if deepest > 0 => {
                let depth = node.owner.object().and_then(|route| self.depths.get(&route)).copied().unwrap_or(0);
                level + 2 * depth as usize
            }
            Level::Backend | Level::BackendPort | Level::Workload | Level::Other => level + 2 * deepest as usize,
            _ => level,
        }
    }

    /// How deep delegation goes at most.
    pub(crate) fn deepest(&self) -> u32 {
        self.depths.values().copied().max().unwrap_or(0)
    }

    fn sorted(&self) -> Vec<NodeId> {
        let deepest = self.deepest();
        let mut by_rank = vec![Vec::new(); Level::Other as usize + 2 * deepest as usize + 1];
        self.nodes().for_each(|(id, node)| by_rank[self.rank_of(deepest, node)].push(id));
        by_rank.concat()
    }
}
