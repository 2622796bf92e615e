//! What is drawn of a graph: a node also for what does not exist but was asked for, and a link for what was refused.

use std::collections::{BTreeMap, BTreeSet};

use attache_answers::topology::{GraphNode, RefusedEdge, TopologyGraph};
use attache_engine::{Level, NodeRef};

use super::is_minor;

/// Nodes in an order in which parents stand before their children, also those that refused them, unless they go
/// round in a circle.
#[derive(Debug, Default)]
pub struct Picture {
    pub nodes: Vec<PictureNode>,
    pub links: Vec<PictureLink>,
}

/// A node of a picture.
#[derive(Clone, Debug)]
pub struct PictureNode {
    pub node: GraphNode,
    /// How many nodes of the topology it stands for.
    pub count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureLink {
    pub parent: usize,
    pub child: usize,
    pub refused: Option<RefusedEdge>,
}

impl Picture {
    pub fn new(graph: TopologyGraph) -> Picture {
        // A Namespace says something only by the policies on it.
        let tells = |node: &GraphNode| node.level != Some(Level::Namespace) || !node.policies.is_empty();
        let shown = graph.filtered(|node| !is_minor(node) && tells(node));
        let edges = [shown.namespace_edges(), shown.edges].concat();
        let mut at: BTreeMap<NodeRef, usize> = shown.nodes.iter().map(|node| node.id.clone()).zip(0..).collect();
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
            links.push(PictureLink { parent, child, refused: Some(refused) });
        }
        let nodes = nodes.into_iter().map(|node| PictureNode { node, count: 1 }).collect();
        Picture { nodes, links }.sorted()
    }

    /// The links above and below each node.
    pub fn both_ways(&self) -> (Vec<Vec<&PictureLink>>, Vec<Vec<&PictureLink>>) {
        let mut above = vec![Vec::new(); self.nodes.len()];
        let mut below = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            above[link.child].push(link);
            below[link.parent].push(link);
        }
        (above, below)
    }

    fn sorted(self) -> Picture {
        let (_, below) = self.both_ways();
        // How many parents, and how many that refused it, each node still waits for.
        let mut waits = vec![(0, 0); self.nodes.len()];
        for link in &self.links {
            *if link.refused.is_none() { &mut waits[link.child].0 } else { &mut waits[link.child].1 } += 1;
        }
        // Nodes that wait for no parent; of those that still wait for a refusal one is taken only if no other is left.
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
        Picture { nodes: order.into_iter().map(|node| self.nodes[node].clone()).collect(), links }
    }
}
