//! A model that lives: objects go in and out, and after each batch it knows what is different.

use std::sync::Arc;

use crate::change::{Change, StatusChange, TargetChange, effective_changes, status_changes, target_changes};
use crate::engine::Engine;
use crate::kinds::{PolicyKind, Settings};
use crate::object::{Object, ObjectRef, Objects};

/// What becomes of one object.
#[derive(Clone, Debug)]
pub enum Edit {
    /// It is new, or says something else than before.
    Put(Object),
    Delete(ObjectRef),
}

impl Edit {
    pub fn id(&self) -> &ObjectRef {
        match self {
            Edit::Put(object) => &object.id,
            Edit::Delete(id) => id,
        }
    }
}

#[derive(Debug)]
pub struct Living {
    now: Arc<Engine>,
    built_in: Vec<PolicyKind>,
    settings: Settings,
}

impl Living {
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> Living {
        let now = Arc::new(Engine::new(objects, built_in, settings));
        Living { now, built_in: built_in.to_vec(), settings }
    }

    /// How things stand. Whoever keeps a clone of it has a consistent answer to everything, whatever comes next.
    pub fn now(&self) -> &Arc<Engine> {
        &self.now
    }

    /// Takes a batch of edits, of which the last counts for each object, and tells what they change.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Edit>) -> Report {
        let before = Arc::clone(&self.now);
        let mut objects = before.objects().clone();
        for edit in batch {
            match edit {
                Edit::Put(object) => drop(objects.put(Arc::new(object))),
                Edit::Delete(id) => {
                    if let Some(id) = objects.find(&id) {
                        objects.remove(id);
                    }
                }
            }
        }
        self.now = Arc::new(Engine::new(objects.tidy(), &self.built_in, self.settings));
        Report { before, after: Arc::clone(&self.now) }
    }
}

/// What a batch made different. It is put into words when somebody looks.
#[derive(Debug)]
pub struct Report {
    pub before: Arc<Engine>,
    pub after: Arc<Engine>,
}

impl Report {
    pub fn is_empty(&self) -> bool {
        self.effective().is_empty() && self.policies().is_empty() && self.targets().is_empty()
    }

    /// Every scope that came, went, or has something else in force, grouped by what changes.
    pub fn effective(&self) -> Vec<Change> {
        effective_changes(&self.before, &self.after)
    }

    /// Every policy that came, went, or has another status, in the order of names.
    pub fn policies(&self) -> Vec<StatusChange> {
        status_changes(&self.before, &self.after)
    }

    /// Every target that other policies affect than before, in the order of names.
    pub fn targets(&self) -> Vec<TargetChange> {
        target_changes(&self.before, &self.after)
    }
}
