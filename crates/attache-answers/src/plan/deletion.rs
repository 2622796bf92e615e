//! What goes when an object is deleted.

use attache_engine::object::{Object, ObjectRef};
use attache_engine::text::described_kind;

/// An object that is deleted, and what the cluster deletes with it.
#[derive(Debug)]
pub struct Deletion {
    pub object: ObjectRef,
    /// What lives in a Namespace, or is of the kind that a CRD defines, in order.
    pub with: Vec<ObjectRef>,
}

impl Deletion {
    /// The deletion of an object among others.
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

    /// The object, and all that goes with it.
    pub fn all(&self) -> impl Iterator<Item = &ObjectRef> {
        [&self.object].into_iter().chain(&self.with)
    }
}
