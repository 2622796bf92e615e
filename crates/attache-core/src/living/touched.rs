//! What an edit makes different about an object.

use std::sync::Arc;

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
    /// What nothing else depends on: its status, or its generation and the like.
    pub rest: bool,
}

impl Touched {
    pub fn name(&self) -> Option<&ObjectRef> {
        self.after.as_ref().or(self.before.as_ref()).map(|object| &object.id)
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
        let mut what = What { age: before.created != after.created, ..What::default() };
        if before.body == after.body {
            return what;
        }
        let field = |object: &Object, name: &str| object.body.get(name).cloned();
        let keys = before.body.entries().iter().chain(after.body.entries()).map(|(key, _)| key.as_str());
        for key in keys {
            if field(before, key) != field(after, key) {
                match key {
                    "metadata" => {
                        what.labels = before.labels() != after.labels();
                        what.annotations = annotations(before) != annotations(after);
                        what.rest = true;
                    }
                    "status" => what.rest = true,
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

fn annotations(object: &Object) -> Option<&Value> {
    object.body.at(&["metadata", "annotations"])
}
