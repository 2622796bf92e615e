//! Untrusted CEL conditions over one variable, `spec`.
//!
//! [`guard`] evaluates any expression within a budget, and [`convert`] gives it the fields of a value that it reads.

mod convert;
mod guard;

use std::fmt;
use std::sync::{Arc, OnceLock};

pub use guard::{CompileError, EvalError};

use crate::pattern;
use crate::value::Value;
use guard::{GuardSettings, GuardedExpression, Meter};

/// The memory of a compiled pattern, in bytes. This limits the time to compile it to about a millisecond.
const MAX_PATTERN: usize = 64 << 10;

const SETTINGS: GuardSettings =
    GuardSettings { variable: "spec", compile_pattern: |pattern| pattern::compile(pattern, MAX_PATTERN) };

/// A CEL expression over the variable `spec`. Conditions with the same text are equal.
///
/// ```
/// use attache_engine::{CelCondition, Value};
/// use serde_json::json;
///
/// let condition = CelCondition::compile("spec.retries > 2 || !has(spec.timeout)")?;
/// assert_eq!(condition.holds(&Value::from(json!({"retries": 3, "timeout": "1s"}))), Ok(true));
/// assert_eq!(condition.holds(&Value::from(json!({"retries": 1, "timeout": "1s"}))), Ok(false));
/// # Ok::<(), attache_engine::CompileError>(())
/// ```
#[derive(Clone)]
pub struct CelCondition(Arc<ConditionText>);

struct ConditionText {
    text: String,
    compiled: OnceLock<GuardedExpression>,
}

impl CelCondition {
    /// Compiles a condition.
    ///
    /// # Errors
    ///
    /// If the text is not an expression, names something that does not exist, or exceeds a limit.
    pub fn compile(text: &str) -> Result<CelCondition, CompileError> {
        let compiled = OnceLock::from(GuardedExpression::compile(text, SETTINGS)?);
        Ok(CelCondition(Arc::new(ConditionText { text: text.to_owned(), compiled })))
    }

    /// A condition that is known to compile. It is compiled at its first evaluation.
    pub fn trusted(text: &str) -> CelCondition {
        CelCondition(Arc::new(ConditionText { text: text.to_owned(), compiled: OnceLock::new() }))
    }

    /// Whether the condition is true of `spec`. The same condition and spec always give the same result.
    ///
    /// # Errors
    ///
    /// If the condition reads a field that does not exist, is not a boolean, or takes too much work.
    pub fn holds(&self, spec: &Value) -> Result<bool, EvalError> {
        self.holds_within(&Arc::new(Meter::default()), spec)
    }

    fn holds_within(&self, meter: &Arc<Meter>, spec: &Value) -> Result<bool, EvalError> {
        self.compiled()?.evaluate(meter, |fields, meter| convert::convert(fields, spec, meter))
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    fn compiled(&self) -> Result<&GuardedExpression, EvalError> {
        if let Some(known) = self.0.compiled.get() {
            return Ok(known);
        }
        let compiled =
            GuardedExpression::compile(self.text(), SETTINGS).map_err(|error| EvalError::Failed(error.to_string()))?;
        Ok(self.0.compiled.get_or_init(|| compiled))
    }
}

impl PartialEq for CelCondition {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for CelCondition {}

impl fmt::Debug for CelCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CelCondition").field(&self.0.text).finish()
    }
}

impl fmt::Display for CelCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

#[cfg(test)]
mod tests;
