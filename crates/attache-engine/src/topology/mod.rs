//! The graph of everything a policy can target, parents less specific than children.
//!
//! The links of an object are found by functions of that object and an index, one object at a time; `build` puts
//! them together. Namespaces are nodes without links: where one stands depends on the path, see
//! [`Topology::namespace`].

pub(crate) mod api;
mod around;
mod backends;
pub(crate) mod build;
mod certificates;
mod claims;
pub(crate) mod contest;
pub(crate) mod delegation;
mod edit;
pub(crate) mod gateways;
mod grants;
pub(crate) mod hostname;
mod ids;
mod index;
mod labels;
mod link;
mod links;
pub(crate) mod listeners;
pub(crate) mod matches;
mod namespaces;
mod naming;
mod needs_rebuild;
mod node;
mod node_ref;
mod order;
pub(crate) mod reference;
mod refusal;
mod relink;
mod relink_gateways;
pub(crate) mod routes;
pub(crate) mod sections;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;

use crate::object::{ObjectId, ObjectRef, Objects};
use crate::persistent::PersistentVec;
use crate::value::Value;
use listeners::Listener;
use refusal::StoredRefusal;

pub use crate::level::Level;
pub use api::{RouteKind, RouteKinds};
pub(crate) use edit::Edited;
pub use grants::Grants;
pub use labels::label;
pub use namespaces::{AllowedNamespaces, Namespace};
pub(crate) use needs_rebuild::NeedsRebuild;
pub(crate) use node::NodeVec;
pub use node::{Node, NodeId, NodeMap, Owner};

pub use node_ref::NodeRef;
pub use refusal::{
    BackendRefusal, CertificateRefusal, ClosedListener, DelegationQuery, DelegationRefusal, ListenerClaim,
    ListenerConflict, ListenerHostname, ListenerPort, ListenerRefusal, MissingGrant, MissingObject, MissingPort,
    ParentRefusal, PortName, RefusalCause, RefusalReason, RefusedLink, Shortlist,
};
pub(crate) use relink::LinkSides;

/// Nodes with their links both ways.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: NodeMap<Option<Node>>,
    count: usize,
    /// What is only named.
    named: PersistentVec<ObjectRef>,
    by_name: Arc<BTreeMap<ObjectRef, NodeId>>,
    grants: Arc<Grants>,
    /// How deep below another route each delegated one stands.
    depths: Arc<HashMap<ObjectId, u32>>,
    order: OnceLock<Arc<[NodeId]>>,
    /// By who asked.
    denied: PersistentVec<Vec<StoredRefusal>>,
    refused: OnceLock<Arc<[RefusedLink]>>,
}

