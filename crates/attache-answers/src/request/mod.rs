//! The gateway, listener, route, rule and backends that serve a request, and the policies that apply to it.

mod filters;
mod find;

use attache_engine::kinds::Pattern;
use attache_engine::request::{
    Backend, BackendFault, Entrance, OverriddenRuleValue, Request, RequestOutcome, RequestTrace, SeveralGateways,
    effective, overridden_in_rules, trace, trace_any_gateway,
};
use attache_engine::{Model, NodeId, NodeRef, ObjectRef, Scope, Value};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::effective::{EffectiveGroup, EffectivePolicyDocument};
use crate::error::QueryError;
use crate::scopes::{ScopeGroup, ScopeGroups, has_content};
use crate::snapshot::Snapshot;

pub use filters::{
    CorsDocument, DirectResponseDocument, FiltersDocument, HeaderDocument, MirrorDocument, RedirectDocument,
    RewriteDocument,
};

/// A request.
#[derive(Clone, Debug)]
pub struct RequestQuery {
    /// The request.
    pub request: Request,
    /// The receiver of the request.
    pub receiver: Receiver,
    /// The namespace of the receiver, if its name has none.
    pub namespace: Option<String>,
    /// Whether to explain why other listeners, routes and rules do not serve it.
    pub why: bool,
    /// The number of targets to name if an effective policy applies to several.
    pub names: usize,
}

/// The receiver of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// The Service that the host names, or else any Gateway.
    Any,
    /// A Gateway, as `NAMESPACE/NAME`.
    Gateway(String),
    /// A Gateway with this address.
    Address(std::net::IpAddr),
    /// A Service that a client in the mesh calls, as `NAMESPACE/NAME`.
    Service(String),
}

/// The document `RequestTrace`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestDocument {
    api_version: &'static str,
    kind: &'static str,
    /// How the request ends.
    pub outcome: RequestOutcome,
    /// The HTTP status of the response, if all backends are healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The gRPC status, if a gRPC call is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc_status: Option<&'static str>,
    /// Why the request is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The gateway that receives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<NodeRef>,
    /// The ListenerSet of the listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener_set: Option<NodeRef>,
    /// The name of the listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener: Option<String>,
    /// The Service that a client in the mesh calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<NodeRef>,
    /// The rules that delegate to the route, the highest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<NodeRef>,
    /// The route that serves the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<NodeRef>,
    /// The name of the rule that serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The backends of the rule.
    pub backends: Vec<BackendDocument>,
    /// The effects of the rule's filters.
    #[serde(flatten)]
    pub filters: FiltersDocument,
    /// Values of the rule that a policy overrides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<OverriddenRuleDocument>,
    /// What is unknown, and could change the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Why other listeners, routes and rules do not serve it, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Vec<NotChosenDocument>>,
    /// The effective policies that apply to it.
    pub effective: Vec<EffectivePolicyDocument>,
    /// The request: method and URL.
    #[serde(skip)]
    pub request: String,
    /// The listener, with its protocol, port and hostname.
    #[serde(skip)]
    pub listens: Option<(NodeRef, String)>,
    /// The namespace of a client in the mesh.
    #[serde(skip)]
    pub from: Option<String>,
    /// The rules that the request passes, with the match of each. The last one serves it.
    #[serde(skip)]
    pub rules: Vec<MatchedRuleDocument>,
    /// The hostname of the route that matches the request.
    #[serde(skip)]
    pub hostname: String,
    /// The effective policies, grouped by content.
    #[serde(skip)]
    pub groups: Vec<EffectiveGroup>,
}

/// A backend of a rule.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackendDocument {
    /// The object that the rule refers to. It may not exist.
    pub backend: ObjectRef,
    /// Its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// Its weight.
    pub weight: u64,
    /// Why its share of the requests gets an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<InvalidBackendDocument>,
    /// The effects of this backend's filters.
    #[serde(flatten)]
    pub filters: FiltersDocument,
    /// Whether requests are sent to it, and can be served.
    #[serde(skip)]
    pub serves: bool,
}

/// Why a backend cannot be used.
#[derive(Clone, Debug, Serialize)]
pub struct InvalidBackendDocument {
    /// The reason, as the Gateway API names it.
    pub reason: &'static str,
    /// Details of the reason.
    pub message: String,
}

/// A value of a rule that a policy overrides.
#[derive(Clone, Debug, Serialize)]
pub struct OverriddenRuleDocument {
    /// The path of the value in the rule.
    pub path: String,
    /// The policy.
    pub by: ObjectRef,
}

