//! The topology: a graph of everything that a policy can target. Parents are less specific than their children.
//!
//! ```text
//! GatewayClass ─→ Gateway ─→ listener ─→ route ─→ rule ─→ backend ─→ port
//!                       └─→ ListenerSet ─→ listener ─┘
//! ```
//!
//! Namespaces are nodes without links. Which place a Namespace has depends on the path, see [`Topology::namespace`].
//!
//! ```text
//!            ┌─→ build: TopologyBuilder makes all nodes ──→ links of all objects ──────────→ Topology
//! objects ───┤                                                  ↑
//!            └─→ edit: TopologyEditor changes the nodes ──→ links of affected objects ─→ Topology and TopologyChanges
//! ```
//!
//! - `links` finds the links of one object after the other, by the rules of the Gateway API. Both ways use it.
//! - `refusal` holds the links that objects ask for and do not get, with the facts that explain them.
//! - `api`, `reference`, `sections`, `listeners`, `namespaces`, `hostname`, `matches`, `grants` and `labels` read the
//!   fields of objects.
//! - `conventions` is data: what implementations do in another way than the Gateway API says.
//! - `node`, `node_map`, `node_ref` and `neighbors` hold the graph.

pub(crate) mod api;
pub(crate) mod build;
mod conventions;
mod edit;
mod grants;
pub(crate) mod hostname;
mod labels;
mod links;
pub(crate) mod listeners;
pub(crate) mod matches;
mod namespaces;
mod neighbors;
mod node;
mod node_map;
mod node_ref;
pub(crate) mod reference;
mod refusal;
pub(crate) mod sections;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Index;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;

use crate::kinds::TargetLinks;
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::persistent::PersistentVec;
use crate::value::Value;
use build::TopologyBuilder;
use listeners::Listener;
use reference::Reference;
use refusal::StoredRefusal;

pub use crate::level::Level;
pub use api::{RouteKind, RouteKinds};
pub use edit::NeedsRebuild;
pub(crate) use edit::{LinkSides, TopologyChanges, TopologyEditor};
pub use grants::Grants;
pub use labels::label;
pub use links::LinkFault;
pub(crate) use links::{delegation, gateways, routes};
pub use namespaces::{AllowedNamespaces, Namespace};
pub use node::{Node, NodeId, Owner};
pub use node_map::NodeMap;
pub(crate) use node_map::NodeVec;
pub use node_ref::NodeRef;
pub use refusal::{
    BackendRefusal, CertificateRefusal, ClosedListener, DelegationQuery, DelegationRefusal, ListenerClaim,
    ListenerConflict, ListenerHostname, ListenerPort, ListenerRefusal, MissingGrant, MissingObject, MissingPort,
    ParentRefusal, PortName, RefusalCause, RefusalReason, RefusedLink, Shortlist,
};

/// Nodes with their links in both directions. A clone shares its nodes with the original, and costs next to nothing.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: NodeMap<Option<Node>>,
    count: usize,
    /// The names of implied nodes, by their place among the parts.
    implied_names: PersistentVec<ObjectRef>,
    /// Implied nodes: nodes without an object, which exist because objects name them.
    implied: Arc<BTreeMap<ObjectRef, NodeId>>,
    grants: Arc<Grants>,
    /// How many routes delegate to each other above each route that is delegated to.
    delegation_depths: Arc<HashMap<ObjectId, u32>>,
    /// How many links of own kinds lead to each object that has a parent by such a link.
    own_depths: Arc<HashMap<ObjectId, u32>>,
    link_faults: Arc<[LinkFault]>,
    order: OnceLock<Arc<[NodeId]>>,
    /// By the object that asks.
    refusals: PersistentVec<Vec<StoredRefusal>>,
    refused: OnceLock<Arc<[RefusedLink]>>,
}

