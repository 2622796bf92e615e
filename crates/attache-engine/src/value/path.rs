//! Where a value stands inside another: `rules.authentication.a`, `spec.rules[0].filters[0]`.

use std::fmt;

use smol_str::SmolStr;

use super::Value;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    Key(SmolStr),
    Index(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Segment>);

impl Path {
    pub fn new(segments: Vec<Segment>) -> Self {
        Path(segments)
    }

    /// Reads `a.b[0]["x.y"]`. Anything that is not an index is a key, so every text is a path.
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
            // A bracket that is not an index belongs to the key it stands in.
            segments.push(Segment::Key(rest[..end].into()));
            rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
        }
        Path(segments)
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn key(&self, key: impl Into<SmolStr>) -> Path {
        self.with(Segment::Key(key.into()))
    }

    pub fn index(&self, index: usize) -> Path {
        self.with(Segment::Index(index))
    }

    pub fn starts_with(&self, prefix: &Path) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Whether this is what somebody calls `name`, or part of it: a dotted path, or its last word.
    pub fn is_called(&self, name: &str) -> bool {
        let path = Path::parse(name);
        self.starts_with(&path) || path.starts_with(self) || self.to_string().ends_with(&format!(".{name}"))
    }

    /// Whether one of the two leads to the other.
    pub fn concerns(&self, other: &Path) -> bool {
        self.starts_with(other) || other.starts_with(self)
    }

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

/// Reads a key up to `"]`, and says what comes after. Within, a backslash makes the next character ordinary.
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
    fn what_is_printed_is_read_back() {
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
}
