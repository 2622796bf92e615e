//! What a test expected and did not get.

use crate::object::SourceLocation;
use crate::value::{Path, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetExpectation {
    /// What was looked at: `ColorPolicy in Gateway/default/g1 > HTTPRoute/default/r1`.
    pub about: String,
    /// Where the test says what it expects.
    pub location: Option<SourceLocation>,
    pub mismatch: Mismatch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// There is nothing to compare with.
    Nothing {
        message: String,
    },
    Different {
        expected: Value,
        actual: Value,
    },
}

impl Mismatch {
    /// Where the expected and the actual differ: the deepest paths that both lead to.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        if let Mismatch::Different { expected, actual } = self {
            compare(expected, actual, Path::default(), &mut paths);
        }
        paths
    }
}

fn compare(expected: &Value, actual: &Value, path: Path, found: &mut Vec<Path>) {
    if expected == actual {
        return;
    }
    match (expected, actual) {
        (Value::Map(left), Value::Map(right)) => {
            let only_right = right.entries().iter().filter(|(key, _)| left.get(key).is_none());
            let mut keys: Vec<_> = left.entries().iter().chain(only_right).map(|(key, _)| key).collect();
            keys.sort_unstable();
            for key in keys {
                match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => compare(left, right, path.key(key.clone()), found),
                    _ => found.push(path.key(key.clone())),
                }
            }
        }
        (Value::List(left), Value::List(right)) if left.len() == right.len() => {
            for (i, (left, right)) in left.iter().zip(right.iter()).enumerate() {
                compare(left, right, path.index(i), found);
            }
        }
        _ => found.push(path),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_places_of_all_differences_are_found() {
        let different = Mismatch::Different {
            expected: json!({"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": 1, "f": [1]}).into(),
            actual: json!({"a": 1, "b": {"c": [1, 3], "d": "x"}, "f": [1, 2], "g": 2}).into(),
        };
        let paths: Vec<String> = different.paths().iter().map(Path::to_string).collect();
        assert_eq!(paths, ["b.c[1]", "e", "f", "g"]);
    }
}
