//! Collects the expected and actual values of the fields that a test gives.

use super::CheckError;
use crate::policytest::Mismatch;
use crate::value::{Map, Value};

/// The compared fields of one expectation.
#[derive(Default)]
pub struct FieldComparison {
    expected: Map,
    actual: Map,
}

impl FieldComparison {
    pub fn add(&mut self, field: &str, expected: Value, actual: Value) {
        self.expected = self.expected.with(field, expected);
        self.actual = self.actual.with(field, actual);
    }

    /// Compares a text. The test gives a part of it.
    pub fn add_part(&mut self, field: &str, expected: &str, actual: &str) {
        let actual = if actual.contains(expected) { expected } else { actual };
        self.add(field, Value::str(expected), Value::str(actual));
    }

    /// Fails if any field differs. `about` describes the expectation.
    pub fn result(self, about: impl FnOnce() -> String) -> Result<(), CheckError> {
        if self.expected == self.actual {
            return Ok(());
        }
        let (expected, actual) = (Value::Map(self.expected), Value::Map(self.actual));
        Err(CheckError::Unmet { about: about(), mismatch: Mismatch::Different { expected, actual } })
    }
}
