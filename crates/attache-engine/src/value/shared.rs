//! One copy of lists and maps that are equal.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{Entry, Map, Value};

/// The number of values after which those that occurred once are forgotten.
const WINDOW: usize = 1 << 16;

/// Lists and maps that values of many objects have in common. Most objects of a cluster are alike: the routes of a Gateway
/// have the same parents, and Services the same ports. With one copy of what is equal they take less memory.
///
/// ```
/// use attache_engine::{SharedValues, Value};
/// use serde_json::json;
///
/// let mut shared = SharedValues::default();
/// let [mut first, mut second] = ["a", "b"].map(|name| Value::from(json!({"name": name, "ports": [{"port": 80}]})));
/// shared.share(&mut first);
/// shared.share(&mut second);
/// assert_eq!(second, Value::from(json!({"name": "b", "ports": [{"port": 80}]})));
/// assert!(std::ptr::eq(first.list_at("ports"), second.list_at("ports")));
/// ```
#[derive(Debug, Default)]
pub struct SharedValues {
    /// Each with its hash.
    known: HashTable<(u64, Value)>,
    /// The number of values after the last time that some were forgotten.
    kept: usize,
}

impl SharedValues {
    /// Replaces the lists and maps in a value, and the value itself, by equal ones of earlier values.
    pub fn share(&mut self, value: &mut Value) {
        self.share_hashed(value);
    }

    /// Shares the parts of an object. What differs in every object, such as its name, is not looked for.
    pub(crate) fn share_body(&mut self, body: &mut Value) {
        for (key, field) in entries_mut(body).unwrap_or_default() {
            match entries_mut(field).filter(|_| key == "metadata") {
                Some(metadata) => metadata.iter_mut().for_each(|(_, field)| self.share(field)),
                None => self.share(field),
            }
        }
    }

    /// Shares a value, and returns its hash. A hash is computed from those of its parts, so that each part is visited once.
    fn share_hashed(&mut self, value: &mut Value) -> u64 {
        let state = FixedState::with_seed(0);
        let mut hasher = state.build_hasher();
        match value {
            Value::List(items) => {
                hasher.write_u8(b'[');
                match Arc::get_mut(items) {
                    Some(items) => items.iter_mut().for_each(|item| hasher.write_u64(self.share_hashed(item))),
                    // It is shared already.
                    None => items.iter().for_each(|item| hasher.write_u64(self.share_hashed(&mut item.clone()))),
                }
            }
            Value::Map(Map(entries)) => {
                hasher.write_u8(b'{');
                let mut add = |key: &str, hash: u64| {
                    hasher.write(key.as_bytes());
                    hasher.write_u64(hash);
                };
                match Arc::get_mut(entries) {
                    Some(entries) => {
                        for (key, item) in entries {
                            add(key, self.share_hashed(item));
                        }
                    }
                    None => {
                        for (key, item) in entries.iter() {
                            add(key, self.share_hashed(&mut item.clone()));
                        }
                    }
                }
            }
            scalar => return state.hash_one(scalar),
        }
        let hash = hasher.finish();
        match self.known.find(hash, |(_, known)| known == value) {
            Some((_, known)) => *value = known.clone(),
            None => {
                self.forget_single();
                self.known.insert_unique(hash, (hash, value.clone()), |(hash, _)| *hash);
            }
        }
        hash
    }

    /// Forgets values that are in one place only, or in none, from time to time.
    fn forget_single(&mut self) {
        if self.known.len() < WINDOW.max(2 * self.kept) {
            return;
        }
        self.known.retain(|(_, value)| match value {
            Value::List(items) => Arc::strong_count(items) > 2,
            Value::Map(Map(entries)) => Arc::strong_count(entries) > 2,
            _ => false,
        });
        self.kept = self.known.len();
        self.known.shrink_to(WINDOW.max(2 * self.kept), |(hash, _)| *hash);
    }
}

/// The entries of a map that is in one place only.
fn entries_mut(value: &mut Value) -> Option<&mut [Entry]> {
    match value {
        Value::Map(Map(entries)) => Arc::get_mut(entries),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(number: usize) -> Value {
        let metadata = json!({"name": format!("s{number}"), "uid": number.to_string(), "labels": {"even": number.is_multiple_of(2)}});
        Value::from(json!({"metadata": metadata, "spec": {"ports": [{"port": 80, "name": "http"}], "selector": {}}}))
    }

    #[test]
    fn a_shared_body_is_equal_to_the_original_and_shares_what_is_equal() {
        let mut shared = SharedValues::default();
        let mut bodies: Vec<Value> = (0..5).map(service).collect();
        bodies.iter_mut().for_each(|body| shared.share_body(body));
        assert_eq!(bodies, (0..5).map(service).collect::<Vec<_>>());
        let is_same = |a: usize, b: usize, path: &[&str]| {
            let [a, b] = [a, b].map(|it| bodies[it].at(path).map_or(&[][..], Value::entries));
            std::ptr::eq(a, b)
        };
        assert!(is_same(0, 1, &["spec"]) && is_same(0, 2, &["metadata", "labels"]));
        assert!(!is_same(0, 1, &["metadata", "labels"]) && !is_same(0, 2, &["metadata"]));
    }

    #[test]
    fn what_occurs_once_is_forgotten_and_what_is_shared_is_not() {
        let mut shared = SharedValues::default();
        let value = |number: usize| Value::from(json!([{"common": [1, 2, 3]}, {"number": number}]));
        let mut kept: Vec<Value> = Vec::new();
        for number in 0..WINDOW {
            let mut value = value(number);
            shared.share(&mut value);
            if number.is_multiple_of(100) {
                kept.push(value);
            }
        }
        assert!(shared.known.len() <= 2 * WINDOW, "{}", shared.known.len());
        assert!(kept.iter().all(|it| std::ptr::eq(it.items()[0].entries(), kept[0].items()[0].entries())));
        assert_eq!(kept[7], value(700));
    }

    #[test]
    fn keys_and_values_are_not_mixed_up() {
        let mut shared = SharedValues::default();
        let all = [json!({"a": "b"}), json!({"b": "a"}), json!(["a", "b"]), json!([["a"], "b"]), json!({}), json!([])];
        let mut values: Vec<Value> = all.iter().map(Value::from).collect();
        values.iter_mut().for_each(|value| shared.share(value));
        assert!(values.iter().zip(&all).all(|(value, json)| *value == Value::from(json)));
    }
}
