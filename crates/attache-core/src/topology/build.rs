//! Puts a topology together: nodes first, then the links of each object on its own, then what follows from them.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use super::api::{self, GATEWAY_API};
use super::index::{Found, Index};
use super::links::Links;
use super::namespaces::Namespaces;
use super::sections::{self, Sections};
use super::{Level, Node, NodeId, Owner, Topology, link};
use crate::object::{ObjectId, ObjectRef, Objects};

/// Objects are read in parallel, this many at a time.
const CHUNK: usize = 512;

pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
    let namespaces = Namespaces::of(objects);
    let named = named(objects, &namespaces, virtual_targets);
    let mut nodes = object_nodes(objects);
    nodes.extend(named.iter().enumerate().map(|(at, id)| named_node(at, id)));
    let (mut own, ports) = section_nodes(objects, &nodes);
    let sections = Sections::new(objects.len(), nodes.len(), ports);
    nodes.append(&mut own);

    let mut topology = Topology { nodes, named, sections, ..Topology::default() };
    topology.namespaces = topology.namespaces_of_owners(objects);
    topology.add_sections(0);
    let (found, depths) = link::all(&topology, &Index::new(objects, &topology.sections, namespaces));
    topology.finish(found, &depths)
}

/// What exists only by being named, in order.
fn named(objects: &Objects, namespaces: &Namespaces, virtual_targets: &[ObjectRef]) -> Vec<ObjectRef> {
    let namespace = |name: &str| ObjectRef::new("", "Namespace", "", name);
    let mut named: BTreeSet<ObjectRef> = namespaces.unwritten().map(namespace).collect();
    named.extend(virtual_targets.iter().filter(|id| !id.namespace.is_empty()).map(|id| namespace(&id.namespace)));
    named.extend(objects.each(GATEWAY_API, "Gateway").filter_map(|(_, gateway)| {
        let class = gateway.spec().get_str("gatewayClassName").filter(|class| !class.is_empty())?;
        Some(ObjectRef::new(GATEWAY_API, "GatewayClass", "", class))
    }));
    named.extend(virtual_targets.iter().cloned());
    named.into_iter().filter(|id| objects.find(id).is_none()).collect()
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
        nodes.push(Node { level, owner: Owner::Object(id), section: None });
    }
    nodes
}

fn named_node(at: usize, id: &ObjectRef) -> Node {
    let level = match api::level(&id.group, &id.kind) {
        level @ (Level::GatewayClass | Level::Namespace) => level,
        _ => Level::Other,
    };
    Node { level, owner: Owner::Named(at as u32), section: None }
}

/// Listeners and ports, with their numbers. Rules are read with their routes.
fn section_nodes(objects: &Objects, nodes: &[Node]) -> (Vec<Node>, Vec<Option<i64>>) {
    let with_sections = nodes.par_chunks(CHUNK).flat_map_iter(|nodes| {
        nodes.iter().filter(|node| node.level != Level::Route).filter_map(|node| {
            let owner = node.owner.object()?;
            let (level, list) = sections::of(objects.get(owner), node.level)?;
            Some((owner, level, list))
        })
    });
    with_sections
        .flat_map_iter(|(owner, level, list)| {
            list.iter().enumerate().map(move |(position, section)| {
                let name = sections::name(level, section, position);
                (Node { level, owner: Owner::Object(owner), section: Some(name) }, sections::port(section))
            })
        })
        .unzip()
}

impl Topology {
    fn namespaces_of_owners(&self, objects: &Objects) -> Vec<Option<NodeId>> {
        let mut last: (&str, Option<NodeId>) = ("", None);
        let ids = objects.iter().map(|(_, object)| &object.id).chain(&self.named);
        ids.map(|id| {
            if id.namespace != last.0 {
                last = (&id.namespace, self.find(objects, &ObjectRef::new("", "Namespace", "", &id.namespace)));
            }
            last.1
        })
        .collect()
    }

