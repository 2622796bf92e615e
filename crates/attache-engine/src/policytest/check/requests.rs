//! Checks how requests are served.

use smol_str::SmolStr;

use super::comparison::FieldComparison;
use super::{CheckError, Checker};
use crate::object::ObjectRef;
use crate::policytest::expectations::ExpectedRequest;
use crate::policytest::query::NodeQuery;
use crate::request::{Backend, Entrance, RequestTrace, SeveralGateways, service_named, trace, trace_any_gateway};
use crate::topology::{Level, NodeId};
use crate::value::Value;

pub fn check(checker: &Checker<'_>, expected: &ExpectedRequest) -> Result<(), CheckError> {
    let trace = follow(checker, expected)?;
    let (objects, topology) = (checker.engine.objects(), checker.engine.topology());
    let section = |node: Option<NodeId>| match node.and_then(|node| topology[node].section.clone()) {
        Some(section) => Value::Str(section),
        None => Value::Null,
    };
    let mut comparison = FieldComparison::default();
    if let Some(outcome) = &expected.outcome {
        comparison.add("outcome", Value::Str(outcome.clone()), Value::str(trace.outcome.name()));
    }
    if let Some(status) = &expected.status {
        let actual = trace.status.map_or(Value::Null, |status| Value::Int(status.into()));
        comparison.add("status", status.clone(), actual);
    }
    if let Some(reason) = &expected.reason {
        let actual = trace.explain(checker.engine.view(), &expected.request).unwrap_or_default();
        comparison.add_part("reason", reason, &actual);
    }
    if let Some(listener) = &expected.listener {
        comparison.add("listener", Value::Str(listener.clone()), section(trace.listener));
    }
    if let Some(route) = &expected.route {
        let actual: Vec<&ObjectRef> = trace.rule().map(|rule| topology.id(objects, rule)).into_iter().collect();
        compare_object(&mut comparison, "route", route.as_ref(), &actual);
    }
    if let Some(rule) = &expected.rule {
        comparison.add("rule", Value::Str(rule.clone()), section(trace.rule()));
    }
    if let Some(backend) = &expected.backend {
        let serving: Vec<&ObjectRef> = trace.serving_backends().map(|backend| &backend.id).collect();
        compare_object(&mut comparison, "backend", backend.as_ref(), &serving);
    }
    if !expected.backends.is_empty() {
        let weight = |backend: &Backend| Some(Value::Int(i64::try_from(backend.weight).unwrap_or(i64::MAX)));
        compare_backends(&mut comparison, "backends", &expected.backends, &trace, weight);
    }
    if !expected.invalid.is_empty() {
        let reason = |backend: &Backend| Some(Value::str(backend.fault()?.reason()));
        compare_backends(&mut comparison, "invalid", &expected.invalid, &trace, reason);
    }
    compare_given(&mut comparison, "redirect", expected.redirect.as_ref(), redirect(&trace));
    compare_given(&mut comparison, "rewrite", expected.rewrite.as_ref(), rewrite(&trace));
    comparison.result(|| format!("{} {}", expected.request.method, expected.request.url()))
}

fn follow<'e>(checker: &Checker<'e>, expected: &ExpectedRequest) -> Result<RequestTrace<'e>, CheckError> {
    let (view, request) = (checker.engine.view(), &expected.request);
    let first = |query: &NodeQuery, field| {
        let nodes = checker.nodes(query, field)?.into_iter();
        nodes.map(|node| view.topology.whole(node)).next().ok_or_else(|| checker.no_such_node(query, field))
    };
    let entrance = match (&expected.service, &expected.gateway) {
        (Some(service), _) => Some(Entrance::Service(first(service, "service")?)),
        (None, Some(gateway)) => Some(Entrance::Gateway(first(gateway, "gateway")?)),
        (None, None) => service_named(view, &request.host, request.from.as_deref()).map(Entrance::Service),
    };
    if let Some(entrance) = entrance {
        return Ok(trace(view, request, entrance, false));
    }
    let gateways = view.topology.nodes().filter(|(_, node)| node.level == Level::Gateway).map(|(node, _)| node);
    trace_any_gateway(view, request, gateways, false).map_err(|SeveralGateways(gateways)| {
        let names: Vec<String> = gateways.iter().map(|node| view.topology.name(view.objects, *node)).collect();
        let names = names.join(", ");
        let message = format!("several Gateways have a route for it: {names}; name one in `gateway`");
        CheckError::missing(format!("{} {}", request.method, request.url()), message)
    })
}

/// Compares an object with the actual ones, one of which must match. `None` means that there must be none.
fn compare_object(comparison: &mut FieldComparison, field: &str, expected: Option<&NodeQuery>, actual: &[&ObjectRef]) {
    let name = |id: &ObjectRef| Value::str(id.to_string());
    let matching = actual.iter().find(|id| expected.is_some_and(|query| query.matches(id)));
    let expected = match matching {
        Some(id) => name(id),
        None => expected.map_or(Value::Null, |query| Value::str(query.to_string())),
    };
    comparison.add(field, expected, matching.or(actual.first()).map_or(Value::Null, |id| name(id)));
}

/// Compares a property of all backends that have it.
fn compare_backends(
    comparison: &mut FieldComparison,
    field: &str,
    expected: &[(NodeQuery, Value)],
    trace: &RequestTrace<'_>,
    property: impl Fn(&Backend) -> Option<Value>,
) {
    let actual = trace.backends.iter().filter_map(|backend| Some((&backend.id, property(backend)?)));
    let actual: Vec<(&ObjectRef, Value)> = actual.collect();
    let full_name = |query: &NodeQuery| -> SmolStr {
        let id = actual.iter().map(|(id, _)| id).find(|id| query.matches(id));
        id.map_or_else(|| query.to_string(), |id| id.to_string()).into()
    };
    let expected = expected.iter().map(|(query, value)| (full_name(query), value.clone())).collect();
    let actual = actual.iter().map(|(id, value)| (id.to_string().into(), value.clone())).collect();
    comparison.add(field, Value::map(expected), Value::map(actual));
}

/// Compares the fields of a value that the test gives.
fn compare_given(comparison: &mut FieldComparison, field: &str, expected: Option<&Value>, actual: Value) {
    let Some(expected) = expected else { return };
    let given = |(key, _): &(SmolStr, Value)| (key.clone(), actual.get(key).cloned().unwrap_or_default());
    let actual =
        if actual.is_null() { actual.clone() } else { Value::map(expected.entries().iter().map(given).collect()) };
    comparison.add(field, expected.clone(), actual);
}

fn redirect(trace: &RequestTrace<'_>) -> Value {
    let Some(redirect) = &trace.filter_effects.redirect else { return Value::Null };
    Value::map(vec![
        ("scheme".into(), Value::str(&redirect.scheme)),
        ("host".into(), Value::str(&redirect.host)),
        ("port".into(), Value::Int(redirect.port.into())),
        ("path".into(), Value::str(&redirect.path)),
        ("status".into(), Value::Int(redirect.status.into())),
    ])
}

fn rewrite(trace: &RequestTrace<'_>) -> Value {
    let rewrite = &trace.filter_effects.rewrite;
    let parts = [("host", &rewrite.host), ("path", &rewrite.path)];
    let parts = parts.iter().filter_map(|(name, text)| Some(((*name).into(), Value::str(text.as_ref()?))));
    Value::map(parts.collect())
}
