//! The topology: a graph of everything that a policy can target. Parents are less specific than their children.
//!
//! ```text
//! GatewayClass ─→ Gateway ─→ listener ─→ route ─→ rule ─→ backend ─→ port
//!                       └─→ ListenerSet ─→ listener ─┘
//! ```
//!
//! Namespaces are nodes without links. The position of a Namespace depends on the path: see [`Topology::namespace`].
//!
//! ```text
//!            ┌─→ build: TopologyBuilder creates all nodes ──→ links of all objects ──────────→ Topology
//! objects ───┤                                                    ↑
//!            └─→ edit: TopologyEditor changes the nodes ────→ links of affected objects ─→ Topology and
//! TopologyChanges
//! ```
//!
//! - `links` finds the links of one object after the other, by the rules of the Gateway API. Both builder and editor
//!   use it.
//! - `refusal` holds refused links, with the facts that explain them.
//! - `api`, `reference`, `sections`, `listeners`, `namespaces`, `hostname`, `matches`, `grants` and `labels` read the
//!   fields of objects.
//! - `conventions` is data: deviations of implementations from the Gateway API.
//! - `node`, `node_map`, `node_ref` and `neighbors` hold the graph.

pub(crate) mod api;
pub(crate) mod build;
pub(crate) mod conventions;
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

use crate::kinds::{ClassOwner, Controllers, TargetLinks};
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::persistent::PersistentVec;
use crate::value::Value;
use build::TopologyBuilder;
use links::isolation::ListenerHostnames;
use listeners::Listener;
use reference::Reference;
use refusal::StoredRefusal;

pub use crate::level::Level;
pub use api::{RouteKind, RouteKinds};
pub use edit::NeedsRebuild;
pub(crate) use edit::{LinkSides, TopologyChanges, TopologyEditor};
pub use grants::Grants;
pub(crate) use labels::gateway_of_pods;
pub use labels::label;
pub use links::LinkFault;
pub(crate) use links::routes::RouteParent;
pub(crate) use links::{delegation, gateways, routes};
pub use namespaces::{AllowedNamespaces, Namespace};
pub(crate) use node::DistinctNodes;
pub use node::{Node, NodeId, Owner};
pub use node_map::NodeMap;
pub(crate) use node_map::NodeVec;
pub use node_ref::NodeRef;
pub use refusal::{
    BackendRefusal, CertificateRefusal, ClosedListener, DelegationQuery, DelegationRefusal, ListenerClaim,
    ListenerConflict, ListenerHostname, ListenerPort, ListenerRefusal, MissingGrant, MissingObject, MissingPort,
    ParentRefusal, PortName, RefusalCause, RefusalReason, RefusedLink, Shortlist,
};

/// Nodes with their links in both directions. A clone shares its nodes with the original, and is cheap.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    nodes: NodeMap<Option<Node>>,
    count: usize,
    /// The names of implied nodes, by their index in the parts.
    implied_names: PersistentVec<ObjectRef>,
    /// Implied nodes: nodes without an object, which exist because other objects refer to them.
    implied: Arc<BTreeMap<ObjectRef, NodeId>>,
    grants: Arc<Grants>,
    /// The depth of delegation of each route that is delegated to.
    delegation_depths: Arc<HashMap<ObjectId, u32>>,
    /// The length of the longest path of custom links to each object.
    own_depths: Arc<HashMap<ObjectId, u32>>,
    link_faults: Arc<[LinkFault]>,
    controllers: Controllers,
    /// The hostnames that isolated listeners serve alone, by Gateway and ListenerSet.
    isolation: Arc<HashMap<ObjectId, Arc<ListenerHostnames>>>,
    /// Links between a listener and a route that carry no requests: see [`Topology::is_idle`].
    idle_links: Arc<BTreeSet<(NodeId, NodeId)>>,
    order: OnceLock<Arc<[NodeId]>>,
    /// By the object that requests the link.
    refusals: PersistentVec<Vec<StoredRefusal>>,
    refused: OnceLock<Arc<[RefusedLink]>>,
}