/// A listener, route or rule that does not serve the request.
#[derive(Clone, Debug, Serialize)]
pub struct NotChosenDocument {
    /// The listener, route or rule.
    pub node: NodeRef,
    /// Why it does not.
    pub reason: String,
}

/// A rule that the request passes.
#[derive(Clone, Debug)]
pub struct MatchedRuleDocument {
    /// The route of the rule.
    pub route: NodeRef,
    /// The rule.
    pub rule: NodeRef,
    /// The match of the rule that the request meets.
    pub matched: String,
}

/// Follows a request.
pub fn request(snapshot: &Snapshot, query: &RequestQuery) -> Result<RequestDocument, QueryError> {
    let trace = follow(snapshot, query)?;
    Ok(RequestDocument::new(snapshot, query, &trace))
}

/// Whether a request passes through a route or rule, or is sent to a backend. It is faster than the whole answer, which also has
/// the effective policies.
pub(crate) fn passes_through(snapshot: &Snapshot, query: &RequestQuery, object: &NodeRef) -> bool {
    let Ok(trace) = follow(snapshot, query) else { return false };
    let topology = snapshot.engine.topology();
    let mut passed = trace.rules.iter().flat_map(|passed| [topology.whole(passed.rule), passed.rule]);
    passed.any(|node| snapshot.node_ref(node) == *object)
        || trace.backends.iter().any(|it| it.serves() && it.id == object.object)
}

fn follow<'s>(snapshot: &'s Snapshot, query: &RequestQuery) -> Result<RequestTrace<'s>, QueryError> {
    let (view, request) = (snapshot.engine.view(), &query.request);
    let any = |gateways: Vec<NodeId>| {
        trace_any_gateway(view, request, gateways.into_iter(), query.why).map_err(|SeveralGateways(several)| {
            let gateways = several.iter().map(|gateway| snapshot.node_ref(*gateway).object).collect();
            QueryError::SeveralGateways { url: request.url(), gateways }
        })
    };
    let entrance = match &query.receiver {
        Receiver::Service(name) => Entrance::Service(find::service(snapshot, name, query.namespace.as_deref())?),
        Receiver::Gateway(name) => Entrance::Gateway(find::gateway(snapshot, name, query.namespace.as_deref())?),
        Receiver::Address(address) => return any(find::gateways_at(snapshot, *address)?),
        Receiver::Any => match find::service_of_host(snapshot, request) {
            Some(service) => Entrance::Service(service),
            None => return any(find::gateways(snapshot).map(|(node, _)| node).collect()),
        },
    };
    Ok(trace(view, request, entrance, query.why))
}

impl RequestDocument {
    fn new(snapshot: &Snapshot, query: &RequestQuery, trace: &RequestTrace<'_>) -> RequestDocument {
        let (topology, request) = (snapshot.engine.topology(), &query.request);
        let section = |node| topology[node].section.as_ref().map(ToString::to_string);
        let rules: Vec<MatchedRuleDocument> = trace
            .rules
            .iter()
            .map(|passed| MatchedRuleDocument {
                route: snapshot.node_ref(topology.whole(passed.rule)),
                rule: snapshot.node_ref(passed.rule),
                matched: passed.matched.to_string(),
            })
            .collect();
        let (last, delegating) = match rules.split_last() {
            Some((last, delegating)) => (Some(last), delegating),
            None => (None, &[][..]),
        };
        let owner = trace.listener.map(|listener| topology.whole(listener));
        let effective = effective(&snapshot.engine, request, trace);
        let overridden = overridden_in_rules(&snapshot.engine, trace, &effective);
        RequestDocument {
            api_version: API_VERSION,
            kind: "RequestTrace",
            outcome: trace.outcome,
            status: trace.status,
            grpc_status: trace.grpc_status().filter(|_| request.grpc),
            reason: trace.explain(snapshot.engine.view(), request),
            gateway: trace.gateway.map(|gateway| snapshot.node_ref(gateway)),
            listener_set: owner.filter(|owner| Some(*owner) != trace.gateway).map(|owner| snapshot.node_ref(owner)),
            listener: trace.listener.and_then(section),
            service: trace.service.map(|service| snapshot.node_ref(service)),
            via: delegating.iter().map(|rule| rule.rule.clone()).collect(),
            route: last.map(|rule| rule.route.clone()),
            rule: last.and_then(|rule| rule.rule.section.as_ref()).map(ToString::to_string),
            backends: trace.backends.iter().map(|backend| BackendDocument::new(request, backend, trace)).collect(),
            filters: filters(request, trace, &overridden),
            overridden: overridden.iter().map(|it| OverriddenRuleDocument::new(snapshot, it)).collect(),
            unknown: trace.unknown(),
            why: query.why.then(|| not_chosen(snapshot, trace)),
            effective: effective.iter().flat_map(|(model, scopes)| documents(snapshot, model, scopes)).collect(),
            request: request_line(request),
            listens: trace.listener.map(|node| (snapshot.node_ref(node), listens(snapshot, node))),
            from: request.from.clone(),
            rules,
            hostname: trace.hostname.to_owned(),
            groups: effective.iter().flat_map(|(model, scopes)| groups(snapshot, query, model, scopes)).collect(),
        }
    }
}

