//! Objects that the cluster deletes together with an object.

use attache_engine::text::described_kind;
use attache_engine::{Object, ObjectRef};
use serde::Serialize;

/// A deleted object, and the objects that the cluster deletes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deletion {
    /// The object.
    pub object: ObjectRef,
    /// The objects in a Namespace, or of the kind that a CRD defines, sorted.
    pub with: Vec<ObjectRef>,
}

impl Deletion {
    /// The deletion of an object among all objects.
    pub fn new<'o>(object: ObjectRef, all: impl Iterator<Item = &'o Object> + Clone) -> Deletion {
        let is = |group: &str, kind: &str| object.group == group && object.kind == kind;
        let mut with: Vec<ObjectRef> = Vec::new();
        if is("", "Namespace") {
            with.extend(all.filter(|it| it.id.namespace == object.name).map(|it| it.id.clone()));
        } else if is("apiextensions.k8s.io", "CustomResourceDefinition") {
            let defined = all.clone().find(|it| it.id == object).and_then(described_kind);
            let is_defined = |it: &&Object| Some((it.id.group.as_str(), it.id.kind.as_str())) == defined;
            with.extend(all.filter(is_defined).map(|it| it.id.clone()));
        }
        with.sort();
        with.dedup();
        Deletion { object, with }
    }

    /// The object, and everything that is deleted with it.
    pub fn all(&self) -> impl Iterator<Item = &ObjectRef> {
        [&self.object].into_iter().chain(&self.with)
    }
}
