//! Paths to values inside other values: `rules.authentication.a`, `spec.rules[0].filters[0]`.

use std::fmt;

use smol_str::SmolStr;

use super::Value;

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field of a map.
    Key(SmolStr),
    /// An item of a list, from 0.
    Index(usize),
}

/// The path to a value inside another.
///
/// ```
/// use attache_engine::{Path, Value};
/// use serde_json::json;
///
/// let spec = Value::from(json!({"rules": [{"name": "a"}, {"name": "b"}]}));
/// let path = Path::parse("rules[1].name");
/// assert_eq!(path.resolve(&spec), Some(&Value::str("b")));
/// assert!(path.starts_with(&Path::parse("rules")));
///
/// // Keys with special characters are quoted.
/// let label = Path::parse("metadata.labels").key("example.io/tier");
/// assert_eq!(label.to_string(), r#"metadata.labels["example.io/tier"]"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Segment>);

impl Path {
    /// A path of these segments.
    pub fn new(segments: Vec<Segment>) -> Self {
        Path(segments)
    }

    /// Parses a path such as `a.b[0]["x.y"]`. Every text is a path: anything that is not an index is a key.
    pub fn parse(text: &str) -> Path {
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((key, after)) = rest.strip_prefix("[\"").and_then(quoted) {
                segments.push(Segment::Key(key));
                rest = after.trim_start_matches('.');
                continue;
            }
            if let Some(inner) = rest.strip_prefix('[')
                && let Some(end) = inner.find(']')
                && let Ok(index) = inner[..end].parse()
            {
                segments.push(Segment::Index(index));
                rest = inner[end + 1..].trim_start_matches('.');
                continue;
            }
            let first = rest.chars().next().map_or(0, char::len_utf8);
            let end = rest[first..].find(['.', '[']).map_or(rest.len(), |at| at + first);
            // A bracket that is not an index is part of the key.
            segments.push(Segment::Key(rest[..end].into()));
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
        Path(segments)
    }

    /// The segments, outermost first.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether this is the path to the whole value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This path, followed by a key.
    pub fn key(&self, key: impl Into<SmolStr>) -> Path {
        self.with(Segment::Key(key.into()))
    }

    /// This path, followed by an index.
    pub fn index(&self, index: usize) -> Path {
        self.with(Segment::Index(index))
    }

    /// Whether `prefix` is this path, or the path to a value around it.
    pub fn starts_with(&self, prefix: &Path) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Whether `name` matches this path: a path that overlaps with it, or its last segments.
    pub fn matches_name(&self, name: &str) -> bool {
        let path = Path::parse(name);
        self.overlaps(&path) || self.to_string().ends_with(&format!(".{name}"))
    }

    /// Whether one of the two paths starts with the other.
    pub fn overlaps(&self, other: &Path) -> bool {
        self.starts_with(other) || other.starts_with(self)
    }

    /// The value at this path inside `value`.
    pub fn resolve<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.items().get(*index),
        })
    }

    fn with(&self, segment: Segment) -> Path {
        let mut segments = self.0.clone();
        segments.push(segment);
        Path(segments)
    }
}

/// A key up to `"]`, and the text after it. A backslash escapes the next character.
fn quoted(text: &str) -> Option<(SmolStr, &str)> {
    let mut key = String::new();
    let mut rest = text.chars();
    loop {
        match rest.next()? {
            '\\' => key.push(rest.next()?),
            '"' => return Some((key.into(), rest.as_str().strip_prefix(']')?)),
            other => key.push(other),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if key.is_empty() || key.contains(['.', '[', ']']) => {
                    let key = key.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(f, "[\"{key}\"]")?;
                }
                Segment::Key(key) if i == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_printed_is_parsed_as_the_same_path() {
        for text in [
            "a",
            "a.b[0].c",
            "spec.rules[12].filters[3]",
            "labels[\"a.b/c\"].d",
            "[0][1]",
            "x[y",
            "é.è[0]",
            "a..b",
            "[\"\\\".\\\\\"]",
        ] {
            let path = Path::parse(text);
            assert_eq!(Path::parse(&path.to_string()), path, "{text}");
        }
        assert_eq!(Path::parse("a.b[0]").to_string(), "a.b[0]");
    }

    #[test]
    fn a_name_matches_paths_around_and_below_it_and_those_that_end_with_it() {
        let path = Path::parse("rules.authentication.jwt");
        for name in ["rules", "rules.authentication", "jwt", "authentication.jwt", "rules.authentication.jwt.issuer"] {
            assert!(path.matches_name(name), "{name}");
        }
        for name in ["authentication", "wt", "rules.authorization"] {
            assert!(!path.matches_name(name), "{name}");
        }
    }
}
