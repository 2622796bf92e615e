//! Empty groups of rules, lists and blocks, which set nothing.
//!
//! Otherwise an empty field, such as `limits: {}` or `when: []`, would win over the rules of other policies. In a
//! patch, an empty list is a value like any other, unless the whole block is empty.

use smol_str::SmolStr;

use crate::kinds::{Granularity, PolicyKind, Strategy, Units};
use crate::value::{Map, Segment, Value};

/// The rules of a block, without empty groups and lists. A block without rules is an empty map.
pub fn without_empties(spec: Map, kind: &PolicyKind, strategy: &Strategy) -> Map {
    let mut spec = Value::Map(spec);
    if has_empties(&spec) {
        let units = kind.units();
        if is_nothing(&spec, &units, &mut Vec::new()) {
            return Map::default();
        }
        if merges_rules(kind, strategy) {
            spec = pruned(&spec, &units, &mut Vec::new());
        }
    }
    match spec {
        Value::Map(map) if has_essentials(&map, kind) => map,
        _ => Map::default(),
    }
}

/// Whether a strategy takes rules as a whole, so that a group of rules is not a value itself.
fn merges_rules(kind: &PolicyKind, strategy: &Strategy) -> bool {
    let by_rule = |strategy: &Strategy| strategy.granularity() != Granularity::Leaf;
    by_rule(strategy)
        || [Strategy::ATOMIC, Strategy::NONE].contains(strategy)
            && (!kind.merging.rules.is_empty() || kind.merging.strategies.iter().any(by_rule))
}

/// Whether a block has one of the rules without which it counts as empty.
fn has_essentials(spec: &Map, kind: &PolicyKind) -> bool {
    let essential = &kind.merging.essential;
    essential.is_empty() || essential.iter().any(|pattern| !pattern.find(&Value::Map(spec.clone())).is_empty())
}

/// Whether a map or list is empty.
fn is_bare(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether a map, or a map in it, has an empty field.
fn has_empties(value: &Value) -> bool {
    value.entries().iter().any(|(_, child)| is_bare(child) || has_empties(child))
}

/// Whether a value contains no rule.
fn is_nothing(value: &Value, units: &Units, path: &mut Vec<Segment>) -> bool {
    match value {
        Value::List(items) => items.is_empty(),
        Value::Map(map) if map.is_empty() => units.is_whole(path) || !units.is_unit_map(path),
        Value::Map(map) if path.is_empty() || !units.is_unit_map(path) => {
            map.entries().iter().all(|(key, child)| within(path, key, |path| is_nothing(child, units, path)))
        }
        _ => false,
    }
}

/// A map without the fields that contain no rules.
fn pruned(map: &Value, units: &Units, path: &mut Vec<Segment>) -> Value {
    let mut kept = Vec::new();
    for (key, child) in map.entries() {
        let child = within(path, key, |path| match child {
            Value::List(items) if items.is_empty() => None,
            Value::Map(_) if !units.is_unit_map(path) => {
                Some(pruned(child, units, path)).filter(|map| !map.entries().is_empty())
            }
            other => Some(other.clone()),
        });
        kept.extend(child.map(|child| (key.clone(), child)));
    }
    Value::Map(Map::from_entries(kept))
}

fn within<T>(path: &mut Vec<Segment>, key: &SmolStr, run: impl FnOnce(&mut Vec<Segment>) -> T) -> T {
    path.push(Segment::Key(key.clone()));
    let result = run(path);
    path.pop();
    result
}
