//! Policies that set fields which the target object has too: the object as it will behave.

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::kinds::{Pattern, PatternStep};
use crate::model::Model;
use crate::object::{Object, ObjectId};
use crate::topology::NodeId;
use crate::value::{Map, Path, Segment, Value};

/// One place of an object into which policies merge, and what comes of it in one chain.
#[derive(Clone, Debug)]
pub struct Merged {
    pub path: Path,
    pub chain: ChainId,
    /// What the object itself says there.
    pub own: Value,
    pub value: Value,
    pub effective: EffectivePolicy,
}

impl Engine {
    /// What policies of one kind make of an object, at each place they merge into and for each chain that reaches it.
    pub fn merged(&self, model: &Model, id: ObjectId) -> Vec<Merged> {
        let object = &self.objects()[id];
        let mut merged = Vec::new();
        for into in model.kind.merging.merges_into.iter().filter(|into| into.kind == object.id.kind) {
            for path in places(&object.body, &into.path) {
                let own = path.resolve(&object.body).unwrap_or(&Value::Null);
                for &(chain, _) in model.chains_at(self.view(), self.node_of(model, object, id, &path)) {
                    let said = without_empty(own);
                    let effective = model.effective_over(self.view(), chain, &said);
                    let set = effective.spec.clone().unwrap_or_default();
                    let value = with_empty(&set, own);
                    merged.push(Merged { path: path.clone(), chain, own: said, value, effective });
                }
            }
        }
        merged
    }

    /// The section that a path leads into, if the kind knows sections, else the object.
    fn node_of(&self, model: &Model, object: &Object, id: ObjectId, path: &Path) -> NodeId {
        let whole = NodeId::whole(id);
        let _ = object;
        let section = path.segments().iter().find_map(|segment| match segment {
            Segment::Index(index) => self.topology().sections(whole).nth(*index),
            Segment::Key(_) => None,
        });
        section.filter(|section| !model.chains_at(self.view(), *section).is_empty()).unwrap_or(whole)
    }
}

/// The places in `body` that a pattern names. A field that is missing is a place too, but not in an item of a list:
/// items that lack it are of another sort.
fn places(body: &Value, pattern: &Pattern) -> Vec<Path> {
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

/// Null, and empty lists and strings, say nothing.
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
            let said = map.entries().iter().filter(|(_, child)| !is_empty(child));
            Value::Map(Map::from_entries(said.map(|(key, child)| (key.clone(), without_empty(child))).collect()))
        }
        empty if is_empty(empty) => Value::Map(Map::default()),
        other => other.clone(),
    }
}

/// `value`, with what `own` has empty and nobody has filled.
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
