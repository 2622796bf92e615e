//! The rank of a policy, which decides between two policies at one level.

use std::cmp::Ordering;

use jiff::Timestamp;
use smol_str::SmolStr;

use crate::kinds::{NumberSource, PolicyKind, Priority, SortOrder};
use crate::object::Object;
use crate::value::{Path, Value};

/// What decides between policies at one level: the lowest is first. Names break ties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRank {
    /// One number for each priority of the kind, negated where the highest is first.
    pub priority: Vec<i64>,
    /// When the policy was created.
    pub created: Option<Timestamp>,
}

impl PolicyRank {
    pub(super) fn read(object: &Object, kind: &PolicyKind, report: &mut impl FnMut(Path, String)) -> PolicyRank {
        let priority = kind.order.priority.iter().map(|priority| number(object, priority, report)).collect();
        PolicyRank { priority, created: object.created }
    }

    /// Compares by age alone, the oldest first. A policy without a timestamp has not been created yet.
    pub fn by_age(&self, other: &PolicyRank) -> Ordering {
        (self.created.is_none(), self.created).cmp(&(other.created.is_none(), other.created))
    }
}

/// A priority as a number: the lowest is first.
fn number(object: &Object, priority: &Priority, report: &mut impl FnMut(Path, String)) -> i64 {
    match priority {
        Priority::Rank(rank) => *rank,
        Priority::Age => object.created.map_or(i64::MAX, |created| created.as_second()),
        Priority::Word { field, words, default } => word(object, field, words, default.as_ref(), report),
        Priority::Number { source, order } => {
            let number = match source {
                NumberSource::Annotation(name) => annotation(object, name, report),
                NumberSource::Field(field) => whole_number(object, field, report),
            };
            match order {
                SortOrder::Descending => number.saturating_neg(),
                SortOrder::Ascending => number,
            }
        }
    }
}

fn annotation(object: &Object, name: &SmolStr, report: &mut impl FnMut(Path, String)) -> i64 {
    let Some(text) = object.annotation(name) else { return 0 };
    text.trim().parse::<i32>().map(i64::from).unwrap_or_else(|_| {
        let path = Path::parse("metadata.annotations").key(name.clone());
        report(path, format!("invalid value for annotation {name}: {text}; must be a valid integer"));
        0
    })
}

fn whole_number(object: &Object, field: &Path, report: &mut impl FnMut(Path, String)) -> i64 {
    match field.resolve(&object.body) {
        None | Some(Value::Null) => 0,
        Some(Value::Int(number)) => *number,
        Some(other) => {
            report(field.clone(), format!("it must be a whole number, not {}", shown(other)));
            0
        }
    }
}

/// The position of the word in a field among the words that the field can have.
fn word(
    object: &Object,
    field: &Path,
    words: &[SmolStr],
    default: Option<&SmolStr>,
    report: &mut impl FnMut(Path, String),
) -> i64 {
    let found = match field.resolve(&object.body) {
        None | Some(Value::Null) => default.map(SmolStr::as_str),
        Some(Value::Str(text)) => Some(text.as_str()),
        Some(_) => None,
    };
    let position = found.and_then(|found| words.iter().position(|word| word == found));
    let position = position.unwrap_or_else(|| {
        let known: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let known = known.join(", ");
        let message = match field.resolve(&object.body) {
            None | Some(Value::Null) => format!("it is missing: use one of {known}"),
            Some(other) => format!("unknown value {}: use one of {known}", shown(other)),
        };
        report(field.clone(), message);
        words.len()
    });
    position as i64
}

fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("`{text}`"),
        None => value.type_name().to_string(),
    }
}
