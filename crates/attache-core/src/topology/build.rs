//! Puts a topology together: nodes first, then the links of each object on its own, then what follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use super::api::{self, GATEWAY_API};
use super::index::{Found, Index};
use super::links::Links;
use super::sections;
use super::{Grants, Level, Node, NodeId, NodeMap, Owner, Topology, link};
use crate::object::{ObjectId, ObjectRef, Objects};
use crate::table::Table;

/// Objects are read in parallel, this many at a time.
const CHUNK: usize = 512;

pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
    let named = named(objects, virtual_targets);
    let wholes = object_nodes(objects);
    let mut parts: Vec<Node> = named.iter().enumerate().map(|(at, id)| named_node(at, id)).collect();
    parts.append(&mut section_nodes(objects, &wholes));
    let by_name = named.iter().enumerate().map(|(at, id)| (id.clone(), NodeId::part(at as u32))).collect();
    let mut topology = Topology {
        count: wholes.len() + parts.len(),
        nodes: NodeMap::new(wholes.into_iter().map(Some), parts.into_iter().map(Some)),
        named: named.into_iter().collect(),
        by_name: Arc::new(by_name),
        grants: Arc::new(Grants::of(objects)),
        ..Topology::default()
    };
    topology.add_sections(0);
    let (found, depths) = link::all(&topology, &Index::new(objects, &topology));
    topology.depths = Arc::new(depths);
    topology.finish(objects, found)
}

/// What exists only by being named, in order.
fn named(objects: &Objects, virtual_targets: &[ObjectRef]) -> Vec<ObjectRef> {
    let mut named: BTreeSet<ObjectRef> = virtual_targets.iter().cloned().collect();
    named.extend(virtual_targets.iter().filter_map(namespace_of));
    // Objects are sorted by kind and namespace: most live where the one before does.
    let mut last = "";
    for (_, object) in objects.iter() {
        if object.id.namespace != last {
            named.extend(namespace_of(&object.id));
            last = &object.id.namespace;
        }
    }
    named.extend(objects.each(GATEWAY_API, "Gateway").filter_map(|(_, gateway)| class_of(gateway)));
    named.into_iter().filter(|id| objects.find(id).is_none()).collect()
}

pub fn namespace_of(id: &ObjectRef) -> Option<ObjectRef> {
    (!id.namespace.is_empty()).then(|| ObjectRef::new("", "Namespace", "", &id.namespace))
}

/// The GatewayClass that a Gateway names.
pub fn class_of(gateway: &crate::object::Object) -> Option<ObjectRef> {
    let class = gateway.spec().get_str("gatewayClassName").filter(|class| !class.is_empty())?;
    Some(ObjectRef::new(GATEWAY_API, "GatewayClass", "", class))
}

fn object_nodes(objects: &Objects) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(objects.len());
    // Objects are sorted by kind: most are of the same as the one before.
    let mut last: Option<(&ObjectRef, Level)> = None;
    for (id, object) in objects.iter() {
        let level = match last {
            Some((before, level)) if before.kind == object.id.kind && before.group == object.id.group => level,
            _ => api::level(&object.id.group, &object.id.kind),
        };
        last = Some((&object.id, level));
        nodes.push(Node::new(level, Owner::Object(id)));
    }
    nodes
}

pub fn named_node(at: usize, id: &ObjectRef) -> Node {
    let level = match api::level(&id.group, &id.kind) {
        level @ (Level::GatewayClass | Level::Namespace) => level,
        _ => Level::Other,
    };
    Node::new(level, Owner::Named(at as u32))
}

/// Listeners and ports. Rules are read with their routes.
fn section_nodes(objects: &Objects, wholes: &[Node]) -> Vec<Node> {
    let chunks = wholes.par_chunks(CHUNK).flat_map_iter(|nodes| {
        let owners = nodes.iter().filter(|node| node.level != Level::Route);
        owners.filter_map(|node| Some((node.owner.object()?, node.level)))
    });
    chunks.flat_map_iter(|(owner, level)| sections_of(objects, owner, level)).collect()
}

