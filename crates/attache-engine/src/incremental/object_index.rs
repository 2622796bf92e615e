//! How many objects there are of each kind, and which objects are in each namespace.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::changed::{ObjectChange, ObjectStates};
use crate::object::{BorrowedGroupKind, GroupKind, ObjectId, ObjectRef, Objects};
use crate::persistent::PersistentSet;

/// Objects counted by kind and listed by namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectIndex {
    counts: HashMap<GroupKind, usize>,
    by_namespace: HashMap<SmolStr, PersistentSet<ObjectId>>,
}

impl ObjectIndex {
    pub fn new(objects: &Objects) -> ObjectIndex {
        let mut index = ObjectIndex::default();
        for (id, object) in objects.iter() {
            index.add(id, &object.id);
        }
        index
    }

    /// Adds and removes the objects that a batch adds and removes.
    pub fn update(&mut self, changes: &[ObjectChange]) {
        for change in changes {
            match &change.states {
                ObjectStates::Added(object) => self.add(change.id, &object.id),
                ObjectStates::Removed(object) => self.remove(change.id, &object.id),
                ObjectStates::Updated { .. } => {}
            }
        }
    }

    fn add(&mut self, id: ObjectId, reference: &ObjectRef) {
        *self.counts.entry(reference.group_kind()).or_default() += 1;
        if !reference.namespace.is_empty() {
            self.by_namespace.entry(reference.namespace.clone()).or_default().insert(id);
        }
    }

    fn remove(&mut self, id: ObjectId, reference: &ObjectRef) {
        let kind = BorrowedGroupKind { group: &reference.group, kind: &reference.kind };
        if let Some(count) = self.counts.get_mut(&kind) {
            *count = count.saturating_sub(1);
        }
        if let Some(objects) = self.by_namespace.get_mut(reference.namespace.as_str()) {
            objects.remove(id);
            if objects.is_empty() {
                self.by_namespace.remove(reference.namespace.as_str());
            }
        }
    }

    /// Whether there are objects of a kind.
    pub fn has_kind(&self, group: &str, kind: &str) -> bool {
        self.counts.get(&BorrowedGroupKind { group, kind }).is_some_and(|count| *count > 0)
    }

    /// The objects in a namespace, in the order of ids.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = ObjectId> {
        let objects = self.by_namespace.get(namespace);
        objects.into_iter().flat_map(|objects| objects.range(ObjectId(0), ObjectId(u32::MAX)))
    }

    /// Whether there are objects in a namespace.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.by_namespace.contains_key(namespace)
    }
}
