//! Conditions of strangers: CEL over one variable, `spec`, evaluated within bounds.
//!
//! The interpreter of the crate `cel` has no limit of its own, so none of its steps is left uncounted: a
//! condition is parsed, checked and rewritten once ([`guard`]) so that everything which takes time or memory
//! in proportion to a value first pays for it from a budget ([`meter`]); only the fields of `spec` that the
//! condition names are converted ([`fields`]).

mod error;
mod fields;
mod guard;
mod meter;

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use cel::common::types::CelBool;
use cel::{Context, Env, IdedExpr};

pub use error::{CompileError, EvalError};

use crate::value::Value;
use fields::Fields;
use meter::{Meter, Patterns};

/// The one variable of a condition.
const VARIABLE: &str = "spec";

/// Conditions are a line or two. Parsing costs up to 10 µs per byte on hostile input.
const MAX_SOURCE: usize = 2048;

/// Brackets and conditionals within each other: each takes 9 KB of stack in the parser, or 200 KB in a debug build.
const MAX_NESTING: u16 = 32;

/// Levels of the syntax tree, where `1+1+1` is three: each takes 4 KB of stack to evaluate, or 80 KB in a debug build.
const MAX_DEPTH: usize = 96;

/// Enough for the deepest condition that the two limits above let through, in a debug build too.
const STACK: usize = 16 << 20;

/// How much stack must be left for the work to be done where we are.
const ENOUGH_STACK: usize = if cfg!(debug_assertions) { STACK } else { 1536 << 10 };

static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A CEL expression. Equal to another when their texts are.
#[derive(Clone)]
pub struct CelCondition(Arc<Source>);

struct Source {
    text: String,
    compiled: OnceLock<Compiled>,
}

struct Compiled {
    expression: IdedExpr,
    fields: Fields,
    patterns: Arc<Patterns>,
}

impl CelCondition {
    pub fn compile(text: &str) -> Result<CelCondition, CompileError> {
        let compiled = OnceLock::from(compiled(text)?);
        Ok(CelCondition(Arc::new(Source { text: text.to_owned(), compiled })))
    }

    /// One that is known to compile, and does when it is needed.
    pub fn trusted(text: &str) -> CelCondition {
        CelCondition(Arc::new(Source { text: text.to_owned(), compiled: OnceLock::new() }))
    }

    /// Whether the condition is true of `spec`. The same condition and spec always give the same answer.
    pub fn holds(&self, spec: &Value) -> Result<bool, EvalError> {
        stacker::maybe_grow(ENOUGH_STACK, STACK, || self.evaluate(spec))
    }

    pub fn text(&self) -> &str {
        &self.0.text
    }

    fn compiled(&self) -> Result<&Compiled, EvalError> {
        if let Some(known) = self.0.compiled.get() {
            return Ok(known);
        }
        let compiled = compiled(self.text()).map_err(|error| EvalError::Failed(error.to_string()))?;
        Ok(self.0.compiled.get_or_init(|| compiled))
    }

    fn evaluate(&self, spec: &Value) -> Result<bool, EvalError> {
        let Compiled { expression, fields, patterns } = self.compiled()?;
        let meter = Arc::new(Meter::default());
        let mut context = Context::with_env(Arc::clone(&ENV));
        context.add_variable_as_val(VARIABLE, fields.pick(spec, &meter)?);
        meter::install(&mut context, &meter, patterns);
        let result = cel::Value::resolve_val(expression, &context);
        // `error || true` is true in CEL, so an empty budget would not always show in the result.
        if meter.is_empty() {
            return Err(EvalError::TooMuchWork);
        }
        let value = result.map_err(EvalError::from_interpreter)?;
        match value.downcast_ref::<CelBool>() {
            Some(bool) => Ok(*bool.inner()),
            None => Err(EvalError::NotABool(value.get_type().name().to_owned())),
        }
    }
}

fn compiled(text: &str) -> Result<Compiled, CompileError> {
    if text.len() > MAX_SOURCE {
        return Err(CompileError::at_offset(
            format!("longer than {MAX_SOURCE} bytes, which is the most a condition may have"),
            text,
            MAX_SOURCE,
        ));
    }
    let guard::Guarded { expression, fields, patterns } = stacker::maybe_grow(ENOUGH_STACK, STACK, || {
        let parser = ENV.parser().max_recursion_depth(MAX_NESTING).enable_ident_escape_syntax(true);
        let (expression, source) =
            parser.parse_with_source_info(text).map_err(|errors| CompileError::from_parser(text, errors))?;
        guard::guard(text, expression, &source)
    })?;
    Ok(Compiled { expression, fields, patterns: Arc::new(patterns) })
}

impl PartialEq for CelCondition {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for CelCondition {}

impl fmt::Debug for CelCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.0.text).finish()
    }
}

impl fmt::Display for CelCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

#[cfg(test)]
mod tests;
