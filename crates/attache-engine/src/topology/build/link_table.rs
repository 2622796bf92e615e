//! All links of a topology by node, in preparation for setting them on the nodes.

use crate::topology::neighbors::Neighbors;
use crate::topology::{Level, Node, NodeId, NodeMap};

/// Every link, by both of its nodes. The links of one node keep their order.
#[derive(Debug)]
pub struct LinkTable {
    wholes: usize,
    parents: Links,
    children: Links,
    /// For ports, the rules that name them.
    rules: Links,
    /// For rules, the ports that they name.
    ports: Links,
}

impl LinkTable {
    /// `links` are from parent to child, without those to sections; `ports` are from ports to the rules that name them.
    pub fn new(
        nodes: &NodeMap<Option<Node>>,
        links: impl DoubleEndedIterator<Item = (NodeId, NodeId)> + Clone + Send,
        ports: impl DoubleEndedIterator<Item = (NodeId, NodeId)> + Clone + Send,
    ) -> LinkTable {
        let (wholes, count) = (nodes.wholes(), nodes.wholes() + nodes.parts());
        let place = |node: NodeId| node.place().map_or_else(|whole| whole, |part| wholes + part);
        let forth = |(from, to): (NodeId, NodeId)| (place(from), to);
        let back = |(from, to): (NodeId, NodeId)| (place(to), from);
        let (upward, downward) = (links.clone().map(back), links.map(forth));
        let (by_port, by_rule) = (ports.clone().map(forth), ports.map(back));
        let ((parents, children), (rules, ports)) = rayon::join(
            || rayon::join(|| Links::new(count, upward), || Links::new(count, downward)),
            || rayon::join(|| Links::new(count, by_port), || Links::new(count, by_rule)),
        );
        LinkTable { wholes, parents, children, rules, ports }
    }

    /// Sets the links of a whole object.
    pub fn link_whole(&self, at: usize, node: &mut Node) {
        node.parents = Neighbors::new(self.parents.at(at));
        node.children = match (self.children.at(at), node.sections()) {
            (children, sections) if sections.len() == 0 => Neighbors::new(children),
            // Sections are the last children.
            (children, sections) => children.iter().copied().chain(sections).collect(),
        };
    }

    /// Sets the links of a part. The parent of a section is already set.
    pub fn link_part(&self, at: usize, node: &mut Node) {
        let at = self.wholes + at;
        if node.owner.object().is_none() {
            node.parents = Neighbors::new(self.parents.at(at));
        }
        node.children = Neighbors::new(self.children.at(at));
        match node.level {
            Level::RouteRule => node.across = Neighbors::new(self.ports.at(at)),
            Level::BackendPort => node.across = Neighbors::new(self.rules.at(at)),
            _ => {}
        }
    }
}

/// The links of the node with index `n` are `to[start[n]..start[n + 1]]`.
#[derive(Debug)]
struct Links {
    start: Vec<u32>,
    to: Vec<NodeId>,
}

impl Links {
    fn new(nodes: usize, pairs: impl DoubleEndedIterator<Item = (usize, NodeId)> + Clone) -> Links {
        let mut start = vec![0u32; nodes + 1];
        pairs.clone().for_each(|(from, _)| start[from] += 1);
        // Each count becomes the end of its node's links, and then, filled from the back, their start.
        let mut end = 0;
        for count in &mut start {
            end += *count;
            *count = end;
        }
        let mut to = vec![NodeId::part(0); end as usize];
        pairs.rev().for_each(|(from, other)| {
            let at = &mut start[from];
            *at -= 1;
            to[*at as usize] = other;
        });
        Links { start, to }
    }

    fn at(&self, place: usize) -> &[NodeId] {
        &self.to[self.start[place] as usize..self.start[place + 1] as usize]
    }
}
