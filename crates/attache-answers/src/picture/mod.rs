//! The content of a picture of the topology. Missing objects that others refer to have a node, and refused links are
//! drawn.

mod collapse;
mod layout;
mod svg;

use std::collections::{BTreeSet, HashMap, HashSet};

use attache_engine::{Level, NodeRef};

use crate::topology::{GraphNode, RefusedEdge, TopologyGraph};

pub use svg::{PictureAddresses, SvgOptions, svg};

/// Nodes and links. Parents come before their children, and before nodes whose links they refuse, unless there is a
/// cycle.
#[derive(Debug, Default)]
pub struct Picture {
    /// The nodes.
    pub nodes: Vec<PictureNode>,
    /// The links between them.
    pub links: Vec<PictureLink>,
}

/// A node of a picture.
#[derive(Clone, Debug)]
pub struct PictureNode {
    /// The node of the topology, or the first of several.
    pub node: GraphNode,
    /// The number of nodes of the topology that it represents.
    pub count: usize,
}

/// A link of a picture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureLink {
    /// The index of the parent.
    pub parent: usize,
    /// The index of the child.
    pub child: usize,
    /// Why the link is refused. `None` if it is not.
    pub refused: Option<Box<RefusedEdge>>,
}

/// Whether a node is a port without policies. Such ports would double the size of every picture.
pub fn is_minor(node: &GraphNode) -> bool {
    node.level == Some(Level::BackendPort) && node.policies.is_empty()
}

impl Picture {
    /// The picture of a graph.
    pub fn new(graph: TopologyGraph) -> Picture {
        // A Namespace is drawn only if it has policies.
        let tells = |node: &GraphNode| node.level != Some(Level::Namespace) || !node.policies.is_empty();
        let shown = graph.filtered(|node| !is_minor(node) && tells(node));
        let edges = [shown.namespace_edges(), shown.edges].concat();
        let named: HashSet<&NodeRef> = shown.refused.iter().flat_map(|it| [&it.parent, &it.child]).collect();
        let mut at: HashMap<NodeRef, usize> = HashMap::new();
        for (i, node) in shown.nodes.iter().enumerate().filter(|(_, node)| named.contains(&node.id)) {
            at.insert(node.id.clone(), i);
        }
        let mut nodes = shown.nodes;
        let mut links: Vec<PictureLink> =
            edges.iter().map(|(parent, child)| PictureLink { parent: *parent, child: *child, refused: None }).collect();
        for refused in shown.refused {
            let [parent, child] = [&refused.parent, &refused.child].map(|id| {
                *at.entry(id.clone()).or_insert_with(|| {
                    nodes.push(GraphNode::missing(id.clone()));
                    nodes.len() - 1
                })
            });
            links.push(PictureLink { parent, child, refused: Some(Box::new(refused)) });
        }
        let nodes = nodes.into_iter().map(|node| PictureNode { node, count: 1 }).collect();
        Picture { nodes, links }.sorted()
    }

    /// The links above and below each node.
    pub(crate) fn both_ways(&self) -> (Vec<Vec<&PictureLink>>, Vec<Vec<&PictureLink>>) {
        let mut above = vec![Vec::new(); self.nodes.len()];
        let mut below = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            above[link.child].push(link);
            below[link.parent].push(link);
        }
        (above, below)
    }

    fn sorted(mut self) -> Picture {
        // The nodes of a topology are in order; missing ones are not.
        if self.links.iter().all(|link| link.parent < link.child) {
            self.links.sort();
            return self;
        }
        let (_, below) = self.both_ways();
        // For each node, the number of parents, and of refusing parents, that are not placed yet.
        let mut waits = vec![(0, 0); self.nodes.len()];
        for link in &self.links {
            *if link.refused.is_none() { &mut waits[link.child].0 } else { &mut waits[link.child].1 } += 1;
        }
        // Nodes whose parents are placed. A node with unplaced refusing parents is taken only if no other is left.
        let mut ready: BTreeSet<(bool, usize)> =
            (0..waits.len()).filter(|node| waits[*node].0 == 0).map(|node| (waits[node].1 > 0, node)).collect();
        let mut place = vec![None; waits.len()];
        let mut order = Vec::with_capacity(waits.len());
        while let Some((_, node)) = ready.pop_first() {
            place[node] = Some(order.len());
            order.push(node);
            for link in below[node].iter().filter(|link| place[link.child].is_none()) {
                let (parents, refusals) = &mut waits[link.child];
                ready.remove(&(*refusals > 0, link.child));
                *if link.refused.is_none() { parents } else { refusals } -= 1;
                if waits[link.child].0 == 0 {
                    ready.insert((waits[link.child].1 > 0, link.child));
                }
            }
        }
        let links = self.links.iter().filter_map(|link| {
            let (parent, child) = place[link.parent].zip(place[link.child])?;
            Some(PictureLink { parent, child, refused: link.refused.clone() })
        });
        let mut links: Vec<PictureLink> = links.collect();
        links.sort();
        let mut nodes: Vec<Option<PictureNode>> = self.nodes.into_iter().map(Some).collect();
        Picture { nodes: order.into_iter().filter_map(|node| nodes[node].take()).collect(), links }
    }
}
