//! Routes and their parents: which listeners, and which Services of a mesh, a route attaches to.

use super::api::{self, RouteKind};
use super::hostname::{intersect, narrower};
use super::index::{Found, Index, Refusal, dedup_after};
use super::listeners::Listener;
use super::namespaces::Namespace;
use super::reference::Reference;
use super::{Level, NodeId, Topology, sections, why};
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::value::{Path, Value};

/// A route that asks to be let in.
#[derive(Debug)]
pub struct Guest<'o> {
    pub id: &'o ObjectRef,
    pub kind: RouteKind,
    pub namespace: Namespace<'o>,
    hostnames: &'o [Value],
}

impl<'o> Guest<'o> {
    pub fn of(index: &Index<'o>, route: &'o Object) -> Option<Self> {
        let kind = RouteKind::named(&route.id.kind)?;
        let hostnames = if kind.has_hostnames() { route.spec().list_at("hostnames") } else { &[] };
        Some(Guest { id: &route.id, kind, namespace: Namespace::named(index.objects, &route.id.namespace), hostnames })
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

    fn fits(&self, listener: &Listener) -> bool {
        let mut hostnames = self.hostnames().peekable();
        hostnames.peek().is_none() || hostnames.any(|hostname| intersect(hostname, listener.hostname))
    }
}

/// Links a route to all its parents, each parentRef on its own.
pub fn attach<'o>(index: &Index<'o>, id: ObjectId, route: &'o Object, found: &mut Found) {
    let Some(guest) = Guest::of(index, route) else { return };
    let node = NodeId::whole(id);
    let (links, frontends) = (found.links.len(), found.frontends.len());
    for (position, parent) in route.spec().list_at("parentRefs").iter().enumerate() {
        let Some(parent) = Reference::parent(parent, &route.id.namespace) else { continue };
        let outcome = match (api::level(parent.group, parent.kind), parent.find(index.objects)) {
            (Level::Gateway | Level::ListenerSet, Some(owner)) => {
                attach_to_listeners(index, &guest, node, &parent, owner, found)
            }
            (_, Some(service)) if api::is_frontend(parent.group, parent.kind) => {
                attach_to_service(index, node, &parent, service, found)
            }
            (Level::Route, Some(above)) if guest.kind == RouteKind::Http && parent.kind == guest.kind.name() => {
                found.adopted.push((above, id));
                Ok(())
            }
            _ => Err(why::no_such_parent(index.objects, &parent)),
        };
        if let Err(refusal) = outcome {
            found.refuse((id, Path::parse("spec.parentRefs").index(position)), parent, guest.id, refusal);
        }
    }
    dedup_after(links, &mut found.links);
    dedup_after(frontends, &mut found.frontends);
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
        let Some(object) = self.node(route).owner.object() else { return Vec::new() };
        let object = objects.get(object);
        let hostnames = object.spec().list_at("hostnames");
        if hostnames.is_empty() || !RouteKind::named(&object.id.kind).is_some_and(RouteKind::has_hostnames) {
            return Vec::new();
        }
        let listeners = self.parents(route).iter().map(|parent| match self.node(*parent).level {
            Level::Listener => self.section_value(objects, *parent).map(Listener::read),
            _ => None,
        });
        // Whoever serves a mesh, or is delegated to, has no hostnames of listeners to go by.
        let Some(listeners) = listeners.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let unused = |hostname: &str| !listeners.iter().any(|listener| intersect(hostname, listener.hostname));
        let named = hostnames.iter().enumerate().filter_map(|(i, hostname)| Some((i, hostname.as_str()?)));
        named.filter(|(_, hostname)| unused(hostname)).collect()
    }
}

fn attach_to_listeners(
    index: &Index,
    guest: &Guest,
    node: NodeId,
    parent: &Reference,
    owner: ObjectId,
    found: &mut Found,
) -> Result<(), Refusal> {
    let listeners = index.listeners(owner);
    let home = parent.namespace;
    let (mut named, mut allowed, mut attached) = (false, false, false);
    for (position, listener) in listeners.iter().enumerate() {
        if !is_named(listener, parent) {
            continue;
        }
        named = true;
        if !(listener.kinds.contains(guest.kind) && listener.allowed.lets_in(home, &guest.namespace)) {
            continue;
        }
        allowed = true;
        if guest.fits(listener) {
            attached = true;
            found.links.push((index.section(owner, position), node));
        }
    }
    if attached {
        return Ok(());
    }
    let candidates = listeners.iter().filter(|listener| is_named(listener, parent));
    Err(match (named, allowed) {
        (false, _) => why::no_such_listener(parent, listeners),
        (true, false) => why::not_allowed(guest, home, candidates),
        (true, true) => {
            let lets_in = |listener: &&Listener| {
                listener.kinds.contains(guest.kind) && listener.allowed.lets_in(home, &guest.namespace)
            };
            why::no_common_hostname(guest, candidates.filter(lets_in))
        }
    })
}

fn attach_to_service(
    index: &Index,
    node: NodeId,
    parent: &Reference,
    service: ObjectId,
    found: &mut Found,
) -> Result<(), Refusal> {
    if missing_port(index.objects.get(service), parent) {
        return Err(why::no_such_port(index.objects.get(service), parent));
    }
    found.frontends.push((service, node));
    Ok(())
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
