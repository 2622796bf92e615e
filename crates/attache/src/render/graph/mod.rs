//! The topology as people and programs look at it.

mod collapse;
mod dot;
mod layout;
mod mermaid;
mod picture;
mod svg;
mod tree;

use std::collections::BTreeSet;

use attache_engine::topology::{Level, Refused};
use serde::Serialize;

use super::what;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
pub use tree::tree;

/// A part of the topology, cut out to be shown. Parents stand before their children.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Vertex>,
    /// Indexes of parent and child.
    pub edges: Vec<(usize, usize)>,
    pub refused: Vec<Refused>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Vertex {
    /// `Kind/namespace/name#section`.
    pub id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Nothing for what does not exist and was only asked for.
    #[serde(skip)]
    pub level: Option<Level>,
    /// The index of the Namespace that it lives in.
    #[serde(skip)]
    pub namespace: Option<usize>,
    /// How many nodes of the topology this one stands for.
    #[serde(skip)]
    pub count: usize,
}

impl Vertex {
    /// The name without its section, and the section with its `#`.
    fn parts(&self) -> (&str, &str) {
        self.id.split_at(self.id.find('#').unwrap_or(self.id.len()))
    }

    /// A port that nobody attached anything to: showing them all would double every picture.
    fn is_minor(&self) -> bool {
        self.level == Some(Level::BackendPort) && self.policies.is_empty()
    }

    fn kind(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(kind, _)| kind)
    }

    /// What it is, for a caption: `Gateway`, or `Gateway listener`.
    fn what(&self) -> String {
        what(&self.id)
    }
}

impl Graph {
    /// Whether there is nothing in it, or only Namespaces, which are there whenever something is in them.
    pub fn is_bare(&self) -> bool {
        self.nodes.iter().all(|node| node.level == Some(Level::Namespace)) && self.refused.is_empty()
    }

    fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (parent, child) in &self.edges {
            children[*parent].push(*child);
        }
        children
    }

    fn parents(&self) -> Vec<Vec<usize>> {
        let mut parents = vec![Vec::new(); self.nodes.len()];
        for (parent, child) in &self.edges {
            parents[*child].push(*parent);
        }
        parents
    }

    /// Only the nodes that `keep` holds for, and the links between them.
    fn only(self, keep: impl Fn(&Vertex) -> bool) -> Graph {
        let mut at = vec![None; self.nodes.len()];
        let mut graph = Graph { refused: self.refused, ..Graph::default() };
        for (i, node) in self.nodes.into_iter().enumerate().filter(|(_, node)| keep(node)) {
            at[i] = Some(graph.nodes.len());
            graph.nodes.push(node);
        }
        for node in &mut graph.nodes {
            node.namespace = node.namespace.and_then(|namespace| at[namespace]);
        }
        graph.edges = self.edges.iter().filter_map(|(parent, child)| at[*parent].zip(at[*child])).collect();
        graph
    }

    /// The links from each Namespace to the highest objects in it: those that can be reached without passing another
    /// object of the same namespace.
    fn namespace_edges(&self) -> Vec<(usize, usize)> {
        let parents = self.parents();
        let mut edges = Vec::new();
        let mut seen_for = vec![usize::MAX; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(namespace) = node.namespace else { continue };
            let mut todo = vec![i];
            let highest = loop {
                let Some(at) = todo.pop() else { break false };
                if parents[at].is_empty() {
                    break true;
                }
                for parent in &parents[at] {
                    let other = self.nodes[*parent].namespace != Some(namespace);
                    if other && std::mem::replace(&mut seen_for[*parent], i) != i {
                        todo.push(*parent);
                    }
                }
            };
            if highest {
                edges.push((namespace, i));
            }
        }
        edges
    }
}

#[derive(Serialize)]
struct Edge<'a> {
    parent: &'a str,
    child: &'a str,
}

#[derive(Serialize)]
struct Refusal<'a> {
    parent: &'a str,
    child: &'a str,
    reason: &'a str,
    message: &'a str,
}

/// The document that `topology -o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a> {
    api_version: &'static str,
    kind: &'static str,
    nodes: Vec<&'a Vertex>,
    edges: Vec<Edge<'a>>,
    refused: Vec<Refusal<'a>>,
}

pub fn document(graph: &Graph) -> Document<'_> {
    let id = |node: &usize| graph.nodes[*node].id.as_str();
    let mut edges = graph.namespace_edges();
    edges.extend(&graph.edges);
    edges.sort_unstable();
    // A Service in front of routes and behind them is two nodes with one name.
    let mut names = BTreeSet::new();
    let nodes = graph.nodes.iter().filter(|node| names.insert(node.id.as_str())).collect();
    Document {
        api_version: crate::documents::API_VERSION,
        kind: "Topology",
        nodes,
        edges: edges.iter().map(|(parent, child)| Edge { parent: id(parent), child: id(child) }).collect(),
        refused: graph
            .refused
            .iter()
            .map(|Refused { parent, child, reason, message, .. }| Refusal { parent, child, reason, message })
            .collect(),
    }
}
