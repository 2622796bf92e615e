//! Fields of Gateway API objects that the API server rejects, and how Attaché reads them anyway.

use std::fmt;
use std::net::Ipv4Addr;

use hashbrown::HashSet;
use smol_str::SmolStr;

use super::field_shapes::{Field, FieldShape, spec_fields};
use super::finding::{Finding, FindingCause, Findings};
use super::rule;
use super::subject::LintSubject;
use crate::names;
use crate::object::Object;
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
        found: ShownValue,
        /// How the field is read anyway.
        effect: &'static str,
    },
    /// The field is unknown, and looks like a misspelling of a known one.
    Misspelt {
        /// The field.
        path: Path,
        /// The known field.
        known: SmolStr,
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
pub enum ShownValue {
    /// A string.
    Text(SmolStr),
    /// A whole number.
    Number(i64),
    /// A value of another type.
    Type(&'static str),
}

impl ShownValue {
    fn new(value: &Value) -> ShownValue {
        match value {
            Value::Str(text) => ShownValue::Text(text.clone()),
            Value::Int(number) => ShownValue::Number(*number),
            other => ShownValue::Type(other.type_name()),
        }
    }
}

impl fmt::Display for ShownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShownValue::Text(text) => write!(f, "`\"{text}\"`"),
            ShownValue::Number(number) => write!(f, "`{number}`"),
            ShownValue::Type(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for FieldFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldFinding::Invalid { path, expected, found, effect } => {
                write!(f, "`{path}` must be {expected}, not {found}: {effect}")
            }
            FieldFinding::Misspelt { path, known } => {
                write!(f, "`{path}` is unknown and has no effect; did you mean `{known}`?")
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
        findings.extend(check.found.into_iter().map(|finding| finding.about(object)));
    }
    for id in subject.policies() {
        let known = &subject.engine.kinds().get(subject.engine.policy(id).kind).fields.known;
        if !known.is_empty() {
            let object = &subject.engine.objects()[id.0];
            let found = misspelt(object.spec(), known, &FieldPath::Spec);
            findings.extend(found.into_iter().map(|finding| finding.about(object)));
        }
    }
}

impl FieldFinding {
    fn about(self, object: &Object) -> Finding {
        let (rule, path) = match &self {
            FieldFinding::Misspelt { path, .. } => (&rule::UNKNOWN_FIELD, path.clone()),
            FieldFinding::Invalid { path, .. } | FieldFinding::DuplicateName { path, .. } => {
                (&rule::INVALID_FIELD, path.clone())
            }
        };
        Finding::new(rule, object, path, FindingCause::Field(self))
    }
}

/// The fields of an object that look like misspellings of known ones. Other unknown fields may be new ones.
fn misspelt<K: AsRef<str>>(object: &Value, known: &[K], at: &FieldPath<'_>) -> Vec<FieldFinding> {
    let is_unknown = |(name, _): &&(SmolStr, Value)| known.iter().all(|known| known.as_ref() != name.as_str());
    let unknown = object.entries().iter().filter(is_unknown);
    let finding = |(name, _): &(SmolStr, Value)| {
        let similar = names::misspelt(name, known.iter().map(AsRef::as_ref))?;
        // If both exist, the author knows the difference.
        let is_other = object.get(similar).is_none();
        is_other.then(|| FieldFinding::Misspelt { path: at.path().key(name.as_str()), known: similar.into() })
    };
    unknown.filter_map(finding).collect()
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
            (_, Value::Null) | (FieldShape::Any, _) | (FieldShape::Text, Value::Str(_)) => {}
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
                let known: Vec<&str> = fields.iter().map(|Field(name, _)| *name).collect();
                self.found.extend(misspelt(value, &known, &at));
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
            found: ShownValue::new(found),
            effect,
        });
    }
}

fn expected_type(shape: &FieldShape) -> &'static str {
    match shape {
        FieldShape::Text | FieldShape::Hostname | FieldShape::Word(..) => "a string",
        FieldShape::Number(..) => "a whole number",
        FieldShape::Any => "a value",
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
