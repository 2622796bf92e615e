//! Policies that set fields which the target object has too: the object as it will behave.

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::kinds::{Pattern, PatternStep};
use crate::model::Model;
use crate::object::ObjectId;
use crate::topology::NodeId;
use crate::value::{Map, Path, Segment, Value};

/// A field of an object that policies merge into, for one chain.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Where the field is in the object.
    pub path: Path,
    /// The policies that reach it.
    pub chain: ChainId,
    /// What the object itself has there, without what is empty.
    pub own: Value,
    /// What the object behaves as if it had there.
    pub value: Value,
    /// The fold of the policies over what the object has, with origins and losses.
    pub effective: EffectivePolicy,
}

impl Engine {
    /// The object as it will behave: each field that policies of a kind merge into, for each chain that reaches it.
    pub fn merged(&self, model: &Model, id: ObjectId) -> Vec<Merged> {
        let object = &self.objects()[id];
        let mut merged = Vec::new();
        for into in model.kind.merging.merges_into.iter().filter(|into| into.kind == object.id.kind) {
            for path in matching_paths(&object.body, &into.path) {
                let own = path.resolve(&object.body).unwrap_or(&Value::Null);
                for &(chain, _) in model.chains_at(self.view(), self.merge_node(model, id, &path)) {
                    let present = without_empty(own);
                    let effective = model.effective_over(self.view(), chain, &present);
                    let set = effective.spec.clone().unwrap_or_default();
                    let value = with_empty(&set, own);
                    merged.push(Merged { path: path.clone(), chain, own: present, value, effective });
                }
            }
        }
        merged
    }

    /// The section that a path leads into if chains reach sections, or else the whole object.
    fn merge_node(&self, model: &Model, id: ObjectId, path: &Path) -> NodeId {
        let whole = NodeId::whole(id);
        let section = path.segments().iter().find_map(|segment| match segment {
            Segment::Index(index) => self.topology().sections(whole).nth(*index),
            Segment::Key(_) => None,
        });
        section.filter(|section| !model.chains_at(self.view(), *section).is_empty()).unwrap_or(whole)
    }
}

/// The paths in `body` that a pattern names. A missing field counts, but not in an item of a list: an item that lacks it
/// is of another type.
fn matching_paths(body: &Value, pattern: &Pattern) -> Vec<Path> {
    let mut found = vec![(Path::default(), Some(body), false)];
    for step in pattern.steps() {
        let mut next = Vec::new();
        for (path, value, listed) in found {
            match step {
                PatternStep::Key(key) => {
                    let child = value.and_then(|value| value.get(key));
                    if child.is_some() || !listed {
                        next.push((path.key(key.clone()), child, listed));
                    }
                }
                PatternStep::AnyKey => {
                    let entries = value.map_or(&[][..], Value::entries);
                    next.extend(entries.iter().map(|(key, child)| (path.key(key.clone()), Some(child), listed)));
                }
                PatternStep::AnyIndex => {
                    let items = value.map_or(&[][..], Value::items);
                    next.extend(items.iter().enumerate().map(|(i, child)| (path.index(i), Some(child), true)));
                }
            }
        }
        found = next;
    }
    found.into_iter().map(|(path, ..)| path).collect()
}

/// Whether a value counts as missing: null, and empty lists and strings.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Str(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let present = map.entries().iter().filter(|(_, child)| !is_empty(child));
            Value::Map(Map::from_entries(present.map(|(key, child)| (key.clone(), without_empty(child))).collect()))
        }
        empty if is_empty(empty) => Value::Map(Map::default()),
        other => other.clone(),
    }
}

/// `value`, with the empty fields of `own` that no policy has filled.
fn with_empty(value: &Value, own: &Value) -> Value {
    let (Value::Map(map), Value::Map(own)) = (value, own) else {
        return if value.is_null() { own.clone() } else { value.clone() };
    };
    let mut result = map.clone();
    for (key, child) in own.entries() {
        match result.get(key) {
            None if is_empty(child) => result = result.with(key, child.clone()),
            Some(set) if set.as_map().is_some() => result = result.with(key, with_empty(set, child)),
            _ => {}
        }
    }
    Value::Map(result)
}
