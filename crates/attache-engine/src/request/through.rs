//! The way of a request through a gateway, from its listeners to the backends of a rule.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::backends::Resolve;
use super::client::{Request, Scheme};
use super::filters::FilterEffects;
use super::listener::{self, ListenerChoice, ListenerView, NoListener};
use super::not_chosen::NotChosenList;
use super::rules::{self, MatchedRule, Route};
use super::{RequestOutcome, RequestTrace, RuleMatch, host, matching};
use crate::engine_view::EngineView;
use crate::object::{Object, ObjectRef};
use crate::topology::api::{Protocol, RouteKind};
use crate::topology::{Level, NodeId, RefusalCause};

/// Follows a request through whichever of some gateways has a route for it. If several have one, those are given back.
pub fn any_gateway(
    view: EngineView<'_>,
    request: &Request,
    gateways: impl Iterator<Item = NodeId>,
    why: bool,
) -> Result<RequestTrace, Vec<NodeId>> {
    let mut traces: Vec<RequestTrace> = gateways.map(|it| gateway(view, request, it, why)).collect();
    let served: Vec<usize> = (0..traces.len()).filter(|at| traces[*at].rule().is_some()).collect();
    if let &[only] = served.as_slice() {
        return Ok(traces.swap_remove(only));
    }
    if !served.is_empty() {
        return Err(served.into_iter().filter_map(|at| traces[at].gateway).collect());
    }
    let listening: Vec<usize> = (0..traces.len()).filter(|at| traces[*at].listener.is_some()).collect();
    let mut trace = match listening.as_slice() {
        [] => {
            let Request { scheme, host, port, .. } = request;
            let closed = traces.iter().filter_map(|trace| trace.gateway);
            let closed = closed.flat_map(|gateway| listener::listeners(view, gateway).1);
            let closed = unserved(view, request, &closed.collect::<Vec<_>>());
            let reason = format!("no gateway listens for {} on port {port} and host `{host}`{closed}", scheme.name());
            let status = traces.iter().find_map(|trace| trace.status);
            RequestTrace::refused(RequestOutcome::NoListener, status, reason)
        }
        &[only] => return Ok(traces.swap_remove(only)),
        several => {
            let reason = format!("{} gateways listen for it, and none has a rule that matches", several.len());
            let status = several.iter().find_map(|at| traces[*at].status);
            RequestTrace::refused(RequestOutcome::NotFound, status, reason)
        }
    };
    trace.not_chosen = traces.into_iter().flat_map(|trace| trace.not_chosen).collect();
    let mut seen = HashSet::new();
    trace.not_chosen.retain(|other| seen.insert((other.node, other.reason.clone())));
    Ok(trace)
}

pub fn gateway(view: EngineView<'_>, request: &Request, gateway: NodeId, why: bool) -> RequestTrace {
    let mut not_chosen = NotChosenList { wanted: why, list: Vec::new() };
    let (listeners, closed) = listener::listeners(view, gateway);
    let (trace, taken) = match listener::receive(request, &listeners) {
        ListenerChoice::Taken(by) => (behind(view, request, &by, &mut not_chosen), Some(by)),
        ListenerChoice::Misdirected { by, better } => {
            let reason = format!(
                "the connection is made for listener `{}`, and `{}` is the one for host `{}`",
                by.listener.name, better.listener.name, request.host
            );
            (RequestTrace::refused(RequestOutcome::NotFound, Some(421), reason), Some(by))
        }
        ListenerChoice::Unknown { by } => {
            let reason = format!("listener `{}` is not for host `{}`", by.listener.name, request.host);
            (RequestTrace::refused(RequestOutcome::NotFound, Some(404), reason), Some(by))
        }
        ListenerChoice::NoListener(nobody) => (nobody_listens(view, request, gateway, nobody, &closed), None),
    };
    for listener in listeners.iter().filter(|listener| taken.is_none_or(|taken| taken.node != listener.node)) {
        not_chosen.add(listener.node, || listener::not_chosen(request, listener));
    }
    for listener in &closed {
        not_chosen.add(listener.node, || {
            let why = view.topology.why_unserved(view.objects, listener.node);
            format!("is not served: {}", why.map_or_else(String::new, |refused| refused.cause.to_string()))
        });
    }
    if why {
        not_attached(view, gateway, &listeners, &mut not_chosen);
    }
    RequestTrace {
        gateway: Some(gateway),
        listener: taken.map(|listener| listener.node),
        not_chosen: not_chosen.list,
        ..trace
    }
}

