//! Links routes again, at a cost that depends on how many they are.

use super::api;
use super::edit::Edited;
use super::ids::Ids;
use super::index::{Found, Index};
use super::needs_rebuild::NeedsRebuild;
use super::node::Node;
use super::refusal::StoredRefusal;
use super::routes::{ParentRequest, RouteAttacher};
use super::sections::Section;
use super::{Level, NodeId, Topology, backends, link};
use crate::object::{ObjectId, Objects};

/// Which links of a route are found again: those to its parents, those to its backends, or both.
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

/// What was found of one route.
struct OfRoute<'f> {
    sides: LinkSides,
    links: &'f [(NodeId, NodeId)],
    frontends: &'f [(ObjectId, NodeId)],
    rules: &'f [Section],
    first_rule: u32,
    backends: &'f [(u32, NodeId)],
    ports: &'f [(NodeId, u32)],
    denied: &'f [(ObjectId, StoredRefusal)],
}

/// Routes with the parents that they have no more, and that they have now.
#[derive(Default)]
struct Hung {
    gone: Vec<(NodeId, NodeId)>,
    came: Vec<(NodeId, NodeId)>,
}

impl Found {
    /// What was found of each of some routes, which are all that were looked at, in this order.
    fn of_each(&self, routes: &[(ObjectId, LinkSides)]) -> impl Iterator<Item = (ObjectId, OfRoute<'_>)> {
        let mut links = self.links.as_slice();
        let mut frontends = self.frontends.as_slice();
        let mut rules = self.rules.as_slice();
        let mut backends = self.backends.as_slice();
        let mut ports = self.ports.as_slice();
        let mut denied = self.denied.as_slice();
        let mut first_rule = 0;
        routes.iter().map(move |&(id, sides)| {
            let route = NodeId::whole(id);
            let rules = take(&mut rules, |rule| rule.owner == id);
            let last_rule = first_rule + rules.len() as u32;
            let of_route = OfRoute {
                sides,
                links: take(&mut links, |(_, it)| *it == route),
                frontends: take(&mut frontends, |(_, it)| *it == route),
                rules,
                first_rule,
                backends: take(&mut backends, |(rule, _)| *rule < last_rule),
                ports: take(&mut ports, |(_, rule)| *rule < last_rule),
                denied: take(&mut denied, |(by, _)| *by == id),
            };
            first_rule = last_rule;
            (id, of_route)
        })
    }
}

/// Takes from the start of a slice all that are such.
fn take<'f, T>(from: &mut &'f [T], is_such: impl Fn(&T) -> bool) -> &'f [T] {
    let (taken, rest) = from.split_at(from.iter().take_while(|it| is_such(it)).count());
    *from = rest;
    taken
}

impl Topology {
    /// Links routes, which may have been linked before, as they are now. If one is linked to its parents, so are all that may
    /// compete with it.
    pub fn relink(
        &mut self,
        objects: &Objects,
        mut routes: Vec<(ObjectId, LinkSides)>,
        edited: &mut Edited,
    ) -> Result<(), NeedsRebuild> {
        routes.sort_by_key(|(id, _)| *id);
        routes.dedup_by(|(id, sides), (first, all)| {
            *all = if id == first { all.union(*sides) } else { *all };
            id == first
        });
        // Routes that were removed have no links any more.
        routes.retain(|(id, _)| self.has(NodeId::whole(*id)));
        if !self.depths.is_empty() {
            // What is above one route may be below another.
            routes.iter_mut().for_each(|(_, sides)| *sides = LinkSides::BOTH);
        }
        let mut found = Found::default();
        {
            let above = routes.iter().filter(|(_, sides)| sides.parents);
            let asked: Vec<ParentRequest> = above.flat_map(|(id, _)| ParentRequest::by(objects, *id)).collect();
            let mut owners: Vec<ObjectId> = asked.iter().filter_map(ParentRequest::owner).collect();
            owners.sort_unstable();
            owners.dedup();
            let index = Index::before(objects, self, owners.into_iter());
            let (mut attacher, mut asked) = (RouteAttacher::new(&index), asked.as_slice());
            for &(id, sides) in &routes {
                if sides.parents {
                    attacher.attach(id, take(&mut asked, |it| it.by == id).iter().copied(), &mut found);
                }
                if sides.backends
                    && let Some(route) = objects.get(id)
                {
                    backends::link(&index, id, route, &mut found);
                }
            }
            link::settle_contests(self, &index, &mut found);
            found.denied.sort_by_key(|(by, _)| *by);
        }
        if !found.delegations.is_empty() || !found.adopted.is_empty() {
            return Err(NeedsRebuild::Delegation);
        }
        let mut hung = Hung::default();
        for (id, found) in found.of_each(&routes) {
            self.link(id, found, &mut hung, edited)?;
        }
        self.rehang(hung);
        // What is refused, and why, may depend on more than the links.
        self.refused.take();
        Ok(())
    }

