//! Objects as they will behave, and what did not attach.

use std::collections::BTreeMap;

use super::{Checking, Comparison, Trouble};
use crate::chain::ChainId;
use crate::object_merge::Merged;
use crate::policytest as expected;
use crate::topology::Owner;
use crate::value::{Map, Segment, Value};

pub fn behaviour(checking: &Checking<'_>, line: &expected::Behaviour) -> Result<(), Trouble> {
    let engine = checking.engine;
    let node = checking.nodes(&line.object, "object")?.into_iter().next();
    let Some(Owner::Object(id)) = node.map(|node| engine.topology().node(node).owner) else {
        return Err(Trouble::nothing(&line.object, "it is no object of its own"));
    };
    let mut variants = vec![engine.objects()[id].body.clone()];
    for model in engine.models() {
        let touches = |merged: &Merged| merged.path.starts_with(&line.at) || line.at.starts_with(&merged.path);
        let mut by_chain: BTreeMap<ChainId, Vec<Merged>> = BTreeMap::new();
        for merged in engine.merged(model, id).into_iter().filter(touches) {
            by_chain.entry(merged.chain).or_default().push(merged);
        }
        if !by_chain.is_empty() {
            let each = |body: &Value| by_chain.values().map(|merged| with_all(body, merged)).collect::<Vec<_>>();
            variants = variants.iter().flat_map(each).collect();
        }
    }
    variants.iter().try_for_each(|body| {
        let actual = line.at.resolve(body).cloned().unwrap_or_default();
        let mut comparison = Comparison::default();
        comparison.add("value", line.value.clone(), actual);
        comparison.result(|| format!("{} at {}", engine.objects()[id].id, line.at))
    })
}

fn with_all(body: &Value, merged: &[Merged]) -> Value {
    merged.iter().fold(body.clone(), |body, merged| put(&body, merged.path.segments(), &merged.value))
}

/// `body` with `value` at a path. Items are not added to lists.
fn put(body: &Value, path: &[Segment], value: &Value) -> Value {
    match (path, body) {
        ([], _) => value.clone(),
        ([Segment::Key(key), rest @ ..], Value::Map(_) | Value::Null) => {
            let child = put(body.get(key).unwrap_or(&Value::Null), rest, value);
            Value::Map(body.as_map().cloned().unwrap_or_else(Map::default).with(key, child))
        }
        ([Segment::Index(index), rest @ ..], Value::List(items)) => {
            let put_in = |(i, item): (usize, &Value)| if i == *index { put(item, rest, value) } else { item.clone() };
            Value::list(items.iter().enumerate().map(put_in).collect())
        }
        _ => body.clone(),
    }
}

pub fn refused(checking: &Checking<'_>, line: &expected::Refused) -> Result<(), Trouble> {
    let names = |text: &str, wanted: &expected::NodeName| wanted.full_names().any(|name| name == text);
    let engine = checking.engine;
    let refused = engine.topology().refused(engine.objects()).iter();
    let mut refused = refused.filter(|it| names(&it.parent, &line.parent) && names(&it.child, &line.child));
    let about = || format!("{} below {}", line.child, line.parent);
    let Some(it) = refused.next() else { return Err(Trouble::nothing(about(), "it was not refused")) };
    let mut comparison = Comparison::default();
    comparison.add("reason", Value::Str(line.reason.clone()), Value::str(it.reason));
    if let Some(message) = &line.message {
        comparison.add_part("message", message, &it.message);
    }
    comparison.result(about)
}
