//! The links between objects, and refused links.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::{Level, NodeId, NodeRef, ObjectRef, PolicyId, RefusedLink};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::snapshot::Snapshot;

/// Selects a part of the topology.
#[derive(Clone, Debug, Default)]
pub struct TopologyQuery {
    /// Only the ancestors and descendants of this object; of the objects in it, if it is a Namespace; of its targets, if it is
    /// a policy.
    pub object: Option<ObjectQuery>,
    /// The namespace of the object. Without an object: only the ancestors and descendants of objects in this namespace.
    pub namespace: Option<String>,
}

/// A part of the topology.
#[derive(Clone, Debug, Default)]
pub struct TopologyGraph {
    /// The nodes. Parents come before their children.
    pub nodes: Vec<GraphNode>,
    /// The indexes of parents and children in `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// The refused edges.
    pub refused: Vec<RefusedEdge>,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphNode {
    /// The node.
    pub id: NodeRef,
    /// The policies that are attached to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<ObjectRef>,
    /// Its level. `None` if it does not exist, but another object refers to it.
    #[serde(skip)]
    pub level: Option<Level>,
    /// The index of its Namespace.
    #[serde(skip)]
    pub namespace: Option<usize>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The parent.
    pub parent: NodeRef,
    /// The child.
    pub child: NodeRef,
}

/// A refused edge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RefusedEdge {
    /// The parent.
    pub parent: NodeRef,
    /// The child.
    pub child: NodeRef,
    /// The reason, as the Gateway API names it.
    pub reason: &'static str,
    /// Details of the reason.
    pub message: String,
}

/// The document `Topology`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyDocument {
    api_version: &'static str,
    kind: &'static str,
    /// The nodes.
    pub nodes: Vec<GraphNode>,
    /// The edges. A Namespace is the parent of the highest objects in it.
    pub edges: Vec<Edge>,
    /// The refused edges.
    pub refused: Vec<RefusedEdge>,
}

/// A part of the topology, as a graph.
pub fn topology(snapshot: &Snapshot, query: &TopologyQuery) -> Result<TopologyGraph, QueryError> {
    let topology = snapshot.engine.topology();
    let nodes = match (&query.object, &query.namespace) {
        (Some(object), namespace) => {
            let object = snapshot.find(object, namespace.as_deref())?;
            let nodes = match snapshot.engine.find_policy(&object.object) {
                Some(policy) => targets(snapshot, policy),
                None => snapshot.nodes(&object),
            };
            // Namespaces have no links.
            let with_links = |node: NodeId| match topology[node].level {
                Level::Namespace => inside(snapshot, &snapshot.node_ref(node).object.name),
                _ => vec![node],
            };
            around(snapshot, &nodes.into_iter().flat_map(with_links).collect::<Vec<_>>())
        }
        (None, Some(namespace)) => around(snapshot, &inside(snapshot, namespace)),
        (None, None) => topology.order().to_vec(),
    };
    Ok(TopologyGraph::new(snapshot, &nodes))
}

/// The nodes in a namespace.
fn inside(snapshot: &Snapshot, namespace: &str) -> Vec<NodeId> {
    let nodes = snapshot.engine.topology().nodes().map(|(node, _)| node);
    nodes.filter(|node| snapshot.is_in(*node, Some(namespace))).collect()
}

/// The nodes that a policy is attached to.
fn targets(snapshot: &Snapshot, policy: PolicyId) -> Vec<NodeId> {
    let attached = &snapshot.engine.attachments().for_policy(policy).to;
    attached.iter().filter(|it| !it.is_absent()).map(|it| it.node).collect()
}

/// `nodes` with their ancestors and descendants, parents first.
fn around(snapshot: &Snapshot, nodes: &[NodeId]) -> Vec<NodeId> {
    let topology = snapshot.engine.topology();
    let mut around = topology.above(nodes.iter().copied());
    around.append(&mut topology.below(nodes.iter().copied()));
    topology.in_order(around)
}

