//! How objects connect, and what could not be connected.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::kinds::LevelName;
use attache_engine::topology::{Level, NodeId, NodeRef, RefusedLink};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use crate::list::API_VERSION;
use crate::snapshot::Snapshot;

/// A part of the topology, cut out to be shown. Parents stand before their children.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Vertex>,
    /// Indexes of parent and child.
    pub edges: Vec<(usize, usize)>,
    pub refused: Vec<RefusedEdge>,
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
    pub fn parts(&self) -> (&str, &str) {
        self.id.split_at(self.id.find('#').unwrap_or(self.id.len()))
    }

    /// A port that nobody attached anything to: showing them all would double every picture.
    pub fn is_minor(&self) -> bool {
        self.level == Some(Level::BackendPort) && self.policies.is_empty()
    }

    pub fn kind(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(kind, _)| kind)
    }

    /// What it is, for a caption: `Gateway`, or `Gateway listener`.
    pub fn what(&self) -> String {
        what(&self.id)
    }
}

impl Graph {
    /// Whether there is nothing in it, or only Namespaces, which are there whenever something is in them.
    pub fn is_bare(&self) -> bool {
        self.nodes.iter().all(|node| node.level == Some(Level::Namespace)) && self.refused.is_empty()
    }

    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (parent, child) in &self.edges {
            children[*parent].push(*child);
        }
        children
    }

    pub fn parents(&self) -> Vec<Vec<usize>> {
        let mut parents = vec![Vec::new(); self.nodes.len()];
        for (parent, child) in &self.edges {
            parents[*child].push(*parent);
        }
        parents
    }

    /// Only the nodes that `keep` holds for, and the links between them.
    pub fn only(self, keep: impl Fn(&Vertex) -> bool) -> Graph {
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
    pub fn namespace_edges(&self) -> Vec<(usize, usize)> {
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

#[derive(Debug, Serialize)]
struct Edge<'a> {
    parent: &'a str,
    child: &'a str,
}

/// An edge that an object asks for and does not get.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RefusedEdge {
    pub parent: String,
    pub child: String,
    pub reason: &'static str,
    pub message: String,
}

impl From<&RefusedLink> for RefusedEdge {
    fn from(refused: &RefusedLink) -> RefusedEdge {
        RefusedEdge {
            parent: refused.parent.to_string(),
            child: refused.child.to_string(),
            reason: refused.reason().as_str(),
            message: refused.cause.to_string(),
        }
    }
}

/// The document that `topology -o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a> {
    api_version: &'static str,
    kind: &'static str,
    nodes: Vec<&'a Vertex>,
    edges: Vec<Edge<'a>>,
    refused: &'a [RefusedEdge],
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
        api_version: API_VERSION,
        kind: "Topology",
        nodes,
        edges: edges.iter().map(|(parent, child)| Edge { parent: id(parent), child: id(child) }).collect(),
        refused: &graph.refused,
    }
}

/// `nodes` with everything above and below them, parents first.
pub fn around(input: &Snapshot, nodes: &[NodeId]) -> Vec<NodeId> {
    let topology = input.engine.topology();
    let (above, below) = (topology.above(nodes.iter().copied()), topology.below(nodes.iter().copied()));
    topology.order().iter().copied().filter(|node| above.contains(node) || below.contains(node)).collect()
}

pub fn cut_out(input: &Snapshot, nodes: &[NodeId]) -> Graph {
    let topology = input.engine.topology();
    let mut attached: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
    for attachment in input.engine.attachments().attached() {
        attached.entry(attachment.node).or_default().push(input.policy(attachment.policy));
    }
    let lives_in = nodes.iter().filter_map(|node| topology.namespace(*node));
    let namespaces: BTreeSet<NodeId> = lives_in.collect();
    // What stands at no level, links to nothing and carries nothing is there, but has no part in this.
    let matters = |node: &NodeId| match topology[*node].level {
        Level::Namespace => false,
        Level::Other if attached.contains_key(node) => true,
        Level::Other => !topology.parents(*node).is_empty() || !topology.children(*node).is_empty(),
        _ => true,
    };
    let shown: Vec<NodeId> = namespaces.into_iter().chain(nodes.iter().copied().filter(matters)).collect();
    let at: HashMap<NodeId, usize> = shown.iter().enumerate().map(|(i, node)| (*node, i)).collect();
    let mut graph = Graph::default();
    let names: Vec<String> = shown.par_iter().map(|node| input.name(*node)).collect();
    for ((i, node), id) in shown.iter().enumerate().zip(names) {
        graph.nodes.push(Vertex {
            id,
            policies: attached.remove(node).unwrap_or_default(),
            level: Some(topology[*node].level),
            namespace: topology.namespace(*node).and_then(|namespace| at.get(&namespace).copied()),
            count: 1,
        });
        graph.edges.extend(topology.children(*node).iter().filter_map(|child| Some((i, *at.get(child)?))));
    }
    let refused = topology.refused(input.engine.objects());
    graph.refused = if nodes.len() == topology.count() {
        refused.iter().map(Into::into).collect()
    } else {
        let known = shown.iter().map(|node| topology.node_ref(input.engine.objects(), *node));
        let known: BTreeSet<NodeRef> = known.collect();
        let concerns = |refused: &&RefusedLink| known.contains(&refused.parent) || known.contains(&refused.child);
        refused.iter().filter(concerns).map(Into::into).collect()
    };
    graph
}

/// What a node is, by its name: `Gateway`, `HTTPRoute rule`.
pub fn what(name: &str) -> String {
    let kind = name.split_once('/').map_or(name, |(kind, _)| kind);
    match LevelName::parse(kind).level() {
        _ if !name.contains('#') => kind.to_owned(),
        Level::Route => format!("{kind} rule"),
        Level::Backend => format!("{kind} port"),
        _ => format!("{kind} listener"),
    }
}
