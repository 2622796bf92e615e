//! Requests in a mesh: a client calls a Service, and the routes whose parent is the Service apply.

use super::backends::Backend;
use super::client_request::{Request, Scheme};
use super::filters::FilterEffects;
use super::gateway::{add_grpc_routes, route_of_kind};
use super::not_chosen::{NotChosenList, NotChosenReason};
use super::not_served::NotServedReason;
use super::respond::respond;
use super::rules::{self, CandidateRoute};
use super::trace::{RequestOutcome, RequestTrace};
use crate::engine_view::EngineView;
use crate::object::Object;
use crate::topology::api::{RouteKind, is_frontend};
use crate::topology::{NodeId, routes, sections};

/// The Service that a host names: `name.namespace.svc…`, or for a client in namespace `from` also `name.namespace` and
/// `name`.
pub fn service_named(view: EngineView<'_>, host: &str, from: Option<&str>) -> Option<NodeId> {
    let mut labels = host.splitn(3, '.');
    let name = labels.next()?;
    let (namespace, rest) = (labels.next(), labels.next());
    let is_full = rest.is_some_and(|rest| rest == "svc" || rest.starts_with("svc."));
    let namespace = match (namespace, rest) {
        (None, _) => from?,
        (Some(namespace), None) if from.is_some() => namespace,
        (Some(namespace), Some(_)) if is_full => namespace,
        _ => return None,
    };
    view.objects.lookup("", "Service", namespace, name).map(NodeId::whole)
}

/// Follows a request to a Service.
pub fn trace<'e>(view: EngineView<'e>, request: &Request, service: NodeId, why: bool) -> RequestTrace<'e> {
    let mut not_chosen = NotChosenList::new(why);
    let trace = through_routes(view, request, service, &mut not_chosen);
    RequestTrace { service: Some(service), not_chosen: not_chosen.list, ..trace }
}

fn through_routes<'e>(
    view: EngineView<'e>,
    request: &Request,
    service: NodeId,
    not_chosen: &mut NotChosenList<'e>,
) -> RequestTrace<'e> {
    let EngineView { objects, topology, .. } = view;
    let mut ports = topology.sections(service).filter_map(|port| {
        let number = sections::port(topology.section_value(objects, port)?)?;
        Some((port, number))
    });
    let port = ports.clone().find(|(_, number)| *number == i64::from(request.port)).map(|(port, _)| port);
    if port.is_none() && ports.next().is_some() {
        let reason = NotServedReason::NoServicePort(service);
        return RequestTrace::not_served(RequestOutcome::NoListener, None, reason);
    }
    let attached = topology.frontend(service).map_or(&[][..], |frontend| topology.children(frontend));
    let attached: Vec<NodeId> =
        attached.iter().copied().filter(|route| has_parent_port(view, *route, service, request)).collect();
    let routes = routes_for_client(view, request, service, attached, not_chosen);
    if routes.is_empty() {
        return without_routes(view, request, service, port);
    }
    let kinds: &[RouteKind] = match request.scheme {
        Scheme::Http | Scheme::Https if request.grpc => &[RouteKind::Grpc, RouteKind::Http, RouteKind::Tcp],
        Scheme::Http => &[RouteKind::Http, RouteKind::Tcp],
        Scheme::Https | Scheme::Tls => &[RouteKind::Tls, RouteKind::Tcp],
        Scheme::Tcp => &[RouteKind::Tcp],
        Scheme::Udp => &[RouteKind::Udp],
    };
    for &kind in kinds {
        let candidates = routes.iter().filter(|route| route_of_kind(view, **route, kind).is_some());
        let candidates = candidates.map(|node| CandidateRoute { node: *node, hostname: "" });
        if let Some(rules) = rules::choose(view, request, kind, candidates, not_chosen) {
            return respond(view, request, rules);
        }
    }
    add_grpc_routes(view, &routes, kinds, not_chosen);
    let status = request.scheme.is_http().then_some(404);
    RequestTrace::not_served(RequestOutcome::NotFound, status, NotServedReason::NoRule(service))
}

/// Whether a route has the Service, or the port of the request, as its parent.
fn has_parent_port(view: EngineView<'_>, route: NodeId, service: NodeId, request: &Request) -> bool {
    let object = |node: NodeId| view.topology[node].owner.object().map(|id| &view.objects[id]);
    let (Some(route), Some(service)) = (object(route), object(service)) else { return false };
    let is_port = |section: &str| {
        let mut ports = service.spec().list_at("ports").iter();
        ports.any(|port| port.get_str("name") == Some(section) && sections::port(port) == Some(i64::from(request.port)))
    };
    routes::parents(route).any(|parent| {
        is_frontend(parent.group, parent.kind)
            && is_named(service, parent.kind, parent.namespace, parent.name)
            && parent.port.is_none_or(|port| port == i64::from(request.port))
            && parent.section.is_none_or(is_port)
    })
}

fn is_named(object: &Object, kind: &str, namespace: &str, name: &str) -> bool {
    object.id.kind == kind && object.id.namespace == namespace && object.id.name == name
}

/// The routes that apply to the client. Consumer routes, which are in another namespace than the Service, apply to
/// clients of their own namespace only, and there they replace the routes of the Service's namespace.
fn routes_for_client<'e>(
    view: EngineView<'e>,
    request: &Request,
    service: NodeId,
    attached: Vec<NodeId>,
    not_chosen: &mut NotChosenList<'e>,
) -> Vec<NodeId> {
    let namespace = |node: NodeId| view.topology.id(view.objects, node).namespace.as_str();
    let from = request.from.as_deref();
    let is_consumer = |route: NodeId| namespace(route) != namespace(service);
    let has_own = attached.iter().any(|route| is_consumer(*route) && Some(namespace(*route)) == from);
    let (applying, others): (Vec<NodeId>, Vec<NodeId>) =
        attached.into_iter().partition(|route| match is_consumer(*route) {
            true => Some(namespace(*route)) == from,
            false => !has_own,
        });
    for route in others {
        not_chosen.add(route, || match is_consumer(route) {
            true => NotChosenReason::OtherConsumer(namespace(route)),
            false => NotChosenReason::ReplacedByConsumer,
        });
    }
    applying
}

/// Without routes, the Service itself is the backend.
fn without_routes<'e>(
    view: EngineView<'e>,
    request: &Request,
    service: NodeId,
    port: Option<NodeId>,
) -> RequestTrace<'e> {
    let backend = Backend {
        id: view.topology.id(view.objects, service).clone(),
        port: Some(i64::from(request.port)),
        weight: 1,
        resolved: Ok((service, port)),
        filter_effects: FilterEffects::default(),
    };
    let status = request.scheme.is_http().then_some(200);
    RequestTrace { status, backends: vec![backend], ..RequestTrace::new(RequestOutcome::Backend) }
}