impl Topology {
    /// Builds the topology of objects. `virtual_targets` are objects that exist only because policies target them.
    pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
        Topology::with_links(objects, virtual_targets, &TargetLinks::default())
    }

    /// Builds the topology of objects, in which objects of own kinds have parents by `links`.
    pub fn with_links(objects: &Objects, virtual_targets: &[ObjectRef], links: &TargetLinks) -> Topology {
        TopologyBuilder::new(objects, virtual_targets).build(links)
    }

    /// The links of own kinds that are left out.
    pub fn link_faults(&self) -> &[LinkFault] {
        &self.link_faults
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

    /// The number of nodes.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The node of a whole object, or an implied node. A Service that is the parent of routes has a second node, its
    /// [frontend](Topology::frontend).
    pub fn find(&self, objects: &Objects, id: &ObjectRef) -> Option<NodeId> {
        objects.find(id).map(NodeId::whole).or_else(|| self.implied.get(id).copied())
    }

    pub(crate) fn find_namespace(&self, objects: &Objects, name: &str) -> Option<NodeId> {
        self.find(objects, &ObjectRef::new("", "Namespace", "", name))
    }

    /// The names of all nodes that have no object and exist because objects name them, sorted.
    pub fn implied(&self) -> impl Iterator<Item = &ObjectRef> + Clone {
        self.implied.keys()
    }

    pub(crate) fn is_implied(&self, id: &ObjectRef) -> bool {
        self.implied.contains_key(id)
    }

    /// Whether a namespace has implied nodes.
    pub(crate) fn has_implied_in(&self, namespace: &str) -> bool {
        self.implied.keys().any(|id| id.namespace == namespace)
    }

    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }
}

/// What a node is.
impl Topology {
    /// The name of a node, without its section.
    ///
    /// # Panics
    ///
    /// If the node is not in this topology, or its object not in `objects`.
    pub fn id<'a>(&'a self, objects: &'a Objects, node: NodeId) -> &'a ObjectRef {
        match self[node].owner {
            Owner::Object(id) => &objects[id].id,
            Owner::Implied(at) => &self.implied_names[at as usize],
        }
    }

    /// The name of a node.
    ///
    /// # Panics
    ///
    /// If the node is not in this topology, or its object not in `objects`.
    pub fn node_ref(&self, objects: &Objects, node: NodeId) -> NodeRef {
        NodeRef { object: self.id(objects, node).clone(), section: self[node].section.clone() }
    }

    /// The name of a node, as `Kind/namespace/name#section`.
    ///
    /// # Panics
    ///
    /// If the node is not in this topology, or its object not in `objects`.
    pub fn name(&self, objects: &Objects, node: NodeId) -> String {
        let mut name = self.id(objects, node).to_string();
        if let Some(section) = &self[node].section {
            name.push('#');
            name.push_str(section);
        }
        name
    }

    /// The namespace of a node.
    pub fn namespace(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.namespace
    }

    /// Whether requests reach the node. They do not reach a route that is attached to nothing, nor its rules.
    pub fn live(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| node.live)
    }

    /// Whether a listener is served. It is not if it conflicts with another, or if its protocol is unknown. Routes attach to
    /// it in any case.
    pub fn served(&self, listener: NodeId) -> bool {
        self.node(listener).is_some_and(|node| node.served)
    }

    /// Why a listener is not served.
    pub fn why_unserved(&self, objects: &Objects, listener: NodeId) -> Option<&RefusedLink> {
        let node = self.node(listener).filter(|node| !node.served)?;
        let (owner, section) = (node.owner.object()?, node.section.as_ref());
        let is_of_listener = |it: &&RefusedLink| it.by == owner && it.child.section.as_ref() == section;
        let keeps_unserved =
            |it: &&RefusedLink| matches!(&it.cause, RefusalCause::Listener(refusal) if refusal.is_unserved());
        self.refused(objects).iter().filter(is_of_listener).find(keeps_unserved)
    }

    /// Every link that was refused, sorted by parent, child, reason and message.
    pub fn refused(&self, objects: &Objects) -> &[RefusedLink] {
        self.refused.get_or_init(|| refusal::list(self, objects).into())
    }

    /// Whether a link that an object asks for was refused.
    pub(crate) fn is_refused(&self, by: ObjectId) -> bool {
        !self.refusals_of(by).is_empty()
    }

    fn refusals_of(&self, by: ObjectId) -> &[StoredRefusal] {
        self.refusals.get(by.0 as usize).map_or(&[], Vec::as_slice)
    }
}

