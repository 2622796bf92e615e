//! Changes to a topology, object by object, at a cost that depends on the object.
//!
//! What several objects decide together (delegation, contests, what is only named, the listeners of Gateways) is not
//! followed here: whoever finds a change of that sort says so, and the topology is built anew.

use std::sync::{Arc, OnceLock};

use super::api::{self, RouteKind};
use super::build::{namespace_of, sections_of};
use super::index::{Found, Index};
use super::node::Ids;
use super::{Level, Node, NodeId, Owner, Topology, backends, contest, routes, sections};
use crate::object::{Object, ObjectId, Objects};

/// A change that is not followed step by step.
#[derive(Clone, Copy, Debug)]
pub struct Unfollowable;

/// Where a topology was changed.
#[derive(Debug, Default)]
pub struct Edited {
    /// Nodes that are new, or whose links are.
    pub nodes: Vec<NodeId>,
    pub gone: Vec<NodeId>,
    /// Free places among the parts, from earlier changes, each with its length.
    pub free: Vec<(u32, u32)>,
    /// Those that became free: they may be used from the next change on.
    freed: Vec<(u32, u32)>,
}

impl Edited {
    pub fn new(free: Vec<(u32, u32)>) -> Edited {
        Edited { free, ..Edited::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.gone.is_empty()
    }

    /// The free places for the next change.
    pub fn into_free(mut self) -> Vec<(u32, u32)> {
        self.free.append(&mut self.freed);
        self.free
    }
}

impl Topology {
    /// Adds the node of an object, and those of its sections if it is no route.
    pub fn add(&mut self, objects: &Objects, id: ObjectId, edited: &mut Edited) -> Result<(), Unfollowable> {
        let object = objects.get(id);
        let node = NodeId::whole(id);
        let mut it = Node::new(api::level(&object.id.group, &object.id.kind), Owner::Object(id));
        it.namespace = namespace_of(&object.id).and_then(|namespace| self.find(objects, &namespace));
        // Somebody has named it before it was there.
        if self.by_name.contains_key(&object.id) || it.namespace.is_none() != object.id.namespace.is_empty() {
            return Err(Unfollowable);
        }
        *self.nodes.entry(node) = Some(it);
        self.count += 1;
        edited.nodes.push(node);
        self.changed();
        self.resection(objects, id, edited);
        Ok(())
    }

    /// Takes the nodes of an object away. Whoever links to it must be linked again.
    pub fn remove(&mut self, id: ObjectId, edited: &mut Edited) -> Result<(), Unfollowable> {
        let node = NodeId::whole(id);
        if self.node(node).frontend.is_some() {
            return Err(Unfollowable);
        }
        if self.node(node).level == Level::Route {
            self.unlink(node, edited)?;
        }
        self.free_sections(node, edited);
        *self.nodes.entry(node) = None;
        self.count -= 1;
        edited.gone.push(node);
        if !self.refusals.get(id.0 as usize).is_none_or(Vec::is_empty) {
            self.refusals.entry(id.0 as usize).clear();
        }
        self.changed();
        Ok(())
    }

    /// Reads the sections of an object again, if it is no route. Whoever links to them must be linked again.
    pub fn resection(&mut self, objects: &Objects, id: ObjectId, edited: &mut Edited) {
        let object = objects.get(id);
        // Not that of its node: whatever somebody sends requests to is a backend.
        let level = api::level(&object.id.group, &object.id.kind);
        if level != Level::Route && sections::of(object, level).is_some() {
            let parts: Vec<Node> = sections_of(objects, id, level).collect();
            self.set_sections(NodeId::whole(id), parts, edited);
        }
    }

    /// Whether the sections of a whole object have the same names and ports as these.
    fn are_sections(&self, whole: NodeId, parts: &[Node]) -> bool {
        let sections = self.sections(whole).map(|id| self.node(id)).map(|it| (&it.section, it.port));
        sections.eq(parts.iter().map(|it| (&it.section, it.port)))
    }

