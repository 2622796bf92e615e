//! Links in flat arrays.

use super::NodeId;

/// The links of node `n` are `to[start[n]..start[n + 1]]`.
#[derive(Debug, Default)]
pub struct Links {
    start: Vec<u32>,
    to: Vec<NodeId>,
}

impl Links {
    /// Sorts pairs by where they come from; those of one node stay in the order in which they are given.
    pub fn new<T>(nodes: usize, pairs: &[T], ends: impl Fn(&T) -> (NodeId, NodeId)) -> Links {
        let mut start = vec![0u32; nodes + 1];
        for pair in pairs {
            start[ends(pair).0.0 as usize] += 1;
        }
        // Each count becomes the end of its node's links, and then, filled from the back, their start.
        let mut end = 0;
        for count in &mut start {
            end += *count;
            *count = end;
        }
        let mut to = vec![NodeId(0); pairs.len()];
        for pair in pairs.iter().rev() {
            let (from, other) = ends(pair);
            let at = &mut start[from.0 as usize];
            *at -= 1;
            to[*at as usize] = other;
        }
        Links { start, to }
    }

    pub fn of(&self, node: NodeId) -> &[NodeId] {
        let at = node.0 as usize;
        &self.to[self.start[at] as usize..self.start[at + 1] as usize]
    }
}