/// Says of routes that ask for this gateway why they are not attached to it.
fn not_attached(view: EngineView<'_>, gateway: NodeId, listeners: &[ListenerView], not_chosen: &mut NotChosenList) {
    let EngineView { objects, topology, .. } = view;
    let owners = listeners.iter().map(|listener| topology.id(objects, listener.node));
    let owners: BTreeSet<&ObjectRef> = owners.chain([topology.id(objects, gateway)]).collect();
    let refused = topology.refused(objects).iter().filter(|refused| owners.contains(&refused.parent.object));
    let refused: BTreeMap<&ObjectRef, &RefusalCause> = refused.map(|it| (&it.child.object, &it.cause)).collect();
    if refused.is_empty() {
        return;
    }
    for (node, _) in topology.nodes().filter(|(_, node)| node.level == Level::Route) {
        if let Some(cause) = refused.get(topology.id(objects, node)) {
            not_chosen.add(node, || format!("is not attached: {cause}"));
        }
    }
}

/// Names the listeners that would take a request if they were served, to follow a sentence.
fn unserved(view: EngineView<'_>, request: &Request, closed: &[ListenerView]) -> String {
    let suited = closed.iter().filter(|listener| listener::suits(request, listener));
    let names: Vec<String> = suited.map(|listener| view.topology.name(view.objects, listener.node)).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} would, and is not served"),
        several => format!("; {} would, and are not served", several.join(", ")),
    }
}

fn nobody_listens(
    view: EngineView<'_>,
    request: &Request,
    gateway: NodeId,
    nobody: NoListener,
    closed: &[ListenerView],
) -> RequestTrace {
    let gateway = view.topology.name(view.objects, gateway);
    let Request { port, scheme, .. } = request;
    let reason = match nobody {
        NoListener::Port => format!("{gateway} has no listener on port {port}"),
        NoListener::Protocol => format!("no listener of {gateway} on port {port} speaks {}", scheme.name()),
        NoListener::Name if *scheme == Scheme::Http => {
            format!("no listener of {gateway} on port {port} is for host `{}`", request.host)
        }
        NoListener::Name => match &request.sni {
            Some(name) => format!("no listener of {gateway} on port {port} is for the name `{name}`"),
            None => format!("no listener of {gateway} on port {port} takes clients that ask for no name"),
        },
    };
    let reason = reason + &unserved(view, request, closed);
    // Who finds a port closed, or makes no connection, gets no status.
    let status = (nobody == NoListener::Name && *scheme == Scheme::Http).then_some(404);
    RequestTrace::refused(RequestOutcome::NoListener, status, reason)
}

/// The way of a request that a listener has taken.
fn behind(
    view: EngineView<'_>,
    request: &Request,
    listener: &ListenerView,
    not_chosen: &mut NotChosenList,
) -> RequestTrace {
    let (kinds, name): (&[RouteKind], &str) = match listener.listener.protocol {
        Protocol::Http | Protocol::Https if request.grpc => (&[RouteKind::Grpc, RouteKind::Http], &request.host),
        Protocol::Http | Protocol::Https => (&[RouteKind::Http], &request.host),
        Protocol::Tls => (&[RouteKind::Tls], request.sni.as_deref().unwrap_or_default()),
        Protocol::Tcp => (&[RouteKind::Tcp], ""),
        Protocol::Udp => (&[RouteKind::Udp], ""),
        Protocol::Unknown => (&[], ""),
    };
    let routes = view.topology.children(listener.node);
    for &kind in kinds {
        let candidates = routes.iter().filter_map(|&node| {
            let route = of_kind(view, node, kind)?;
            match host::of_route(route, kind, listener.listener.hostname, name) {
                Some(hostname) => Some(Route { node, hostname }),
                None => {
                    others_hostnames(route, node, not_chosen);
                    None
                }
            }
        });
        let candidates: Vec<Route> = candidates.collect();
        if let Some(steps) = rules::choose(view, request, kind, candidates.iter().copied(), not_chosen) {
            let root = steps.first().map(|step| view.topology.whole(step.rule));
            let hostname = candidates.iter().find(|route| Some(route.node) == root).map_or("", |route| route.hostname);
            return RequestTrace { hostname: hostname.to_owned(), ..serve(view, request, steps) };
        }
    }
    of_other_kinds(view, routes, kinds, not_chosen);
    let reason = match routes.is_empty() {
        true => format!("no route is attached to listener `{}`", listener.listener.name),
        false => format!("no rule of a route on listener `{}` matches", listener.listener.name),
    };
    let speaks_http = matches!(listener.listener.protocol, Protocol::Http | Protocol::Https);
    RequestTrace::refused(RequestOutcome::NotFound, speaks_http.then_some(404), reason)
}

