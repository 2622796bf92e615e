//! Expected and actual values side by side, as far as a test gives them.

use super::CheckError;
use crate::policytest::Mismatch;
use crate::value::{Map, Value};

/// The compared fields of one expectation.
#[derive(Default)]
pub struct Comparison {
    expected: Map,
    actual: Map,
}

impl Comparison {
    pub fn add(&mut self, field: &str, expected: Value, actual: Value) {
        self.expected = self.expected.with(field, expected);
        self.actual = self.actual.with(field, actual);
    }

    /// Compares a text of which the test gives a part.
    pub fn add_part(&mut self, field: &str, expected: &str, actual: &str) {
        let actual = if actual.contains(expected) { expected } else { actual };
        self.add(field, Value::str(expected), Value::str(actual));
    }

    /// Fails if any field differs. `about` says what the expectation is about.
    pub fn result(self, about: impl FnOnce() -> String) -> Result<(), CheckError> {
        if self.expected == self.actual {
            return Ok(());
        }
        let (expected, actual) = (Value::Map(self.expected), Value::Map(self.actual));
        Err(CheckError::Unmet { about: about(), mismatch: Mismatch::Different { expected, actual } })
    }
}
