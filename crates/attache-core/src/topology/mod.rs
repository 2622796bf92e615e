//! The graph of everything a policy can target, parents less specific than children.
//!
//! The links of an object are found by functions of that object and an index, one object at a time; `build` puts
//! them together. Namespaces are nodes without links: where one stands depends on the path, see
//! [`Topology::namespace`].

pub(crate) mod api;
mod backends;
mod build;
mod certificates;
mod claims;
mod contest;
pub(crate) mod delegation;
mod gateways;
mod grants;
pub(crate) mod hostname;
mod index;
mod labels;
mod link;
mod links;
pub(crate) mod listeners;
pub(crate) mod matches;
mod namespaces;
pub(crate) mod reference;
pub(crate) mod routes;
pub(crate) mod sections;
#[cfg(test)]
mod tests;
mod why;

use hashbrown::HashMap;
use smol_str::SmolStr;

use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::value::{Path, Value};
use links::Links;
use listeners::Listener;
use reference::Reference;
use sections::Sections;

pub use grants::Grants;
pub use index::Refusal;
pub use labels::label;
pub use namespaces::Namespaces;

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

impl Level {
    /// Whether nodes at this level are parts of an object.
    pub fn is_section(self) -> bool {
        matches!(self, Level::Listener | Level::RouteRule | Level::BackendPort)
    }

    /// Whether nodes at this level are parts of those at `whole`.
    pub fn is_section_of(self, whole: Level) -> bool {
        match self {
            Level::Listener => matches!(whole, Level::Gateway | Level::ListenerSet),
            Level::RouteRule => whole == Level::Route,
            Level::BackendPort => whole == Level::Backend,
            _ => false,
        }
    }
}

/// Whose node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Object(ObjectId),
    /// It exists only by being named: a namespace without a Namespace object, a virtual target. An index into
    /// [`Topology::named`].
    Named(u32),
}

impl Owner {
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Owner::Object(id) => Some(id),
            Owner::Named(_) => None,
        }
    }
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
    /// Who asked, and where in it. Who asks for the same twice is refused once.
    pub by: ObjectId,
    pub path: Path,
}

/// Nodes with their links both ways, in flat arrays. First the nodes of the objects, in their order, then what is only
/// named, then sections, then frontends.
#[derive(Debug, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    /// In order.
    named: Vec<ObjectRef>,
    sections: Sections,
    frontends: HashMap<ObjectId, NodeId>,
    /// The namespace of each object, then of each of what is only named.
    namespaces: Vec<Option<NodeId>>,
    parents: Links,
    children: Links,
    /// Of a port, the rules that name it.
    rules: Links,
    /// Parents before children.
    order: Vec<NodeId>,
    live: Vec<bool>,
    /// In order.
    unserved: Vec<NodeId>,
    refused: Vec<Refused>,
}

impl Topology {
    /// `virtual_targets` are objects that exist only because policies name them.
    pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
        build::build(objects, virtual_targets)
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

    /// Whether requests can come by: a route that attaches nowhere, and its rules, are not live.
    pub fn live(&self, id: NodeId) -> bool {
        self.live[id.0 as usize]
    }

    /// Whether a listener is served: not if it conflicts with another, or if its protocol is unknown. Routes attach to
    /// it in any case.
    pub fn served(&self, listener: NodeId) -> bool {
        self.unserved.binary_search(&listener).is_err()
    }

    /// The node of a whole object, or of something that is only named. A Service that is the parent of routes has
    /// another one, its [frontend](Topology::frontend).
    pub fn find(&self, objects: &Objects, id: &ObjectRef) -> Option<NodeId> {
        let named = || Some(NodeId((objects.len() + self.named.binary_search(id).ok()?) as u32));
        objects.find(id).map(|id| NodeId(id.0)).or_else(named)
    }

    /// The sections of a whole object, in order.
    pub fn sections(&self, id: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        let node = self.node(id);
        let range = match (&node.owner, &node.section, node.level) {
            (_, Some(_), _) | (Owner::Named(_), ..) | (.., Level::Frontend) => 0..0,
            (Owner::Object(owner), ..) => self.sections.range(*owner),
        };
        range.map(NodeId)
    }

    pub fn section(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.sections(id).find(|section| self.node(*section).section.as_deref() == Some(name))
    }

    /// The node of the whole object, for one of its sections or its frontend.
    pub fn whole(&self, id: NodeId) -> NodeId {
        match self.node(id).owner {
            Owner::Object(object) => NodeId(object.0),
            Owner::Named(_) => id,
        }
    }

    /// What an object says of one of its sections.
    pub fn section_value<'o>(&self, objects: &'o Objects, id: NodeId) -> Option<&'o Value> {
        let object = objects.get(self.node(id).owner.object()?);
        let whole = self.whole(id);
        let (_, sections) = sections::of(object, self.node(whole).level)?;
        sections.get(id.0.checked_sub(self.sections(whole).next()?.0)? as usize)
    }

    /// The listeners of a Gateway and of the ListenerSets that it has let in, in the order in which they count.
    pub(crate) fn listeners<'o>(&self, objects: &'o Objects, gateway: NodeId) -> Vec<(NodeId, Listener<'o>)> {
        let is_set = |child: &&NodeId| self.node(**child).level == Level::ListenerSet;
        let owners = [&gateway].into_iter().chain(self.children(gateway).iter().filter(is_set));
        let sections = owners.flat_map(|owner| self.sections(*owner));
        sections.filter_map(|node| Some((node, Listener::read(self.section_value(objects, node)?)))).collect()
    }

    /// What a route names as its backend: the node of it and of the port that is meant, or why it cannot be used.
    pub(crate) fn backend(
        &self,
        objects: &Objects,
        grants: &Grants,
        route: &Object,
        backend: &Reference,
    ) -> Result<(NodeId, Option<NodeId>), Refusal> {
        let (id, port) = backends::resolve(objects, &self.sections, grants, route, backend)?;
        Ok((NodeId(id.0), port.map(|port| self.sections.node(id, port))))
    }

    /// The rules that name the port of a backend. They are not its parents: its Service stands between.
    pub fn rules_naming(&self, port: NodeId) -> &[NodeId] {
        self.rules.of(port)
    }

    /// The node that stands for a Service as the parent of mesh routes, if it has any.
    pub fn frontend(&self, id: NodeId) -> Option<NodeId> {
        self.frontends.get(&self.node(id).owner.object()?).copied()
    }

    /// The namespace that a node lives in.
    pub fn namespace(&self, id: NodeId) -> Option<NodeId> {
        let owner = match self.node(id).owner {
            Owner::Object(id) => id.0 as usize,
            Owner::Named(at) => self.namespaces.len() - self.named.len() + at as usize,
        };
        self.namespaces[owner]
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
