//! TCPRoutes and UDPRoutes on one listener. Their requests cannot be distinguished, so only the oldest route is served.

use crate::object::{ObjectRef, Objects};
use crate::topology::api::{GATEWAY_API, RouteKind};
use crate::topology::refusal::{ParentRefusal, RefusedLink};
use crate::topology::{Level, NodeId, Topology};
use crate::value::Path;

const KINDS: [RouteKind; 2] = [RouteKind::Tcp, RouteKind::Udp];

/// Whether an object is a route of one of these kinds.
pub fn is_stream_route(id: &ObjectRef) -> bool {
    KINDS.iter().any(|kind| id.kind == kind.name()) && id.group == GATEWAY_API
}

/// Whether there are several routes of one of these kinds.
pub fn may_compete(objects: &Objects) -> bool {
    KINDS.iter().any(|kind| objects.of_kind(GATEWAY_API, kind.name()).len() > 1)
}

/// The listeners that have routes of these kinds.
pub fn listeners(objects: &Objects, topology: &Topology) -> Vec<NodeId> {
    let routes = KINDS.iter().flat_map(|kind| objects.of_kind(GATEWAY_API, kind.name()));
    let parents = routes.flat_map(|route| topology.parents(NodeId::whole(*route)));
    let mut listeners: Vec<NodeId> =
        parents.copied().filter(|parent| topology[*parent].level == Level::Listener).collect();
    listeners.sort_unstable();
    listeners.dedup();
    listeners
}

/// The routes on a listener that are not served.
pub fn idle(objects: &Objects, topology: &Topology, listener: NodeId) -> Vec<NodeId> {
    let mut idle = Vec::new();
    for kind in KINDS {
        let oldest = oldest(objects, topology, listener, kind);
        let routes = routes(objects, topology, listener, kind);
        idle.extend(routes.filter(|route| Some(*route) != oldest));
    }
    idle
}

/// The refusal of a route that is not served on a listener.
pub fn explain(objects: &Objects, topology: &Topology, listener: NodeId, route: NodeId) -> Option<RefusedLink> {
    let by = route.object()?;
    let object = objects.get(by)?;
    let older = oldest(objects, topology, listener, RouteKind::named(&object.id.kind)?)?;
    let refusal = ParentRefusal::NotOldest { oldest: topology.id(objects, older).clone() };
    let (parent, path) = (topology.node_ref(objects, listener), Path::parse("spec.parentRefs"));
    Some(RefusedLink { parent, child: (&object.id).into(), cause: refusal.into(), by, path })
}

fn routes<'t>(
    objects: &'t Objects,
    topology: &'t Topology,
    listener: NodeId,
    kind: RouteKind,
) -> impl Iterator<Item = NodeId> + 't {
    let routes = topology.children(listener).iter().copied();
    routes.filter(move |route| topology.id(objects, *route).kind == kind.name())
}

fn oldest(objects: &Objects, topology: &Topology, listener: NodeId, kind: RouteKind) -> Option<NodeId> {
    let routes =
        routes(objects, topology, listener, kind).filter_map(|route| Some((route, objects.get(route.object()?)?)));
    routes.min_by(|(_, a), (_, b)| a.by_age(b)).map(|(route, _)| route)
}
