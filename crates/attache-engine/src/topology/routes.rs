//! Routes and their parents: which listeners, and which Services of a mesh, a route attaches to.

use super::api::{self, RouteKind};
use super::hostname::{intersect, narrower};
use super::index::{Found, Index, dedup_after};
use super::listeners::{Listener, hostname_of};
use super::namespaces::Namespace;
use super::reference::Reference;
use super::refusal::{
    ClosedListener, ListenerHostname, MissingObject, MissingPort, ParentRefusal, RefusedLink, StoredRefusal,
};
use super::{Level, NodeId, Topology, sections};
use crate::object::{Object, ObjectId, Objects};
use crate::value::{Path, Value};

/// A route that asks to be let in.
#[derive(Debug)]
pub struct RouteView<'o> {
    pub kind: RouteKind,
    pub namespace: Namespace<'o>,
    hostnames: &'o [Value],
}

impl<'o> RouteView<'o> {
    pub fn of(index: &Index<'o>, route: &'o Object) -> Option<Self> {
        RouteView::from(Namespace::named(index.objects, &route.id.namespace), route)
    }

    fn from(namespace: Namespace<'o>, route: &'o Object) -> Option<Self> {
        let kind = RouteKind::named(&route.id.kind)?;
        let hostnames = if kind.has_hostnames() { route.spec().list_at("hostnames") } else { &[] };
        Some(RouteView { kind, namespace, hostnames })
    }

    /// None means any.
    pub fn hostnames(&self) -> impl Iterator<Item = &'o str> + Clone {
        self.hostnames.iter().filter_map(Value::as_str)
    }

    /// The hostnames that it has on a listener: what both allow.
    pub fn hostnames_on(&self, listener: &Listener<'o>) -> Vec<&'o str> {
        let hostnames: Vec<&str> =
            self.hostnames().filter_map(|hostname| narrower(hostname, listener.hostname)).collect();
        if hostnames.is_empty() { vec![listener.hostname] } else { hostnames }
    }
}

/// Why a parent does not take a route.
#[derive(Clone, Copy, Debug)]
enum Closed {
    NoSuchParent,
    NoSuchListener,
    NotAllowed,
    NoCommonHostname,
    NoSuchPort,
}

/// A parent that a route asks to let it in.
#[derive(Clone, Copy, Debug)]
pub struct ParentRequest<'o> {
    pub by: ObjectId,
    position: u32,
    parent: Reference<'o>,
    level: Level,
    /// If it is there.
    found: Option<ObjectId>,
}

impl<'o> ParentRequest<'o> {
    /// All parents that a route asks; none for a route that is gone.
    pub fn by(objects: &'o Objects, id: ObjectId) -> impl Iterator<Item = ParentRequest<'o>> {
        objects.get(id).into_iter().flat_map(move |route| {
            let parents = route.spec().list_at("parentRefs").iter().enumerate();
            parents.filter_map(move |(position, parent)| {
                let parent = Reference::parent(parent, &route.id.namespace)?;
                Some(ParentRequest::at(objects, id, position, parent))
            })
        })
    }

    fn at(objects: &'o Objects, by: ObjectId, position: usize, parent: Reference<'o>) -> ParentRequest<'o> {
        let level = api::level(parent.group, parent.kind);
        ParentRequest { by, position: position as u32, parent, level, found: parent.find(objects) }
    }

    /// The Gateway or ListenerSet whose listeners are meant.
    pub fn owner(&self) -> Option<ObjectId> {
        self.found.filter(|_| matches!(self.level, Level::Gateway | Level::ListenerSet))
    }
}

/// Lets routes in, one after the other.
#[derive(Debug)]
pub struct RouteAttacher<'i, 'o> {
    index: &'i Index<'o>,
    /// That of the route before: most live where it does.
    namespace: Namespace<'o>,
}

impl<'i, 'o> RouteAttacher<'i, 'o> {
    pub fn new(index: &'i Index<'o>) -> Self {
        RouteAttacher { index, namespace: Namespace::named(index.objects, "") }
    }