    /// Gives a whole object these sections. They keep their nodes if they have the same names and ports as before.
    fn set_sections(&mut self, whole: NodeId, parts: Vec<Node>, edited: &mut Edited) {
        if self.are_sections(whole, &parts) {
            return;
        }
        self.free_sections(whole, edited);
        let (len, namespace) = (parts.len() as u32, self.node(whole).namespace);
        let start = self.take_parts(len, edited);
        self.count += parts.len();
        for (at, mut part) in (start..).zip(parts) {
            part.namespace = namespace;
            part.parents.push(whole);
            *self.nodes.entry(NodeId::part(at)) = Some(part);
            edited.nodes.push(NodeId::part(at));
        }
        let sections: Vec<NodeId> = (start..start + len).map(NodeId::part).collect();
        self.edit(whole, |node| {
            node.sections = start..start + len;
            // Sections are the last of the children, as they are when the topology is built.
            node.children = Ids::of(&sections);
        });
        self.changed();
    }

    fn take_parts(&mut self, len: u32, edited: &mut Edited) -> u32 {
        match edited.free.iter().position(|(_, free)| *free == len) {
            Some(at) => edited.free.swap_remove(at).0,
            None => self.nodes.parts() as u32,
        }
    }

    fn free_sections(&mut self, whole: NodeId, edited: &mut Edited) {
        let sections = self.node(whole).sections.clone();
        if sections.is_empty() {
            return;
        }
        for at in sections.clone() {
            *self.nodes.entry(NodeId::part(at)) = None;
            edited.gone.push(NodeId::part(at));
        }
        self.count -= sections.len();
        edited.freed.push((sections.start, sections.len() as u32));
        self.edit(whole, |node| {
            node.sections = 0..0;
            node.children = Ids::default();
        });
    }

    /// Whether a route may have to compete with others for a hostname.
    pub fn competes(&self, objects: &Objects, route: &Object) -> bool {
        let is_rival = matches!(RouteKind::named(&route.id.kind), Some(RouteKind::Http | RouteKind::Grpc));
        let owners = routes::parents(route)
            .filter(|parent| matches!(api::level(parent.group, parent.kind), Level::Gateway | Level::ListenerSet))
            .filter_map(|parent| parent.find(objects));
        let owners: Vec<ObjectId> = if is_rival { owners.collect() } else { Vec::new() };
        let index = Index::before(objects, self, owners.iter().copied());
        owners.iter().any(|owner| contest::is_held(&index, *owner))
    }

    /// Links routes, which may have been linked before, as they are now.
    pub fn relink(&mut self, objects: &Objects, ids: &[ObjectId], edited: &mut Edited) -> Result<(), Unfollowable> {
        let found: Vec<Found> = {
            let owners = ids.iter().flat_map(|id| routes::parents(objects.get(*id)));
            let owners = owners
                .filter(|parent| matches!(api::level(parent.group, parent.kind), Level::Gateway | Level::ListenerSet));
            let mut owners: Vec<ObjectId> = owners.filter_map(|parent| parent.find(objects)).collect();
            owners.sort_unstable();
            owners.dedup();
            let index = Index::before(objects, self, owners.iter().copied());
            let link = |id: &ObjectId| {
                let (mut found, route) = (Found::default(), objects.get(*id));
                routes::attach(&index, *id, route, &mut found);
                backends::link(&index, *id, route, &mut found);
                found
            };
            ids.iter().map(link).collect()
        };
        for (id, found) in ids.iter().zip(found) {
            if !found.delegations.is_empty() || !found.adopted.is_empty() {
                return Err(Unfollowable);
            }
            self.link(*id, found, edited)?;
        }
        Ok(())
    }

    /// Takes all links of a route back.
    fn unlink(&mut self, route: NodeId, edited: &mut Edited) -> Result<(), Unfollowable> {
        self.hang(route, &[], edited)?;
        for rule in self.sections(route) {
            self.send(rule, &[], &[], edited)?;
        }
        Ok(())
    }

