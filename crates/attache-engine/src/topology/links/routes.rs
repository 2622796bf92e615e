//! Routes and their parents: the listeners, and the Services of a mesh, that a route attaches to.

use smol_str::SmolStr;

use super::{FoundLinks, LinkContext, found, gateways};
use crate::object::{Object, ObjectId, Objects};
use crate::topology::api::{self, RouteKind};
use crate::topology::hostname::{intersect, narrower};
use crate::topology::listeners::Listener;
use crate::topology::namespaces::Namespace;
use crate::topology::reference::Reference;
use crate::topology::refusal::{
    ClosedListener, ListenerHostname, MissingObject, MissingPort, ParentRefusal, RefusedLink, StoredRefusal,
};
use crate::topology::{Level, NodeId, Topology, sections};
use crate::value::{Path, Value};

/// The fields of a route that determine the listeners it is attached to.
#[derive(Debug)]
pub struct RouteView<'o> {
    pub kind: RouteKind,
    pub namespace: Namespace<'o>,
    hostnames: &'o [Value],
}

impl<'o> RouteView<'o> {
    pub fn new(context: &LinkContext<'o>, route: &'o Object) -> Option<Self> {
        RouteView::in_namespace(Namespace::named(context.objects, &route.id.namespace), route)
    }

    fn in_namespace(namespace: Namespace<'o>, route: &'o Object) -> Option<Self> {
        let kind = RouteKind::named(&route.id.kind)?;
        let hostnames = if kind.has_hostnames() { route.spec().list_at("hostnames") } else { &[] };
        Some(RouteView { kind, namespace, hostnames })
    }

    /// Its hostnames. A route without hostnames matches any.
    pub fn hostnames(&self) -> impl Iterator<Item = &'o str> + Clone {
        self.hostnames.iter().filter_map(Value::as_str)
    }

    /// The hostnames of the route on a listener: the intersection, without hostnames that another listener serves
    /// alone.
    pub fn hostnames_on(&self, topology: &Topology, node: NodeId, listener: &Listener<'o>) -> Vec<&'o str> {
        let common = self.hostnames().filter_map(|hostname| narrower(hostname, listener.hostname));
        let hostnames: Vec<&str> = common.filter(|hostname| topology.serves(node, listener, hostname)).collect();
        if hostnames.is_empty() { vec![listener.hostname] } else { hostnames }
    }
}

/// Why a route is not attached to a parent, as a code without details.
#[derive(Clone, Copy, Debug)]
enum ParentFault {
    NotFound,
    NoSuchListener,
    NotAllowed,
    NoCommonHostname,
    NoSuchPort,
}

/// A parentRef of a route.
#[derive(Clone, Copy, Debug)]
pub struct ParentRequest<'o> {
    pub by: ObjectId,
    position: u32,
    parent: Reference<'o>,
    level: Level,
    /// The object that it refers to, if it exists.
    found: Option<ObjectId>,
}

impl<'o> ParentRequest<'o> {
    /// All parentRefs of a route; none if the route does not exist.
    pub fn all(objects: &'o Objects, id: ObjectId) -> impl Iterator<Item = ParentRequest<'o>> {
        objects.get(id).into_iter().flat_map(move |route| {
            let parents = route.spec().list_at("parentRefs").iter().enumerate();
            parents.filter_map(move |(position, parent)| {
                let parent = Reference::parent(parent, &route.id.namespace)?;
                Some(ParentRequest::new(objects, id, position, parent))
            })
        })
    }

    fn new(objects: &'o Objects, by: ObjectId, position: usize, parent: Reference<'o>) -> ParentRequest<'o> {
        let level = api::level(parent.group, parent.kind);
        ParentRequest { by, position: position as u32, parent, level, found: parent.find(objects) }
    }

    /// The Gateway or ListenerSet that it refers to.
    pub fn owner(&self) -> Option<ObjectId> {
        self.found.filter(|_| matches!(self.level, Level::Gateway | Level::ListenerSet))
    }
}

