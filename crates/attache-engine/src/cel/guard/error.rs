//! Why an expression does not compile, or has no result.

use std::fmt;

use cel::{ExecutionError, ParseErrors};

use super::MAX_NESTING;

/// Longer pieces of input are cut in messages, after this many characters.
const MAX_SHOWN: usize = 80;

/// The start of the parser's messages about syntax errors.
const SYNTAX: &str = "Syntax error: ";

/// Why an expression does not compile, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// Lowercase, input in backticks.
    pub message: String,
    /// The line of the expression, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl CompileError {
    pub(super) fn at_offset(message: String, text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        CompileError { message, line: line as u32, column: column as u32 }
    }

    pub(super) fn from_parser(text: &str, errors: ParseErrors) -> Self {
        // A syntax error may cause other errors, which are less helpful.
        let syntax = errors.errors.iter().find(|error| error.msg.starts_with(SYNTAX));
        let Some(error) = syntax.or(errors.errors.first()) else {
            return CompileError::at_offset("not an expression".to_owned(), text, 0);
        };
        // Not its `Display`, which panics at a high column.
        let message = reworded(&error.msg);
        match (u32::try_from(error.pos.0), u32::try_from(error.pos.1)) {
            (Ok(line @ 1..), Ok(column @ 1..)) => CompileError { message, line, column },
            _ => CompileError::at_offset(message, text, 0),
        }
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.message, self.line, self.column)
    }
}

impl std::error::Error for CompileError {}

/// A short form of the parser's message, which lists all tokens that it expected.
fn reworded(message: &str) -> String {
    let message = message.strip_prefix(SYNTAX).unwrap_or(message);
    if message.contains("Recursion limit") {
        return format!("brackets and conditionals may stand in each other {MAX_NESTING} times at most");
    }
    let found = |prefix: &str, suffix: &str| Some(message.strip_prefix(prefix)?.split(suffix).next()?.to_owned());
    let found = found("mismatched input '", "' expecting ")
        .or_else(|| found("extraneous input '", "' expecting "))
        .or_else(|| found("token recognition error at: '", "'\0"))
        .or_else(|| found("no viable alternative at input '", "'\0"));
    match found.as_deref().map(|found| found.trim_end_matches('\'')) {
        Some("<EOF>" | "") => "the expression ends too early".to_owned(),
        Some(found) => format!("`{}` is not expected here", shorten(found)),
        None => {
            let mut letters = shorten(message).chars().collect::<Vec<_>>().into_iter();
            letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
        }
    }
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// It exceeds the limit on steps or memory.
    TooMuchWork,
    /// The value of the variable is nested too deeply.
    TooDeep,
    /// The result is not a boolean but has this type.
    NotABool(String),
    /// The evaluation failed, with this message.
    Failed(String),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::TooMuchWork => f.write_str("the condition takes too much work for this spec"),
            EvalError::TooDeep => f.write_str("the spec is nested too deeply"),
            EvalError::NotABool(found) => write!(f, "the condition is not true or false but of type `{found}`"),
            EvalError::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for EvalError {}

impl EvalError {
    pub(super) fn from_interpreter(error: ExecutionError) -> Self {
        use ExecutionError as E;
        EvalError::Failed(match error {
            E::NoSuchKey(key) => format!("no such key `{}`", shorten(&key)),
            E::NoSuchOverload(overload) => cannot(overload.function(), overload.argument_types()),
            E::UnsupportedBinaryOperator(operator, left, right) => {
                cannot(symbol(operator), &[left.type_of().to_string(), right.type_of().to_string()])
            }
            E::ValuesNotComparable(left, right) => {
                format!("a value of type {} cannot be compared to one of type {}", left.type_of(), right.type_of())
            }
            E::UnexpectedType { got, want } => format!("expected type {want}, found {}", shorten(&got)),
            E::UnsupportedKeyType(key) => format!("a value of type {} cannot be a key", key.type_of()),
            E::UnsupportedIndex(index, _) => format!("a value of type {} cannot be an index", index.type_of()),
            E::IndexOutOfBounds(index) => format!("index {} is out of bounds", shorten(&format!("{index:?}"))),
            E::DivisionByZero(_) | E::RemainderByZero(_) => "division by zero".to_owned(),
            E::Overflow(operator, ..) => format!("overflow in `{}`", symbol(operator)),
            E::DuplicateKey(key) => format!("a map has the key {} twice", shorten(&format!("{key:?}"))),
            E::UndeclaredReference(name) => format!("unknown name `{}`", shorten(&name)),
            E::FunctionError { function, message } => format!("`{function}`: {}", shorten(&message)),
            E::InvalidArgumentCount { expected, actual } => format!("expected {expected} arguments, found {actual}"),
            _ => "it cannot be evaluated".to_owned(),
        })
    }
}

fn cannot(function: &str, types: &[String]) -> String {
    format!("`{}` cannot be used with {}", function.trim_matches('_').trim_start_matches('@'), types.join(" and "))
}

fn symbol(operator: &str) -> &str {
    match operator {
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        operator => operator,
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
