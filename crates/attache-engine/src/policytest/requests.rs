//! Lines of `requests`: what is asked, and what must come of it.

use super::ExpectedRequest;
use super::name::NodeName;
use super::read::{parsed, word};
use crate::problem::Problem;
use crate::reader::DocumentReader;
use crate::request::Request;
use crate::value::Value;

const OUTCOMES: [&str; 6] = ["Backend", "Redirect", "Preflight", "NotFound", "InvalidBackend", "NoListener"];

pub fn read(line: &mut DocumentReader<'_, '_>) -> Option<ExpectedRequest> {
    let request = request(line);
    let gateway = line.text("gateway");
    let gateway = parsed(line, "gateway", gateway, |text| short(text, "Gateway"));
    let service = line.text("service");
    let service = parsed(line, "service", service, |text| short(text, "Service"));
    Some(ExpectedRequest {
        outcome: word(line, "outcome", &OUTCOMES),
        status: line.any("status").cloned(),
        reason: line.text("reason"),
        listener: line.text("listener"),
        route: name(line, "route"),
        rule: line.text("rule"),
        backend: name(line, "backend"),
        backends: by_name(line, "backends"),
        invalid: by_name(line, "invalid"),
        redirect: line.get("redirect").cloned(),
        rewrite: line.get("rewrite").cloned(),
        gateway: gateway.into_iter().next(),
        service: service.into_iter().next(),
        request: request?,
    })
}

fn request(line: &mut DocumentReader<'_, '_>) -> Option<Request> {
    let asked = line.required("request");
    let headers = line.pairs("headers");
    let (grpc, sni, from) = (line.flag("grpc"), line.text("sni"), line.text("from"));
    let (method, url) = asked.as_deref()?.split_once(' ').unwrap_or(("", asked.as_deref()?));
    let complain = |line: &mut DocumentReader<'_, '_>, field, Problem { message, help, .. }| {
        line.complain(Some(field), message, help);
    };
    let mut request = match Request::parse(if method.is_empty() { "GET" } else { method }, url.trim()) {
        Ok(request) => request,
        Err(problem) => {
            complain(line, "request", problem);
            return None;
        }
    };
    for (name, value) in headers {
        if let Err(problem) = request.add_header(&format!("{name}: {value}")) {
            complain(line, "headers", problem);
        }
    }
    request.grpc = grpc.unwrap_or(false);
    request.from = from.map(|from| from.to_string());
    request.sni = sni.map(|sni| sni.to_lowercase()).or(request.sni);
    Some(request)
}

/// `name` and `namespace/name`, too, where the kind goes without saying.
fn short(text: &str, kind: &str) -> Result<NodeName, String> {
    let full = text.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/'));
    if full { NodeName::parse(text) } else { NodeName::parse(&format!("{kind}/{text}")) }
}

/// A name, or null for none.
fn name(line: &mut DocumentReader<'_, '_>, field: &'static str) -> Option<Option<NodeName>> {
    if line.any(field)?.is_null() {
        return Some(None);
    }
    let text = line.text(field);
    parsed(line, field, text, NodeName::parse).pop().map(Some)
}

fn by_name(line: &mut DocumentReader<'_, '_>, field: &'static str) -> Vec<(NodeName, Value)> {
    let Some(given) = line.get(field) else { return Vec::new() };
    let entries = given.entries();
    if entries.is_empty() {
        line.complain(Some(field), format!("`{field}` must name backends, as in `Service/b1: 1`"), None);
    }
    let names = parsed(line, field, entries.iter().map(|(name, _)| name.clone()), NodeName::parse);
    names.into_iter().zip(entries.iter().map(|(_, value)| value.clone())).collect()
}