/// Attaches routes to their parents, one after the other.
#[derive(Debug)]
pub struct RouteAttacher<'i, 'o> {
    context: &'i LinkContext<'o>,
    /// The namespace of the previous route: most routes are in the same one.
    namespace: Namespace<'o>,
}

impl<'i, 'o> RouteAttacher<'i, 'o> {
    pub fn new(context: &'i LinkContext<'o>) -> Self {
        RouteAttacher { context, namespace: Namespace::named(context.objects, "") }
    }

    /// Links a route to its parents.
    pub fn attach(&mut self, id: ObjectId, requests: impl Iterator<Item = ParentRequest<'o>>, found: &mut FoundLinks) {
        let Some(route) = self.context.objects.get(id) else { return };
        if route.id.namespace != self.namespace.name {
            self.namespace = Namespace::named(self.context.objects, &route.id.namespace);
        }
        let Some(view) = RouteView::in_namespace(self.namespace, route) else { return };
        let (links, frontends) = (found.links.len(), found.frontends.len());
        for request in requests {
            if view.attach(self.context, &request, found).is_err() {
                found.refusals.push((id, StoredRefusal::Parent(request.position)));
            }
        }
        found::dedup_after(links, &mut found.links);
        found::dedup_after(frontends, &mut found.frontends);
    }
}

/// Explains why the parentRef at a position is refused. `path` leads to it.
pub fn explain(context: &LinkContext<'_>, by: ObjectId, position: usize, path: Path) -> Option<RefusedLink> {
    let route = context.objects.get(by)?;
    let view = RouteView::new(context, route)?;
    let parent = Reference::parent(route.spec().list_at("parentRefs").get(position)?, &route.id.namespace)?;
    let request = ParentRequest::new(context.objects, by, position, parent);
    let fault = view.attach(context, &request, &mut FoundLinks::default()).err()?;
    let listeners = request.found.map_or(&[][..], |owner| context.listeners(owner));
    let named = listeners.iter().filter(|listener| is_named(listener, &parent));
    let not_found = || ParentRefusal::NotFound(MissingObject::new(context.objects, &parent));
    let refusal = match fault {
        ParentFault::NotFound => not_found(),
        ParentFault::NoSuchListener => ParentRefusal::NoSuchListener {
            parent: parent.object_ref(),
            section: parent.section.map(Into::into),
            port: parent.port,
            existing: listeners.iter().map(Into::into).collect(),
        },
        ParentFault::NotAllowed => ParentRefusal::NotAllowedByListeners(
            named.map(|listener| view.closed_listener(listener, parent.namespace)).collect(),
        ),
        ParentFault::NoCommonHostname => {
            let allowing = named.filter(|listener| view.is_allowed(listener, parent.namespace));
            ParentRefusal::NoCommonHostname {
                hostnames: view.hostnames().map(Into::into).collect(),
                is_served_elsewhere: allowing.clone().any(|listener| view.matches_hostname(listener)),
                listeners: allowing
                    .map(|it| ListenerHostname { listener: it.name.into(), hostname: it.hostname.into() })
                    .collect(),
            }
        }
        ParentFault::NoSuchPort => {
            MissingPort::new(context.objects, &parent).map_or_else(not_found, ParentRefusal::NoSuchPort)
        }
    };
    Some(RefusedLink { parent: parent.into(), child: (&route.id).into(), cause: refusal.into(), by, path })
}

