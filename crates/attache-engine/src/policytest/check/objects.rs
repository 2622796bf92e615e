//! Checks fields of objects after policies have been merged into them, and references that are refused.

use std::collections::BTreeMap;

use super::comparison::FieldComparison;
use super::{CheckError, Checker};
use crate::chain::ChainId;
use crate::object_merge::Merged;
use crate::policytest::expectations::{ExpectedField, ExpectedRefusal};
use crate::policytest::query::NodeQuery;
use crate::topology::Owner;
use crate::value::{Map, Segment, Value};

/// The field must have the expected value for every chain that leads to the object.
pub fn field(checker: &Checker<'_>, expected: &ExpectedField) -> Result<(), CheckError> {
    let engine = checker.engine;
    let ExpectedField { object, path, value } = expected;
    let node = checker.nodes(object, "object")?.into_iter().next();
    let Some(Owner::Object(id)) = node.map(|node| engine.topology()[node].owner) else {
        return Err(CheckError::missing(object, "it is virtual: there is no such object"));
    };
    let mut variants = vec![engine.objects()[id].body.clone()];
    for model in engine.models() {
        let overlaps = |merged: &Merged| merged.path.starts_with(path) || path.starts_with(&merged.path);
        let mut by_chain: BTreeMap<ChainId, Vec<Merged>> = BTreeMap::new();
        for merged in engine.merged(model, id).into_iter().filter(overlaps) {
            by_chain.entry(merged.chain).or_default().push(merged);
        }
        if !by_chain.is_empty() {
            let each = |body: &Value| by_chain.values().map(|merged| with_all(body, merged)).collect::<Vec<_>>();
            variants = variants.iter().flat_map(each).collect();
        }
    }
    variants.iter().try_for_each(|body| {
        let actual = path.resolve(body).cloned().unwrap_or_default();
        let mut comparison = FieldComparison::default();
        comparison.add("value", value.clone(), actual);
        comparison.result(|| format!("{} at {path}", engine.objects()[id].id))
    })
}

fn with_all(body: &Value, merged: &[Merged]) -> Value {
    merged.iter().fold(body.clone(), |body, merged| with(&body, merged.path.segments(), &merged.value))
}

/// `body` with `value` at a path. No items are added to lists.
fn with(body: &Value, path: &[Segment], value: &Value) -> Value {
    match (path, body) {
        ([], _) => value.clone(),
        ([Segment::Key(key), rest @ ..], Value::Map(_) | Value::Null) => {
            let child = with(body.get(key).unwrap_or(&Value::Null), rest, value);
            Value::Map(body.as_map().cloned().unwrap_or_else(Map::default).with(key, child))
        }
        ([Segment::Index(index), rest @ ..], Value::List(items)) => {
            let replaced =
                |(i, item): (usize, &Value)| if i == *index { with(item, rest, value) } else { item.clone() };
            Value::list(items.iter().enumerate().map(replaced).collect())
        }
        _ => body.clone(),
    }
}

pub fn refusal(checker: &Checker<'_>, expected: &ExpectedRefusal) -> Result<(), CheckError> {
    let is_named = |name: &str, query: &NodeQuery| query.full_names().any(|full| full == name);
    let engine = checker.engine;
    let refused = engine.topology().refused(engine.objects()).iter();
    let mut refused = refused.filter(|it| {
        is_named(&it.parent.to_string(), &expected.parent) && is_named(&it.child.to_string(), &expected.child)
    });
    let about = || format!("{} below {}", expected.child, expected.parent);
    let Some(refused) = refused.next() else { return Err(CheckError::missing(about(), "it is not refused")) };
    let mut comparison = FieldComparison::default();
    comparison.add("reason", Value::Str(expected.reason.clone()), Value::str(refused.reason().as_str()));
    if let Some(message) = &expected.message {
        comparison.add_part("message", message, &refused.cause.to_string());
    }
    comparison.result(about)
}