    /// Takes all links of a route back.
    pub(super) fn unlink(&mut self, route: NodeId, edited: &mut Edited) -> Result<(), NeedsRebuild> {
        let mut hung = Hung::default();
        self.hang(route, &[], &mut hung, edited)?;
        self.rehang(hung);
        self.send_nowhere(route, edited)
    }

    fn send_nowhere(&mut self, route: NodeId, edited: &mut Edited) -> Result<(), NeedsRebuild> {
        self.sections(route).try_for_each(|rule| self.send(rule, &[], &[], edited))
    }

    fn link(
        &mut self,
        id: ObjectId,
        found: OfRoute<'_>,
        hung: &mut Hung,
        edited: &mut Edited,
    ) -> Result<(), NeedsRebuild> {
        let route = NodeId::whole(id);
        let LinkSides { parents: above, backends: below } = found.sides;
        let are_new = below && !self.are_sections(route, found.rules);
        if are_new {
            self.send_nowhere(route, edited)?;
            self.set_sections(route, found.rules.to_vec(), edited);
        }
        if above {
            self.link_above(route, &found, hung, edited)?;
        }
        if below {
            self.link_below(route, &found, edited)?;
        }
        if above || are_new {
            [route].into_iter().chain(self.sections(route)).for_each(|node| self.settle_live(node, edited));
        }
        let known = self.denied.get(id.0 as usize).map_or(&[][..], Vec::as_slice);
        let stays = |denied: &&StoredRefusal| if denied.is_of_backend() { !below } else { !above };
        let denied = found.denied.iter().map(|(_, denied)| denied).chain(known.iter().filter(stays));
        if !denied.clone().eq(known) {
            let denied = denied.cloned().collect();
            self.deny(id, denied);
        }
        Ok(())
    }

    fn link_above(
        &mut self,
        route: NodeId,
        found: &OfRoute<'_>,
        hung: &mut Hung,
        edited: &mut Edited,
    ) -> Result<(), NeedsRebuild> {
        let listeners = found.links.iter().map(|(listener, _)| listener);
        if found.frontends.is_empty() && listeners.clone().eq(self.parents(route)) {
            return Ok(());
        }
        let mut parents: Vec<NodeId> = listeners.copied().collect();
        for (service, _) in found.frontends {
            parents.push(self.add_frontend(NodeId::whole(*service), edited));
        }
        self.hang(route, &parents, hung, edited)
    }

    fn link_below(&mut self, route: NodeId, found: &OfRoute<'_>, edited: &mut Edited) -> Result<(), NeedsRebuild> {
        let (mut backends, mut ports) = (found.backends, found.ports);
        for (number, rule) in (found.first_rule..).zip(self.sections(route)) {
            let backends = take(&mut backends, |(at, _)| *at == number).iter().map(|(_, backend)| backend);
            let ports = take(&mut ports, |(_, at)| *at == number).iter().map(|(port, _)| port);
            if !backends.clone().eq(self.children(rule)) || !ports.clone().eq(self.ports_named(rule)) {
                let (backends, ports): (Vec<_>, Vec<_>) = (backends.copied().collect(), ports.copied().collect());
                self.send(rule, &backends, &ports, edited)?;
            }
        }
        Ok(())
    }

    /// Looks whether requests reach a node, after its parents.
    pub(super) fn settle_live(&mut self, node: NodeId, edited: &mut Edited) {
        let (it, live) = (&self[node], self.is_reached(node));
        if it.live != live {
            edited.lives.push(node);
            // What is below is reached by others now.
            edited.nodes.push(node);
            let below = it.children.as_slice().iter().chain(it.across.as_slice());
            below.for_each(|node| edited.nodes.push(*node));
            self.edit(node, |node| node.live = live);
        }
    }

    /// Takes note of what an object asks for in vain.
    pub(super) fn deny(&mut self, by: ObjectId, denied: Vec<StoredRefusal>) {
        if self.denied.get(by.0 as usize).map_or(&[][..], Vec::as_slice) != denied {
            *self.denied.entry(by.0 as usize) = denied;
        }
    }