    /// Links a route to all the parents that it asks, each on its own.
    pub fn attach(&mut self, id: ObjectId, asked: impl Iterator<Item = ParentRequest<'o>>, found: &mut Found) {
        let Some(route) = self.index.objects.get(id) else { return };
        if route.id.namespace != self.namespace.name {
            self.namespace = Namespace::named(self.index.objects, &route.id.namespace);
        }
        let Some(guest) = RouteView::from(self.namespace, route) else { return };
        let (links, frontends) = (found.links.len(), found.frontends.len());
        for asked in asked {
            if guest.ask(self.index, &asked, found).is_err() {
                found.denied.push((id, StoredRefusal::Parent(asked.position)));
            }
        }
        dedup_after(links, &mut found.links);
        dedup_after(frontends, &mut found.frontends);
    }
}

/// Explains why the parentRef at a position, which is at that path, is refused.
pub fn explain(index: &Index<'_>, by: ObjectId, position: usize, path: Path) -> Option<RefusedLink> {
    let route = index.objects.get(by)?;
    let guest = RouteView::of(index, route)?;
    let parent = Reference::parent(route.spec().list_at("parentRefs").get(position)?, &route.id.namespace)?;
    let asked = ParentRequest::at(index.objects, by, position, parent);
    let closed = guest.ask(index, &asked, &mut Found::default()).err()?;
    let listeners = asked.found.map_or(&[][..], |owner| index.listeners(owner));
    let named = listeners.iter().filter(|listener| is_named(listener, &parent));
    let not_found = || ParentRefusal::NotFound(MissingObject::new(index.objects, &parent));
    let refusal = match closed {
        Closed::NoSuchParent => not_found(),
        Closed::NoSuchListener => ParentRefusal::NoSuchListener {
            parent: parent.object_ref(),
            section: parent.section.map(Into::into),
            port: parent.port,
            existing: listeners.iter().map(Into::into).collect(),
        },
        Closed::NotAllowed => ParentRefusal::NotAllowedByListeners(
            named.map(|listener| guest.closed_listener(listener, parent.namespace)).collect(),
        ),
        Closed::NoCommonHostname => ParentRefusal::NoCommonHostname {
            hostnames: guest.hostnames().map(Into::into).collect(),
            listeners: named
                .filter(|listener| guest.is_allowed(listener, parent.namespace))
                .map(|it| ListenerHostname { listener: it.name.into(), hostname: it.hostname.into() })
                .collect(),
        },
        Closed::NoSuchPort => {
            MissingPort::new(index.objects, &parent).map_or_else(not_found, ParentRefusal::NoSuchPort)
        }
    };
    Some(RefusedLink { parent: parent.into(), child: (&route.id).into(), cause: refusal.into(), by, path })
}

impl<'o> RouteView<'o> {
    /// Asks one parent, and takes note of the links that come of it.
    fn ask(&self, index: &Index<'o>, asked: &ParentRequest, found: &mut Found) -> Result<(), Closed> {
        let ParentRequest { by, parent, .. } = asked;
        match (asked.level, asked.found) {
            (Level::Gateway | Level::ListenerSet, Some(owner)) => {
                self.ask_listeners(index, NodeId::whole(*by), parent, owner, found)
            }
            (_, Some(service)) if api::is_frontend(parent.group, parent.kind) => {
                if missing_port(&index.objects[service], parent) {
                    return Err(Closed::NoSuchPort);
                }
                found.frontends.push((service, NodeId::whole(*by)));
                Ok(())
            }
            (Level::Route, Some(above)) if self.kind == RouteKind::Http && parent.kind == self.kind.name() => {
                found.adopted.push((above, *by));
                Ok(())
            }
            _ => Err(Closed::NoSuchParent),
        }
    }

