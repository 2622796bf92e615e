//! Many links, sorted by the nodes that they come from.

use super::NodeId;
use super::node::Ids;

/// The links of the node at place `n` are `to[start[n]..start[n + 1]]`.
#[derive(Debug)]
pub struct Links {
    start: Vec<u32>,
    to: Vec<NodeId>,
}

impl Links {
    /// Those of one node stay in the order in which they are given. `place` counts nodes without gaps.
    pub fn new<T>(
        nodes: usize,
        pairs: &[T],
        place: impl Fn(NodeId) -> usize,
        ends: impl Fn(&T) -> (NodeId, NodeId),
    ) -> Links {
        let mut start = vec![0u32; nodes + 1];
        for pair in pairs {
            start[place(ends(pair).0)] += 1;
        }
        // Each count becomes the end of its node's links, and then, filled from the back, their start.
        let mut end = 0;
        for count in &mut start {
            end += *count;
            *count = end;
        }
        let mut to = vec![NodeId::part(0); pairs.len()];
        for pair in pairs.iter().rev() {
            let (from, other) = ends(pair);
            let at = &mut start[place(from)];
            *at -= 1;
            to[*at as usize] = other;
        }
        Links { start, to }
    }

    pub fn of(&self, place: usize) -> Ids {
        Ids::of(&self.to[self.start[place] as usize..self.start[place + 1] as usize])
    }
}
