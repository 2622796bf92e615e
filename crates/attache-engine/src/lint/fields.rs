//! Fields of Gateway API objects that the API server rejects, and how Attaché reads them nevertheless.

use std::fmt;
use std::net::Ipv4Addr;

use hashbrown::HashSet;
use smol_str::SmolStr;

use super::field_shapes::{Field, FieldShape, spec_fields};
use super::finding::{Finding, FindingCause, Findings};
use super::rule;
use super::subject::LintSubject;
use crate::value::{Path, Value};

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldFinding {
    /// The value is not allowed.
    Invalid {
        /// The field.
        path: Path,
        /// What is allowed. Completes the sentence "it must be …".
        expected: String,
        /// The value.
        found: FieldValue,
        /// How the field is read nevertheless.
        effect: &'static str,
    },
    /// Another item of the list has the same name.
    DuplicateName {
        /// The field.
        path: Path,
        /// The name.
        name: SmolStr,
    },
}

/// A value as a message shows it: strings and numbers as they are, others by their type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A string.
    Text(SmolStr),
    /// A whole number.
    Number(i64),
    /// A value of another type.
    Type(&'static str),
}

impl FieldValue {
    fn new(value: &Value) -> FieldValue {
        match value {
            Value::Str(text) => FieldValue::Text(text.clone()),
            Value::Int(number) => FieldValue::Number(*number),
            other => FieldValue::Type(other.type_name()),
        }
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldValue::Text(text) => write!(f, "`\"{text}\"`"),
            FieldValue::Number(number) => write!(f, "`{number}`"),
            FieldValue::Type(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for FieldFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldFinding::Invalid { path, expected, found, effect } => {
                write!(f, "`{path}` must be {expected}, not {found}: {effect}")
            }
            FieldFinding::DuplicateName { path, name } => {
                write!(f, "`{path}`: another item of the list is also called `{name}`, but names must be unique")
            }
        }
    }
}

pub fn invalid(subject: LintSubject<'_>, findings: &mut Findings) {
    for (_, object) in subject.objects() {
        let Some(fields) = spec_fields(object) else { continue };
        let mut check = FieldCheck { found: Vec::new() };
        check.value(object.spec(), &FieldShape::Object(fields), FieldPath::Spec);
        findings.extend(check.found.into_iter().map(|finding| {
            let (FieldFinding::Invalid { path, .. } | FieldFinding::DuplicateName { path, .. }) = &finding;
            Finding::new(&rule::INVALID_FIELD, object, path.clone(), FindingCause::Field(finding))
        }));
    }
}

/// The path to a value as a linked list. Only the few values with findings need a [`Path`].
#[derive(Clone, Copy)]
enum FieldPath<'p> {
    Spec,
    Key(&'p FieldPath<'p>, &'static str),
    Index(&'p FieldPath<'p>, usize),
}

impl FieldPath<'_> {
    fn path(&self) -> Path {
        match self {
            FieldPath::Spec => Path::parse("spec"),
            FieldPath::Key(parent, key) => parent.path().key(*key),
            FieldPath::Index(parent, index) => parent.path().index(*index),
        }
    }
}

struct FieldCheck {
    found: Vec<FieldFinding>,
}

impl FieldCheck {
    fn value(&mut self, value: &Value, shape: &FieldShape, at: FieldPath<'_>) {
        match (shape, value) {
            // Null means that the field is not set.
            (_, Value::Null) | (FieldShape::Text, Value::Str(_)) => {}
            (FieldShape::Hostname, Value::Str(name)) => {
                if !name.is_empty() && !is_hostname(name) {
                    let expected = "a DNS name such as `a.example` or `*.example`";
                    self.invalid(at, expected, value, "it is compared as it is written");
                }
            }
            (FieldShape::Word(words, effect), Value::Str(word)) => {
                if !words.contains(&word.as_str()) {
                    self.invalid(at, &format!("one of `{}`", words.join("`, `")), value, effect);
                }
            }
            (FieldShape::Number(least, most), Value::Int(number)) => {
                if !(least..=most).contains(&number) {
                    let effect = if *least == 0 && *number < 0 { "it counts as 0" } else { "it is used as it is" };
                    self.invalid(at, &format!("from {least} to {most}"), value, effect);
                }
            }
            (FieldShape::PathMatch(fields), Value::Map(map)) => {
                self.value(value, &FieldShape::Object(fields), at);
                let is_pattern = value.get_str("type") == Some("RegularExpression");
                if let Some(path @ Value::Str(text)) = map.get("value").filter(|_| !is_pattern)
                    && !text.starts_with('/')
                {
                    let expected = "a path that starts with `/`";
                    self.invalid(FieldPath::Key(&at, "value"), expected, path, "no request has such a path");
                }
            }
            (FieldShape::Object(fields), Value::Map(map)) => {
                for Field(name, shape) in *fields {
                    if let Some(value) = map.get(name) {
                        self.value(value, shape, FieldPath::Key(&at, name));
                    }
                }
            }
            (FieldShape::List(item), Value::List(items)) => {
                for (index, value) in items.iter().enumerate() {
                    self.value(value, item, FieldPath::Index(&at, index));
                }
            }
            (FieldShape::NamedList(fields), Value::List(items)) => {
                self.unique_names(items, at);
                for (index, value) in items.iter().enumerate() {
                    self.value(value, &FieldShape::Object(fields), FieldPath::Index(&at, index));
                }
            }
            (shape, value) => {
                let effect = match (at, shape) {
                    (FieldPath::Index(..), FieldShape::Object(_)) => "it counts as an empty object",
                    _ => "it is ignored",
                };
                self.invalid(at, expected_type(shape), value, effect);
            }
        }
    }

    /// Finds names that several items of a list have.
    fn unique_names(&mut self, items: &[Value], at: FieldPath<'_>) {
        if items.len() < 2 {
            return;
        }
        let mut known = HashSet::new();
        for (index, name) in items.iter().enumerate().filter_map(|(at, item)| Some((at, item.get_str("name")?))) {
            if !name.is_empty() && !known.insert(name) {
                let item = FieldPath::Index(&at, index);
                let path = FieldPath::Key(&item, "name").path();
                self.found.push(FieldFinding::DuplicateName { path, name: name.into() });
            }
        }
    }

    fn invalid(&mut self, at: FieldPath<'_>, expected: &str, found: &Value, effect: &'static str) {
        self.found.push(FieldFinding::Invalid {
            path: at.path(),
            expected: expected.to_owned(),
            found: FieldValue::new(found),
            effect,
        });
    }
}

fn expected_type(shape: &FieldShape) -> &'static str {
    match shape {
        FieldShape::Text | FieldShape::Hostname | FieldShape::Word(..) => "a string",
        FieldShape::Number(..) => "a whole number",
        FieldShape::Object(_) | FieldShape::PathMatch(_) => "an object",
        FieldShape::List(_) | FieldShape::NamedList(_) => "a list",
    }
}

/// Whether a name consists of lowercase labels, of which the first may be `*`, and is not an IP address.
fn is_hostname(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(is_allowed) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.strip_prefix("*.").unwrap_or(name).split('.').all(is_label) && name.parse::<Ipv4Addr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_are_dns_names() {
        for name in ["a", "a.example", "*.a-b.example", "1.example"] {
            assert!(is_hostname(name), "{name}");
        }
        for name in ["1.2.3.4", "*.*.x", "BAD", "a b", "x.example:80", "*", "a..b", "-a.b", "a.*.b"] {
            assert!(!is_hostname(name), "{name}");
        }
    }
}
