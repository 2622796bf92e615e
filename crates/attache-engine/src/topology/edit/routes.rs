//! Relinks routes to their parents, and their rules to backends.

use std::sync::Arc;

use super::{NeedsRebuild, TopologyEditor};
use crate::object::ObjectId;
use crate::topology::links::routes::{ParentRequest, RouteAttacher};
use crate::topology::links::{FoundLinks, LinkContext, backends, route_conflicts, stream_routes};
use crate::topology::neighbors::Neighbors;
use crate::topology::refusal::StoredRefusal;
use crate::topology::sections::Section;
use crate::topology::{Level, Node, NodeId, api};

/// The links of a route that are found again: to its parents, from its rules to backends, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSides {
    pub parents: bool,
    pub backends: bool,
}

impl LinkSides {
    pub const PARENTS: LinkSides = LinkSides { parents: true, backends: false };
    pub const BACKENDS: LinkSides = LinkSides { parents: false, backends: true };
    pub const BOTH: LinkSides = LinkSides { parents: true, backends: true };

    fn union(self, other: LinkSides) -> LinkSides {
        LinkSides { parents: self.parents || other.parents, backends: self.backends || other.backends }
    }
}

/// Routes that parents lose and gain, as pairs of parent and route. Parents are edited at the end, each once.
#[derive(Default)]
struct ChildChanges {
    removed: Vec<(NodeId, NodeId)>,
    added: Vec<(NodeId, NodeId)>,
}

/// The part of [`FoundLinks`] that belongs to one route.
struct RouteLinks<'f> {
    sides: LinkSides,
    links: &'f [(NodeId, NodeId)],
    frontends: &'f [(ObjectId, NodeId)],
    rules: &'f [Section],
    first_rule: u32,
    backends: &'f [(u32, NodeId)],
    ports: &'f [(NodeId, u32)],
    refusals: &'f [(ObjectId, StoredRefusal)],
}

/// Splits links by route. `routes` are all routes that links were found for, in the same order.
fn by_route<'f>(
    found: &'f FoundLinks,
    routes: &'f [(ObjectId, LinkSides)],
) -> impl Iterator<Item = (ObjectId, RouteLinks<'f>)> {
    let mut links = found.links.as_slice();
    let mut frontends = found.frontends.as_slice();
    let mut rules = found.rules.as_slice();
    let mut backends = found.backends.as_slice();
    let mut ports = found.ports.as_slice();
    let mut refusals = found.refusals.as_slice();
    let mut first_rule = 0;
    routes.iter().map(move |&(id, sides)| {
        let route = NodeId::whole(id);
        let rules = take(&mut rules, |rule| rule.owner == id);
        let last_rule = first_rule + rules.len() as u32;
        let of_route = RouteLinks {
            sides,
            links: take(&mut links, |(_, it)| *it == route),
            frontends: take(&mut frontends, |(_, it)| *it == route),
            rules,
            first_rule,
            backends: take(&mut backends, |(rule, _)| *rule < last_rule),
            ports: take(&mut ports, |(_, rule)| *rule < last_rule),
            refusals: take(&mut refusals, |(by, _)| *by == id),
        };
        first_rule = last_rule;
        (id, of_route)
    })
}

/// Takes the first items of a slice, as long as `belongs` holds.
fn take<'f, T>(from: &mut &'f [T], belongs: impl Fn(&T) -> bool) -> &'f [T] {
    let (taken, rest) = from.split_at(from.iter().take_while(|it| belongs(it)).count());
    *from = rest;
    taken
}

