//! Sample requests that reach an object: one for each hostname and rule of its routes, if the request really arrives
//! there.

use std::collections::BTreeSet;

use attache_engine::request::Request;
use attache_engine::{Level, NodeId, NodeRef, Value};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::request::{Receiver, RequestQuery, passes_through};
use crate::snapshot::Snapshot;

/// The object to find requests for.
#[derive(Clone, Debug)]
pub struct SamplesQuery {
    /// The object: a route, a rule or a backend.
    pub object: ObjectQuery,
    /// The namespace of the object.
    pub namespace: Option<String>,
    /// The number of requests to return.
    pub most: usize,
}

/// The document `RequestSamples`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSamples {
    api_version: &'static str,
    kind: &'static str,
    /// The requests.
    pub items: Vec<RequestSample>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RequestSample {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The headers: `name: value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// The gateway that receives it, as `namespace/name`.
    pub gateway: String,
}

/// The number of requests that are tried for each requested one.
const TRIES: usize = 4;

/// Requests that reach an object.
pub fn samples(snapshot: &Snapshot, query: &SamplesQuery) -> Result<RequestSamples, QueryError> {
    let object = snapshot.find(&query.object, query.namespace.as_deref())?;
    let topology = snapshot.engine.topology();
    let nodes = snapshot.nodes(&object);
    let level = |node: NodeId| topology[node].level;
    let mut items: BTreeSet<RequestSample> = BTreeSet::new();
    if nodes.iter().all(|node| level(*node) >= Level::Route) {
        let above = topology.above(nodes.iter().copied());
        let routes = above.iter().chain(&nodes).copied().filter(|node| level(*node) == Level::Route);
        let tried: BTreeSet<RequestSample> = routes
            .take(query.most)
            .flat_map(|route| candidates(snapshot, route, query.most * TRIES))
            .take(query.most * TRIES)
            .collect();
        items.extend(tried.into_iter().filter(|sample| arrives(snapshot, sample, &object)).take(query.most));
    }
    Ok(RequestSamples { api_version: API_VERSION, kind: "RequestSamples", items: items.into_iter().collect() })
}

/// A request for each listener, hostname and rule of a route.
fn candidates(snapshot: &Snapshot, route: NodeId, most: usize) -> Vec<RequestSample> {
    let (topology, objects) = (snapshot.engine.topology(), snapshot.engine.objects());
    let Some(object) = topology[route].owner.object().map(|id| &objects[id]) else { return Vec::new() };
    let spec = object.body.get("spec").unwrap_or(&Value::Null);
    let listeners = topology.above([route]).into_iter().filter(|node| topology[*node].level == Level::Listener);
    let mut found = Vec::new();
    for listener in listeners {
        let Some(gateway) = topology.above([listener]).into_iter().find(|it| topology[*it].level == Level::Gateway)
        else {
            continue;
        };
        let gateway = topology.id(objects, gateway);
        let gateway = format!("{}/{}", gateway.namespace, gateway.name);
        let listens = topology.section_value(objects, listener).unwrap_or(&Value::Null);
        let (scheme, usual) = match listens.get_str("protocol") {
            Some("HTTP") => ("http", 80),
            Some("HTTPS") => ("https", 443),
            _ => continue,
        };
        let port = listens.get("port").and_then(Value::as_int).filter(|port| *port != usual);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        for host in hosts(spec, listens) {
            for rule in spec.list_at("rules") {
                let matches = rule.list_at("matches");
                let first = matches.first().unwrap_or(&Value::Null);
                let path = first.at(&["path", "value"]).and_then(Value::as_str).unwrap_or("/");
                let is_pattern = first.at(&["path", "type"]).and_then(Value::as_str) == Some("RegularExpression");
                let path = if is_pattern { "/" } else { path };
                let headers = first
                    .list_at("headers")
                    .iter()
                    .filter_map(|header| Some(format!("{}: {}", header.get_str("name")?, header.get_str("value")?)));
                found.push(RequestSample {
                    method: first.get_str("method").filter(|it| !it.is_empty()).unwrap_or("GET").to_owned(),
                    url: format!("{scheme}://{host}{port}{path}"),
                    headers: headers.collect(),
                    gateway: gateway.clone(),
                });
                if found.len() >= most {
                    return found;
                }
            }
        }
    }
    found
}

/// The hosts for which a listener passes requests to a route. A wildcard is replaced by a name.
fn hosts(route: &Value, listener: &Value) -> Vec<String> {
    let own: Vec<&str> = route.list_at("hostnames").iter().filter_map(Value::as_str).collect();
    let wanted = listener.get_str("hostname").filter(|host| !host.is_empty());
    let hosts = if own.is_empty() { vec![wanted.unwrap_or("any.example")] } else { own };
    let name = |host: &str| match (host.strip_prefix("*."), wanted) {
        (Some(_), Some(wanted)) if !wanted.starts_with("*.") => wanted.to_owned(),
        (Some(rest), _) => format!("any.{rest}"),
        (None, _) => host.to_owned(),
    };
    hosts.into_iter().map(name).collect()
}

/// Whether a request passes through an object, or ends at it.
fn arrives(snapshot: &Snapshot, sample: &RequestSample, object: &NodeRef) -> bool {
    let Ok(mut asked) = Request::parse(&sample.method, &sample.url) else { return false };
    if sample.headers.iter().any(|header| asked.add_header(header).is_err()) {
        return false;
    }
    let receiver = Receiver::Gateway(sample.gateway.clone());
    let query = RequestQuery { request: asked, receiver, namespace: None, why: false, names: 1 };
    passes_through(snapshot, &query, object)
}