/// Whole objects and their sections.
impl Topology {
    /// The sections of a whole object, in order.
    pub fn sections(&self, id: NodeId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.node(id).map_or(0..0, |node| node.sections.clone()).map(NodeId::part)
    }

    /// The section of a whole object with this name.
    pub fn section(&self, id: NodeId, name: &str) -> Option<NodeId> {
        self.sections(id).find(|section| self[*section].section.as_deref() == Some(name))
    }

    /// The position of a section among those of its object, from zero.
    pub fn position(&self, section: NodeId) -> Option<usize> {
        let sections = &self.node(self.node(section)?.whole(section))?.sections;
        section.place().ok()?.checked_sub(sections.start as usize).filter(|at| *at < sections.len())
    }

    /// The node of the whole object, for one of its sections or its frontend.
    ///
    /// # Panics
    ///
    /// If the node is not in this topology.
    pub fn whole(&self, id: NodeId) -> NodeId {
        self[id].whole(id)
    }

    /// The part of an object's spec that one of its sections is made from.
    pub fn section_value<'o>(&self, objects: &'o Objects, id: NodeId) -> Option<&'o Value> {
        let owner = self.node(id)?.owner.object()?;
        let (_, sections) = sections::list(objects.get(owner)?, self.node(NodeId::whole(owner))?.level)?;
        sections.get(self.position(id)?)
    }

    /// The listeners of a Gateway and of its ListenerSets, in the order of their precedence.
    pub(crate) fn listeners<'o>(&self, objects: &'o Objects, gateway: NodeId) -> Vec<(NodeId, Listener<'o>)> {
        let is_set = |child: &&NodeId| self[**child].level == Level::ListenerSet;
        let owners = [&gateway].into_iter().chain(self.children(gateway).iter().filter(is_set));
        let sections = owners.flat_map(|owner| self.sections(*owner));
        sections.filter_map(|node| Some((node, Listener::read(self.section_value(objects, node)?)))).collect()
    }

    /// The node of a Service as the parent of mesh routes, if it has any.
    pub fn frontend(&self, id: NodeId) -> Option<NodeId> {
        self.node(self.node(id)?.whole(id))?.frontend
    }

    /// Other nodes of the same name. A Service that is the parent of routes has two nodes, and sections can share a name.
    pub(crate) fn same_named(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.node(id).into_iter().flat_map(move |it| {
            let (whole, section) = (it.whole(id), it.section.as_deref());
            let owner = if whole == id { it } else { &self[whole] };
            let sections = owner.sections().filter(move |_| it.shares_name);
            let wholes = [Some(whole), owner.frontend].into_iter().flatten().filter(move |_| section.is_none());
            let has_same_name = move |it: &NodeId| *it != id && self[*it].section.as_deref() == section;
            sections.chain(wholes).filter(has_same_name)
        })
    }
}

/// Links.
impl Topology {
    /// The parents of a node.
    pub fn parents(&self, id: NodeId) -> &[NodeId] {
        self.node(id).map_or(&[], |node| node.parents.as_slice())
    }

