use attache_engine::model::{Model, Scope};
use attache_engine::request::{
    self, Backend, FilterEffects, HeaderChange, HeaderOperation, Mirror, Request, RequestTrace, header_after,
};
use serde::Serialize;

use crate::effective::{EffectivePolicy, effective_policy, says_something};
use crate::list::API_VERSION;
use crate::snapshot::Snapshot;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTraceDocument {
    api_version: &'static str,
    kind: &'static str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grpc_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listener_set: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listener: Option<String>,
    /// The Service that a client within a mesh calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    /// The rules that delegate to the route.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    via: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    backends: Vec<OfBackend>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mirrors: Vec<OfMirror>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect: Option<Redirect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewrite: Option<Rewrite>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    request_headers: Vec<Header>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    response_headers: Vec<Header>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<Other>>,
    effective: Vec<EffectivePolicy>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfBackend {
    backend: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<i64>,
    weight: u64,
    /// Why its share gets an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    invalid: Option<Invalid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewrite: Option<Rewrite>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    request_headers: Vec<Header>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    response_headers: Vec<Header>,
}

#[derive(Debug, Serialize)]
struct Invalid {
    reason: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
struct OfMirror {
    backend: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<i64>,
    percent: f64,
    /// Why no copy arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    invalid: Option<Invalid>,
}

#[derive(Debug, Serialize)]
struct Redirect {
    scheme: String,
    host: String,
    port: u16,
    path: String,
    status: u16,
}

#[derive(Debug, Serialize)]
struct Rewrite {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

#[derive(Debug, Serialize)]
struct Header {
    change: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// What the backend sees, of a header of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
}

#[derive(Debug, Serialize)]
struct Other {
    node: String,
    reason: String,
}

pub fn request_trace(
    input: &Snapshot,
    request: &Request,
    trace: &RequestTrace<'_>,
    effective: &[(Model, Vec<Scope>)],
    why: bool,
) -> RequestTraceDocument {
    let topology = input.engine.topology();
    let section = |node| topology[node].section.as_ref().map(ToString::to_string);
    let (rule, via) = match trace.rules.split_last() {
        Some((last, above)) => (Some(last.rule), above),
        None => (None, &[][..]),
    };
    let owner = trace.listener.map(|listener| topology.whole(listener)).filter(|owner| Some(*owner) != trace.gateway);
    let filter_effects = &trace.filter_effects;
    let items = effective.iter().flat_map(|(model, scopes)| {
        let says = |scope: &&Scope| says_something(model.effective(input.engine.view(), scope.chain));
        scopes.iter().filter(says).map(|scope| effective_policy(input, model, scope))
    });
    RequestTraceDocument {
        api_version: API_VERSION,
        kind: "RequestTrace",
        outcome: trace.outcome.name(),
        status: trace.status,
        grpc_status: trace.grpc_status().filter(|_| request.grpc),
        reason: trace.explain(input.engine.view(), request),
        gateway: trace.gateway.map(|gateway| input.name(gateway)),
        listener_set: owner.map(|owner| input.name(owner)),
        listener: trace.listener.and_then(section),
        service: trace.service.map(|service| input.name(service)),
        via: via.iter().map(|delegating| input.name(delegating.rule)).collect(),
        route: rule.map(|rule| input.name(topology.whole(rule))),
        rule: rule.and_then(section),
        backends: trace.backends.iter().map(|backend| of_backend(request, backend)).collect(),
        mirrors: filter_effects.mirrors.iter().map(of_mirror).collect(),
        redirect: filter_effects.redirect.as_ref().map(|it| Redirect {
            scheme: it.scheme.clone(),
            host: it.host.clone(),
            port: it.port,
            path: it.path.clone(),
            status: it.status,
        }),
        rewrite: of_rewrite(&filter_effects.rewrite),
        request_headers: request_headers(request, filter_effects),
        response_headers: response_headers(filter_effects),
        filters: filter_effects.extensions.iter().map(ToString::to_string).collect(),
        why: why.then(|| {
            let others = trace.not_chosen.iter();
            others.map(|it| Other { node: input.name(it.node), reason: it.reason.to_string() }).collect()
        }),
        effective: items.collect(),
    }
}

fn of_backend(request: &Request, backend: &Backend) -> OfBackend {
    let filter_effects = &backend.filter_effects;
    OfBackend {
        backend: backend.id.to_string(),
        port: backend.port,
        weight: backend.weight,
        invalid: invalid(backend),
        rewrite: of_rewrite(&filter_effects.rewrite),
        request_headers: request_headers(request, filter_effects),
        response_headers: response_headers(filter_effects),
    }
}

fn of_mirror(mirror: &Mirror) -> OfMirror {
    let Mirror { backend, percent } = mirror;
    OfMirror { backend: backend.id.to_string(), port: backend.port, percent: *percent, invalid: invalid(backend) }
}

fn invalid(backend: &Backend) -> Option<Invalid> {
    let refusal = backend.resolved.as_ref().err()?;
    Some(Invalid { reason: refusal.reason().as_str(), message: refusal.to_string() })
}

fn of_rewrite(rewrite: &request::Rewrite) -> Option<Rewrite> {
    (!rewrite.is_empty()).then(|| Rewrite { host: rewrite.host.clone(), path: rewrite.path.clone() })
}

fn request_headers(request: &Request, filter_effects: &FilterEffects) -> Vec<Header> {
    let changes = &filter_effects.request_headers;
    let of = |it: &HeaderChange| Header { result: header_after(request, changes, &it.name), ..of_header(it) };
    changes.iter().map(of).collect()
}

fn response_headers(filter_effects: &FilterEffects) -> Vec<Header> {
    filter_effects.response_headers.iter().map(of_header).collect()
}

fn of_header(header: &HeaderChange) -> Header {
    let change = match header.operation {
        HeaderOperation::Set => "Set",
        HeaderOperation::Add => "Add",
        HeaderOperation::Remove => "Remove",
    };
    Header { change, name: header.name.clone(), value: header.value.clone(), result: None }
}
