//! The source locations of objects and of the values in them.

use std::fmt;
use std::sync::Arc;

use crate::value::{Path, Segment, Value};

/// The source of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The name of the file; empty if the object was not read from a file.
    pub file: Arc<str>,
    /// The number of the document in the file; the first is 1.
    pub document: u32,
    /// The location of every value in the object's body.
    pub locations: SourceMap,
}

/// A line and a column, both from 1. Shown as `line:column`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; at most 65535.
    pub column: u16,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A location in a file, displayed as `file:line:column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLocation<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// Line and column, if they are known.
    pub location: Option<SourceLocation>,
}

impl fmt::Display for FileLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file)?;
        self.location.map_or(Ok(()), |location| write!(f, ":{location}"))
    }
}

/// The location of every value of a document. It is kept beside the values, so that values stay small and comparable.
///
/// Locations are in the order of a depth-first walk: a value comes before the values in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap(Box<[SourceLocation]>);

impl SourceMap {
    /// The map of a document whose values, in the order of a depth-first walk, have these locations.
    pub fn new(locations: &[SourceLocation]) -> Self {
        SourceMap(locations.into())
    }

    /// The number of values with a location.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no value has a location: the document was not read from text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The locations of the value at a walk position and of the values in it, `len` in all.
    pub(crate) fn slice(&self, first: usize, len: usize) -> SourceMap {
        SourceMap(self.0.get(first..first + len).unwrap_or_default().into())
    }

    /// All locations except those of the value at a walk position and of the values in it, `len` in all.
    pub(crate) fn without(&self, first: usize, len: usize) -> SourceMap {
        let (before, rest) = self.0.split_at(first.min(self.0.len()));
        SourceMap([before, rest.get(len..).unwrap_or_default()].concat().into())
    }

    /// The location of the value at `path` in `body`, or of the deepest existing value above it.
    pub fn find(&self, body: &Value, path: &Path) -> Option<SourceLocation> {
        let (mut value, mut at) = (body, 0);
        for segment in path.segments() {
            let Some((before, next)) = child(value, segment) else { break };
            at += 1 + before;
            value = next;
        }
        self.0.get(at).copied()
    }
}

/// The value at `path`, with its position in a depth-first walk over `body`.
pub(crate) fn walk_position<'v>(body: &'v Value, path: &Path) -> Option<(usize, &'v Value)> {
    path.segments().iter().try_fold((0, body), |(at, value), segment| {
        let (before, next) = child(value, segment)?;
        Some((at + 1 + before, next))
    })
}

/// The child that `segment` names, with the number of values that a walk visits between `value` and it.
fn child<'v>(value: &'v Value, segment: &Segment) -> Option<(usize, &'v Value)> {
    let mut before = 0;
    match segment {
        Segment::Key(key) => {
            for (name, child) in value.entries() {
                if name == key {
                    return Some((before, child));
                }
                before += count_values(child);
            }
        }
        Segment::Index(index) => {
            for (i, child) in value.items().iter().enumerate() {
                if i == *index {
                    return Some((before, child));
                }
                before += count_values(child);
            }
        }
    }
    None
}

/// The number of values in `value`, itself included.
pub(crate) fn count_values(value: &Value) -> usize {
    1 + value.items().iter().map(count_values).sum::<usize>()
        + value.entries().iter().map(|(_, child)| count_values(child)).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A document whose nth value, in walk order, is on line n.
    fn document() -> (Value, SourceMap) {
        let body = Value::from(json!({"a": [1, {"x": 2}], "b": {"c": 3, "d": 4}}));
        let lines = (1..=count_values(&body)).map(|line| SourceLocation { line: line as u32, column: 1 });
        let locations = SourceMap::new(&lines.collect::<Vec<_>>());
        (body, locations)
    }

    fn line(path: &str) -> u32 {
        let (body, locations) = document();
        locations.find(&body, &Path::parse(path)).map_or(0, |location| location.line)
    }

    #[test]
    fn a_walk_meets_a_value_before_the_values_in_it() {
        let lines = ["", "a", "a[0]", "a[1]", "a[1].x", "b", "b.c", "b.d"].map(line);
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_missing_value_is_located_at_the_nearest_value_around_it() {
        assert_eq!(["a[7]", "a[1].y.z", "b.e", "q"].map(line), [2, 4, 6, 1]);
    }

    #[test]
    fn a_removed_value_takes_its_locations_with_it() {
        let (body, locations) = document();
        let Some((at, value)) = walk_position(&body, &Path::parse("a[1]")) else { return assert_eq!(0, 1) };
        assert_eq!((at, count_values(value)), (3, 2));
        assert_eq!(locations.without(at, 2).len(), locations.len() - 2);
        assert_eq!(locations.slice(at, 2).len(), 2);
    }
}