/// The nodes of the sections of an object.
pub fn sections_of(objects: &Objects, owner: ObjectId, level: Level) -> impl Iterator<Item = Node> {
    let (level, list) = sections::of(objects.get(owner), level).unwrap_or((level, &[]));
    list.iter().enumerate().map(move |(position, section)| {
        Node::section(level, owner, sections::name(level, section, position), sections::port(section))
    })
}

impl Topology {
    fn finish(mut self, objects: &Objects, mut found: Found) -> Topology {
        let first_rule = self.nodes.parts();
        self.count += found.rules.len();
        for (at, rule) in std::mem::take(&mut found.rules).into_iter().enumerate() {
            *self.nodes.entry(NodeId::part((first_rule + at) as u32)) = Some(rule);
        }
        self.add_sections(first_rule);
        self.add_frontends(&mut found);
        found.links.extend(self.links_to_sections());
        for (parent, child) in &found.links {
            let is_unknown = self.node(*child).level == Level::Other;
            if is_unknown && self.node(*parent).level == Level::RouteRule {
                self.edit(*child, |node| node.level = Level::Backend);
            }
        }
        let wholes = self.nodes.wholes();
        let count = wholes + self.nodes.parts();
        let place = |node: NodeId| node.place().map_or_else(|whole| whole, |part| wholes + part);
        let (parents, children) = rayon::join(
            || Links::new(count, &found.links, place, |&(parent, child)| (child, parent)),
            || Links::new(count, &found.links, place, |&link| link),
        );
        let first_rule = first_rule as u32;
        let named = |&(port, rule): &(NodeId, u32)| (port, NodeId::part(first_rule + rule));
        let rules = Links::new(count, &found.ports, place, named);
        let ports = Links::new(count, &found.ports, place, |pair| (named(pair).1, named(pair).0));
        let mut homes = Homes::new(objects, &self.named, &self.by_name);
        for (at, node) in self.nodes.iter_mut().flatten().enumerate() {
            node.parents = parents.of(at);
            node.children = children.of(at);
            node.across = if node.level == Level::RouteRule { ports.of(at) } else { rules.of(at) };
            node.namespace = homes.of(node.owner);
        }
        for listener in found.unserved {
            self.edit(listener, |node| node.served = false);
        }
        self.settle_reached();
        for (by, denied) in found.denied {
            self.denied.entry(by.0 as usize).push(denied);
        }
        self
    }

    /// Changes a node that is there.
    pub(super) fn edit(&mut self, id: NodeId, edit: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.entry(id) {
            edit(node);
        }
    }

    /// Takes note of the sections among the parts from `first` on; those of one object come one after the other.
    fn add_sections(&mut self, first: usize) {
        let parts = (first..self.nodes.parts()).map(|at| (at as u32, self.node(NodeId::part(at as u32))));
        let sections = parts.filter(|(_, node)| node.section.is_some());
        let sections: Vec<(u32, NodeId)> =
            sections.filter_map(|(at, node)| Some((at, NodeId::whole(node.owner.object()?)))).collect();
        for of_one in sections.chunk_by(|(_, a), (_, b)| a == b) {
            if let [(first, owner), ..] = of_one {
                self.edit(*owner, |node| node.sections = *first..first + of_one.len() as u32);
                let sections = self.sections(*owner);
                if !sections::are_distinct(sections.clone().filter_map(|it| self.node(it).section.as_deref())) {
                    sections.for_each(|section| self.edit(section, |node| node.shares_name = true));
                }
            }
        }
    }

    fn links_to_sections(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let sections = self.nodes().filter(|(_, node)| node.section.is_some());
        sections.filter_map(|(id, node)| Some((NodeId::whole(node.owner.object()?), id)))
    }