impl TopologyGraph {
    fn new(snapshot: &Snapshot, nodes: &[NodeId]) -> TopologyGraph {
        let topology = snapshot.engine.topology();
        let mut attached: BTreeMap<NodeId, Vec<ObjectRef>> = BTreeMap::new();
        for attachment in snapshot.engine.attachments().attached() {
            attached.entry(attachment.node).or_default().push(snapshot.policy_ref(attachment.policy));
        }
        let namespaces: BTreeSet<NodeId> = nodes.iter().filter_map(|node| topology.namespace(*node)).collect();
        // Objects of other kinds are shown if they have links or policies.
        let is_shown = |node: &NodeId| match topology[*node].level {
            Level::Namespace => false,
            Level::Other if attached.contains_key(node) => true,
            Level::Other => !topology.parents(*node).is_empty() || !topology.children(*node).is_empty(),
            _ => true,
        };
        let shown: Vec<NodeId> = namespaces.into_iter().chain(nodes.iter().copied().filter(is_shown)).collect();
        let at: HashMap<NodeId, usize> = shown.iter().enumerate().map(|(i, node)| (*node, i)).collect();
        let mut graph = TopologyGraph::default();
        let ids: Vec<NodeRef> = shown.par_iter().map(|node| snapshot.node_ref(*node)).collect();
        for ((i, node), id) in shown.iter().enumerate().zip(ids) {
            graph.nodes.push(GraphNode {
                id,
                policies: attached.remove(node).unwrap_or_default(),
                level: Some(topology[*node].level),
                namespace: topology.namespace(*node).and_then(|namespace| at.get(&namespace).copied()),
            });
            graph.edges.extend(topology.children(*node).iter().filter_map(|child| Some((i, *at.get(child)?))));
        }
        let refused = topology.refused(snapshot.engine.objects());
        graph.refused = if nodes.len() == topology.count() {
            refused.iter().map(RefusedEdge::from).collect()
        } else {
            let known: BTreeSet<&NodeRef> = graph.nodes.iter().map(|node| &node.id).collect();
            let concerns = |refused: &&RefusedLink| known.contains(&refused.parent) || known.contains(&refused.child);
            refused.iter().filter(concerns).map(RefusedEdge::from).collect()
        };
        graph
    }

    /// Whether it contains nothing but Namespaces.
    pub fn is_empty(&self) -> bool {
        self.nodes.iter().all(|node| node.level == Some(Level::Namespace)) && self.refused.is_empty()
    }

    /// The children of each node.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (parent, child) in &self.edges {
            children[*parent].push(*child);
        }
        children
    }

    /// The parents of each node.
    pub fn parents(&self) -> Vec<Vec<usize>> {
        let mut parents = vec![Vec::new(); self.nodes.len()];
        for (parent, child) in &self.edges {
            parents[*child].push(*parent);
        }
        parents
    }

    /// The nodes for which `keep` is true, and the edges between them.
    pub fn filtered(self, keep: impl Fn(&GraphNode) -> bool) -> TopologyGraph {
        let mut at = vec![None; self.nodes.len()];
        let mut graph = TopologyGraph { refused: self.refused, ..TopologyGraph::default() };
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

    /// The edges from each Namespace to the highest objects in it: those that a path from a root reaches before any
    /// other object of the namespace.
    pub fn namespace_edges(&self) -> Vec<(usize, usize)> {
        let parents = self.parents();
        let mut edges = Vec::new();
        let mut seen_for = vec![usize::MAX; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(namespace) = node.namespace else { continue };
            let mut todo = vec![i];
            let is_highest = loop {
                let Some(at) = todo.pop() else { break false };
                if parents[at].is_empty() {
                    break true;
                }
                for parent in &parents[at] {
                    let is_outside = self.nodes[*parent].namespace != Some(namespace);
                    if is_outside && std::mem::replace(&mut seen_for[*parent], i) != i {
                        todo.push(*parent);
                    }
                }
            };
            if is_highest {
                edges.push((namespace, i));
            }
        }
        edges
    }

    /// The graph as a document.
    pub fn document(self) -> TopologyDocument {
        let mut edges = self.namespace_edges();
        edges.extend(&self.edges);
        edges.sort_unstable();
        let id = |node: usize| self.nodes[node].id.clone();
        let edges = edges.iter().map(|(parent, child)| Edge { parent: id(*parent), child: id(*child) }).collect();
        // A Service that is the parent of routes has two nodes with one name.
        let mut ids = BTreeSet::new();
        let nodes = self.nodes.iter().filter(|node| ids.insert(&node.id)).cloned().collect();
        TopologyDocument { api_version: API_VERSION, kind: "Topology", nodes, edges, refused: self.refused }
    }
}

impl GraphNode {
    /// A node that does not exist, but that another object refers to.
    pub fn missing(id: NodeRef) -> GraphNode {
        GraphNode { id, policies: Vec::new(), level: None, namespace: None }
    }

    /// The kind of the node: `Gateway`, `Gateway listener`.
    pub fn kind(&self) -> String {
        kind_of(&self.id)
    }
}

impl From<&RefusedLink> for RefusedEdge {
    fn from(refused: &RefusedLink) -> RefusedEdge {
        RefusedEdge {
            parent: refused.parent.clone(),
            child: refused.child.clone(),
            reason: refused.reason().as_str(),
            message: refused.cause.to_string(),
        }
    }
}

/// The kind of a node, by its object and section: `Gateway`, `HTTPRoute rule`.
pub fn kind_of(node: &NodeRef) -> String {
    let kind = &node.object.kind;
    match node.object_level() {
        _ if node.section.is_none() => kind.to_string(),
        Level::Route => format!("{kind} rule"),
        Level::Backend => format!("{kind} port"),
        _ => format!("{kind} listener"),
    }
}
