//! Kubernetes objects: identity, creation time and content.
//!
//! An [`Object`] is made from YAML or JSON text by [`text::read`](crate::text::read), or from one JSON document or serde
//! type by the constructors of [`Object`]. All of them read the identity in the same way and drop the same fields: the
//! values of Secrets never get into the engine.

mod construct;
mod error;
mod group_kind;
mod identity;
mod last_change;
pub mod objects;
mod secret;
mod source;

use std::cmp::Ordering;
use std::fmt;

use jiff::Timestamp;
use smol_str::SmolStr;

use crate::value::{Path, Value};

pub use error::ObjectError;
pub use group_kind::GroupKind;
pub use last_change::LastChange;
pub use objects::Objects;
pub use source::{FileLocation, Source, SourceLocation, SourceMap};

pub(crate) use identity::{TypeMeta, identify};
pub(crate) use source::{count_values, walk_position};

/// The identity of an object: group, kind, namespace and name. The namespace of a cluster-scoped object is empty.
///
/// ```
/// use attache_engine::ObjectRef;
///
/// let route = ObjectRef::new("gateway.networking.k8s.io", "HTTPRoute", "shop", "cakes");
/// assert_eq!(route.to_string(), "HTTPRoute/shop/cakes");
///
/// let class = ObjectRef::new("gateway.networking.k8s.io", "GatewayClass", "", "internal");
/// assert_eq!(class.to_string(), "GatewayClass/internal");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The API group; empty for the core group.
    pub group: SmolStr,
    /// The kind, as in `HTTPRoute`.
    pub kind: SmolStr,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: SmolStr,
    /// The name.
    pub name: SmolStr,
}

impl ObjectRef {
    /// The identity with these parts.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        ObjectRef { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    /// The bytes of `namespace/name`.
    fn namespaced_name(&self) -> impl Iterator<Item = u8> {
        self.namespace.bytes().chain(*b"/").chain(self.name.bytes())
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Piece by piece: long answers are mostly names, and `write!` takes ten times as long.
        f.write_str(&self.kind)?;
        f.write_str("/")?;
        if !self.namespace.is_empty() {
            f.write_str(&self.namespace)?;
            f.write_str("/")?;
        }
        f.write_str(&self.name)
    }
}

/// A Kubernetes object of any kind.
///
/// ```
/// use attache_engine::Object;
/// use serde_json::json;
///
/// let gateway = Object::from_json(&json!({
///     "apiVersion": "gateway.networking.k8s.io/v1",
///     "kind": "Gateway",
///     "metadata": {"name": "main", "namespace": "infra", "labels": {"tier": "edge"}, "generation": 3},
///     "spec": {"gatewayClassName": "internal"},
/// }))?;
///
/// assert_eq!(gateway.id.to_string(), "Gateway/infra/main");
/// assert_eq!(gateway.label("tier"), Some("edge"));
/// assert_eq!(gateway.generation(), Some(3));
/// assert_eq!(gateway.spec().get_str("gatewayClassName"), Some("internal"));
/// # Ok::<(), attache_engine::ObjectError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Object {
    /// Which object it is.
    pub id: ObjectRef,
    /// The version of the API, as in `v1`.
    pub version: SmolStr,
    /// `metadata.creationTimestamp`. `None` for an object that has not been created yet.
    pub created: Option<Timestamp>,
    /// The whole document, without `metadata.managedFields`, `kubectl.kubernetes.io/last-applied-configuration` and the
    /// values of a Secret.
    pub body: Value,
    /// Who changed it last, where the document says so.
    pub last_change: Option<Box<LastChange>>,
    /// Where the object was read.
    pub source: Source,
}

impl Object {
    /// `spec`, or null.
    pub fn spec(&self) -> &Value {
        self.body.get("spec").unwrap_or(&Value::Null)
    }

    /// `metadata.labels`, or null.
    pub fn labels(&self) -> &Value {
        self.body.at(&["metadata", "labels"]).unwrap_or(&Value::Null)
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels().get_str(name)
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.body.at(&["metadata", "annotations", name])?.as_str()
    }

    /// `metadata.generation`.
    pub fn generation(&self) -> Option<i64> {
        self.body.at(&["metadata", "generation"])?.as_int()
    }

    /// `metadata.deletionTimestamp`: set while the API server waits for finalizers before it deletes the object.
    pub fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.body.at(&["metadata", "deletionTimestamp"])?.as_str()?.parse().ok()
    }

    /// Compares by age, the oldest first: by creation time, then alphabetically by `namespace/name`. An object without a
    /// creation time is newer than any other.
    pub fn by_age(&self, other: &Object) -> Ordering {
        (self.created.is_none(), self.created)
            .cmp(&(other.created.is_none(), other.created))
            .then_with(|| self.id.namespaced_name().cmp(other.id.namespaced_name()))
    }

    /// Line and column of the value at `path`, or of the nearest value around it. `None` if the object was not read from
    /// text.
    pub fn locate(&self, path: &Path) -> Option<SourceLocation> {
        self.source.locations.find(&self.body, path)
    }

    /// File, line and column of the value at `path`. `None` if the object was not read from a file.
    pub fn file_location(&self, path: &Path) -> Option<FileLocation<'_>> {
        let file = &*self.source.file;
        (!file.is_empty()).then(|| FileLocation { file, location: self.locate(path) })
    }
}

/// The number of an object in one snapshot of [`Objects`]. The number of a deleted object is used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(
    /// The position in the table of the snapshot.
    pub u32,
);
