//! Kubernetes objects, as the engine sees them: who they are, when they were made, and what they say.

mod group_kind;
pub mod objects;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::value::{Path, Segment, Value};

pub use group_kind::GroupKind;
pub use objects::Objects;

/// Who an object is. Its namespace is empty when the object is cluster-scoped.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    pub group: SmolStr,
    pub kind: SmolStr,
    pub namespace: SmolStr,
    pub name: SmolStr,
}

impl ObjectRef {
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        ObjectRef { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    /// The bytes of `namespace/name`.
    fn path(&self) -> impl Iterator<Item = u8> {
        self.namespace.bytes().chain(*b"/").chain(self.name.bytes())
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Piece by piece: a long answer is mostly names, and a format takes ten times as long.
        f.write_str(&self.kind)?;
        f.write_str("/")?;
        if !self.namespace.is_empty() {
            f.write_str(&self.namespace)?;
            f.write_str("/")?;
        }
        f.write_str(&self.name)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    pub id: ObjectRef,
    pub version: SmolStr,
    pub created: Option<jiff::Timestamp>,
    /// The whole document, without `metadata.managedFields`.
    pub body: Value,
    pub source: Source,
}

impl Object {
    pub fn spec(&self) -> &Value {
        self.body.get("spec").unwrap_or(&Value::Null)
    }

    pub fn labels(&self) -> &Value {
        self.body.at(&["metadata", "labels"]).unwrap_or(&Value::Null)
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.body.at(&["metadata", "annotations", name])?.as_str()
    }

    /// The older first: by creation, then alphabetically by `namespace/name`. What has no time has yet to be created.
    pub fn by_age(&self, other: &Object) -> Ordering {
        (self.created.is_none(), self.created)
            .cmp(&(other.created.is_none(), other.created))
            .then_with(|| self.id.path().cmp(other.id.path()))
    }

    pub fn generation(&self) -> Option<i64> {
        self.body.at(&["metadata", "generation"])?.as_int()
    }
}

/// Where a document was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub file: Arc<str>,
    /// The first document of a file is 1.
    pub document: u32,
    pub locations: SourceMap,
}

impl Source {
    /// `file:line:column` of the value at `path` in `body`, or of the nearest value around it.
    pub fn locate(&self, body: &Value, path: &Path) -> Option<SourceLocation> {
        self.locations.find(body, path)
    }
}

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLocation {
    pub line: u32,
    pub column: u16,
}

/// The place of every value of a document, in the order in which a walk over the value meets them:
/// a value before what is in it. Kept beside the value, so that values stay small and comparable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap(Box<[SourceLocation]>);

impl SourceMap {
    pub fn new(locations: &[SourceLocation]) -> Self {
        SourceMap(locations.into())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places of the `len` values from the one that a walk meets after `first` others.
    pub(crate) fn slice(&self, first: usize, len: usize) -> SourceMap {
        SourceMap(self.0.get(first..first + len).unwrap_or_default().into())
    }

    /// These places without those of the `len` values from the one that a walk meets after `first` others.
    pub(crate) fn without(&self, first: usize, len: usize) -> SourceMap {
        let (before, rest) = self.0.split_at(first.min(self.0.len()));
        SourceMap([before, rest.get(len..).unwrap_or_default()].concat().into())
    }

    /// The place of the value at `path`, or of the deepest value on the way to it that exists.
    pub fn find(&self, body: &Value, path: &Path) -> Option<SourceLocation> {
        let (mut value, mut at) = (body, 0);
        for segment in path.segments() {
            let Some((before, next)) = step(value, segment) else { break };
            at += 1 + before;
            value = next;
        }
        self.0.get(at).copied()
    }
}

/// How many values a walk over `body` meets before the one at `path`, and that one.
pub(crate) fn position<'v>(body: &'v Value, path: &Path) -> Option<(usize, &'v Value)> {
    path.segments().iter().try_fold((0, body), |(at, value), segment| {
        let (before, next) = step(value, segment)?;
        Some((at + 1 + before, next))
    })
}

/// The child that `segment` names, and how many values a walk meets between its parent and it.
fn step<'v>(value: &'v Value, segment: &Segment) -> Option<(usize, &'v Value)> {
    let mut before = 0;
    match segment {
        Segment::Key(key) => {
            for (name, child) in value.entries() {
                if name == key {
                    return Some((before, child));
                }
                before += count(child);
            }
        }
        Segment::Index(index) => {
            for (i, child) in value.items().iter().enumerate() {
                if i == *index {
                    return Some((before, child));
                }
                before += count(child);
            }
        }
    }
    None
}

/// How many values there are in `value`, itself included.
pub(crate) fn count(value: &Value) -> usize {
    1 + value.items().iter().map(count).sum::<usize>()
        + value.entries().iter().map(|(_, child)| count(child)).sum::<usize>()
}

/// The number of an object in one snapshot of [`Objects`]. See [`objects`] for how ids are given and reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(
    /// The position in the table of the snapshot.
    pub u32,
);
