//! Evaluates untrusted CEL expressions within a budget.
//!
//! The interpreter of the crate `cel` has no limits of its own: a short expression can run for hours or use up all memory. This
//! module makes any expression safe to evaluate. It depends on `cel`, `regex` and `stacker` only, and knows nothing of the
//! values that expressions are about.
//!
//! ```text
//! text ─→ parse (limited length and nesting) ─→ check names ─→ rewrite ─→ GuardedExpression
//!                                                                            │ evaluate
//!                        value of the variable (only the fields in use) ─→ Meter ─→ true, false or an error
//! ```
//!
//! - [`rewrite`] checks that all names exist, so that mistakes are found before evaluation. It wraps every operand whose size is
//!   not known in a call of `@spend`, and every range of a loop in a call of `@each`. No identifier of an expression can start
//!   with `@`.
//! - [`meter`] is the budget, and has these functions. Everything that takes time or memory in proportion to a value first pays for
//!   it. When the budget is used up all further calls fail, and the result is an error, whatever the expression does with it.
//! - [`FieldMask`] is the set of fields of the variable that an expression reads. Only these need to be converted to values of the
//!   interpreter.

mod error;
mod field_mask;
mod meter;
mod rewrite;

use std::fmt;
use std::sync::{Arc, LazyLock};

use cel::common::types::CelBool;
use cel::common::value::Val;
use cel::{Context, Env, IdedExpr};
use regex::Regex;

pub use error::{CompileError, EvalError};
pub use field_mask::FieldMask;
#[cfg(test)]
pub(super) use meter::BUDGET;
pub use meter::Meter;

use meter::Patterns;

/// The longest text of an expression, in bytes. Parsing takes up to 10 µs per byte on hostile input.
const MAX_SOURCE: usize = 2048;

/// How deep brackets and conditionals may be nested. Each level takes 9 KB of stack in the parser, or 200 KB in a debug build.
const MAX_NESTING: u16 = 32;

/// How many levels the syntax tree may have; `1+1+1` has three. Each takes 4 KB of stack to evaluate, or 80 KB in a debug build.
pub(super) const MAX_DEPTH: usize = 96;

/// Enough stack for the deepest expression within the two limits above, also in a debug build.
const STACK: usize = 16 << 20;

/// The evaluation allocates a new stack if less than this is left.
const MIN_STACK: usize = if cfg!(debug_assertions) { STACK } else { 1536 << 10 };

static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// What expressions can use.
#[derive(Clone, Copy)]
pub struct GuardSettings {
    /// The name of the only variable.
    pub variable: &'static str,
    /// Compiles the patterns of `matches`. It must limit the size of patterns. The error says what is wrong.
    pub compile_pattern: fn(&str) -> Result<Regex, String>,
}

impl fmt::Debug for GuardSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardSettings").field("variable", &self.variable).finish_non_exhaustive()
    }
}

/// An expression that is safe to evaluate.
pub struct GuardedExpression {
    settings: GuardSettings,
    expression: IdedExpr,
    fields: FieldMask,
    patterns: Arc<Patterns>,
}

impl fmt::Debug for GuardedExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedExpression").field("fields", &self.fields).finish_non_exhaustive()
    }
}

impl GuardedExpression {
    /// Parses, checks and rewrites an expression.
    pub fn compile(text: &str, settings: GuardSettings) -> Result<GuardedExpression, CompileError> {
        if text.len() > MAX_SOURCE {
            let message = format!("longer than {MAX_SOURCE} bytes, which is the most a condition may have");
            return Err(CompileError::at_offset(message, text, MAX_SOURCE));
        }
        stacker::maybe_grow(MIN_STACK, STACK, || {
            let parser = ENV.parser().max_recursion_depth(MAX_NESTING).enable_ident_escape_syntax(true);
            let (expression, source) =
                parser.parse_with_source_info(text).map_err(|errors| CompileError::from_parser(text, errors))?;
            rewrite::rewrite(text, expression, &source, settings)
        })
    }

    /// Whether the expression is true. `convert` returns the value of the variable, of which only the fields in the mask are
    /// needed, and pays for the conversion.
    ///
    /// The same expression and value always give the same result.
    pub fn evaluate<'v>(
        &self,
        meter: &Arc<Meter>,
        convert: impl FnOnce(&FieldMask, &Meter) -> Result<Box<dyn Val + 'v>, EvalError>,
    ) -> Result<bool, EvalError> {
        stacker::maybe_grow(MIN_STACK, STACK, || {
            let mut context = Context::with_env(Arc::clone(&ENV));
            context.add_variable_as_val(self.settings.variable, convert(&self.fields, meter)?);
            meter::install(&mut context, meter, &self.patterns, self.settings.compile_pattern);
            let result = cel::Value::resolve_val(&self.expression, &context);
            // `error || true` is true in CEL, so an error in the result does not always show that the budget is used up.
            if meter.is_empty() {
                return Err(EvalError::TooMuchWork);
            }
            let value = result.map_err(EvalError::from_interpreter)?;
            match value.downcast_ref::<CelBool>() {
                Some(bool) => Ok(*bool.inner()),
                None => Err(EvalError::NotABool(value.get_type().name().to_owned())),
            }
        })
    }
}