    fn finish(mut self, mut found: Found, depths: &HashMap<ObjectId, u32>) -> Topology {
        let first_rule = self.nodes.len();
        self.nodes.append(&mut found.rules);
        self.add_sections(first_rule);
        self.add_frontends(&mut found);
        found.links.extend(self.links_to_sections());
        for (parent, child) in &found.links {
            let named_as_backend = self.node(*parent).level == Level::RouteRule;
            if named_as_backend && self.node(*child).level == Level::Other {
                self.nodes[child.0 as usize].level = Level::Backend;
            }
        }
        let count = self.nodes.len();
        (self.parents, self.children) = rayon::join(
            || Links::new(count, &found.links, |&(parent, child)| (child, parent)),
            || Links::new(count, &found.links, |&link| link),
        );
        let first_rule = first_rule as u32;
        self.rules = Links::new(count, &found.ports, |&(port, rule)| (port, NodeId(first_rule + rule)));
        self.order = self.sorted(depths);
        self.live = self.reached();
        found.unserved.sort_unstable();
        self.unserved = found.unserved;
        found.refused.sort();
        found.refused.dedup_by(|a, b| {
            (&a.parent, &a.child, a.reason, &a.message) == (&b.parent, &b.child, b.reason, &b.message)
        });
        self.refused = found.refused;
        self
    }

    /// Takes note of the sections among the nodes from `first` on.
    fn add_sections(&mut self, first: usize) {
        for (id, node) in self.nodes.iter().enumerate().skip(first) {
            if let (Owner::Object(owner), Some(_)) = (node.owner, &node.section) {
                self.sections.add(owner, NodeId(id as u32));
            }
        }
    }

    fn links_to_sections(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.nodes()
            .filter(|(_, node)| node.section.is_some())
            .filter_map(|(id, node)| Some((NodeId(node.owner.object()?.0), id)))
    }

    /// A Service that is a parent stands above the routes, and also, as itself, below them.
    fn add_frontends(&mut self, found: &mut Found) {
        found.frontends.sort_unstable();
        for &(service, route) in &found.frontends {
            let next = NodeId(self.nodes.len() as u32);
            let frontend = *self.frontends.entry(service).or_insert(next);
            if frontend == next {
                self.nodes.push(Node { level: Level::Frontend, owner: Owner::Object(service), section: None });
            }
            found.links.push((frontend, route));
        }
    }

    /// Parents before children: by level, routes and rules by depth of delegation.
    fn sorted(&self, depths: &HashMap<ObjectId, u32>) -> Vec<NodeId> {
        let deepest = depths.values().copied().max().unwrap_or(0) as usize;
        let rank = |node: &Node| {
            let level = node.level as usize;
            match node.level {
                Level::Route | Level::RouteRule if deepest > 0 => {
                    let depth = node.owner.object().and_then(|route| depths.get(&route)).copied().unwrap_or(0);
                    level + 2 * depth as usize
                }
                Level::Backend | Level::BackendPort | Level::Workload | Level::Other => level + 2 * deepest,
                _ => level,
            }
        };
        let mut start = vec![0usize; Level::Other as usize + 2 * deepest + 2];
        for node in &self.nodes {
            start[rank(node) + 1] += 1;
        }
        for at in 1..start.len() {
            start[at] += start[at - 1];
        }
        let mut order = vec![NodeId(0); self.nodes.len()];
        for (id, node) in self.nodes() {
            let at = &mut start[rank(node)];
            order[*at] = id;
            *at += 1;
        }
        order
    }

    /// Only routes and what hangs below a ListenerSet need somebody to reach them.
    fn reached(&self) -> Vec<bool> {
        let mut live = vec![true; self.nodes.len()];
        for &id in &self.order {
            if matches!(self.node(id).level, Level::ListenerSet | Level::Listener | Level::Route | Level::RouteRule) {
                live[id.0 as usize] = self.parents(id).iter().any(|parent| live[parent.0 as usize]);
            }
        }
        live
    }
}
