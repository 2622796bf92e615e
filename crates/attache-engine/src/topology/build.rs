//! Puts a topology together: nodes first, then the links of each object on its own, then what follows from them.

use std::collections::BTreeSet;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::api::{self, GATEWAY_API, LISTENER_SETS};
use super::index::{Found, Index};
use super::links::Woven;
use super::sections::{self, Section};
use super::{Grants, Level, Node, NodeId, NodeMap, Owner, Topology, link};
use crate::object::{Object, ObjectId, ObjectRef, Objects};

/// Objects are looked at in parallel, this many at a time.
const CHUNK: usize = 512;

pub fn build(objects: &Objects, virtual_targets: &[ObjectRef]) -> Topology {
    let surveys = survey(objects);
    let named = named(objects, virtual_targets, &surveys);
    let by_name = named.iter().enumerate().map(|(at, id)| (id.clone(), NodeId::part(at as u32))).collect();
    let mut topology = Topology {
        named: named.into_iter().collect(),
        by_name: Arc::new(by_name),
        grants: Arc::new(Grants::of(objects)),
        ..Topology::default()
    };
    topology.nodes = topology.first_nodes(objects, surveys);
    let (found, depths) = link::all(&topology, &Index::new(objects, &topology));
    topology.depths = Arc::new(depths);
    topology.finish(objects, found)
}

/// What some objects, one after the other, need nodes for.
#[derive(Default)]
struct Survey<'o> {
    /// The level of each, and how many of the sections it has.
    wholes: Vec<(Level, u32)>,
    /// Listeners and ports. Rules are read with their routes.
    sections: Vec<Section>,
    /// The namespaces that they live in, and how many of them one after the other.
    homes: Vec<(&'o str, usize)>,
}

fn survey(objects: &Objects) -> Vec<Survey<'_>> {
    let starts: Vec<usize> = (0..objects.len()).step_by(CHUNK).collect();
    let chunks = starts.into_par_iter().map(|at| at..objects.len().min(at + CHUNK));
    chunks.map(|chunk| Survey::of(objects, chunk)).collect()
}

impl<'o> Survey<'o> {
    fn of(objects: &'o Objects, chunk: Range<usize>) -> Survey<'o> {
        let mut survey = Survey::default();
        // Objects are sorted by kind and namespace: most are like the one before.
        let mut last: Option<(&ObjectRef, Level)> = None;
        for id in chunk.map(|at| ObjectId(at as u32)) {
            let object = &objects[id];
            let level = match last {
                Some((before, level)) if before.kind == object.id.kind && before.group == object.id.group => level,
                _ => api::level(&object.id.group, &object.id.kind),
            };
            last = Some((&object.id, level));
            let first = survey.sections.len();
            if level != Level::Route {
                sections::read(id, object, level, &mut survey.sections);
            }
            survey.wholes.push((level, (survey.sections.len() - first) as u32));
            match survey.homes.last_mut() {
                Some((home, count)) if *home == object.id.namespace => *count += 1,
                _ => survey.homes.push((&object.id.namespace, 1)),
            }
        }
        survey
    }
}

/// What exists only by being named, in order.
fn named(objects: &Objects, virtual_targets: &[ObjectRef], surveys: &[Survey]) -> Vec<ObjectRef> {
    let homes = surveys.iter().flat_map(|survey| &survey.homes).map(|(home, _)| *home);
    let homes: BTreeSet<&str> = homes.chain(virtual_targets.iter().map(|id| id.namespace.as_str())).collect();
    let mut named: BTreeSet<ObjectRef> = virtual_targets.iter().cloned().collect();
    named.extend(homes.into_iter().filter(|home| !home.is_empty()).map(namespace));
    named.extend(objects.each_of_kind(GATEWAY_API, "Gateway").filter_map(|(_, gateway)| class_of(gateway)));
    named.into_iter().filter(|id| objects.find(id).is_none()).collect()
}

fn namespace(name: &str) -> ObjectRef {
    ObjectRef::new("", "Namespace", "", name)
}

pub fn namespace_of(id: &ObjectRef) -> Option<ObjectRef> {
    (!id.namespace.is_empty()).then(|| namespace(&id.namespace))
}

/// The GatewayClass that a Gateway names.
pub fn class_of(gateway: &Object) -> Option<ObjectRef> {
    let class = gateway.spec().get_str("gatewayClassName").filter(|class| !class.is_empty())?;
    Some(ObjectRef::new(GATEWAY_API, "GatewayClass", "", class))
}

pub fn named_node(at: usize, id: &ObjectRef) -> Node {
    let level = match api::level(&id.group, &id.kind) {
        level @ (Level::GatewayClass | Level::Namespace) => level,
        _ => Level::Other,
    };
    Node::new(level, Owner::Named(at as u32))
}

impl Topology {
    /// The nodes of whole objects, of what is only named, and of all sections but rules.
    fn first_nodes(&self, objects: &Objects, surveys: Vec<Survey>) -> NodeMap<Option<Node>> {
        let home = |name: &str| self.find(objects, &namespace(name)).filter(|_| !name.is_empty());
        let mut wholes: Vec<(Level, Range<u32>, Option<NodeId>)> = Vec::with_capacity(objects.len());
        let mut next = self.named.len() as u32;
        for survey in &surveys {
            let homes = survey.homes.iter().flat_map(|(name, count)| repeat_n(home(name), *count));
            for (&(level, sections), namespace) in survey.wholes.iter().zip(homes) {
                wholes.push((level, next..next + sections, namespace));
                next += sections;
            }
        }
        let named = self.named.iter().enumerate();
        let named = named.map(|(at, id)| Node { namespace: home(&id.namespace), ..named_node(at, id) });
        let sections: Vec<Section> = surveys.into_iter().flat_map(|survey| survey.sections).collect();
        let mut nodes = NodeMap::new([], named.map(Some));
        nodes.add_wholes(wholes.len(), |range| {
            range.clone().zip(&wholes[range]).map(|(at, (level, sections, namespace))| Node {
                sections: sections.clone(),
                namespace: *namespace,
                ..Node::new(*level, Owner::Object(ObjectId(at as u32)))
            })
        });
        nodes.add_parts(sections.len(), |range| sections[range].iter().cloned().map(Node::from));
        nodes
    }

