//! Kubernetes objects: identity, creation time and content.
//!
//! An [`Object`] is built from YAML or JSON text by [`text::read`](crate::text::read), or from one JSON document or
//! serde type by the constructors of [`Object`]. All of them read the identity in the same way and drop the same
//! fields: the values of Secrets never enter the engine.

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
use std::hash::{Hash, Hasher};

use jiff::Timestamp;
use smol_str::SmolStr;

use crate::names::{plural, qualified};
use crate::value::{Path, SharedValues, Value};

pub use error::ObjectError;
pub(crate) use group_kind::BorrowedGroupKind;
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
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ObjectRef {
    /// The API group; empty for the core group.
    pub group: SmolStr,
    /// The kind, as in `HTTPRoute`.
    pub kind: SmolStr,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: SmolStr,
    /// The name.
    pub name: SmolStr,
    /// Whether it is displayed with the plural and group of its kind. It is not part of the identity.
    pub(crate) is_qualified: bool,
}

impl ObjectRef {
    /// The identity with these parts.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        ObjectRef::from_parts(group.into(), kind.into(), namespace.into(), name.into())
    }

    /// Like [`ObjectRef::new`], from parts that need not be copied.
    pub(crate) fn from_parts(group: SmolStr, kind: SmolStr, namespace: SmolStr, name: SmolStr) -> Self {
        ObjectRef { group, kind, namespace, name, is_qualified: false }
    }

    fn parts(&self) -> [&SmolStr; 4] {
        [&self.group, &self.kind, &self.namespace, &self.name]
    }

    /// The bytes of `namespace/name`.
    fn namespaced_name(&self) -> impl Iterator<Item = u8> {
        self.namespace.bytes().chain(*b"/").chain(self.name.bytes())
    }
}

impl PartialEq for ObjectRef {
    fn eq(&self, other: &ObjectRef) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for ObjectRef {}

impl PartialOrd for ObjectRef {
    fn partial_cmp(&self, other: &ObjectRef) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectRef {
    fn cmp(&self, other: &ObjectRef) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl Hash for ObjectRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().into_iter().for_each(|part| part.hash(state));
    }
}

/// `Kind/namespace/name`, or `Kind/name` for a cluster-scoped object. If policies of two kinds with the same name exist, the
/// kind is its plural with the group: `ratelimitpolicies.kuadrant.io/namespace/name`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Piece by piece: long answers are mostly names, and `write!` takes ten times as long.
        match self.is_qualified {
            true => f.write_str(&qualified(&self.group, &plural(&self.kind.to_lowercase())))?,
            false => f.write_str(&self.kind)?,
        }
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
    /// The identity.
    pub id: ObjectRef,
    /// The version of the API, as in `v1`.
    pub version: SmolStr,
    /// `metadata.creationTimestamp`. `None` for an object that has not been created yet.
    pub created: Option<Timestamp>,
    /// The whole document, without `metadata.managedFields`, `kubectl.kubernetes.io/last-applied-configuration` and the
    /// values of a Secret.
    pub body: Value,
    /// The last change, if the document records it.
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

    /// Shares lists and maps of the body with equal ones of earlier objects.
    pub fn share(&mut self, shared: &mut SharedValues) {
        shared.share_body(&mut self.body);
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

/// The id of an object in one snapshot of [`Objects`]. The id of a deleted object is reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(
    /// The position in the table of the snapshot.
    pub u32,
);