/// The effects of the rules' filters. A CORS filter that a policy overrides has none.
fn filters(request: &Request, trace: &RequestTrace<'_>, overridden: &[OverriddenRuleValue]) -> FiltersDocument {
    let cors = Pattern::parse("filters[*].cors");
    let mut filters = FiltersDocument::new(request, &[], &trace.filter_effects);
    filters.cors = filters.cors.filter(|_| overridden.iter().all(|it| it.path != cors));
    filters
}

impl OverriddenRuleDocument {
    fn new(snapshot: &Snapshot, it: &OverriddenRuleValue) -> OverriddenRuleDocument {
        OverriddenRuleDocument { path: it.path.to_string(), by: snapshot.policy_ref(it.by) }
    }
}

/// `GET http://example.com/`.
fn request_line(request: &Request) -> String {
    match (request.scheme.is_http(), request.grpc) {
        (true, false) => format!("{} {}", request.method, request.url()),
        (true, true) => format!("gRPC {}", request.url()),
        (false, _) => request.url(),
    }
}

/// `HTTPS on port 443 for *.example.com`.
fn listens(snapshot: &Snapshot, listener: NodeId) -> String {
    let spec = snapshot.engine.topology().section_value(snapshot.engine.objects(), listener);
    let spec = spec.unwrap_or(&Value::Null);
    let text = |field| spec.get_str(field).unwrap_or_default();
    let port = spec.get("port").and_then(Value::as_int).unwrap_or_default();
    let host = match (text("protocol"), text("hostname")) {
        ("TCP" | "UDP", _) => String::new(),
        (_, "") => " for any host".to_owned(),
        (_, hostname) => format!(" for {hostname}"),
    };
    format!("{} on port {port}{host}", text("protocol"))
}

fn documents(snapshot: &Snapshot, model: &Model, scopes: &[Scope]) -> Vec<EffectivePolicyDocument> {
    let has_content = |scope: &&Scope| has_content(model.effective(snapshot.engine.view(), scope.chain));
    let scopes = scopes.iter().filter(has_content);
    scopes.map(|scope| EffectivePolicyDocument::new(snapshot, model, scope)).collect()
}

fn groups(snapshot: &Snapshot, query: &RequestQuery, model: &Model, scopes: &[Scope]) -> Vec<EffectiveGroup> {
    let mut groups = ScopeGroups::default();
    for scope in scopes {
        if let Some(target) = scope.end() {
            groups.add(scope.chain, 1, target);
        }
    }
    let groups = groups.with_policies(snapshot, model);
    // A request takes one path to each target, so the path need not be named.
    let on_path = |group: &ScopeGroup| EffectiveGroup {
        extent: group.extent_of_targets(snapshot, model, query.names),
        ..EffectiveGroup::new(snapshot, model, group, query.names)
    };
    groups.iter().map(on_path).collect()
}

fn not_chosen(snapshot: &Snapshot, trace: &RequestTrace<'_>) -> Vec<NotChosenDocument> {
    let others = trace.not_chosen.iter();
    others.map(|it| NotChosenDocument { node: snapshot.node_ref(it.node), reason: it.reason.to_string() }).collect()
}

impl BackendDocument {
    fn new(request: &Request, backend: &Backend, trace: &RequestTrace<'_>) -> BackendDocument {
        BackendDocument {
            backend: backend.id.clone(),
            port: backend.port,
            weight: backend.weight,
            invalid: backend.fault().map(InvalidBackendDocument::from),
            filters: FiltersDocument::new(request, &trace.filter_effects.request_headers, &backend.filter_effects),
            serves: backend.serves(),
        }
    }
}

impl From<BackendFault<'_>> for InvalidBackendDocument {
    fn from(fault: BackendFault<'_>) -> InvalidBackendDocument {
        InvalidBackendDocument { reason: fault.reason(), message: fault.to_string() }
    }
}
