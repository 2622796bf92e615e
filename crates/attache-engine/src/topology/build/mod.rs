//! Builds a topology from all objects.
//!
//! ```text
//! objects ─→ nodes::survey ─→ nodes ─→ links::find_all ─→ LinkTable ─→ nodes with links ─→ which nodes requests reach
//! ```

mod link_table;
mod nodes;

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use super::api::{self, GATEWAY_API, LISTENER_SETS};
use super::links::isolation::ListenerHostnames;
use super::links::{self, FoundLinks, OwnLinks, stream_routes};
use super::sections::Section;
use super::{Grants, Level, Node, NodeId, NodeMap, Owner, Topology};
use crate::kinds::{Controllers, TargetLinks};
use crate::object::{ObjectId, ObjectRef, Objects};
use link_table::LinkTable;

pub(super) use nodes::implied_node;
pub(crate) use nodes::{class_of, namespace_of};

/// Builds the topology of objects.
#[derive(Debug)]
pub(super) struct TopologyBuilder<'o> {
    objects: &'o Objects,
    topology: Topology,
}

impl<'o> TopologyBuilder<'o> {
    /// Builds the nodes of all objects except rules, which are found with the links of their routes. `virtual_targets`
    /// are objects that exist only because policies target them.
    pub fn new(objects: &'o Objects, virtual_targets: &[ObjectRef], controllers: &Controllers) -> TopologyBuilder<'o> {
        let surveys = nodes::survey(objects);
        let names = nodes::implied(objects, virtual_targets, &surveys);
        let implied = names.iter().enumerate().map(|(at, id)| (id.clone(), NodeId::part(at as u32))).collect();
        let mut topology = Topology {
            implied_names: names.iter().cloned().collect(),
            implied: Arc::new(implied),
            grants: Arc::new(Grants::new(objects)),
            controllers: controllers.clone(),
            ..Topology::default()
        };
        let namespace = |name: &str| topology.find_namespace(objects, name).filter(|_| !name.is_empty());
        topology.nodes = nodes::make(surveys, &names, namespace);
        TopologyBuilder { objects, topology }
    }

    /// Finds the links of all objects, those of custom kinds included.
    pub fn build(mut self, own: &TargetLinks) -> Topology {
        let mut found = links::find_of_gateways(self.objects, &self.topology);
        for listener in std::mem::take(&mut found.unserved) {
            self.topology.edit(listener, |node| (node.served, node.live) = (false, false));
        }
        self.topology.isolation = Arc::new(self.find_isolation(&found));
        let (mut found, depths) = links::find_of_routes(self.objects, &self.topology, found);
        let own = OwnLinks::find(self.objects, own);
        found.links.extend(own.links.iter().map(|(parent, child)| (NodeId::whole(*parent), NodeId::whole(*child))));
        self.topology.own_depths = Arc::new(own.depths);
        self.topology.link_faults = own.faults.into();
        self.topology.delegation_depths = Arc::new(depths);
        let refusals = std::mem::take(&mut found.refusals);
        self.link(found);
        self.find_idle_links();
        self.settle_live();
        for (by, refusal) in refusals {
            self.topology.refusals.entry(by.0 as usize).push(refusal);
        }
        self.topology
    }

    /// Finds the hostnames that isolated listeners serve alone, by Gateway and ListenerSet.
    fn find_isolation(&self, found: &FoundLinks) -> HashMap<ObjectId, Arc<ListenerHostnames>> {
        let mut sets: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for (gateway, set) in &found.links {
            if self.topology[*set].level == Level::ListenerSet
                && let (Some(gateway), Some(set)) = (gateway.object(), set.object())
            {
                sets.entry(gateway).or_default().push(set);
            }
        }
        let mut isolation = HashMap::new();
        for gateway in self.objects.of_kind(GATEWAY_API, "Gateway") {
            let sets = sets.get(gateway).map_or(&[][..], Vec::as_slice);
            if let Some(hostnames) = ListenerHostnames::find(self.objects, &self.topology, *gateway, sets) {
                let hostnames = Arc::new(hostnames);
                isolation.extend([gateway].into_iter().chain(sets).map(|owner| (*owner, Arc::clone(&hostnames))));
            }
        }
        isolation
    }

    /// Adds rules and frontends, and sets the links of all nodes.
    fn link(&mut self, found: FoundLinks) {
        let nodes = &mut self.topology.nodes;
        let (rules, first_rule) = (&found.rules, nodes.parts() as u32);
        let rule = |number: u32| NodeId::part(first_rule + number);
        nodes.add_parts(rules.len(), |range| rules[range].iter().cloned().map(Node::from));
        let frontends = add_frontends(nodes, found.frontends);
        let backends = found.backends.iter().map(|(number, backend)| (rule(*number), *backend));
        let links = found.links.iter().copied().chain(backends).chain(frontends.iter().copied());
        let ports = found.ports.iter().map(|(port, number)| (*port, rule(*number)));
        let table = LinkTable::new(nodes, links, ports);
        let rules = sections_by_owner(nodes.wholes(), rules, first_rule);
        nodes.edit_wholes(|at, node| {
            if node.level == Level::Route {
                node.sections = rules[at].clone();
            }
            table.link_whole(at, node);
            // An object whose kind has no level is a backend if a rule refers to it.
            if node.level == Level::Other && node.parents.as_slice().iter().any(|parent| *parent >= rule(0)) {
                node.level = Level::Backend;
            }
        });
        nodes.edit_parts(|wholes, at, node| {
            if let Some(owner) = node.owner.object().and_then(|owner| wholes.get(owner.0 as usize)?.as_ref()) {
                node.namespace = owner.namespace;
            }
            table.link_part(at, node);
            if node.level == Level::Other && node.parents.as_slice().iter().any(|parent| *parent >= rule(0)) {
                node.level = Level::Backend;
            }
        });
        self.topology.count = nodes.wholes() + nodes.parts();
    }

    /// Finds the links that carry no requests.
    fn find_idle_links(&mut self) {
        if stream_routes::may_compete(self.objects) {
            let (objects, topology) = (self.objects, &self.topology);
            let listeners = stream_routes::listeners(objects, topology).into_iter();
            let idle = listeners.flat_map(|listener| {
                stream_routes::idle(objects, topology, listener).into_iter().map(move |route| (listener, route))
            });
            self.topology.idle_links = Arc::new(idle.collect());
        }
    }

    /// Finds which routes and ListenerSets requests reach, parents before children.
    fn settle_live(&mut self) {
        let topology = &mut self.topology;
        let mut routes: Vec<ObjectId> = api::routes(self.objects).collect();
        if !topology.delegation_depths.is_empty() {
            routes.sort_by_key(|route| topology.delegation_depths.get(route).copied().unwrap_or(0));
        }
        let sets = LISTENER_SETS.iter().flat_map(|(group, kind)| self.objects.of_kind(group, kind));
        for whole in sets.copied().chain(routes).map(NodeId::whole) {
            let is_reached = topology.is_reached(self.objects, whole);
            let is_delegated = is_delegated(topology, whole);
            if is_reached && !is_delegated {
                continue;
            }
            for node in [whole].into_iter().chain(topology.sections(whole)) {
                if !topology.is_reached(self.objects, node) {
                    topology.edit(node, |node| node.live = false);
                }
            }
        }
    }
}

/// Whether rules delegate to a route.
fn is_delegated(topology: &Topology, route: NodeId) -> bool {
    !topology.delegation_depths.is_empty()
        && route.object().is_some_and(|route| topology.delegation_depths.contains_key(&route))
}

/// Adds a second node for each Service that is a parent of routes: the parent of those routes. Returns the links to
/// them.
fn add_frontends(
    nodes: &mut NodeMap<Option<Node>>,
    mut services_and_routes: Vec<(ObjectId, NodeId)>,
) -> Vec<(NodeId, NodeId)> {
    let mut links = Vec::with_capacity(services_and_routes.len());
    services_and_routes.sort_unstable();
    for of_service in services_and_routes.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((service, _)) = of_service.first() else { continue };
        let frontend = NodeId::part(nodes.parts() as u32);
        *nodes.entry(frontend) = Some(Node::new(Level::Frontend, Owner::Object(*service)));
        if let Some(node) = nodes.entry(NodeId::whole(*service)) {
            node.frontend = Some(frontend);
        }
        links.extend(of_service.iter().map(|(_, route)| (frontend, *route)));
    }
    links
}

/// The ranges of the sections of each whole object. Sections of one object are adjacent; the first one of all is at
/// `first`.
fn sections_by_owner(wholes: usize, sections: &[Section], first: u32) -> Vec<Range<u32>> {
    let mut by_owner = vec![0..0; wholes];
    let mut next = first;
    for of_owner in sections.chunk_by(|a, b| a.owner == b.owner) {
        let end = next + of_owner.len() as u32;
        if let Some(section) = of_owner.first() {
            by_owner[section.owner.0 as usize] = next..end;
        }
        next = end;
    }
    by_owner
}
