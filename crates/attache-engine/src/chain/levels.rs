//! A set of levels.

use crate::topology::{Level, NodeId, Topology};

/// One bit for each level: every node is tested for membership.
#[derive(Clone, Copy, Debug)]
pub struct Levels(u32);

impl Levels {
    pub fn matching(is_one: impl Fn(Level) -> bool) -> Levels {
        Levels(Level::ALL.into_iter().filter(|level| is_one(*level)).map(|level| 1 << level as u32).sum())
    }

    pub fn has(self, level: Level) -> bool {
        self.0 >> level as u32 & 1 == 1
    }

    /// The shortest slice of the topology's order that contains all nodes at these levels, and possibly others.
    pub fn span(self, topology: &Topology) -> &[NodeId] {
        let (order, deepest) = (topology.order(), topology.deepest());
        let (lowest, highest) = (self.0.trailing_zeros() as usize, self.0.checked_ilog2().unwrap_or(0) as usize);
        let rank = |node: &NodeId| topology.rank(deepest, *node);
        let start = order.partition_point(|node| rank(node) < lowest);
        // A backend can be an object of a custom kind, and custom kinds have the last ranks.
        let last = match highest >= Level::Backend as usize {
            true => topology.last_rank(),
            false => highest + 2 * deepest as usize,
        };
        let end = order.partition_point(|node| rank(node) <= last);
        order.get(start..end).unwrap_or_default()
    }
}