    /// A Service that is a parent stands above the routes, and also, as itself, below them.
    fn add_frontends(&mut self, found: &mut Found) {
        found.frontends.sort_unstable();
        for of_one in found.frontends.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((service, _)) = of_one.first() else { continue };
            let frontend = NodeId::part(self.nodes.parts() as u32);
            *self.nodes.entry(frontend) = Some(Node::new(Level::Frontend, Owner::Object(*service)));
            self.count += 1;
            self.edit(NodeId::whole(*service), |node| node.frontend = Some(frontend));
            found.links.extend(of_one.iter().map(|(_, route)| (frontend, *route)));
        }
    }

    /// Where a node stands in the order, parents before children: by level, routes and rules by depth of delegation.
    pub(crate) fn rank(&self, deepest: u32, id: NodeId) -> usize {
        self.rank_of(deepest, self.node(id))
    }

    fn rank_of(&self, deepest: u32, node: &Node) -> usize {
        let level = node.level as usize;
        match node.level {
            Level::Route | Level::RouteRule if deepest > 0 => {
                let depth = node.owner.object().and_then(|route| self.depths.get(&route)).copied().unwrap_or(0);
                level + 2 * depth as usize
            }
            Level::Backend | Level::BackendPort | Level::Workload | Level::Other => level + 2 * deepest as usize,
            _ => level,
        }
    }

    /// How deep delegation goes at most.
    pub(crate) fn deepest(&self) -> u32 {
        self.depths.values().copied().max().unwrap_or(0)
    }

    pub(super) fn sorted(&self) -> Vec<NodeId> {
        let deepest = self.deepest();
        let mut start = vec![0usize; Level::Other as usize + 2 * deepest as usize + 2];
        for (_, node) in self.nodes() {
            start[self.rank_of(deepest, node) + 1] += 1;
        }
        for at in 1..start.len() {
            start[at] += start[at - 1];
        }
        let mut order = vec![NodeId::part(0); self.count];
        for (id, node) in self.nodes() {
            let at = &mut start[self.rank_of(deepest, node)];
            order[*at] = id;
            *at += 1;
        }
        order
    }

    fn settle_reached(&mut self) {
        let order = Arc::<[NodeId]>::from(self.sorted());
        for &id in &*order {
            if !self.is_reached(id) {
                self.edit(id, |node| node.live = false);
            }
        }
        self.order = order.into();
    }

    /// Only routes and what hangs below a ListenerSet need somebody to reach them.
    pub(super) fn is_reached(&self, id: NodeId) -> bool {
        let needs =
            matches!(self.node(id).level, Level::ListenerSet | Level::Listener | Level::Route | Level::RouteRule);
        !needs || self.parents(id).iter().any(|parent| self.live(*parent))
    }
}

/// Finds the Namespaces of nodes, one after the other.
struct Homes<'t> {
    objects: &'t Objects,
    named: &'t Table<ObjectRef>,
    by_name: &'t BTreeMap<ObjectRef, NodeId>,
    /// Objects are sorted by kind and namespace: most live where the one before does.
    last: (&'t str, Option<NodeId>),
}

impl<'t> Homes<'t> {
    fn new(objects: &'t Objects, named: &'t Table<ObjectRef>, by_name: &'t BTreeMap<ObjectRef, NodeId>) -> Homes<'t> {
        Homes { objects, named, by_name, last: ("", None) }
    }

    fn of(&mut self, owner: Owner) -> Option<NodeId> {
        let id = match owner {
            Owner::Object(object) => &self.objects.get(object).id,
            Owner::Named(at) => &self.named[at as usize],
        };
        if id.namespace != self.last.0 {
            let namespace = namespace_of(id)
                .and_then(|it| self.objects.find(&it).map(NodeId::whole).or_else(|| self.by_name.get(&it).copied()));
            self.last = (&id.namespace, namespace);
        }
        self.last.1
    }
}
