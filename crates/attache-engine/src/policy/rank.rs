//! The rank of a policy, which decides between two policies at one level.

use std::cmp::Ordering;

use jiff::Timestamp;
use smol_str::SmolStr;

use crate::kinds::{MissingNumber, NamespaceOrder, NumberSource, PolicyKind, Priority, SortOrder};
use crate::object::Object;
use crate::value::{Path, Value};

/// The precedence of a policy at one level: the lowest rank is first. Names break ties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRank {
    /// One number for each priority of the kind, negated if the highest number is first.
    pub priority: Vec<i64>,
    /// When the policy was created.
    pub created: Option<Timestamp>,
    /// The name of the policy.
    pub name: SmolStr,
    /// The namespace of the policy.
    pub namespace: SmolStr,
}

impl PolicyRank {
    pub(super) fn read(object: &Object, kind: &PolicyKind, report: &mut impl FnMut(Path, String)) -> PolicyRank {
        let priority = kind.order.priority.iter().map(|priority| number(object, kind, priority, report)).collect();
        let (name, namespace) = (object.id.name.clone(), object.id.namespace.clone());
        PolicyRank { priority, created: object.created, name, namespace }
    }

    /// Compares by age alone, the oldest first. A policy without a timestamp has not been created yet.
    pub fn by_age(&self, other: &PolicyRank) -> Ordering {
        (self.created.is_none(), self.created).cmp(&(other.created.is_none(), other.created))
    }
}

/// A priority as a number: the lowest is first.
fn number(object: &Object, kind: &PolicyKind, priority: &Priority, report: &mut impl FnMut(Path, String)) -> i64 {
    match priority {
        Priority::Rank(rank) => *rank,
        Priority::Age => object.created.map_or(i64::MAX, |created| created.as_second()),
        Priority::Word { field, words, default } => word(object, field, words, default.as_ref(), report),
        Priority::Namespace(order) => {
            let is_root = kind.hierarchy.root_namespace.as_ref() == Some(&object.id.namespace);
            i64::from(is_root == (*order == NamespaceOrder::RootLast))
        }
        Priority::Number { source, order, missing } => {
            let number = match source {
                NumberSource::Annotation(name) => annotation(object, name, report),
                NumberSource::Field(field) => whole_number(object, field, report),
            };
            match (number, missing, order) {
                (None, MissingNumber::Zero, _) => 0,
                (None, MissingNumber::Last, _) => i64::MAX,
                (Some(number), _, SortOrder::Descending) => number.saturating_neg(),
                (Some(number), _, SortOrder::Ascending) => number,
            }
        }
    }
}

/// The number in an annotation. `None` if it is missing or not valid.
fn annotation(object: &Object, name: &SmolStr, report: &mut impl FnMut(Path, String)) -> Option<i64> {
    let text = object.annotation(name)?;
    let number = text.trim().parse::<i32>().map(i64::from).ok();
    if number.is_none() {
        let path = Path::parse("metadata.annotations").key(name.clone());
        report(path, format!("invalid value for annotation {name}: {text}; must be a valid integer"));
    }
    number
}

/// The number in a field. `None` if it is missing or not valid.
fn whole_number(object: &Object, field: &Path, report: &mut impl FnMut(Path, String)) -> Option<i64> {
    match field.resolve(&object.body) {
        None | Some(Value::Null) => None,
        Some(Value::Int(number)) => Some(*number),
        Some(other) => {
            report(field.clone(), format!("it must be a whole number, not {}", shown(other)));
            None
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
