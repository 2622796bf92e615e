//! What an edit makes different about an object.

use std::sync::Arc;

use crate::engine::Engine;
use crate::kinds::{CRD_GROUP, CRD_KIND, GROUP, KIND, KindName, Placements};
use crate::object::{Object, ObjectId, ObjectRef};
use crate::value::Value;

/// An object that an edit was about.
#[derive(Clone, Debug)]
pub struct Touched {
    pub id: ObjectId,
    pub before: Option<Arc<Object>>,
    pub after: Option<Arc<Object>>,
    pub what: What,
}

/// What is different.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct What {
    /// It came or went.
    pub exists: bool,
    /// What it says, but for its metadata and status.
    pub spec: bool,
    pub labels: bool,
    pub annotations: bool,
    /// When it was made.
    pub age: bool,
    /// Only what nothing else depends on: its status, where it was read, what the API server keeps for itself.
    pub rest: bool,
}

impl Touched {
    pub fn name(&self) -> Option<&ObjectRef> {
        self.after.as_ref().or(self.before.as_ref()).map(|object| &object.id)
    }

    /// Whether more than the object itself is another. What is wrong with policies and kinds has its place in a file.
    pub fn matters(&self, engine: &Engine) -> bool {
        let is_policy = |id: &ObjectRef| engine.kinds.find(&id.group, &id.kind).is_some();
        self.what.counts() || self.name().is_some_and(|id| is_policy(id) || tells_of_kinds(engine, id))
    }

    /// How it was and how it is.
    pub fn states(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.before.iter().chain(&self.after)
    }
}

impl What {
    pub fn exists() -> What {
        What { exists: true, spec: true, labels: true, annotations: true, age: true, rest: true }
    }

    pub fn between(before: &Object, after: &Object) -> What {
        let rest = before.source != after.source;
        let mut what = What { age: before.created != after.created, rest, ..What::default() };
        if before.body == after.body {
            return what;
        }
        what.rest = true;
        let field = |object: &Object, name: &str| object.body.get(name).cloned();
        let keys = before.body.entries().iter().chain(after.body.entries()).map(|(key, _)| key.as_str());
        for key in keys {
            if field(before, key) != field(after, key) {
                match key {
                    "metadata" => {
                        what.labels = before.labels() != after.labels();
                        what.annotations = annotations(before) != annotations(after);
                    }
                    "status" => {}
                    _ => what.spec = true,
                }
            }
        }
        what
    }

    /// Whether anything is different that something else may depend on.
    pub fn counts(self) -> bool {
        self.exists || self.spec || self.labels || self.annotations || self.age
    }
}

/// Whether an object tells of policy kinds, or of where policies are bound, with its status perhaps.
pub fn tells_of_kinds(engine: &Engine, id: &ObjectRef) -> bool {
    let is = |(group, kind): (&str, &str)| id.group == group && id.kind == kind;
    let is_kind = |name: &KindName| name.is(&id.group, &id.kind);
    let mut bindings = engine.kinds.iter().filter_map(|(_, kind)| kind.targets.bindings.as_ref());
    is((GROUP, KIND))
        || is((CRD_GROUP, CRD_KIND))
        || bindings.any(|bindings| {
            let Placements { kind, decisions, targets, set_bindings, .. } = &bindings.placements;
            let sets = bindings.sets.as_ref().map(|sets| &sets.kind);
            [kind, decisions, targets, set_bindings, &bindings.kind].into_iter().chain(sets).any(is_kind)
        })
}

fn annotations(object: &Object) -> Option<&Value> {
    object.body.at(&["metadata", "annotations"])
}
