//! Fields of Gateway API objects that the API server would not take as they are, and what is made of them nevertheless.

use std::net::Ipv4Addr;

use hashbrown::HashSet;

use super::shapes::{Field, Shape, fields};
use super::subject::Subject;
use super::{Findings, rule};
use crate::value::{Path, Value};

pub fn invalid(subject: Subject<'_>, findings: &mut Findings) {
    for (_, object) in subject.objects() {
        let Some(fields) = fields(object) else { continue };
        let mut check = Check { complaints: Vec::new() };
        check.value(object.spec(), &Shape::Object(fields), Way::Spec);
        let complaints = check.complaints.into_iter();
        findings.extend(complaints.map(|(path, message)| rule::INVALID_FIELD.at(object, path, message)));
    }
}

/// The way to a value, which becomes a path only if there is something to say about it.
#[derive(Clone, Copy)]
enum Way<'w> {
    Spec,
    Key(&'w Way<'w>, &'static str),
    Index(&'w Way<'w>, usize),
}

impl Way<'_> {
    fn path(&self) -> Path {
        match self {
            Way::Spec => Path::parse("spec"),
            Way::Key(above, key) => above.path().key(*key),
            Way::Index(above, index) => above.path().index(*index),
        }
    }
}

struct Check {
    complaints: Vec<(Path, String)>,
}

impl Check {
    fn value(&mut self, value: &Value, shape: &Shape, way: Way<'_>) {
        match (shape, value) {
            // What is null is not there.
            (_, Value::Null) | (Shape::Text, Value::Str(_)) => {}
            (Shape::Hostname, Value::Str(name)) => {
                if !name.is_empty() && !is_hostname(name) {
                    let wanted = "a DNS name, as `a.example` or `*.example`";
                    self.complain(way, wanted, value, "it is compared as it is written");
                }
            }
            (Shape::Word(words, otherwise), Value::Str(word)) => {
                if !words.contains(&word.as_str()) {
                    self.complain(way, &format!("one of `{}`", words.join("`, `")), value, otherwise);
                }
            }
            (Shape::Number(least, most), Value::Int(number)) => {
                if !(least..=most).contains(&number) {
                    let becomes = if *least == 0 && *number < 0 { "it counts as 0" } else { "it is taken as it is" };
                    self.complain(way, &format!("from {least} to {most}"), value, becomes);
                }
            }
            (Shape::PathMatch(fields), Value::Map(map)) => {
                self.value(value, &Shape::Object(fields), way);
                let is_pattern = value.get_str("type") == Some("RegularExpression");
                if let Some(path @ Value::Str(text)) = map.get("value").filter(|_| !is_pattern)
                    && !text.starts_with('/')
                {
                    let wanted = "a path that starts with `/`";
                    self.complain(Way::Key(&way, "value"), wanted, path, "no request has such a path");
                }
            }
            (Shape::Object(fields), Value::Map(map)) => {
                for Field(name, shape) in *fields {
                    if let Some(value) = map.get(name) {
                        self.value(value, shape, Way::Key(&way, name));
                    }
                }
            }
            (Shape::List(item), Value::List(items)) => {
                for (at, value) in items.iter().enumerate() {
                    self.value(value, item, Way::Index(&way, at));
                }
            }
            (Shape::Sections(fields), Value::List(items)) => {
                self.names(items, way);
                for (at, value) in items.iter().enumerate() {
                    self.value(value, &Shape::Object(fields), Way::Index(&way, at));
                }
            }
            (shape, value) => {
                let becomes = match (way, shape) {
                    (Way::Index(..), Shape::Object(_)) => "it counts as one that says nothing",
                    _ => "it counts as if it were not there",
                };
                self.complain(way, wanted(shape), value, becomes);
            }
        }
    }

    /// Names that several of a list have.
    fn names(&mut self, items: &[Value], way: Way<'_>) {
        if items.len() < 2 {
            return;
        }
        let mut known = HashSet::new();
        for (at, name) in items.iter().enumerate().filter_map(|(at, item)| Some((at, item.get_str("name")?))) {
            if !name.is_empty() && !known.insert(name) {
                let item = Way::Index(&way, at);
                let path = Way::Key(&item, "name").path();
                let message = format!("`{path}`: another one is called `{name}` too, and each needs a name of its own");
                self.complaints.push((path, message));
            }
        }
    }

    fn complain(&mut self, way: Way<'_>, wanted: &str, found: &Value, becomes: &str) {
        let path = way.path();
        let found = match found {
            Value::Str(text) => format!("`\"{text}\"`"),
            Value::Int(number) => format!("`{number}`"),
            other => other.type_name().to_owned(),
        };
        self.complaints.push((path.clone(), format!("`{path}` must be {wanted}, not {found}: {becomes}")));
    }
}

fn wanted(shape: &Shape) -> &'static str {
    match shape {
        Shape::Text | Shape::Hostname | Shape::Word(..) => "a string",
        Shape::Number(..) => "a whole number",
        Shape::Object(_) | Shape::PathMatch(_) => "an object",
        Shape::List(_) | Shape::Sections(_) => "a list",
    }
}

/// Lowercase labels, of which the first may be `*`, and not an address.
fn is_hostname(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        !label.is_empty() && label.bytes().all(is_plain) && !label.starts_with('-') && !label.ends_with('-')
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
