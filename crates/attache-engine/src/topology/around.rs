//! What stands above and below some nodes.

use std::collections::BTreeSet;

use super::{Level, NodeId, Topology};

impl Topology {
    /// Some nodes and everything above them, but for Namespaces: what those are above of depends on the path.
    pub fn above(&self, nodes: impl IntoIterator<Item = NodeId>) -> BTreeSet<NodeId> {
        reach(nodes, |node| self.parents(node))
    }

    /// Some nodes and everything below them.
    pub fn below(&self, nodes: impl IntoIterator<Item = NodeId>) -> BTreeSet<NodeId> {
        reach(nodes, |node| self.children(node))
    }

    /// The nodes on which the scopes that end at some nodes depend, parents before children.
    pub(crate) fn leading_to(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut leading = self.above(nodes);
        // A label may say which Gateway stands before a Service: all of them may lead there.
        let wholes = self.nodes().map(|(id, _)| id).take_while(|id| id.object().is_some());
        let is_high = |node: &NodeId| self[*node].level <= Level::Gateway;
        leading.extend(wholes.chain(self.by_name.values().copied()).filter(is_high));
        let (mut leading, deepest) = (Vec::from_iter(leading), self.deepest());
        leading.sort_by_key(|node| self.rank(deepest, *node));
        leading
    }
}

fn reach<'t>(nodes: impl IntoIterator<Item = NodeId>, next: impl Fn(NodeId) -> &'t [NodeId]) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<NodeId> = nodes.into_iter().collect();
    while let Some(node) = todo.pop() {
        if found.insert(node) {
            todo.extend(next(node));
        }
    }
    found
}
