//! TCPRoutes and UDPRoutes on one listener. Their requests cannot be distinguished, so only the oldest route is served.
//! Some controllers serve no TCPRoute if the listener has TLSRoutes.

use super::gateways;
use crate::object::{ObjectRef, Objects};
use crate::topology::api::{GATEWAY_API, RouteKind};
use crate::topology::refusal::{ParentRefusal, RefusedLink};
use crate::topology::{Level, NodeId, Topology};
use crate::value::Path;

const KINDS: [RouteKind; 2] = [RouteKind::Tcp, RouteKind::Udp];

/// Whether an object is a route that can compete with a TCPRoute or UDPRoute.
pub fn can_compete(objects: &Objects, id: &ObjectRef) -> bool {
    let is = |kind: RouteKind| id.kind == kind.name() && id.group == GATEWAY_API;
    KINDS.into_iter().any(is) || is(RouteKind::Tls) && count(objects, RouteKind::Tcp) > 0
}

/// Whether any routes can compete.
pub fn may_compete(objects: &Objects) -> bool {
    KINDS.into_iter().any(|kind| count(objects, kind) > 1)
        || count(objects, RouteKind::Tcp) > 0 && count(objects, RouteKind::Tls) > 0
}

fn count(objects: &Objects, kind: RouteKind) -> usize {
    objects.of_kind(GATEWAY_API, kind.name()).len()
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
        let mut routes = routes(objects, topology, listener, kind).peekable();
        if routes.peek().is_some() {
            let served = match hiding_tls_route(objects, topology, listener, kind) {
                Some(_) => None,
                None => oldest(objects, topology, listener, kind),
            };
            idle.extend(routes.filter(|route| Some(*route) != served));
        }
    }
    idle
}

/// The refusal of a route that is not served on a listener.
pub fn explain(objects: &Objects, topology: &Topology, listener: NodeId, route: NodeId) -> Option<RefusedLink> {
    let by = route.object()?;
    let object = objects.get(by)?;
    let kind = RouteKind::named(&object.id.kind)?;
    let id = |route: NodeId| topology.id(objects, route).clone();
    let refusal = match hiding_tls_route(objects, topology, listener, kind) {
        Some(route) => ParentRefusal::BesideTlsRoute { route: id(route) },
        None => ParentRefusal::NotOldest { oldest: id(oldest(objects, topology, listener, kind)?) },
    };
    let (parent, path) = (topology.node_ref(objects, listener), Path::parse("spec.parentRefs"));
    Some(RefusedLink { parent, child: (&object.id).into(), cause: refusal.into(), by, path })
}

/// A TLSRoute on a listener whose controller then serves no routes of a kind.
fn hiding_tls_route(objects: &Objects, topology: &Topology, listener: NodeId, kind: RouteKind) -> Option<NodeId> {
    let tls_route = (kind == RouteKind::Tcp).then(|| oldest(objects, topology, listener, RouteKind::Tls))??;
    let features = gateways::controller_features(objects, topology, topology[listener].owner.object()?)?;
    (!features.tcp_beside_tls_routes).then_some(tls_route)
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
