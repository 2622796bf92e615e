//! The way of a request within a mesh: a client calls a Service, and the routes that have it as their parent decide.

use super::backends::Backend;
use super::client::{Request, Scheme};
use super::filters::FilterEffects;
use super::not_chosen::NotChosenList;
use super::rules::{self, Route};
use super::through::{of_kind, of_other_kinds, serve};
use super::{RequestOutcome, RequestTrace};
use crate::engine_view::EngineView;
use crate::object::Object;
use crate::topology::api::{RouteKind, is_frontend};
use crate::topology::{NodeId, routes, sections};

/// The Service that a client means by a host: `name.namespace`, `name.namespace.svc…`, or, from within its namespace,
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

pub fn call(view: EngineView<'_>, request: &Request, service: NodeId, why: bool) -> RequestTrace {
    let mut not_chosen = NotChosenList { wanted: why, list: Vec::new() };
    let trace = behind(view, request, service, &mut not_chosen);
    RequestTrace { service: Some(service), not_chosen: not_chosen.list, ..trace }
}

fn behind(view: EngineView<'_>, request: &Request, service: NodeId, not_chosen: &mut NotChosenList) -> RequestTrace {
    let EngineView { objects, topology, .. } = view;
    let id = topology.id(objects, service);
    let mut ports = topology.sections(service).filter_map(|port| {
        let number = sections::port(topology.section_value(objects, port)?)?;
        Some((port, number))
    });
    let port = ports.clone().find(|(_, number)| *number == i64::from(request.port)).map(|(port, _)| port);
    if port.is_none() && ports.next().is_some() {
        return RequestTrace::refused(RequestOutcome::NoListener, None, format!("{id} has no port {}", request.port));
    }
    let attached = topology.frontend(service).map_or(&[][..], |frontend| topology.children(frontend));
    let attached: Vec<NodeId> =
        attached.iter().copied().filter(|route| is_for_port(view, *route, service, request)).collect();
    let routes = of_client(view, request, &id.namespace, attached, not_chosen);
    if routes.is_empty() {
        return plain(request, id.to_string(), service, port);
    }
    let kinds: &[RouteKind] = match request.scheme {
        Scheme::Http | Scheme::Https if request.grpc => &[RouteKind::Grpc, RouteKind::Http, RouteKind::Tcp],
        Scheme::Http => &[RouteKind::Http, RouteKind::Tcp],
        Scheme::Https | Scheme::Tls => &[RouteKind::Tls, RouteKind::Tcp],
        Scheme::Tcp => &[RouteKind::Tcp],
        Scheme::Udp => &[RouteKind::Udp],
    };
    for &kind in kinds {
        let candidates = routes.iter().filter(|route| of_kind(view, **route, kind).is_some());
        let candidates = candidates.map(|node| Route { node: *node, hostname: "" });
        if let Some(steps) = rules::choose(view, request, kind, candidates, not_chosen) {
            return serve(view, request, steps);
        }
    }
    of_other_kinds(view, &routes, kinds, not_chosen);
    let reason = format!("no rule of a route on {id} matches");
    RequestTrace::refused(RequestOutcome::NotFound, request.scheme.is_http().then_some(404), reason)
}

/// Whether a route names the Service, or that port of it, as its parent.
fn is_for_port(view: EngineView<'_>, route: NodeId, service: NodeId, request: &Request) -> bool {
    let object = |node: NodeId| view.topology.node(node).owner.object().map(|id| &view.objects[id]);
    let (Some(route), Some(service)) = (object(route), object(service)) else { return false };
    let named = |section: &str| {
        let ports = service.spec().list_at("ports").iter();
        ports
            .clone()
            .any(|port| port.get_str("name") == Some(section) && sections::port(port) == Some(i64::from(request.port)))
    };
    routes::parents(route).any(|parent| {
        is_frontend(parent.group, parent.kind)
            && names(service, parent.kind, parent.namespace, parent.name)
            && parent.port.is_none_or(|port| port == i64::from(request.port))
            && parent.section.is_none_or(named)
    })
}

fn names(object: &Object, kind: &str, namespace: &str, name: &str) -> bool {
    object.id.kind == kind && object.id.namespace == namespace && object.id.name == name
}

/// The routes that count for a client: those of its own namespace, which it made as a consumer of a Service in another
/// one, take the place of those that the owner of the Service made.
fn of_client(
    view: EngineView<'_>,
    request: &Request,
    home: &str,
    attached: Vec<NodeId>,
    not_chosen: &mut NotChosenList,
) -> Vec<NodeId> {
    let namespace = |route: &NodeId| view.topology.id(view.objects, *route).namespace.as_str();
    let from = request.from.as_deref();
    let is_consumer = |route: &NodeId| namespace(route) != home;
    let has_own = attached.iter().any(|route| is_consumer(route) && Some(namespace(route)) == from);
    let (meant, passed): (Vec<NodeId>, Vec<NodeId>) =
        attached.into_iter().partition(|route| match is_consumer(route) {
            true => Some(namespace(route)) == from,
            false => !has_own,
        });
    for route in passed {
        not_chosen.add(route, || match is_consumer(&route) {
            true => format!("is for clients in namespace {} only", namespace(&route)),
            false => "gives way to routes of the client's own namespace".to_owned(),
        });
    }
    meant
}

/// Without routes, the Service serves what it is asked.
fn plain(request: &Request, name: String, service: NodeId, port: Option<NodeId>) -> RequestTrace {
    let backend = Backend {
        name,
        port: Some(i64::from(request.port)),
        weight: 1,
        found: Ok((service, port)),
        filter_effects: FilterEffects::default(),
    };
    RequestTrace {
        status: request.scheme.is_http().then_some(200),
        backends: vec![backend],
        ..RequestTrace::new(RequestOutcome::Backend)
    }
}