impl<'o> RouteView<'o> {
    /// Links the route to one parent.
    fn attach(
        &self,
        context: &LinkContext<'o>,
        request: &ParentRequest,
        found: &mut FoundLinks,
    ) -> Result<(), ParentFault> {
        let ParentRequest { by, parent, .. } = request;
        match (request.level, request.found) {
            (Level::Gateway | Level::ListenerSet, Some(owner)) => {
                self.attach_to_listeners(context, NodeId::whole(*by), parent, owner, found)
            }
            (_, Some(service)) if api::is_frontend(parent.group, parent.kind) => {
                if missing_port(&context.objects[service], parent) {
                    return Err(ParentFault::NoSuchPort);
                }
                found.frontends.push((service, NodeId::whole(*by)));
                Ok(())
            }
            (Level::Route, Some(above)) if self.kind == RouteKind::Http && parent.kind == self.kind.name() => {
                found.parent_routes.push((above, *by));
                Ok(())
            }
            _ => Err(ParentFault::NotFound),
        }
    }

    fn attach_to_listeners(
        &self,
        context: &LinkContext<'o>,
        node: NodeId,
        parent: &Reference,
        owner: ObjectId,
        found: &mut FoundLinks,
    ) -> Result<(), ParentFault> {
        let (mut named, mut allowed, mut attached) = (false, false, false);
        for (position, listener) in context.listeners(owner).iter().enumerate() {
            if !is_named(listener, parent) {
                continue;
            }
            named = true;
            if !self.is_allowed(listener, parent.namespace) {
                continue;
            }
            allowed = true;
            let listener_node = context.section(owner, position);
            if self.shares_hostname(context.topology, listener_node, listener) {
                attached = true;
                found.links.push((listener_node, node));
            }
        }
        match (named, allowed, attached) {
            (_, _, true) => Ok(()),
            (false, ..) => Err(ParentFault::NoSuchListener),
            (true, false, _) => Err(ParentFault::NotAllowed),
            (true, true, _) => Err(ParentFault::NoCommonHostname),
        }
    }

    /// Whether a listener of a Gateway or ListenerSet in namespace `own` allows the route.
    fn is_allowed(&self, listener: &Listener, own: &str) -> bool {
        listener.kinds.contains(self.kind) && listener.allowed.allow(own, &self.namespace)
    }

    /// Why a listener of a Gateway or ListenerSet in namespace `own` does not allow the route.
    fn closed_listener(&self, listener: &Listener, own: &str) -> ClosedListener {
        let name = listener.name.into();
        if listener.kinds.contains(self.kind) {
            ClosedListener::Namespace { listener: name, own: own.into(), allowed: listener.allowed.cloned() }
        } else {
            ClosedListener::Kind { listener: name, served: listener.kinds }
        }
    }

    fn shares_hostname(&self, topology: &Topology, node: NodeId, listener: &Listener) -> bool {
        let is_served = |hostname: &str| topology.serves(node, listener, hostname);
        let mut hostnames = self.hostnames().peekable();
        match hostnames.peek() {
            // It has the hostname of the listener, which no other listener can take.
            None => true,
            Some(_) => hostnames.any(|hostname| narrower(hostname, listener.hostname).is_some_and(is_served)),
        }
    }

    /// Whether the route shares a hostname with a listener, whatever other listeners serve.
    fn matches_hostname(&self, listener: &Listener) -> bool {
        let mut hostnames = self.hostnames().peekable();
        hostnames.peek().is_none() || hostnames.any(|hostname| intersect(hostname, listener.hostname))
    }
}

/// A Gateway or ListenerSet that a parentRef of a route refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteParent {
    /// The Gateway or ListenerSet.
    pub owner: NodeId,
    /// The Gateway.
    pub gateway: NodeId,
    /// The name of the listener that the parentRef names.
    pub section: Option<SmolStr>,
    /// This listener, if it exists.
    pub listener: Option<NodeId>,
    /// The listeners that match the parentRef and allow the route, whatever their hostnames.
    pub listeners: Vec<NodeId>,
}