impl Topology {
    /// Builds the topology of objects. `virtual_targets` are objects that exist only because policies target them.
    pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
        Topology::with_links(objects, virtual_targets, &TargetLinks::default(), &Controllers::default())
    }

    /// Builds the topology of objects, with `links` between custom kinds.
    pub fn with_links(
        objects: &Objects,
        virtual_targets: &[ObjectRef],
        links: &TargetLinks,
        controllers: &Controllers,
    ) -> Topology {
        TopologyBuilder::new(objects, virtual_targets, controllers).build(links)
    }

    /// The links of custom kinds that are left out.
    pub fn link_faults(&self) -> &[LinkFault] {
        &self.link_faults
    }

    /// The node with this id; `None` if there is none. An id of another topology may be that of a different node here,
    /// because the ids of removed nodes are reused.
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

    /// The names of all nodes that have no object and exist because other objects refer to them, sorted.
    pub fn implied(&self) -> impl Iterator<Item = &ObjectRef> + Clone {
        self.implied.keys()
    }

    /// The implied node with this reference. Most topologies have few.
    fn find_implied(&self, id: &ObjectRef) -> Option<NodeId> {
        self.implied.get(id).copied()
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

/// Properties of nodes.
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

    /// Whether requests reach the node. They do not reach a listener that is not served, a route without other parents
    /// and its rules, and a rule of a delegated route that no request of the delegating rules matches.
    pub fn live(&self, id: NodeId) -> bool {
        self.node(id).is_some_and(|node| node.live)
    }

    /// Whether a listener is served. It is not if it is invalid, or conflicts with another. Routes are attached to it
    /// in any case, but receive no requests from it.
    pub fn served(&self, listener: NodeId) -> bool {
        self.node(listener).is_some_and(|node| node.served)
    }

    /// Whether the link from a listener to a route carries no requests. Of several TCPRoutes or UDPRoutes on a
    /// listener, only the oldest is served, although all of them are attached.
    pub fn is_idle(&self, listener: NodeId, route: NodeId) -> bool {
        !self.idle_links.is_empty() && self.idle_links.contains(&(listener, route))
    }

    /// Whether a listener serves a hostname that it matches: no other listener on the port serves it alone.
    fn serves(&self, node: NodeId, listener: &Listener, hostname: &str) -> bool {
        let hostnames = || self.isolation.get(&self[node].owner.object()?);
        self.isolation.is_empty()
            || hostnames().is_none_or(|it| !it.belongs_elsewhere(listener, self.served(node), hostname))
    }

    /// Whether the listeners of a Gateway or ListenerSet may serve different hostnames of a route than in an older
    /// topology.
    pub(crate) fn is_isolated_otherwise(&self, before: &Topology, owner: ObjectId, route: &Object) -> bool {
        match (self.isolation.get(&owner), before.isolation.get(&owner)) {
            (Some(now), Some(before)) => {
                let mut hostnames = route.spec().list_at("hostnames").iter().filter_map(Value::as_str).peekable();
                hostnames.peek().is_none() || hostnames.any(|hostname| now.differs_for(before, hostname))
            }
            (now, before) => now.is_some() || before.is_some(),
        }
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

    /// The controller of a Gateway. `None` if the node is not a Gateway.
    pub fn gateway_owner<'o>(&'o self, objects: &'o Objects, gateway: NodeId) -> Option<ClassOwner<'o>> {
        let node = self.node(gateway).filter(|node| node.level == Level::Gateway)?;
        Some(self.controllers.gateway_owner(objects, objects.get(node.owner.object()?)?))
    }

    /// The controllers of Gateways.
    pub fn controllers(&self) -> &Controllers {
        &self.controllers
    }

    /// Every refused link, sorted by parent, child, reason and message.
    pub fn refused(&self, objects: &Objects) -> &[RefusedLink] {
        self.refused.get_or_init(|| refusal::list(self, objects).into())
    }

    /// The refused links that some objects request, sorted in the same way.
    pub(crate) fn refused_by(&self, objects: &Objects, by: &BTreeSet<ObjectId>) -> Vec<RefusedLink> {
        refusal::list_by(self, objects, by)
    }

    /// Whether a link that an object requests is refused, or idle.
    pub(crate) fn is_refused(&self, by: ObjectId) -> bool {
        !self.refusals_of(by).is_empty() || self.idle_links.iter().any(|(_, route)| *route == NodeId::whole(by))
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

    /// The index of a section among those of its object.
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

    /// The part of an object's spec that defines one of its sections.
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

    /// Other nodes with the same reference. A Service that is the parent of routes has two nodes, and sections can
    /// share a name.
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

    /// The rules that refer to a port of a backend. They are not parents of the port: its parent is the backend.
    pub fn rules_naming(&self, port: NodeId) -> &[NodeId] {
        self.node(port).map_or(&[], |node| node.across.as_slice())
    }

    /// The ports of backends that a rule refers to.
    pub(crate) fn ports_named(&self, rule: NodeId) -> &[NodeId] {
        self.node(rule).map_or(&[], |node| node.across.as_slice())
    }

    /// The nodes of a backend of a route, and of the port that the route refers to, or why the backend cannot be used.
    pub(crate) fn backend(
        &self,
        objects: &Objects,
        route: &Object,
        backend: &Reference,
    ) -> Result<(NodeId, Option<NodeId>), BackendRefusal> {
        links::backends::find(objects, self, route, backend)
    }

    /// The hostnames of a route, with their indexes, that match none of the listeners it is attached to.
    pub fn unused_hostnames<'o>(&self, objects: &'o Objects, route: NodeId) -> Vec<(usize, &'o str)> {
        routes::unused_hostnames(objects, self, route)
    }

    /// The Gateways, and the ListenerSets that their Gateways allow, that the parentRefs of a route refer to.
    pub(crate) fn route_parents(&self, objects: &Objects, route: NodeId) -> Vec<RouteParent> {
        routes::route_parents(objects, self, route)
    }

    /// The Gateway that a ListenerSet names, whether or not it allows the ListenerSet; or the Gateway itself.
    pub(crate) fn gateway(&self, objects: &Objects, owner: NodeId) -> Option<NodeId> {
        match self[owner].level {
            Level::Gateway => Some(owner),
            Level::ListenerSet => links::gateways::gateway_of(objects, &objects[owner.object()?]).map(NodeId::whole),
            _ => None,
        }
    }

    /// Whether the Gateway that a ListenerSet names allows it.
    pub(crate) fn is_admitted(&self, objects: &Objects, set: NodeId) -> bool {
        set.object().is_some_and(|set| links::gateways::admitting_gateway(objects, set).is_some())
    }

    /// Whether a route may compete with other routes for a hostname: an HTTPRoute with GRPCRoutes, or vice versa.
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

    /// Some nodes and all their descendants, by level, each level in the order of ids.
    pub fn below_by_level(&self, nodes: impl IntoIterator<Item = NodeId>) -> BTreeMap<Level, Vec<NodeId>> {
        let mut by_level: BTreeMap<Level, Vec<NodeId>> = BTreeMap::new();
        for node in found_from(nodes, |node| self.children(node)) {
            by_level.entry(self[node].level).or_default().push(node);
        }
        by_level.values_mut().for_each(|nodes| nodes.sort_unstable());
        by_level
    }

    /// Some nodes, parents before children.
    pub fn in_order(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = nodes.into_iter().collect();
        let deepest = self.deepest();
        nodes.sort_by_cached_key(|node| (self.rank(deepest, *node), *node));
        nodes
    }

    /// The nodes on which the scopes that end at some nodes depend, parents before children.
    pub(crate) fn leading_to(&self, nodes: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut leading = self.above(nodes);
        // Labels can determine which Gateway serves a Service, so each Gateway may be an ancestor.
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

    /// The rank of a node. A parent has a lower rank than its children: ranks follow the levels, and those of routes
    /// and rules the depth of delegation. `deepest` is the value of [`Topology::deepest`].
    #[inline]
    pub(crate) fn rank(&self, deepest: u32, id: NodeId) -> usize {
        self.node_rank(deepest, &self[id])
    }

    /// The highest rank that a node can have.
    pub(crate) fn last_rank(&self) -> usize {
        let own = self.own_depths.values().copied().max().unwrap_or(0);
        Level::Other as usize + 2 * self.deepest() as usize + own as usize
    }

    #[inline]
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

    /// The greatest depth of delegation.
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

    /// Whether requests reach a node, given which parents they reach. They reach routes and ListenerSets, and their
    /// sections, only through a parent.
    fn is_reached(&self, objects: &Objects, id: NodeId) -> bool {
        let node = &self[id];
        let by_parent = || node.parents().iter().any(|parent| self.carries_requests(*parent, id));
        match node.level {
            Level::ListenerSet | Level::Route => by_parent(),
            Level::Listener => node.served && by_parent(),
            Level::RouteRule => by_parent() && delegation::reaches(objects, self, id),
            _ => true,
        }
    }

    /// The parents through which requests arrive.
    fn live_parents(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.parents(id).iter().copied().filter(move |parent| self.carries_requests(*parent, id))
    }

    /// Whether requests reach a node through one of its parents.
    fn carries_requests(&self, parent: NodeId, id: NodeId) -> bool {
        self.live(parent) && !self.is_idle(parent, id)
    }
}

fn reachable<'t>(nodes: impl IntoIterator<Item = NodeId>, next: impl Fn(NodeId) -> &'t [NodeId]) -> BTreeSet<NodeId> {
    // Sorting once is faster than inserting into a set one by one: a GatewayClass can have all nodes below it.
    let mut found = found_from(nodes, next);
    found.sort_unstable();
    found.into_iter().collect()
}

/// Some nodes and all nodes that are reached from them, each once.
fn found_from<'t>(nodes: impl IntoIterator<Item = NodeId>, next: impl Fn(NodeId) -> &'t [NodeId]) -> Vec<NodeId> {
    let mut found = DistinctNodes::default();
    let mut todo: Vec<NodeId> = nodes.into_iter().collect();
    while let Some(node) = todo.pop() {
        if found.push(node) {
            todo.extend(next(node));
        }
    }
    found.into_vec()
}

/// For ids of this topology.
impl Index<NodeId> for Topology {
    type Output = Node;

    /// # Panics
    ///
    /// If no node has this id, because it is an id of another topology.
    #[inline]
    fn index(&self, id: NodeId) -> &Node {
        self.node(id).expect("a node id is only used with the topology that it was taken from")
    }
}
