//! Requests to a Gateway: from its listeners to the rule of a route.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::client_request::{Request, Scheme};
use super::hostname::matching_hostname;
use super::listener::{self, ListenerChoice, ListenerCriterion, ListenerView};
use super::not_chosen::{NotChosenList, NotChosenReason};
use super::not_served::NotServedReason;
use super::respond::respond;
use super::rules::{self, CandidateRoute};
use super::trace::{RequestOutcome, RequestTrace};
use crate::engine_view::EngineView;
use crate::object::{Object, ObjectRef};
use crate::topology::api::{Protocol, RouteKind};
use crate::topology::{Level, NodeId, RefusalCause};
use crate::value::Value;

/// Several Gateways have a route for a request, and it is unknown which of them receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeveralGateways(pub Vec<NodeId>);

/// Follows a request through the one of several Gateways that has a route for it.
pub fn trace_any_gateway<'e>(
    view: EngineView<'e>,
    request: &Request,
    gateways: impl Iterator<Item = NodeId>,
    why: bool,
) -> Result<RequestTrace<'e>, SeveralGateways> {
    let mut traces: Vec<RequestTrace> = gateways.map(|gateway| trace(view, request, gateway, why)).collect();
    let routed: Vec<usize> = (0..traces.len()).filter(|at| traces[*at].rule().is_some()).collect();
    if let &[only] = routed.as_slice() {
        return Ok(traces.swap_remove(only));
    }
    if !routed.is_empty() {
        return Err(SeveralGateways(routed.into_iter().filter_map(|at| traces[at].gateway).collect()));
    }
    let listening: Vec<usize> = (0..traces.len()).filter(|at| traces[*at].listener.is_some()).collect();
    let mut trace = match listening.as_slice() {
        [] => {
            let gateways = traces.iter().filter_map(|trace| trace.gateway);
            let closed: Vec<ListenerView> = gateways.flat_map(|gateway| listener::listeners(view, gateway).1).collect();
            let status = traces.iter().find_map(|trace| trace.status);
            let reason = NotServedReason::NoGateway { not_served: would_accept(request, &closed) };
            RequestTrace::not_served(RequestOutcome::NoListener, status, reason)
        }
        &[only] => return Ok(traces.swap_remove(only)),
        several => {
            let status = several.iter().find_map(|at| traces[*at].status);
            let reason = NotServedReason::NoRuleOnGateways(several.len());
            RequestTrace::not_served(RequestOutcome::NotFound, status, reason)
        }
    };
    let mut seen = HashSet::new();
    let not_chosen = traces.into_iter().flat_map(|trace| trace.not_chosen);
    trace.not_chosen = not_chosen.filter(|other| seen.insert(other.clone())).collect();
    Ok(trace)
}

/// Follows a request through a Gateway.
pub fn trace<'e>(view: EngineView<'e>, request: &Request, gateway: NodeId, why: bool) -> RequestTrace<'e> {
    let mut not_chosen = NotChosenList::new(why);
    let (listeners, closed) = listener::listeners(view, gateway);
    let (trace, chosen) = match listener::choose(request, &listeners) {
        ListenerChoice::Accepted(listener) => (accepted(view, request, &listener, &mut not_chosen), Some(listener)),
        ListenerChoice::Misdirected { connected, responsible } => {
            let reason = NotServedReason::Misdirected { connected: connected.node, responsible: responsible.node };
            (RequestTrace::not_served(RequestOutcome::NotFound, Some(421), reason), Some(connected))
        }
        ListenerChoice::UnknownHost { connected } => {
            let reason = NotServedReason::UnknownHost(connected.node);
            (RequestTrace::not_served(RequestOutcome::NotFound, Some(404), reason), Some(connected))
        }
        ListenerChoice::NoListener(criterion) => {
            let not_served = would_accept(request, &closed);
            let reason = NotServedReason::NoListener { gateway, criterion, not_served };
            // A client that cannot connect gets no status.
            let connects = criterion == ListenerCriterion::Hostname && request.scheme == Scheme::Http;
            (RequestTrace::not_served(RequestOutcome::NoListener, connects.then_some(404), reason), None)
        }
    };
    for other in listeners.iter().filter(|listener| chosen.is_none_or(|chosen| chosen.node != listener.node)) {
        not_chosen.add(other.node, || listener::not_chosen(request, other));
    }
    for listener in &closed {
        not_chosen.add(listener.node, || {
            let refused = view.topology.why_unserved(view.objects, listener.node);
            NotChosenReason::ListenerNotServed(refused.map(|refused| &refused.cause))
        });
    }
    if why {
        unattached_routes(view, gateway, &listeners, &mut not_chosen);
    }
    let listener = chosen.map(|listener| listener.node);
    RequestTrace { gateway: Some(gateway), listener, not_chosen: not_chosen.list, ..trace }
}

