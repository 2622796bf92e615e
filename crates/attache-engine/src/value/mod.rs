//! A compact, immutable JSON value. Lists and maps are shared, so a copy costs one counter; maps are
//! sorted by key, so equal values are equal byte for byte whatever order they were written in.

mod path;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use smol_str::SmolStr;

pub use path::{Path, Segment};

#[derive(Clone, Debug, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(SmolStr),
    List(Arc<[Value]>),
    Map(Map),
}

/// Entries sorted by key, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map(Arc<[Entry]>);

pub type Entry = (SmolStr, Value);

impl Map {
    /// Of entries with the same key, the last wins.
    pub fn from_entries(mut entries: Vec<Entry>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.reverse();
            entries.dedup_by(|a, b| a.0 == b.0);
            entries.reverse();
        }
        Map(entries.into())
    }

    /// Of entries that are sorted by key, each key once.
    pub(crate) fn sorted(entries: impl Iterator<Item = Entry>) -> Self {
        let map = Map(entries.collect());
        debug_assert!(map.0.is_sorted_by(|a, b| a.0 < b.0));
        map
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        // Most maps are small: comparing a few short keys beats a binary search's branches.
        if self.0.len() <= 8 {
            return self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v);
        }
        let at = self.0.binary_search_by(|(k, _)| k.as_str().cmp(key)).ok()?;
        Some(&self.0[at].1)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This map with `key` set to `value`.
    pub fn with(&self, key: &str, value: Value) -> Map {
        let mut entries = self.0.to_vec();
        match entries.binary_search_by(|(k, _)| k.as_str().cmp(key)) {
            Ok(at) => entries[at].1 = value,
            Err(at) => entries.insert(at, (key.into(), value)),
        }
        Map(entries.into())
    }

    /// This map without the entries that `drop` holds for.
    pub fn without(&self, drop: impl Fn(&str) -> bool) -> Map {
        if !self.0.iter().any(|(k, _)| drop(k)) {
            return self.clone();
        }
        Map(self.0.iter().filter(|(k, _)| !drop(k)).cloned().collect())
    }
}

impl Value {
    pub fn str(text: impl Into<SmolStr>) -> Value {
        Value::Str(text.into())
    }

    pub fn list(items: Vec<Value>) -> Value {
        Value::List(items.into())
    }

    pub fn map(entries: Vec<Entry>) -> Value {
        Value::Map(Map::from_entries(entries))
    }

    /// The field `key` of a map; `None` for anything else.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The value at a chain of fields.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        self.as_map().map_or(&[], Map::entries)
    }

    /// The items of the list at `key`; none if there is no such list.
    pub fn list_at(&self, key: &str) -> &[Value] {
        self.get(key).map_or(&[], Value::items)
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// What kind of value this is, in the words of an error message.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Str(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "an object",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Int(_) => 2,
            Value::Float(_) => 3,
            Value::Str(_) => 4,
            Value::List(_) => 5,
            Value::Map(_) => 6,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.total_cmp(b).is_eq(),
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b) || a == b,
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(&a.0, &b.0) || a.0 == b.0,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Value::Null => {}
            Value::Bool(bool) => bool.hash(state),
            Value::Int(number) => number.hash(state),
            Value::Float(number) => number.to_bits().hash(state),
            Value::Str(text) => text.hash(state),
            Value::List(items) => items.hash(state),
            Value::Map(map) => map.hash(state),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
            (Value::Str(a), Value::Str(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) => a.cmp(b),
            (Value::Map(a), Value::Map(b)) => a.0.cmp(&b.0),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(bool) => serializer.serialize_bool(*bool),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Str(text) => serializer.serialize_str(text),
            Value::List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Value::Map(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.entries() {
            out.serialize_entry(key, value)?;
        }
        out.end()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::str(text)
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(bool) => Value::Bool(bool),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(int) => Value::Int(int),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::Str(text.into()),
            serde_json::Value::Array(items) => Value::list(items.into_iter().map(Value::from).collect()),
            serde_json::Value::Object(fields) => {
                Value::map(fields.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn the_last_of_equal_keys_wins() {
        let map = Map::from_entries(vec![
            ("b".into(), Value::Int(1)),
            ("a".into(), Value::Int(2)),
            ("b".into(), Value::Int(3)),
        ]);
        assert_eq!(map.entries(), [("a".into(), Value::Int(2)), ("b".into(), Value::Int(3))]);
    }
}