    fn ask_listeners(
        &self,
        index: &Index<'o>,
        node: NodeId,
        parent: &Reference,
        owner: ObjectId,
        found: &mut Found,
    ) -> Result<(), Closed> {
        let (mut named, mut allowed, mut attached) = (false, false, false);
        for (position, listener) in index.listeners(owner).iter().enumerate() {
            if !is_named(listener, parent) {
                continue;
            }
            named = true;
            if !self.is_allowed(listener, parent.namespace) {
                continue;
            }
            allowed = true;
            if self.fits(listener) {
                attached = true;
                found.links.push((index.section(owner, position), node));
            }
        }
        match (named, allowed, attached) {
            (_, _, true) => Ok(()),
            (false, ..) => Err(Closed::NoSuchListener),
            (true, false, _) => Err(Closed::NotAllowed),
            (true, true, _) => Err(Closed::NoCommonHostname),
        }
    }

    /// Whether a listener, whose owner lives in `home`, lets in routes such as this one.
    fn is_allowed(&self, listener: &Listener, home: &str) -> bool {
        listener.kinds.contains(self.kind) && listener.allowed.allow(home, &self.namespace)
    }

    /// Why a listener, whose owner lives in `home`, does not allow it.
    fn closed_listener(&self, listener: &Listener, home: &str) -> ClosedListener {
        let name = listener.name.into();
        if listener.kinds.contains(self.kind) {
            ClosedListener::Namespace { listener: name, own: home.into(), allowed: listener.allowed.cloned() }
        } else {
            ClosedListener::Kind { listener: name, served: listener.kinds }
        }
    }

    fn fits(&self, listener: &Listener) -> bool {
        let mut hostnames = self.hostnames().peekable();
        hostnames.peek().is_none() || hostnames.any(|hostname| intersect(hostname, listener.hostname))
    }
}

pub fn parents(route: &Object) -> impl Iterator<Item = Reference<'_>> {
    let parents = route.spec().list_at("parentRefs").iter();
    parents.filter_map(|parent| Reference::parent(parent, &route.id.namespace))
}

/// Whether a route serves a mesh only: it has parents, and each is a Service.
pub fn is_mesh_only(route: &Object) -> bool {
    let mut parents = parents(route).peekable();
    parents.peek().is_some() && parents.all(|parent| api::is_frontend(parent.group, parent.kind))
}

impl Topology {
    /// The hostnames of an attached route, with their positions, that it has in common with none of its listeners.
    pub fn unused_hostnames<'o>(&self, objects: &'o Objects, route: NodeId) -> Vec<(usize, &'o str)> {
        let Some(object) = self[route].owner.object() else { return Vec::new() };
        let object = &objects[object];
        let hostnames = object.spec().list_at("hostnames");
        if hostnames.is_empty() || !RouteKind::named(&object.id.kind).is_some_and(RouteKind::has_hostnames) {
            return Vec::new();
        }
        // Whoever serves a mesh, or is delegated to, has no hostnames of listeners to go by.
        let parents = self.parents(route);
        if parents.iter().any(|parent| self[*parent].level != Level::Listener) {
            return Vec::new();
        }
        let listeners = parents.iter().filter_map(|parent| self.section_value(objects, *parent)).map(hostname_of);
        let unused = |hostname: &str| !listeners.clone().any(|other| intersect(hostname, other));
        let named = hostnames.iter().enumerate().filter_map(|(i, hostname)| Some((i, hostname.as_str()?)));
        named.filter(|(_, hostname)| unused(hostname)).collect()
    }
}

fn is_named(listener: &Listener, parent: &Reference) -> bool {
    parent.section.is_none_or(|section| section == listener.name)
        && parent.port.is_none_or(|port| port == listener.port)
}

fn missing_port(service: &Object, parent: &Reference) -> bool {
    let is_named = |port: &Value| {
        parent.section.is_none_or(|section| port.get_str("name") == Some(section))
            && parent.port.is_none_or(|number| sections::port(port) == Some(number))
    };
    let ports = service.spec().list_at("ports");
    (parent.section.is_some() || parent.port.is_some()) && !ports.is_empty() && !ports.iter().any(is_named)
}
