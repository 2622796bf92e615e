//! Kubernetes objects, as the engine sees them: who they are, when they were made, and what they say.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::{Equivalent, HashMap};
use smol_str::SmolStr;

use crate::value::{Path, Segment, Value};

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

/// An [`ObjectRef`] that borrows: to look one up costs no allocation. Hashes as `ObjectRef` does, field by field.
#[derive(Hash)]
struct Parts<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl Equivalent<ObjectRef> for Parts<'_> {
    fn equivalent(&self, id: &ObjectRef) -> bool {
        // Names differ most.
        self.name == id.name && self.namespace == id.namespace && self.kind == id.kind && self.group == id.group
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{}/{}", self.kind, self.name),
            namespace => write!(f, "{}/{}/{}", self.kind, namespace, self.name),
        }
    }
}

#[derive(Clone, Debug)]
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
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub file: Arc<str>,
    /// The first document of a file is 1.
    pub document: u32,
    pub places: Places,
}

impl Source {
    /// `file:line:column` of the value at `path` in `body`, or of the nearest value around it.
    pub fn locate(&self, body: &Value, path: &Path) -> Option<Place> {
        self.places.find(body, path)
    }
}

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub line: u32,
    pub column: u16,
}

/// The place of every value of a document, in the order in which a walk over the value meets them:
/// a value before what is in it. Kept beside the value, so that values stay small and comparable.
#[derive(Clone, Debug, Default)]
pub struct Places(Box<[Place]>);

impl Places {
    pub fn new(places: Vec<Place>) -> Self {
        Places(places.into())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places of the `len` values from the one that a walk meets after `first` others.
    pub(crate) fn slice(&self, first: usize, len: usize) -> Places {
        Places(self.0.get(first..first + len).unwrap_or_default().into())
    }

    /// These places without those of the `len` values from the one that a walk meets after `first` others.
    pub(crate) fn without(&self, first: usize, len: usize) -> Places {
        let (before, rest) = self.0.split_at(first.min(self.0.len()));
        Places([before, rest.get(len..).unwrap_or_default()].concat().into())
    }

    /// The place of the value at `path`, or of the deepest value on the way to it that exists.
    pub fn find(&self, body: &Value, path: &Path) -> Option<Place> {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// All objects of one input, each once, sorted by group, kind, namespace and name: ids, and with them
/// everything derived, do not depend on the order of the input.
#[derive(Debug, Default)]
pub struct Objects {
    list: Vec<Object>,
    by_ref: HashMap<ObjectRef, ObjectId>,
}

impl Objects {
    /// Of several objects with one name the last is kept.
    pub fn new(mut list: Vec<Object>) -> Self {
        use rayon::slice::ParallelSliceMut;
        list.par_sort_by(|a, b| a.id.cmp(&b.id));
        list.reverse();
        list.dedup_by(|a, b| a.id == b.id);
        list.reverse();
        let by_ref = list.iter().enumerate().map(|(i, object)| (object.id.clone(), ObjectId(i as u32))).collect();
        Objects { list, by_ref }
    }

    pub fn find(&self, id: &ObjectRef) -> Option<ObjectId> {
        self.by_ref.get(id).copied()
    }

    /// As [`Objects::find`], for those who have the parts only.
    pub fn lookup(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<ObjectId> {
        self.by_ref.get(&Parts { group, kind, namespace, name }).copied()
    }

    pub fn get(&self, id: ObjectId) -> &Object {
        &self.list[id.0 as usize]
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ObjectId, &Object)> + Clone {
        self.list.iter().enumerate().map(|(i, object)| (ObjectId(i as u32), object))
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Group and kind of everything there is, each once, in order.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        let same = |a: &Object, b: &Object| a.id.kind == b.id.kind && a.id.group == b.id.group;
        let firsts = self.list.chunk_by(same).filter_map(|chunk| chunk.first());
        firsts.map(|object| (object.id.group.as_str(), object.id.kind.as_str()))
    }

    /// The ids of all objects of one kind, in order.
    pub fn of_kind(&self, group: &str, kind: &str) -> Range<u32> {
        let key = |object: &Object| (object.id.group.as_str(), object.id.kind.as_str()).cmp(&(group, kind));
        let start = self.list.partition_point(|object| key(object).is_lt());
        let end = self.list.partition_point(|object| key(object).is_le());
        start as u32..end as u32
    }

    /// The ids of all objects of one kind in one namespace, in order.
    pub fn within(&self, group: &str, kind: &str, namespace: &str) -> Range<u32> {
        let Range { start, end } = self.of_kind(group, kind);
        let there = &self.list[start as usize..end as usize];
        let first = there.partition_point(|object| object.id.namespace.as_str() < namespace);
        let last = there.partition_point(|object| object.id.namespace.as_str() <= namespace);
        start + first as u32..start + last as u32
    }

    /// The objects of one kind, in order.
    pub fn each(&self, group: &str, kind: &str) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.of_kind(group, kind).map(|i| (ObjectId(i), &self.list[i as usize]))
    }
}
