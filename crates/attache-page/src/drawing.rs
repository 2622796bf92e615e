//! The topology as a picture with links.

use attache_answers::picture::{PictureAddresses, PictureNode, SvgOptions, svg};
use attache_answers::topology::{RefusedEdge, TopologyGraph, TopologyQuery, topology};
use attache_answers::{QueryError, Snapshot};
use attache_engine::{NodeRef, ObjectRef};

use crate::address::{self, with_query};

/// A picture of the topology, and the text beside it.
#[derive(Clone, Debug, Default)]
pub struct TopologyDrawing {
    /// The number of nodes.
    pub nodes: usize,
    /// Whether there is nothing to draw.
    pub is_empty: bool,
    /// Refused links.
    pub refused: Vec<RefusedEdge>,
    /// The picture: SVG, made of escaped text.
    pub svg: String,
}

impl TopologyDrawing {
    /// The whole topology.
    pub fn whole(snapshot: &Snapshot) -> TopologyDrawing {
        TopologyDrawing::new(snapshot, &TopologyQuery { object: None, namespace: None }, None).unwrap_or_default()
    }

    /// The part of the topology that a query asks for. `focus` is highlighted.
    pub fn new(
        snapshot: &Snapshot,
        query: &TopologyQuery,
        focus: Option<&NodeRef>,
    ) -> Result<TopologyDrawing, QueryError> {
        let graph: TopologyGraph = topology(snapshot, query)?;
        let (nodes, is_empty, refused) = (graph.nodes.len(), graph.is_empty(), graph.refused.clone());
        Ok(TopologyDrawing {
            nodes,
            is_empty,
            refused,
            svg: svg(graph, &SvgOptions { addresses: Some(&ViewAddresses), focus }),
        })
    }
}

/// The addresses that nodes and policies of a picture link to.
struct ViewAddresses;

impl PictureAddresses for ViewAddresses {
    fn node(&self, it: &PictureNode) -> String {
        match it.count {
            1 => address::object(&it.node.id),
            // One of several nodes: link to the picture of its surroundings.
            _ => with_query("/topology", &[("object", &it.node.id.to_string())]),
        }
    }

    fn policy(&self, policy: &ObjectRef) -> String {
        address::policy(policy)
    }
}
