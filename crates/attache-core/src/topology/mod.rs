//! The graph of everything a policy can target, parents less specific than children.

use hashbrown::HashMap;
use smol_str::SmolStr;

use crate::object::{ObjectId, ObjectRef, Objects};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Where a node stands in the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    GatewayClass,
    Namespace,
    Gateway,
    /// A Service that routes name as their parent (mesh): the Service as its clients see it.
    Frontend,
    ListenerSet,
    /// A listener of a Gateway or of a ListenerSet.
    Listener,
    Route,
    RouteRule,
    Backend,
    BackendPort,
    /// A Pod, or something that makes Pods from a template.
    Workload,
    /// Anything else.
    Other,
}

/// Whose node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Object(ObjectId),
    /// It exists only by being named: a namespace without a Namespace object, a virtual target. An index into
    /// [`Topology::named`].
    Named(u32),
}

#[derive(Clone, Debug)]
pub struct Node {
    pub level: Level,
    pub owner: Owner,
    /// The listener, rule or port, for a section of the owner.
    pub section: Option<SmolStr>,
}

/// Something that asked to be attached and was not, and why, in the Gateway API's own words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// As written, for a parent or a backend may not exist: `Gateway/ns/gw#http`.
    pub parent: String,
    pub child: String,
    pub reason: &'static str,
    pub message: String,
}

/// Nodes with their links both ways, in flat arrays.
#[derive(Debug, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    named: Vec<ObjectRef>,
    by_ref: HashMap<ObjectRef, NodeId>,
    parents: Links,
    children: Links,
    /// Parents before children.
    order: Vec<NodeId>,
    refused: Vec<Refused>,
}

/// The links of node `n` are `to[start[n]..start[n + 1]]`.
#[derive(Debug, Default)]
struct Links {
    start: Vec<u32>,
    to: Vec<NodeId>,
}

impl Links {
    fn of(&self, node: NodeId) -> &[NodeId] {
        let at = node.0 as usize;
        &self.to[self.start[at] as usize..self.start[at + 1] as usize]
    }
}

impl Topology {
    pub fn build(objects: &Objects) -> Topology {
        let _ = objects;
        Topology::default()
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    pub fn parents(&self, id: NodeId) -> &[NodeId] {
        self.parents.of(id)
    }

    pub fn children(&self, id: NodeId) -> &[NodeId] {
        self.children.of(id)
    }

    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The node of a whole object, or of something that is only named.
    pub fn find(&self, id: &ObjectRef) -> Option<NodeId> {
        self.by_ref.get(id).copied()
    }

    /// Who a node is, without its section.
    pub fn id<'a>(&'a self, objects: &'a Objects, node: NodeId) -> &'a ObjectRef {
        match self.node(node).owner {
            Owner::Object(id) => &objects.get(id).id,
            Owner::Named(at) => &self.named[at as usize],
        }
    }

    /// `Kind/namespace/name#section`.
    pub fn name(&self, objects: &Objects, node: NodeId) -> String {
        let id = self.id(objects, node);
        match &self.node(node).section {
            Some(section) => format!("{id}#{section}"),
            None => id.to_string(),
        }
    }
}