pub fn of_kind(view: EngineView<'_>, route: NodeId, kind: RouteKind) -> Option<&Object> {
    let route = &view.objects[view.topology.node(route).owner.object()?];
    (route.id.kind == kind.name()).then_some(route)
}

fn others_hostnames(route: &Object, node: NodeId, not_chosen: &mut NotChosenList) {
    not_chosen.add(node, || {
        let hostnames = route.spec().list_at("hostnames").iter().filter_map(|hostname| hostname.as_str());
        format!("is for {}", hostnames.collect::<Vec<_>>().join(", "))
    });
}

/// Says of routes of the wrong kind that they are.
pub fn of_other_kinds(view: EngineView<'_>, routes: &[NodeId], kinds: &[RouteKind], not_chosen: &mut NotChosenList) {
    for &route in routes {
        if of_kind(view, route, RouteKind::Grpc).is_some() && !kinds.contains(&RouteKind::Grpc) {
            not_chosen.add(route, || "is for gRPC: ask with `--grpc`".to_owned());
        }
    }
}

/// What a rule makes of a request that it serves.
pub fn serve(view: EngineView<'_>, request: &Request, steps: Vec<MatchedRule<'_>>) -> RequestTrace {
    let mut trace = RequestTrace::new(RequestOutcome::Backend);
    let resolve = Resolve::new(view);
    let mut filter_effects = FilterEffects::default();
    for step in &steps {
        let Some((route, rule)) = rules::rule(view, step.rule) else { continue };
        let prefix = step.fit.prefix.as_deref();
        filter_effects.apply(&resolve, request, route, rule.list_at("filters"), prefix);
        // Those of the last rule count.
        trace.backends = resolve.backends(request, route, rule, prefix);
        trace.rules.push(RuleMatch { rule: step.rule, matched: matching::describe(step.wanted, step.base.as_deref()) });
    }
    trace.filter_effects = filter_effects;
    let is_http = request.scheme.is_http();
    (trace.outcome, trace.status, trace.reason) = match (&trace.filter_effects.fault, &trace.filter_effects.redirect) {
        (Some(fault), _) => (RequestOutcome::InvalidBackend, Some(500), Some(fault.clone())),
        _ if trace.filter_effects.cors.as_ref().is_some_and(|cors| cors.preflight) => {
            (RequestOutcome::Preflight, Some(200), None)
        }
        (None, Some(redirect)) => (RequestOutcome::Redirect, Some(redirect.status), None),
        (None, None) if trace.backends.iter().any(|backend| backend.serves()) => {
            (RequestOutcome::Backend, is_http.then_some(200), None)
        }
        (None, None) => {
            let speaks_http = steps.last().is_some_and(|step| speaks_http(view, step.rule));
            (RequestOutcome::InvalidBackend, speaks_http.then_some(500), Some(no_backend(&trace)))
        }
    };
    match trace.outcome {
        RequestOutcome::Redirect => trace.backends.clear(),
        // Nothing goes on from here.
        RequestOutcome::Preflight => {
            trace.backends.clear();
            trace.filter_effects = FilterEffects { cors: trace.filter_effects.cors.take(), ..FilterEffects::default() };
        }
        _ => {}
    }
    trace
}

fn speaks_http(view: EngineView<'_>, rule: NodeId) -> bool {
    [RouteKind::Http, RouteKind::Grpc].into_iter().any(|kind| of_kind(view, rule, kind).is_some())
}

fn no_backend(trace: &RequestTrace) -> String {
    if trace.backends.is_empty() {
        return "the rule has no backends".to_owned();
    }
    let refusals = trace.backends.iter().filter(|backend| backend.weight > 0).filter_map(|it| it.found.as_ref().err());
    let faults: Vec<String> = refusals.map(ToString::to_string).collect();
    if faults.is_empty() { "all backends have weight 0".to_owned() } else { faults.join("; ") }
}