    fn finish(mut self, objects: &Objects, found: Found) -> Topology {
        let (rules, first_rule) = (&found.rules, self.nodes.parts() as u32);
        let rule = |number: u32| NodeId::part(first_rule + number);
        self.nodes.add_parts(rules.len(), |range| rules[range].iter().cloned().map(Node::from));
        let frontends = self.add_frontends(found.frontends);
        let backends = found.backends.iter().map(|(number, backend)| (rule(*number), *backend));
        let links = found.links.iter().copied().chain(backends).chain(frontends.iter().copied());
        let ports = found.ports.iter().map(|(port, number)| (*port, rule(*number)));
        let woven = Woven::new(&self.nodes, links, ports);
        let rules = sections_of_each(self.nodes.wholes(), rules, first_rule);
        self.nodes.edit_wholes(|at, node| {
            if node.level == Level::Route {
                node.sections = rules[at].clone();
            }
            woven.tie_whole(at, node);
            // What is no backend by its kind becomes one by being named.
            if node.level == Level::Other && node.parents.as_slice().iter().any(|parent| *parent >= rule(0)) {
                node.level = Level::Backend;
            }
        });
        self.nodes.edit_parts(|wholes, at, node| {
            if let Some(owner) = node.owner.object().and_then(|owner| wholes.get(owner.0 as usize)?.as_ref()) {
                node.namespace = owner.namespace;
            }
            woven.tie_part(at, node);
        });
        self.count = self.nodes.wholes() + self.nodes.parts();
        for listener in found.unserved {
            self.edit(listener, |node| node.served = false);
        }
        self.settle_reached(objects);
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

    /// A Service that is a parent stands above the routes, and also, as itself, below them.
    fn add_frontends(&mut self, mut parents: Vec<(ObjectId, NodeId)>) -> Vec<(NodeId, NodeId)> {
        let mut links = Vec::with_capacity(parents.len());
        parents.sort_unstable();
        for of_one in parents.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((service, _)) = of_one.first() else { continue };
            let frontend = NodeId::part(self.nodes.parts() as u32);
            *self.nodes.entry(frontend) = Some(Node::new(Level::Frontend, Owner::Object(*service)));
            self.edit(NodeId::whole(*service), |node| node.frontend = Some(frontend));
            links.extend(of_one.iter().map(|(_, route)| (frontend, *route)));
        }
        links
    }

    fn settle_reached(&mut self, objects: &Objects) {
        let mut routes: Vec<ObjectId> = api::routes(objects).collect();
        if !self.depths.is_empty() {
            routes.sort_by_key(|route| self.depths.get(route).copied().unwrap_or(0));
        }
        let sets = LISTENER_SETS.iter().flat_map(|(group, kind)| objects.of_kind(group, kind));
        for whole in sets.copied().chain(routes).map(NodeId::whole) {
            if !self.is_reached(whole) {
                let sections = self.sections(whole);
                [whole].into_iter().chain(sections).for_each(|node| self.edit(node, |node| node.live = false));
            }
        }
    }

    /// Only routes and what hangs below a ListenerSet need somebody to reach them.
    pub(super) fn is_reached(&self, id: NodeId) -> bool {
        let needs = matches!(self[id].level, Level::ListenerSet | Level::Listener | Level::Route | Level::RouteRule);
        !needs || self.parents(id).iter().any(|parent| self.live(*parent))
    }
}

/// The sections of each of some whole objects, where those of one come one after the other.
fn sections_of_each(wholes: usize, sections: &[Section], first: u32) -> Vec<Range<u32>> {
    let mut of_each = vec![0..0; wholes];
    let mut next = first;
    for of_one in sections.chunk_by(|a, b| a.owner == b.owner) {
        let end = next + of_one.len() as u32;
        if let Some(owner) = of_one.first() {
            of_each[owner.owner.0 as usize] = next..end;
        }
        next = end;
    }
    of_each
}