    fn link(&mut self, id: ObjectId, found: Found, edited: &mut Edited) -> Result<(), Unfollowable> {
        let route = NodeId::whole(id);
        if !self.are_sections(route, &found.rules) {
            self.unlink(route, edited)?;
            self.set_sections(route, found.rules, edited);
        }
        let mut parents: Vec<NodeId> = found.links.iter().map(|(listener, _)| *listener).collect();
        for (service, _) in found.frontends {
            parents.push(self.frontend(NodeId::whole(service)).ok_or(Unfollowable)?);
        }
        self.hang(route, &parents, edited)?;
        for (number, rule) in (0..).zip(self.sections(route)) {
            let backends = found.backends.iter().filter(|(at, _)| *at == number).map(|(_, backend)| *backend);
            let ports = found.ports.iter().filter(|(_, at)| *at == number).map(|(port, _)| *port);
            self.send(rule, &Vec::from_iter(backends), &Vec::from_iter(ports), edited)?;
        }
        for node in [route].into_iter().chain(self.sections(route)) {
            let live = self.is_reached(node);
            if self.live(node) != live {
                self.edit(node, |node| node.live = live);
                edited.nodes.push(node);
                // What is below is reached by others now.
                edited.nodes.extend(self.children(node).iter().chain(self.node(node).across.as_slice()));
            }
        }
        if self.refusals.get(id.0 as usize).map_or(&[][..], Vec::as_slice) != found.refused {
            *self.refusals.entry(id.0 as usize) = found.refused;
            self.refused = OnceLock::new();
        }
        Ok(())
    }

    /// Gives a route these parents, and no others.
    fn hang(&mut self, route: NodeId, parents: &[NodeId], edited: &mut Edited) -> Result<(), Unfollowable> {
        let old = self.parents(route).to_vec();
        if old == parents {
            return Ok(());
        }
        for &parent in old.iter().filter(|parent| !parents.contains(parent)) {
            match self.node(parent).level {
                Level::RouteRule => return Err(Unfollowable),
                Level::Frontend => edited.nodes.push(parent),
                _ => {}
            }
            self.edit(parent, |node| node.children.remove(route));
        }
        for &parent in parents.iter().filter(|parent| !old.contains(parent)) {
            self.edit(parent, |node| node.children.push(route));
        }
        self.edit(route, |node| node.parents = Ids::of(parents));
        edited.nodes.push(route);
        Ok(())
    }

    /// Gives a rule these backends and ports of them, and no others.
    fn send(
        &mut self,
        rule: NodeId,
        backends: &[NodeId],
        ports: &[NodeId],
        edited: &mut Edited,
    ) -> Result<(), Unfollowable> {
        let old = self.children(rule).to_vec();
        for &backend in old.iter().filter(|it| !backends.contains(it)) {
            if self.node(backend).level == Level::Route {
                return Err(Unfollowable);
            }
            self.edit(backend, |node| node.parents.remove(rule));
            edited.nodes.push(backend);
        }
        for &backend in backends.iter().filter(|it| !old.contains(it)) {
            // What is no backend by its kind becomes one by being named.
            if self.node(backend).level == Level::Other {
                return Err(Unfollowable);
            }
            self.edit(backend, |node| node.parents.push(rule));
            edited.nodes.push(backend);
        }
        if old != backends {
            self.edit(rule, |node| node.children = Ids::of(backends));
        }
        let old = self.node(rule).across.as_slice().to_vec();
        for &port in old.iter().filter(|it| !ports.contains(it)) {
            self.edit(port, |node| node.across.remove(rule));
            edited.nodes.push(port);
        }
        for &port in ports.iter().filter(|it| !old.contains(it)) {
            self.edit(port, |node| node.across.push(rule));
            edited.nodes.push(port);
        }
        if old != ports {
            self.edit(rule, |node| node.across = Ids::of(ports));
        }
        Ok(())
    }

    /// Whether the routes and backends that were edited stand on their own as they do when all is built anew.
    pub fn settle(&self, objects: &Objects, edited: &Edited) -> Result<(), Unfollowable> {
        for &node in &edited.nodes {
            let it = self.node(node);
            let is_orphan = |level| it.level == level && self.children(node).is_empty();
            let was_other = it.level == Level::Backend && it.section.is_none() && {
                let id = self.id(objects, node);
                api::level(&id.group, &id.kind) == Level::Other
            };
            if is_orphan(Level::Frontend) || was_other && self.parents(node).is_empty() {
                return Err(Unfollowable);
            }
        }
        Ok(())
    }

    pub fn add_grant(&mut self, grant: &Object, id: ObjectId) {
        Arc::make_mut(&mut self.grants).add(&grant.id.namespace, id);
    }

    pub fn remove_grant(&mut self, grant: &Object, id: ObjectId) {
        Arc::make_mut(&mut self.grants).remove(&grant.id.namespace, id);
    }

    /// What has to be listed again when somebody asks.
    fn changed(&mut self) {
        self.order = OnceLock::new();
        self.refused = OnceLock::new();
    }
}
