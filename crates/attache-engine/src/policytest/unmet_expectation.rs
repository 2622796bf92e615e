//! Expectations of a test that do not hold, and where the expected and the actual value differ.

use crate::object::SourceLocation;
use crate::value::{Path, Value};

/// An expectation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetExpectation {
    /// The subject of the expectation: `ColorPolicy in Gateway/default/g1 > HTTPRoute/default/r1`.
    pub about: String,
    /// The expectation in the file of the test.
    pub location: Option<SourceLocation>,
    /// How the actual result differs from it.
    pub mismatch: Mismatch,
}

/// How the actual result differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// There is no actual value, for example because the object does not exist.
    Missing {
        /// What is missing.
        message: String,
    },
    /// The values differ.
    Different {
        /// The value that the test gives.
        expected: Value,
        /// The actual value, restricted to the fields that the test gives.
        actual: Value,
    },
}

impl Mismatch {
    /// The deepest paths at which the expected and the actual value differ.
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
    fn the_paths_of_all_differences_are_found() {
        let different = Mismatch::Different {
            expected: json!({"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": 1, "f": [1]}).into(),
            actual: json!({"a": 1, "b": {"c": [1, 3], "d": "x"}, "f": [1, 2], "g": 2}).into(),
        };
        let paths: Vec<String> = different.paths().iter().map(Path::to_string).collect();
        assert_eq!(paths, ["b.c[1]", "e", "f", "g"]);
    }
}
