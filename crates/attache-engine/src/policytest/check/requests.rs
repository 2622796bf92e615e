//! Checks how requests are served.

use smol_str::SmolStr;

use super::comparison::Comparison;
use super::{CheckError, Checker};
use crate::policytest::expectations::ExpectedRequest;
use crate::policytest::query::NodeQuery;
use crate::request::{Backend, Entrance, RequestTrace, any_gateway, service_named, trace};
use crate::topology::{Level, NodeId};
use crate::value::Value;

pub fn check(checker: &Checker<'_>, expected: &ExpectedRequest) -> Result<(), CheckError> {
    let trace = follow(checker, expected)?;
    let topology = checker.engine.topology();
    let section = |node: Option<NodeId>| match node.and_then(|node| topology.node(node).section.clone()) {
        Some(section) => Value::Str(section),
        None => Value::Null,
    };
    let mut comparison = Comparison::default();
    if let Some(outcome) = &expected.outcome {
        comparison.add("outcome", Value::Str(outcome.clone()), Value::str(trace.outcome.name()));
    }
    if let Some(status) = &expected.status {
        let actual = trace.status.map_or(Value::Null, |status| Value::Int(status.into()));
        comparison.add("status", status.clone(), actual);
    }
    if let Some(reason) = &expected.reason {
        comparison.add_part("reason", reason, trace.reason.as_deref().unwrap_or_default());
    }
    if let Some(listener) = &expected.listener {
        comparison.add("listener", Value::Str(listener.clone()), section(trace.listener));
    }
    if let Some(route) = &expected.route {
        let actual = trace.rule().map(|rule| topology.whole(rule));
        let actual: Vec<String> =
            actual.map(|route| topology.name(checker.engine.objects(), route)).into_iter().collect();
        compare_name(&mut comparison, "route", route.as_ref(), &actual);
    }
    if let Some(rule) = &expected.rule {
        comparison.add("rule", Value::Str(rule.clone()), section(trace.rule()));
    }
    if let Some(backend) = &expected.backend {
        let serving = trace.backends.iter().filter(|backend| backend.serves());
        let serving: Vec<String> = serving.map(|backend| backend.name.clone()).collect();
        compare_name(&mut comparison, "backend", backend.as_ref(), &serving);
    }
    if !expected.backends.is_empty() {
        let weight = |backend: &Backend| Some(Value::Int(i64::try_from(backend.weight).unwrap_or(i64::MAX)));
        compare_each(&mut comparison, "backends", &expected.backends, &trace, weight);
    }
    if !expected.invalid.is_empty() {
        let reason =
            |backend: &Backend| backend.found.as_ref().err().map(|refusal| Value::str(refusal.reason().as_str()));
        compare_each(&mut comparison, "invalid", &expected.invalid, &trace, reason);
    }
    compare_part(&mut comparison, "redirect", expected.redirect.as_ref(), redirect(&trace));
    compare_part(&mut comparison, "rewrite", expected.rewrite.as_ref(), rewrite(&trace));
    comparison.result(|| format!("{} {}", expected.request.method, expected.request.url()))
}

fn follow(checker: &Checker<'_>, expected: &ExpectedRequest) -> Result<RequestTrace, CheckError> {
    let (view, request) = (checker.engine.view(), &expected.request);
    let first = |name: &NodeQuery, field| {
        let nodes = checker.nodes(name, field)?.into_iter();
        nodes.map(|node| view.topology.whole(node)).next().ok_or_else(|| checker.no_such_node(name, field))
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
    any_gateway(view, request, gateways, false).map_err(|several| {
        let names: Vec<String> = several.iter().map(|node| view.topology.name(view.objects, *node)).collect();
        let message = format!("several gateways have a route for it: {}; say which, in `gateway`", names.join(", "));
        CheckError::missing(format!("{} {}", request.method, request.url()), message)
    })
}

/// One of the names that are there, or none.
fn compare_name(comparison: &mut Comparison, field: &str, expected: Option<&NodeQuery>, actual: &[String]) {
    let is_it = |name: &&String| expected.is_some_and(|expected| expected.full_names().any(|full| full == **name));
    let shown = actual.iter().find(is_it).or(actual.first()).map_or(Value::Null, Value::str);
    let expected = match actual.iter().find(is_it) {
        Some(name) => Value::str(name),
        None => expected.map_or(Value::Null, |expected| Value::str(expected.to_string())),
    };
    comparison.add(field, expected, shown);
}

/// What all backends have, by their names.
fn compare_each(
    comparison: &mut Comparison,
    field: &str,
    expected: &[(NodeQuery, Value)],
    trace: &RequestTrace,
    of: impl Fn(&Backend) -> Option<Value>,
) {
    let actual = trace.backends.iter().filter_map(|backend| Some((backend.name.as_str().into(), of(backend)?)));
    let actual: Vec<(SmolStr, Value)> = actual.collect();
    let there = |name: &NodeQuery| {
        actual.iter().map(|(there, _)| there).find(|there| name.full_names().any(|full| full == **there)).cloned()
    };
    let expected =
        expected.iter().map(|(name, value)| (there(name).unwrap_or_else(|| name.to_string().into()), value.clone()));
    comparison.add(field, Value::map(expected.collect()), Value::map(actual));
}

/// As much of a value as the test says something about.
fn compare_part(comparison: &mut Comparison, field: &str, expected: Option<&Value>, actual: Value) {
    let Some(expected) = expected else { return };
    let part = |(key, _): &(SmolStr, Value)| (key.clone(), actual.get(key).cloned().unwrap_or_default());
    let actual =
        if actual.is_null() { actual.clone() } else { Value::map(expected.entries().iter().map(part).collect()) };
    comparison.add(field, expected.clone(), actual);
}

fn redirect(trace: &RequestTrace) -> Value {
    let Some(redirect) = &trace.filter_effects.redirect else { return Value::Null };
    Value::map(vec![
        ("scheme".into(), Value::str(&redirect.scheme)),
        ("host".into(), Value::str(&redirect.host)),
        ("port".into(), Value::Int(redirect.port.into())),
        ("path".into(), Value::str(&redirect.path)),
        ("status".into(), Value::Int(redirect.status.into())),
    ])
}

fn rewrite(trace: &RequestTrace) -> Value {
    let rewrite = &trace.filter_effects.rewrite;
    let parts = [("host", &rewrite.host), ("path", &rewrite.path)];
    let parts = parts.iter().filter_map(|(name, text)| Some(((*name).into(), Value::str(text.as_ref()?))));
    Value::map(parts.collect())
}
