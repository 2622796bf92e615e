//! Reads the items of `expect.requests`: a request, and how it must be served.

use smol_str::SmolStr;

use super::{parsed, word};
use crate::document::DocumentReader;
use crate::policytest::expectations::ExpectedRequest;
use crate::policytest::query::NodeQuery;
use crate::problem::Problem;
use crate::request::Request;
use crate::value::Value;

const OUTCOMES: [&str; 8] =
    ["Backend", "Redirect", "DirectResponse", "Preflight", "NotFound", "InvalidBackend", "Unknown", "NoListener"];

pub fn read(item: &mut DocumentReader<'_, '_>) -> Option<ExpectedRequest> {
    let request = request(item);
    let gateway = item.text("gateway");
    let gateway = parsed(item, "gateway", gateway, |text| with_kind(text, "Gateway"));
    let service = item.text("service");
    let service = parsed(item, "service", service, |text| with_kind(text, "Service"));
    Some(ExpectedRequest {
        outcome: word(item, "outcome", &OUTCOMES),
        status: item.nullable("status").cloned(),
        reason: item.text("reason"),
        listener: item.text("listener"),
        route: node_or_null(item, "route"),
        rule: item.text("rule"),
        backend: node_or_null(item, "backend"),
        backends: by_backend(item, "backends"),
        invalid: by_backend(item, "invalid"),
        redirect: item.get("redirect").cloned(),
        rewrite: item.get("rewrite").cloned(),
        gateway: gateway.into_iter().next(),
        service: service.into_iter().next(),
        request: request?,
    })
}

fn request(item: &mut DocumentReader<'_, '_>) -> Option<Request> {
    let line = item.required::<SmolStr>("request");
    let headers = item.pairs("headers");
    let (grpc, sni, from) = (item.flag("grpc"), item.text("sni"), item.text("from"));
    let (method, url) = line.as_deref()?.split_once(' ').unwrap_or(("", line.as_deref()?));
    let report = |item: &mut DocumentReader<'_, '_>, field, Problem { message, help, .. }| {
        item.report(Some(field), message, help);
    };
    let mut request = match Request::parse(if method.is_empty() { "GET" } else { method }, url.trim()) {
        Ok(request) => request,
        Err(problem) => {
            report(item, "request", problem);
            return None;
        }
    };
    for (name, value) in headers {
        if let Err(problem) = request.add_header(&format!("{name}: {value}")) {
            report(item, "headers", problem);
        }
    }
    request.grpc = grpc.unwrap_or(false);
    request.from = from.map(|from| from.to_string());
    request.sni = sni.map(|sni| sni.to_lowercase()).or(request.sni);
    Some(request)
}

/// Parses `name` and `namespace/name` as well as the full form, where the field implies the kind.
fn with_kind(text: &str, kind: &str) -> Result<NodeQuery, String> {
    let has_kind = text.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/'));
    if has_kind { NodeQuery::parse(text) } else { NodeQuery::parse(&format!("{kind}/{text}")) }
}

/// A node, or null if there must be none.
fn node_or_null(item: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<Option<NodeQuery>> {
    if item.nullable(field)?.is_null() {
        return Some(None);
    }
    let text = item.text(field);
    parsed(item, field, text, NodeQuery::parse).pop().map(Some)
}

/// A map from backends to values.
fn by_backend(item: &mut DocumentReader<'_, '_>, field: &'static str) -> Vec<(NodeQuery, Value)> {
    let Some(map) = item.get(field) else { return Vec::new() };
    let entries = map.entries();
    if entries.is_empty() {
        item.report(Some(field), format!("`{field}` must name backends, for example `Service/b1: 1`"), None);
    }
    let backends = parsed(item, field, entries.iter().map(|(name, _)| name.clone()), NodeQuery::parse);
    backends.into_iter().zip(entries.iter().map(|(_, value)| value.clone())).collect()
}