    /// The children of a node.
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        self.node(id).map_or(&[], |node| node.children.as_slice())
    }

    /// The rules that name a port of a backend. They are not parents of the port: the parent of the port is the backend.
    pub fn rules_naming(&self, port: NodeId) -> &[NodeId] {
        self.node(port).map_or(&[], |node| node.across.as_slice())
    }

    /// The ports of backends that a rule names.
    pub(crate) fn ports_named(&self, rule: NodeId) -> &[NodeId] {
        self.node(rule).map_or(&[], |node| node.across.as_slice())
    }

    /// The nodes of a backend of a route and of the port that the route names, or why the backend cannot be used.
    pub(crate) fn backend(
        &self,
        objects: &Objects,
        route: &Object,
        backend: &Reference,
    ) -> Result<(NodeId, Option<NodeId>), BackendRefusal> {
        links::backends::find(objects, self, route, backend)
    }

    /// The hostnames of a route, with their positions, that it has in common with none of the listeners it is attached to.
    pub fn unused_hostnames<'o>(&self, objects: &'o Objects, route: NodeId) -> Vec<(usize, &'o str)> {
        routes::unused_hostnames(objects, self, route)
    }

    /// Whether a route may compete with other routes for a hostname: an HTTPRoute with GRPCRoutes, and the other way round.
    pub(crate) fn competes(&self, objects: &Objects, route: ObjectId) -> bool {
        links::route_conflicts::competes(objects, self, route)
    }

    /// Some nodes and all their ancestors, except for Namespaces, which have no links.
    pub fn above(&self, nodes: impl IntoIterator<Item = NodeId>) -> BTreeSet<NodeId> {
        reachable(nodes, |node| self.parents(node))
    }

    /// Some nodes and all their descendants.
    pub fn below(&self, nodes: impl IntoIterator<Item = NodeId>) -> BTreeSet<NodeId> {
        reachable(nodes, |node| self.children(node))
    }

    /// The nodes on which the scopes that end at some nodes depend, parents before children.
    pub(crate) fn leading_to(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut leading = self.above(nodes);
        // Labels can say which Gateway is in front of a Service: each of them may be an ancestor.
        let wholes = self.nodes().map(|(id, _)| id).take_while(|id| id.object().is_some());
        let is_high = |node: &NodeId| self[*node].level <= Level::Gateway;
        leading.extend(wholes.chain(self.implied.values().copied()).filter(is_high));
        let (mut leading, deepest) = (Vec::from_iter(leading), self.deepest());
        leading.sort_by_key(|node| self.rank(deepest, *node));
        leading
    }
}

/// The order of nodes.
impl Topology {
    /// Every node, parents before children.
    pub fn order(&self) -> &[NodeId] {
        self.order.get_or_init(|| {
            let deepest = self.deepest();
            let mut by_rank = vec![Vec::new(); self.last_rank() + 1];
            self.nodes().for_each(|(id, node)| by_rank[self.node_rank(deepest, node)].push(id));
            by_rank.concat().into()
        })
    }

    /// The rank of a node. A parent has a lower rank than its children: ranks follow the levels, and those of routes and
    /// rules the depth of delegation. `deepest` is that of [`Topology::deepest`].
    pub(crate) fn rank(&self, deepest: u32, id: NodeId) -> usize {
        self.node_rank(deepest, &self[id])
    }

    /// The highest rank that a node can have.
    pub(crate) fn last_rank(&self) -> usize {
        let own = self.own_depths.values().copied().max().unwrap_or(0);
        Level::Other as usize + 2 * self.deepest() as usize + own as usize
    }

    fn node_rank(&self, deepest: u32, node: &Node) -> usize {
        let level = node.level as usize;
        if !self.own_depths.is_empty()
            && let Some(depth) = node.owner.object().and_then(|object| self.own_depths.get(&object))
        {
            return Level::Other as usize + 2 * deepest as usize + *depth as usize;
        }
        match node.level {
            Level::Route | Level::RouteRule if deepest > 0 => {
                let depth = node.owner.object().and_then(|route| self.delegation_depths.get(&route));
                level + 2 * depth.copied().unwrap_or(0) as usize
            }
            Level::Backend | Level::BackendPort | Level::Workload | Level::Other => level + 2 * deepest as usize,
            _ => level,
        }
    }

    /// How deep routes delegate at most.
    pub(crate) fn deepest(&self) -> u32 {
        self.delegation_depths.values().copied().max().unwrap_or(0)
    }
}

/// Shared by building and editing.
impl Topology {
    /// Changes a node, if it exists.
    fn edit(&mut self, id: NodeId, edit: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.entry(id) {
            edit(node);
        }
    }

    /// Whether requests reach a node, if they reach those of its parents that are live. They reach routes and ListenerSets
    /// with their sections only by a parent.
    fn is_reached(&self, id: NodeId) -> bool {
        let needs_parent =
            matches!(self[id].level, Level::ListenerSet | Level::Listener | Level::Route | Level::RouteRule);
        !needs_parent || self.parents(id).iter().any(|parent| self.live(*parent))
    }
}

fn reachable<'t>(nodes: impl IntoIterator<Item = NodeId>, next: impl Fn(NodeId) -> &'t [NodeId]) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<NodeId> = nodes.into_iter().collect();
    while let Some(node) = todo.pop() {
        if found.insert(node) {
            todo.extend(next(node));
        }
    }
    found
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