/// Adds the routes that refer to a Gateway and are not attached to it.
fn unattached_routes<'e>(
    view: EngineView<'e>,
    gateway: NodeId,
    listeners: &[ListenerView],
    not_chosen: &mut NotChosenList<'e>,
) {
    let EngineView { objects, topology, .. } = view;
    let owners = listeners.iter().map(|listener| topology.id(objects, listener.node));
    let owners: BTreeSet<&ObjectRef> = owners.chain([topology.id(objects, gateway)]).collect();
    let refused = topology.refused(objects).iter().filter(|refused| owners.contains(&refused.parent.object));
    let refused: BTreeMap<NodeId, &RefusalCause> =
        refused.map(|refused| (NodeId::whole(refused.by), &refused.cause)).collect();
    for (node, cause) in refused {
        if topology[node].level == Level::Route {
            not_chosen.add(node, || NotChosenReason::RouteNotAttached(cause));
        }
    }
}

/// The unserved listeners that would accept a request.
fn would_accept(request: &Request, closed: &[ListenerView]) -> Vec<NodeId> {
    closed.iter().filter(|listener| listener::would_accept(request, listener)).map(|listener| listener.node).collect()
}

/// Follows a request that a listener has accepted.
fn accepted<'e>(
    view: EngineView<'e>,
    request: &Request,
    listener: &ListenerView<'e>,
    not_chosen: &mut NotChosenList<'e>,
) -> RequestTrace<'e> {
    let (kinds, name): (&[RouteKind], &str) = match listener.listener.protocol {
        Protocol::Http | Protocol::Https if request.grpc => (&[RouteKind::Grpc, RouteKind::Http], &request.host),
        Protocol::Http | Protocol::Https => (&[RouteKind::Http], &request.host),
        Protocol::Tls => (&[RouteKind::Tls, RouteKind::Tcp], request.sni.as_deref().unwrap_or_default()),
        Protocol::Tcp => (&[RouteKind::Tcp], ""),
        Protocol::Udp => (&[RouteKind::Udp], ""),
        Protocol::Unknown => (&[], ""),
    };
    let routes = view.topology.children(listener.node);
    for &kind in kinds {
        let candidates = routes.iter().filter_map(|&node| {
            let route = route_of_kind(view, node, kind)?;
            let hostname = matching_hostname(route, kind, listener.listener.hostname, name);
            if hostname.is_none() {
                not_chosen.add(node, || {
                    let hostnames = route.spec().list_at("hostnames").iter().filter_map(Value::as_str);
                    NotChosenReason::RouteHostnames(hostnames.collect())
                });
            }
            hostname.map(|hostname| CandidateRoute { node, hostname })
        });
        let candidates: Vec<CandidateRoute> = candidates.collect();
        if let Some(rules) = rules::choose(view, request, kind, candidates.iter().copied(), not_chosen) {
            let route = rules.first().map(|rule| view.topology.whole(rule.rule));
            let hostname = candidates.iter().find(|it| Some(it.node) == route).map_or("", |route| route.hostname);
            return RequestTrace { hostname, ..respond(view, request, rules) };
        }
    }
    add_grpc_routes(view, routes, kinds, not_chosen);
    let reason = match routes.is_empty() {
        true => NotServedReason::NoRoutes(listener.node),
        false => NotServedReason::NoRule(listener.node),
    };
    let speaks_http = matches!(listener.listener.protocol, Protocol::Http | Protocol::Https);
    RequestTrace::not_served(RequestOutcome::NotFound, speaks_http.then_some(404), reason)
}

/// The object of a route, if it is of this kind.
pub fn route_of_kind(view: EngineView<'_>, route: NodeId, kind: RouteKind) -> Option<&Object> {
    let route = &view.objects[view.topology[route].owner.object()?];
    (route.id.kind == kind.name()).then_some(route)
}

/// Adds the GRPCRoutes that are not considered because the request is not a gRPC call.
pub fn add_grpc_routes(
    view: EngineView<'_>,
    routes: &[NodeId],
    kinds: &[RouteKind],
    not_chosen: &mut NotChosenList<'_>,
) {
    if kinds.contains(&RouteKind::Grpc) {
        return;
    }
    for &route in routes {
        if route_of_kind(view, route, RouteKind::Grpc).is_some() {
            not_chosen.add(route, || NotChosenReason::RouteIsGrpc);
        }
    }
}