impl Topology {
    /// `virtual_targets` are objects that exist only because policies name them.
    pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
        build::build(objects, virtual_targets)
    }

    /// The node with this id; `None` if there is none. An id that was taken from another topology may be that of another
    /// node here, because the ids of removed nodes are used again.
    #[inline]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id).and_then(Option::as_ref)
    }

    pub(crate) fn has(&self, id: NodeId) -> bool {
        self.node(id).is_some()
    }

    /// Every node, in the order of ids.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> + Clone {
        self.nodes.iter().filter_map(|(id, node)| Some((id, node.as_ref()?)))
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn parents(&self, id: NodeId) -> &[NodeId] {
        self.node(id).map_or(&[], |node| node.parents.as_slice())
    }

    pub fn children(&self, id: NodeId) -> &[NodeId] {
        self.node(id).map_or(&[], |node| node.children.as_slice())
    }

    /// Whether requests can come by: a route that attaches nowhere, and its rules, are not live.
    pub fn live(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| node.live)
    }

    /// Whether a listener is served: not if it conflicts with another, or if its protocol is unknown. Routes attach to
    /// it in any case.
    pub fn served(&self, listener: NodeId) -> bool {
        self.node(listener).is_some_and(|node| node.served)
    }

    /// The node of a whole object, or of something that is only named. A Service that is the parent of routes has
    /// another one, its [frontend](Topology::frontend).
    pub fn find(&self, objects: &Objects, id: &ObjectRef) -> Option<NodeId> {
        objects.find(id).map(NodeId::whole).or_else(|| self.by_name.get(id).copied())
    }

    pub(crate) fn find_namespace(&self, objects: &Objects, name: &str) -> Option<NodeId> {
        self.find(objects, &ObjectRef::new("", "Namespace", "", name))
    }

    /// Everything that exists only by being named, in order.
    pub fn named(&self) -> impl Iterator<Item = &ObjectRef> + Clone {
        self.by_name.keys()
    }

    /// The sections of a whole object, in order.
    pub fn sections(&self, id: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.node(id).map_or(0..0, |node| node.sections.clone()).map(NodeId::part)
    }

    pub fn section(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.sections(id).find(|section| self[*section].section.as_deref() == Some(name))
    }

    /// Which of the sections of its owner a section is, counted from zero.
    pub fn position(&self, section: NodeId) -> Option<usize> {
        let sections = &self.node(self.node(section)?.whole(section))?.sections;
        section.place().ok()?.checked_sub(sections.start as usize).filter(|at| *at < sections.len())
    }

    /// The node of the whole object, for one of its sections or its frontend.
    pub fn whole(&self, id: NodeId) -> NodeId {
        self[id].whole(id)
    }

    /// What an object says of one of its sections.
    pub fn section_value<'o>(&self, objects: &'o Objects, id: NodeId) -> Option<&'o Value> {
        let owner = self.node(id)?.owner.object()?;
        let (_, sections) = sections::of(objects.get(owner)?, self.node(NodeId::whole(owner))?.level)?;
        sections.get(self.position(id)?)
    }

    /// The listeners of a Gateway and of the ListenerSets that it has let in, in the order in which they count.
    pub(crate) fn listeners<'o>(&self, objects: &'o Objects, gateway: NodeId) -> Vec<(NodeId, Listener<'o>)> {
        let is_set = |child: &&NodeId| self[**child].level == Level::ListenerSet;
        let owners = [&gateway].into_iter().chain(self.children(gateway).iter().filter(is_set));
        let sections = owners.flat_map(|owner| self.sections(*owner));
        sections.filter_map(|node| Some((node, Listener::read(self.section_value(objects, node)?)))).collect()
    }

    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The rules that name the port of a backend. They are not its parents: its Service stands between.
    pub fn rules_naming(&self, port: NodeId) -> &[NodeId] {
        self.node(port).map_or(&[], |node| node.across.as_slice())
    }

    /// The ports of backends that a rule names.
    pub(crate) fn ports_named(&self, rule: NodeId) -> &[NodeId] {
        self.node(rule).map_or(&[], |node| node.across.as_slice())
    }

    /// The node that stands for a Service as the parent of mesh routes, if it has any.
    pub fn frontend(&self, id: NodeId) -> Option<NodeId> {
        self.node(self.node(id)?.whole(id))?.frontend
    }

    /// Other nodes of the same name: a Service that is the parent of routes has two, and sections can share one.
    pub(crate) fn same_named(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.node(id).into_iter().flat_map(move |it| {
            let (whole, section) = (it.whole(id), it.section.as_deref());
            let owner = if whole == id { it } else { &self[whole] };
            let sections = owner.sections().filter(move |_| it.shares_name);
            let wholes = [Some(whole), owner.frontend].into_iter().flatten().filter(move |_| section.is_none());
            let is_named_so = move |it: &NodeId| *it != id && self[*it].section.as_deref() == section;
            sections.chain(wholes).filter(is_named_so)
        })
    }

    /// The namespace that a node lives in.
    pub fn namespace(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.namespace
    }

    /// Who a node is, without its section.
    pub fn id<'a>(&'a self, objects: &'a Objects, node: NodeId) -> &'a ObjectRef {
        match self[node].owner {
            Owner::Object(id) => &objects[id].id,
            Owner::Named(at) => &self.named[at as usize],
        }
    }

    /// The name of a node.
    pub fn node_ref(&self, objects: &Objects, node: NodeId) -> NodeRef {
        NodeRef { object: self.id(objects, node).clone(), section: self[node].section.clone() }
    }

    /// `Kind/namespace/name#section`.
    pub fn name(&self, objects: &Objects, node: NodeId) -> String {
        let mut name = self.id(objects, node).to_string();
        if let Some(section) = &self[node].section {
            name.push('#');
            name.push_str(section);
        }
        name
    }
}

/// For ids that were taken from this topology.
impl Index<NodeId> for Topology {
    type Output = Node;

    /// # Panics
    ///
    /// If no node has this id, because the id was taken from another topology.
    #[inline]
    fn index(&self, id: NodeId) -> &Node {
        self.node(id).expect("a node id is only used with the topology that it was taken from")
    }
}
