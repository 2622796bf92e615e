//! All links of a topology at once, sorted by the nodes that they come from.

use super::ids::Ids;
use super::node::Node;
use super::{Level, NodeId, NodeMap};

/// Every link, to be told to the nodes at both of its ends. Those of one node stay in the order in which they are given.
#[derive(Debug)]
pub struct Woven {
    wholes: usize,
    parents: Links,
    children: Links,
    /// Of ports, the rules that name them.
    rules: Links,
    /// Of rules, the ports that they name.
    ports: Links,
}

impl Woven {
    /// Of links from parent to child, but for those to sections, and of ports with the rules that name them.
    pub fn new(
        nodes: &NodeMap<Option<Node>>,
        links: impl DoubleEndedIterator<Item = (NodeId, NodeId)> + Clone + Send,
        ports: impl DoubleEndedIterator<Item = (NodeId, NodeId)> + Clone + Send,
    ) -> Woven {
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
        Woven { wholes, parents, children, rules, ports }
    }

    /// Tells a whole object of its links.
    pub fn tie_whole(&self, at: usize, node: &mut Node) {
        node.parents = Ids::of(self.parents.of(at));
        node.children = match (self.children.of(at), node.sections()) {
            (children, sections) if sections.len() == 0 => Ids::of(children),
            // Sections are the last of the children.
            (children, sections) => children.iter().copied().chain(sections).collect(),
        };
    }

    /// Tells a part of its links. A section knows its owner.
    pub fn tie_part(&self, at: usize, node: &mut Node) {
        let at = self.wholes + at;
        node.children = Ids::of(self.children.of(at));
        match node.level {
            Level::RouteRule => node.across = Ids::of(self.ports.of(at)),
            Level::BackendPort => node.across = Ids::of(self.rules.of(at)),
            _ => {}
        }
    }
}

/// The links of the node at place `n` are `to[start[n]..start[n + 1]]`.
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

    fn of(&self, place: usize) -> &[NodeId] {
        &self.to[self.start[place] as usize..self.start[place + 1] as usize]
    }
}