impl TopologyEditor<'_> {
    /// Relinks routes. `routes` must contain all routes that may compete for a hostname with a route whose parents are
    /// relinked.
    pub fn relink_routes(&mut self, mut routes: Vec<(ObjectId, LinkSides)>) -> Result<(), NeedsRebuild> {
        routes.sort_by_key(|(id, _)| *id);
        routes.dedup_by(|(id, sides), (first, all)| {
            *all = if id == first { all.union(*sides) } else { *all };
            id == first
        });
        // Removed routes have no links.
        routes.retain(|(id, _)| self.topology.has(NodeId::whole(*id)));
        if !self.topology.delegation_depths.is_empty() {
            // A parent of one route may be a backend of another.
            routes.iter_mut().for_each(|(_, sides)| *sides = LinkSides::BOTH);
        }
        let found = self.find_route_links(&routes);
        if !found.delegations.is_empty() || !found.parent_routes.is_empty() {
            return Err(NeedsRebuild::Delegation);
        }
        let mut changes = ChildChanges::default();
        for (id, found) in by_route(&found, &routes) {
            self.link_route(id, &found, &mut changes)?;
        }
        self.update_children(changes);
        self.settle_streams();
        // The explanation of a refusal may change although no link does.
        self.topology.refused.take();
        Ok(())
    }

    /// Whether relinking or removing a route can change which TCPRoutes and UDPRoutes are served. Without idle links,
    /// only a route that competes with them can.
    fn may_affect_streams(&self, route: ObjectId) -> bool {
        let can_compete = || self.objects.get(route).is_some_and(|it| stream_routes::can_compete(self.objects, &it.id));
        !self.topology.idle_links.is_empty() || can_compete()
    }

    /// Records the listeners of a route that is relinked or removed.
    fn note_stream_listeners(&mut self, route: NodeId) {
        self.changes.stream_listeners.extend(self.topology.parents(route));
    }

    /// Determines which TCPRoutes and UDPRoutes the changed listeners serve.
    fn settle_streams(&mut self) {
        let mut listeners = std::mem::take(&mut self.changes.stream_listeners);
        listeners.sort_unstable();
        listeners.dedup();
        let (objects, topology) = (self.objects, &*self.topology);
        let known = topology.idle_links.iter().copied();
        // A link may have been removed with its listener or its route.
        let (stays, mut changed): (Vec<_>, Vec<_>) = known.partition(|(listener, route)| {
            listeners.binary_search(listener).is_err() && topology.parents(*route).contains(listener)
        });
        let existing = listeners.into_iter().filter(|listener| topology.has(*listener));
        let settled: Vec<(NodeId, NodeId)> = existing
            .flat_map(|listener| {
                stream_routes::idle(objects, topology, listener).into_iter().map(move |route| (listener, route))
            })
            .collect();
        // Only links that become idle, or stop being idle, matter.
        let (both, added): (Vec<_>, Vec<_>) = settled.iter().partition(|link| topology.idle_links.contains(*link));
        changed.retain(|link| !both.contains(link));
        changed.extend(added);
        if changed.is_empty() {
            return;
        }
        self.topology.idle_links = Arc::new(stays.into_iter().chain(settled).collect());
        for (_, route) in changed {
            if self.topology.has(route) {
                self.changes.nodes.push(route);
                self.changes.live_changed.push(route);
                [route].into_iter().chain(self.topology.sections(route)).for_each(|node| self.settle_live(node));
            }
        }
    }

    fn find_route_links(&self, routes: &[(ObjectId, LinkSides)]) -> FoundLinks {
        let mut found = FoundLinks::default();
        let to_parents = routes.iter().filter(|(_, sides)| sides.parents);
        let mut requests: Vec<ParentRequest> = Vec::with_capacity(routes.len());
        requests.extend(to_parents.flat_map(|(id, _)| ParentRequest::all(self.objects, *id)));
        let mut owners: Vec<ObjectId> = requests.iter().filter_map(ParentRequest::owner).collect();
        owners.sort_unstable();
        owners.dedup();
        let context = LinkContext::for_owners(self.objects, self.topology, owners.into_iter());
        let (mut attacher, mut requests) = (RouteAttacher::new(&context), requests.as_slice());
        for &(id, sides) in routes {
            if sides.parents {
                attacher.attach(id, take(&mut requests, |it| it.by == id).iter().copied(), &mut found);
            }
            if sides.backends
                && let Some(route) = self.objects.get(id)
            {
                backends::link(&context, id, route, &mut found);
            }
        }
        route_conflicts::settle(&context, &mut found);
        found.refusals.sort_by_key(|(by, _)| *by);
        found
    }

    fn link_route(
        &mut self,
        id: ObjectId,
        found: &RouteLinks<'_>,
        changes: &mut ChildChanges,
    ) -> Result<(), NeedsRebuild> {
        let route = NodeId::whole(id);
        let LinkSides { parents, backends } = found.sides;
        let has_new_rules = backends && !self.has_sections(route, found.rules);
        if has_new_rules {
            self.unlink_rules(route)?;
            self.set_sections(route, found.rules.to_vec());
        }
        if parents {
            let may_affect_streams = self.may_affect_streams(id);
            if may_affect_streams {
                self.note_stream_listeners(route);
            }
            self.link_parents(route, found, changes)?;
            if may_affect_streams {
                self.note_stream_listeners(route);
            }
        }
        if backends {
            self.link_rules(route, found)?;
        }
        if parents || has_new_rules {
            [route].into_iter().chain(self.topology.sections(route)).for_each(|node| self.settle_live(node));
        }
        let known = self.topology.refusals_of(id);
        let stays = |refusal: &&StoredRefusal| if refusal.is_of_backend() { !backends } else { !parents };
        let refusals = found.refusals.iter().map(|(_, refusal)| refusal).chain(known.iter().filter(stays));
        if !refusals.clone().eq(known) {
            let refusals = refusals.cloned().collect();
            self.set_refusals(id, refusals);
        }
        Ok(())
    }

    /// Removes all links of a route.
    pub(super) fn unlink_route(&mut self, id: ObjectId) -> Result<(), NeedsRebuild> {
        let route = NodeId::whole(id);
        if self.may_affect_streams(id) {
            self.note_stream_listeners(route);
        }
        let mut changes = ChildChanges::default();
        self.set_parents(route, &[], &mut changes)?;
        self.update_children(changes);
        self.unlink_rules(route)
    }

    fn unlink_rules(&mut self, route: NodeId) -> Result<(), NeedsRebuild> {
        self.topology.sections(route).try_for_each(|rule| self.set_backends(rule, &[], &[]))
    }

    fn link_parents(
        &mut self,
        route: NodeId,
        found: &RouteLinks<'_>,
        changes: &mut ChildChanges,
    ) -> Result<(), NeedsRebuild> {
        let listeners = found.links.iter().map(|(listener, _)| listener);
        if found.frontends.is_empty() && listeners.clone().eq(self.topology.parents(route)) {
            return Ok(());
        }
        let mut parents: Vec<NodeId> = listeners.copied().collect();
        for (service, _) in found.frontends {
            parents.push(self.frontend_of(NodeId::whole(*service)));
        }
        self.set_parents(route, &parents, changes)
    }

    fn link_rules(&mut self, route: NodeId, found: &RouteLinks<'_>) -> Result<(), NeedsRebuild> {
        let (mut backends, mut ports) = (found.backends, found.ports);
        for (number, rule) in (found.first_rule..).zip(self.topology.sections(route)) {
            let backends = take(&mut backends, |(at, _)| *at == number).iter().map(|(_, backend)| backend);
            let ports = take(&mut ports, |(_, at)| *at == number).iter().map(|(port, _)| port);
            if !backends.clone().eq(self.topology.children(rule)) || !ports.clone().eq(self.topology.ports_named(rule))
            {
                let (backends, ports): (Vec<_>, Vec<_>) = (backends.copied().collect(), ports.copied().collect());
                self.set_backends(rule, &backends, &ports)?;
            }
        }
        Ok(())
    }

    /// Replaces the parents of a route. [`Self::update_children`] edits the parents themselves.
    fn set_parents(
        &mut self,
        route: NodeId,
        parents: &[NodeId],
        changes: &mut ChildChanges,
    ) -> Result<(), NeedsRebuild> {
        if self.topology.parents(route) == parents {
            return Ok(());
        }
        let old = self.topology[route].parents.clone();
        let old = old.as_slice();
        for &parent in old.iter().filter(|parent| !parents.contains(parent)) {
            // A removed parent has no node.
            match self.topology.node(parent).map(|node| node.level) {
                Some(Level::RouteRule) => return Err(NeedsRebuild::Delegation),
                Some(Level::Frontend) => _ = self.changes.nodes.push(parent),
                _ => {}
            }
            changes.removed.push((parent, route));
        }
        changes.added.extend(parents.iter().filter(|parent| !old.contains(parent)).map(|parent| (*parent, route)));
        self.topology.edit(route, |node| node.parents = Neighbors::new(parents));
        self.changes.nodes.push(route);
        Ok(())
    }

    /// Edits the parents of routes: each of them once, however many of its routes changed.
    fn update_children(&mut self, ChildChanges { mut removed, mut added }: ChildChanges) {
        removed.sort_unstable();
        added.sort_unstable();
        let (mut removed, mut added) = (removed.as_slice(), added.as_slice());
        while let Some(&parent) = removed.first().into_iter().chain(added.first()).map(|(parent, _)| parent).min() {
            let of_parent = |from: &mut &[(NodeId, NodeId)]| -> Vec<NodeId> {
                take(from, |(it, _)| *it == parent).iter().map(|(_, route)| *route).collect()
            };
            let (removed, added) = (of_parent(&mut removed), of_parent(&mut added));
            self.topology.edit(parent, |node| node.children.replace(&removed, &added));
        }
    }

    /// Replaces the backends of a rule, and the ports of backends that it names.
    fn set_backends(&mut self, rule: NodeId, backends: &[NodeId], ports: &[NodeId]) -> Result<(), NeedsRebuild> {
        if self.topology.children(rule) != backends {
            let old = self.topology[rule].children.clone();
            let old = old.as_slice();
            for &backend in old.iter().filter(|it| !backends.contains(it)) {
                // A removed backend has no node.
                if self.topology.node(backend).is_some_and(|node| node.level == Level::Route) {
                    return Err(NeedsRebuild::Delegation);
                }
                self.topology.edit(backend, |node| node.parents.remove(rule));
                self.changes.nodes.push(backend);
            }
            for &backend in backends.iter().filter(|it| !old.contains(it)) {
                // An object whose kind has no level is a backend if a rule refers to it.
                if self.topology[backend].level == Level::Other {
                    return Err(NeedsRebuild::BackendByReference);
                }
                self.topology.edit(backend, |node| node.parents.insert(rule));
                self.changes.nodes.push(backend);
            }
            self.topology.edit(rule, |node| node.children = Neighbors::new(backends));
        }
        if self.topology.ports_named(rule) != ports {
            let old = self.topology[rule].across.clone();
            let old = old.as_slice();
            for &port in old.iter().filter(|it| !ports.contains(it)) {
                self.topology.edit(port, |node| node.across.remove(rule));
                self.changes.nodes.push(port);
            }
            for &port in ports.iter().filter(|it| !old.contains(it)) {
                self.topology.edit(port, |node| node.across.insert(rule));
                self.changes.nodes.push(port);
            }
            self.topology.edit(rule, |node| node.across = Neighbors::new(ports));
        }
        Ok(())
    }

    /// The frontend node of a Service. It is added if there is none.
    fn frontend_of(&mut self, service: NodeId) -> NodeId {
        if let Some(frontend) = self.topology.frontend(service) {
            return frontend;
        }
        let frontend = NodeId::part(self.take_parts(1));
        let Node { owner, namespace, .. } = self.topology[service];
        let node = Node { namespace, ..Node::new(Level::Frontend, owner) };
        *self.topology.nodes.entry(frontend) = Some(node);
        self.topology.edit(service, |node| node.frontend = Some(frontend));
        self.topology.count += 1;
        self.forget_lists();
        self.changes.nodes.push(frontend);
        frontend
    }

    /// Removes frontend nodes without routes.
    pub fn remove_unused(&mut self) -> Result<(), NeedsRebuild> {
        let mut unused = Vec::new();
        for &id in self.changes.nodes.iter() {
            let Some(node) = self.topology.node(id) else { continue };
            match node.level {
                Level::Frontend if self.topology.children(id).is_empty() => unused.push(id),
                Level::Backend if node.section.is_none() && self.topology.parents(id).is_empty() => {
                    let name = self.topology.id(self.objects, id);
                    if api::level(&name.group, &name.kind) == Level::Other {
                        return Err(NeedsRebuild::BackendByReference);
                    }
                }
                _ => {}
            }
        }
        for frontend in unused {
            let service = self.topology.whole(frontend);
            self.topology.edit(service, |node| node.frontend = None);
            if let Ok(at) = frontend.place() {
                self.remove_parts(at as u32..at as u32 + 1);
            }
            self.forget_lists();
        }
        Ok(())
    }
}