    /// Gives a route these parents, and no others. The parents learn of it later, all at once.
    fn hang(
        &mut self,
        route: NodeId,
        parents: &[NodeId],
        hung: &mut Hung,
        edited: &mut Edited,
    ) -> Result<(), NeedsRebuild> {
        if self.parents(route) == parents {
            return Ok(());
        }
        let old = self[route].parents.clone();
        let old = old.as_slice();
        for &parent in old.iter().filter(|parent| !parents.contains(parent)) {
            // A parent that was removed has no node any more.
            match self.node(parent).map(|node| node.level) {
                Some(Level::RouteRule) => return Err(NeedsRebuild::Delegation),
                Some(Level::Frontend) => edited.nodes.push(parent),
                _ => {}
            }
            hung.gone.push((parent, route));
        }
        hung.came.extend(parents.iter().filter(|parent| !old.contains(parent)).map(|parent| (*parent, route)));
        self.edit(route, |node| node.parents = Ids::of(parents));
        edited.nodes.push(route);
        Ok(())
    }

    /// Tells parents which routes they have lost and got.
    fn rehang(&mut self, Hung { mut gone, mut came }: Hung) {
        gone.sort_unstable();
        came.sort_unstable();
        let (mut gone, mut came) = (gone.as_slice(), came.as_slice());
        while let Some(&parent) = gone.first().into_iter().chain(came.first()).map(|(parent, _)| parent).min() {
            let of_parent = |from: &mut &[(NodeId, NodeId)]| -> Vec<NodeId> {
                take(from, |(it, _)| *it == parent).iter().map(|(_, route)| *route).collect()
            };
            let (gone, came) = (of_parent(&mut gone), of_parent(&mut came));
            self.edit(parent, |node| node.children.exchange(&gone, &came));
        }
    }

    /// Gives a rule these backends and ports of them, and no others.
    fn send(
        &mut self,
        rule: NodeId,
        backends: &[NodeId],
        ports: &[NodeId],
        edited: &mut Edited,
    ) -> Result<(), NeedsRebuild> {
        if self.children(rule) != backends {
            let old = self.children(rule).to_vec();
            for &backend in old.iter().filter(|it| !backends.contains(it)) {
                // A backend that was removed has no node any more.
                if self.node(backend).is_some_and(|node| node.level == Level::Route) {
                    return Err(NeedsRebuild::Delegation);
                }
                self.edit(backend, |node| node.parents.remove(rule));
                edited.nodes.push(backend);
            }
            for &backend in backends.iter().filter(|it| !old.contains(it)) {
                // What is no backend by its kind becomes one by being named.
                if self[backend].level == Level::Other {
                    return Err(NeedsRebuild::BackendByReference);
                }
                self.edit(backend, |node| node.parents.insert(rule));
                edited.nodes.push(backend);
            }
            self.edit(rule, |node| node.children = Ids::of(backends));
        }
        if self.ports_named(rule) != ports {
            let old = self.ports_named(rule).to_vec();
            for &port in old.iter().filter(|it| !ports.contains(it)) {
                self.edit(port, |node| node.across.remove(rule));
                edited.nodes.push(port);
            }
            for &port in ports.iter().filter(|it| !old.contains(it)) {
                self.edit(port, |node| node.across.insert(rule));
                edited.nodes.push(port);
            }
            self.edit(rule, |node| node.across = Ids::of(ports));
        }
        Ok(())
    }

    /// The node that stands for a Service as the parent of routes, made if there is none.
    fn add_frontend(&mut self, service: NodeId, edited: &mut Edited) -> NodeId {
        if let Some(frontend) = self.frontend(service) {
            return frontend;
        }
        let frontend = NodeId::part(self.take_parts(1, edited));
        let it = Node { namespace: self.namespace(service), ..Node::new(Level::Frontend, self[service].owner) };
        *self.nodes.entry(frontend) = Some(it);
        self.edit(service, |node| node.frontend = Some(frontend));
        self.count += 1;
        self.changed();
        edited.nodes.push(frontend);
        frontend
    }

    /// Takes away what nothing hangs on any more: a Service is a parent only if it has routes, and some are backends only
    /// by being named.
    pub fn settle(&mut self, objects: &Objects, edited: &mut Edited) -> Result<(), NeedsRebuild> {
        let mut lonely = Vec::new();
        for &node in edited.nodes.as_slice() {
            let Some(it) = self.node(node) else { continue };
            match it.level {
                Level::Frontend if self.children(node).is_empty() => lonely.push(node),
                Level::Backend if it.section.is_none() && self.parents(node).is_empty() => {
                    let id = self.id(objects, node);
                    if api::level(&id.group, &id.kind) == Level::Other {
                        return Err(NeedsRebuild::BackendByReference);
                    }
                }
                _ => {}
            }
        }
        lonely.sort_unstable();
        lonely.dedup();
        for frontend in lonely {
            self.edit(self.whole(frontend), |node| node.frontend = None);
            if let Ok(at) = frontend.place() {
                self.free_parts(at as u32..at as u32 + 1, edited);
            }
            self.changed();
        }
        Ok(())
    }
}
