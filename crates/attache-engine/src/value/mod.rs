//! Compact, immutable JSON values, and paths into them.

mod base64;
mod path;
mod shared;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use smol_str::SmolStr;

pub use path::{Path, Segment};
pub use shared::SharedValues;

pub(crate) use base64::decode_base64;

/// The maximum depth of nested lists and maps in a document. The deepest real documents are CRDs, with some 60 levels.
/// Values are walked recursively: this many levels fit on any stack.
pub const MAX_DEPTH: usize = 200;

/// A JSON value.
///
/// Lists and maps are shared: a clone only increments a counter. Maps are sorted by key, so two values are equal, and print
/// the same, regardless of the order in which they were written.
///
/// ```
/// use attache_engine::Value;
/// use serde_json::json;
///
/// let spec = Value::from(json!({"retries": {"attempts": 2}, "hosts": ["a", "b"]}));
/// assert_eq!(spec.at(&["retries", "attempts"]).and_then(Value::as_int), Some(2));
/// assert_eq!(spec.list_at("hosts").len(), 2);
/// assert_eq!(spec.get("timeout"), None);
/// assert_eq!(serde_json::to_string(&spec).unwrap(), r#"{"hosts":["a","b"],"retries":{"attempts":2}}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without a fraction.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A string.
    Str(SmolStr),
    /// An array.
    List(Arc<[Value]>),
    /// An object.
    Map(Map),
}

/// The entries of a JSON object, sorted by key, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map(Arc<[Entry]>);

/// A key and its value.
pub type Entry = (SmolStr, Value);

impl Map {
    /// A map with these entries. Of several entries with the same key, the last one is kept.
    pub fn from_entries(mut entries: Vec<Entry>) -> Self {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.reverse();
            entries.dedup_by(|a, b| a.0 == b.0);
            entries.reverse();
        }
        Map(entries.into())
    }

    /// A map with these entries, which must be sorted by key, each key once.
    pub(crate) fn sorted(entries: impl Iterator<Item = Entry>) -> Self {
        let map = Map(entries.collect());
        debug_assert!(map.0.is_sorted_by(|a, b| a.0 < b.0));
        map
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        // Most maps are small, and comparing a few short keys is faster than a binary search.
        if self.0.len() <= 8 {
            return self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v);
        }
        let at = self.0.binary_search_by(|(k, _)| k.as_str().cmp(key)).ok()?;
        Some(&self.0[at].1)
    }

    /// The entries, sorted by key.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
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

    /// This map without the keys for which `is_dropped` is true.
    pub fn without(&self, is_dropped: impl Fn(&str) -> bool) -> Map {
        if !self.0.iter().any(|(k, _)| is_dropped(k)) {
            return self.clone();
        }
        Map(self.0.iter().filter(|(k, _)| !is_dropped(k)).cloned().collect())
    }
}

impl Value {
    /// A string.
    pub fn str(text: impl Into<SmolStr>) -> Value {
        Value::Str(text.into())
    }

    /// A number: [`Value::Int`] if it has no fraction, because in JSON, and so in Kubernetes, 1.0 is 1.
    pub fn number(number: f64) -> Value {
        const LIMIT: f64 = (1_u64 << 63) as f64;
        if number.fract() == 0.0 && number.abs() < LIMIT { Value::Int(number as i64) } else { Value::Float(number) }
    }

    /// A JSON value, with its floats converted by `float`.
    pub(crate) fn from_json(json: &serde_json::Value, float: fn(f64) -> Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(bool) => Value::Bool(*bool),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(int) => Value::Int(int),
                None => float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::str(text),
            serde_json::Value::Array(items) => {
                Value::list(items.iter().map(|item| Value::from_json(item, float)).collect())
            }
            serde_json::Value::Object(fields) => {
                Value::map(fields.iter().map(|(key, value)| (key.into(), Value::from_json(value, float))).collect())
            }
        }
    }

    /// A list of these items.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(items.into())
    }

    /// A map with these entries. Of several entries with the same key, the last one is kept.
    pub fn map(entries: Vec<Entry>) -> Value {
        Value::Map(Map::from_entries(entries))
    }

    /// The field `key` of a map. `None` for other values.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The value at a sequence of nested fields.
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The string at the field `key` of a map.
    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The number of an integer.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of a list. Empty for other values.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The entries of a map. Empty for other values.
    pub fn entries(&self) -> &[Entry] {
        self.as_map().map_or(&[], Map::entries)
    }

    /// The items of the list at the field `key`. Empty if there is no such list.
    pub fn list_at(&self, key: &str) -> &[Value] {
        self.get(key).map_or(&[], Value::items)
    }

    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The name of this value's type in error messages, as in `a list`.
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

    /// The position of this value's type in the order of values.
    fn type_order(&self) -> u8 {
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
        self.type_order().hash(state);
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
            _ => self.type_order().cmp(&other.type_order()),
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

/// Floats stay floats: 1.0 is not 1. See [`Value::number`].
impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        Value::from_json(json, Value::Float)
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        Value::from(&json)
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
    fn a_number_without_a_fraction_is_an_integer() {
        assert_eq!(Value::number(-3.0), Value::Int(-3));
        assert_eq!(Value::number(0.5), Value::Float(0.5));
        assert_eq!(Value::number(1e19), Value::Float(1e19));
        assert_eq!(Value::from(serde_json::json!(1.0)), Value::Float(1.0));
    }

    #[test]
    fn the_last_of_several_entries_with_one_key_is_kept() {
        let map = Map::from_entries(vec![
            ("b".into(), Value::Int(1)),
            ("a".into(), Value::Int(2)),
            ("b".into(), Value::Int(3)),
        ]);
        assert_eq!(map.entries(), [("a".into(), Value::Int(2)), ("b".into(), Value::Int(3))]);
    }
}