/// The Gateways, and the ListenerSets that their Gateways allow, that the parentRefs of a route refer to.
pub fn route_parents(objects: &Objects, topology: &Topology, route: NodeId) -> Vec<RouteParent> {
    let Some(object) = route.object().and_then(|id| objects.get(id)) else { return Vec::new() };
    let namespace = Namespace::named(objects, &object.id.namespace);
    let Some(view) = RouteView::in_namespace(namespace, object) else { return Vec::new() };
    let is_listened_at =
        |it: &Reference<'_>| matches!(api::level(it.group, it.kind), Level::Gateway | Level::ListenerSet);
    let parents = parents(object).filter(is_listened_at).filter_map(|parent| {
        let owner = parent.find(objects)?;
        let gateway = NodeId::whole(gateways::admitting_gateway(objects, owner)?);
        let owner = NodeId::whole(owner);
        let is_open = |listener: &NodeId| {
            let spec = topology.section_value(objects, *listener).map(Listener::read);
            spec.is_some_and(|it| is_named(&it, &parent) && view.is_allowed(&it, parent.namespace))
        };
        Some(RouteParent {
            owner,
            gateway,
            section: parent.section.map(Into::into),
            listener: parent.section.and_then(|name| topology.section(owner, name)),
            listeners: topology.sections(owner).filter(is_open).collect(),
        })
    });
    parents.collect()
}

/// The parents that a route names.
pub fn parents(route: &Object) -> impl Iterator<Item = Reference<'_>> {
    let parents = route.spec().list_at("parentRefs").iter();
    parents.filter_map(|parent| Reference::parent(parent, &route.id.namespace))
}

/// Whether a route is for a mesh only: it has parents, and each is a Service.
pub fn is_mesh_only(route: &Object) -> bool {
    let mut parents = parents(route).peekable();
    parents.peek().is_some() && parents.all(|parent| api::is_frontend(parent.group, parent.kind))
}

/// Whether a parentRef matches this listener.
fn is_named(listener: &Listener, parent: &Reference) -> bool {
    parent.section.is_none_or(|section| section == listener.name)
        && parent.port.is_none_or(|port| port == listener.port)
}

/// Whether a parentRef names a port that the Service does not have.
fn missing_port(service: &Object, parent: &Reference) -> bool {
    let is_named = |port: &Value| {
        parent.section.is_none_or(|section| port.get_str("name") == Some(section))
            && parent.port.is_none_or(|number| sections::port(port) == Some(number))
    };
    let ports = service.spec().list_at("ports");
    (parent.section.is_some() || parent.port.is_some()) && !ports.is_empty() && !ports.iter().any(is_named)
}

/// The hostnames of a route, with their indexes, that match none of the listeners it is attached to.
pub fn unused_hostnames<'o>(objects: &'o Objects, topology: &Topology, route: NodeId) -> Vec<(usize, &'o str)> {
    let object = topology.node(route).and_then(|node| objects.get(node.owner.object()?));
    let Some(object) = object else { return Vec::new() };
    let hostnames = object.spec().list_at("hostnames");
    if hostnames.is_empty() || !RouteKind::named(&object.id.kind).is_some_and(RouteKind::has_hostnames) {
        return Vec::new();
    }
    // Mesh routes and delegated routes have no listeners to compare hostnames with.
    let parents = topology.parents(route);
    if parents.iter().any(|parent| topology[*parent].level != Level::Listener) {
        return Vec::new();
    }
    let listener = |parent: &NodeId| Some((*parent, Listener::read(topology.section_value(objects, *parent)?)));
    let listeners: Vec<(NodeId, Listener)> = parents.iter().filter_map(listener).collect();
    let is_unused = |hostname: &str| {
        !listeners.iter().any(|(node, listener)| {
            narrower(hostname, listener.hostname).is_some_and(|common| topology.serves(*node, listener, common))
        })
    };
    let positions = hostnames.iter().enumerate().filter_map(|(i, hostname)| Some((i, hostname.as_str()?)));
    positions.filter(|(_, hostname)| is_unused(hostname)).collect()
}
