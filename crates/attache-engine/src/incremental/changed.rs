//! Stage 1: which objects a batch of edits changes, and which of their fields.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::engine::Engine;
use crate::kinds::{CRD_GROUP, CRD_KIND, GATEWAY_CONTROLLER, GROUP, KIND, TARGET_KIND};
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::value::{Entry, Value};

/// A change of one object.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Adds the object, or replaces the object with the same reference.
    Put(Object),
    /// Deletes the object. Nothing happens if it does not exist.
    Delete(ObjectRef),
}

impl Edit {
    /// The object that is changed.
    pub fn id(&self) -> &ObjectRef {
        match self {
            Edit::Put(object) => &object.id,
            Edit::Delete(id) => id,
        }
    }

    /// Whether the edit changes anything.
    fn changes(&self, objects: &Objects) -> bool {
        let before = objects.find(self.id()).and_then(|id| objects.get(id));
        match (before, self) {
            (None, Edit::Delete(_)) => false,
            (None, Edit::Put(_)) | (Some(_), Edit::Delete(_)) => true,
            (Some(before), Edit::Put(after)) => {
                after.created != before.created || after.source != before.source || after.body != before.body
            }
        }
    }
}

/// An object that a batch adds, removes or updates.
#[derive(Clone, Debug)]
pub(super) struct ObjectChange {
    pub id: ObjectId,
    pub states: ObjectStates,
    pub fields: ChangedFields,
}

/// An object before and after a batch.
#[derive(Clone, Debug)]
pub(super) enum ObjectStates {
    Added(Arc<Object>),
    Removed(Arc<Object>),
    Updated { before: Arc<Object>, after: Arc<Object> },
}

/// The parts of an object that change. All are false if only the status or the position in a file changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedFields {
    /// The object is added or removed.
    pub existence: bool,
    /// Anything but metadata and status.
    pub spec: bool,
    pub labels: bool,
    pub annotations: bool,
    pub creation_time: bool,
}

impl ObjectChange {
    fn new(id: ObjectId, before: Option<Arc<Object>>, after: Option<Arc<Object>>) -> Option<ObjectChange> {
        let (states, fields) = match (before, after) {
            (None, None) => return None,
            (None, Some(after)) => (ObjectStates::Added(after), ChangedFields::ALL),
            (Some(before), None) => (ObjectStates::Removed(before), ChangedFields::ALL),
            (Some(before), Some(after)) => {
                let fields = ChangedFields::between(&before, &after);
                (ObjectStates::Updated { before, after }, fields)
            }
        };
        Some(ObjectChange { id, states, fields })
    }

    pub fn reference(&self) -> &ObjectRef {
        match &self.states {
            ObjectStates::Added(object) | ObjectStates::Removed(object) => &object.id,
            ObjectStates::Updated { after, .. } => &after.id,
        }
    }

    pub fn before(&self) -> Option<&Arc<Object>> {
        match &self.states {
            ObjectStates::Added(_) => None,
            ObjectStates::Removed(before) | ObjectStates::Updated { before, .. } => Some(before),
        }
    }

    pub fn after(&self) -> Option<&Arc<Object>> {
        match &self.states {
            ObjectStates::Removed(_) => None,
            ObjectStates::Added(after) | ObjectStates::Updated { after, .. } => Some(after),
        }
    }

    /// The states before and after, as far as they exist.
    pub fn states(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.before().into_iter().chain(self.after())
    }

    pub fn is_removed(&self) -> bool {
        matches!(self.states, ObjectStates::Removed(_))
    }

    /// Whether the change can affect more than the object itself. Problems of policies and kinds have positions in
    /// files, so any change of a policy or a kind can.
    pub fn can_affect_others(&self, engine: &Engine) -> bool {
        let id = self.reference();
        let kinds = engine.kinds();
        self.fields.any()
            || kinds.find(&id.group, &id.kind).is_some()
            || self.defines_kinds(engine)
            || kinds.has_settings(&id.group, &id.kind)
    }

    /// Whether the change can change which policy kinds there are, or where policies are bound. The status of an object that
    /// binds policies can be enough. That of a description of a kind is not, although a controller writes it.
    pub fn defines_kinds(&self, engine: &Engine) -> bool {
        let id = self.reference();
        let is = |(group, kind): (&str, &str)| id.group == group && id.kind == kind;
        let describes_kinds = is((GROUP, KIND))
            || is((GROUP, TARGET_KIND))
            || is((GROUP, GATEWAY_CONTROLLER))
            || is((CRD_GROUP, CRD_KIND));
        describes_kinds && (self.fields.any() || self.is_moved()) || engine.kinds().binds_policies(&id.group, &id.kind)
    }

    /// Whether the object is at another place in a file.
    fn is_moved(&self) -> bool {
        matches!(&self.states, ObjectStates::Updated { before, after } if before.source != after.source)
    }
}

impl ChangedFields {
    pub const ALL: ChangedFields =
        ChangedFields { existence: true, spec: true, labels: true, annotations: true, creation_time: true };

    pub fn between(before: &Object, after: &Object) -> ChangedFields {
        ChangedFields {
            existence: false,
            spec: !content(before).eq(content(after)),
            labels: before.labels() != after.labels(),
            annotations: annotations(before) != annotations(after),
            creation_time: before.created != after.created,
        }
    }

    /// Whether anything changes that other objects can depend on.
    pub fn any(self) -> bool {
        self.existence || self.spec || self.labels || self.annotations || self.creation_time
    }

    /// Whether the object is added or removed, or its spec changes.
    pub fn content(self) -> bool {
        self.existence || self.spec
    }
}

/// Everything but metadata and status.
fn content(object: &Object) -> impl Iterator<Item = &Entry> {
    object.body.entries().iter().filter(|(key, _)| key != "metadata" && key != "status")
}

fn annotations(object: &Object) -> Option<&Value> {
    object.body.at(&["metadata", "annotations"])
}

/// The edits that change something, only the last one for each object.
pub(super) fn effective_edits(objects: &Objects, batch: impl IntoIterator<Item = Edit>) -> Vec<Edit> {
    let mut edits: Vec<Edit> = batch.into_iter().collect();
    if edits.len() > 1 {
        let last: HashMap<ObjectRef, usize> = edits.iter().enumerate().map(|(at, it)| (it.id().clone(), at)).collect();
        let mut at = 0..;
        edits.retain(|edit| last.get(edit.id()).copied() == at.next());
    }
    edits.retain(|edit| edit.changes(objects));
    edits
}

/// Applies edits to the objects. Returns the new objects, and the changes sorted by id. New objects take the `free` ids
/// first.
pub(super) fn apply_edits(
    before: &Objects,
    edits: Vec<Edit>,
    free: &mut Vec<ObjectId>,
) -> (Objects, Vec<ObjectChange>) {
    let mut objects = before.clone();
    let mut changes = Vec::with_capacity(edits.len());
    for edit in edits {
        let id = match edit {
            Edit::Put(object) => objects.put(Arc::new(object), || free.pop()),
            Edit::Delete(reference) => {
                let Some(id) = objects.find(&reference) else { continue };
                objects.remove(id);
                id
            }
        };
        changes.extend(ObjectChange::new(id, before.shared(id).cloned(), objects.shared(id).cloned()));
    }
    changes.sort_by_key(|change| change.id);
    (objects, changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn object(yaml: &str) -> Object {
        text::read(&Arc::from("test.yaml"), yaml).objects.remove(0)
    }

    fn service(more: &str) -> Object {
        object(&format!("{{apiVersion: v1, kind: Service, metadata: {{name: s, namespace: a{more}"))
    }

    #[test]
    fn changed_fields_are_classified() {
        let before = service("}, spec: {x: 1}}");
        let changed = |more: &str| ChangedFields::between(&before, &service(more));
        let nothing = ChangedFields::default();
        assert_eq!(changed("}, spec: {x: 1}, status: {ready: true}}"), nothing);
        assert_eq!(changed("}, spec: {x: 2}}"), ChangedFields { spec: true, ..nothing });
        assert_eq!(changed(", labels: {a: b}}, spec: {x: 1}}"), ChangedFields { labels: true, ..nothing });
        assert_eq!(changed(", annotations: {a: b}}, spec: {x: 1}}"), ChangedFields { annotations: true, ..nothing });
        let created = ", creationTimestamp: '2024-01-01T00:00:00Z'}, spec: {x: 1}}";
        assert_eq!(changed(created), ChangedFields { creation_time: true, ..nothing });
    }

    #[test]
    fn only_the_last_edit_of_an_object_counts() {
        let objects = Objects::new(vec![service("}}")]);
        let id = service("}}").id;
        let edits = [Edit::Put(service("}, spec: {x: 1}}")), Edit::Delete(id.clone()), Edit::Put(service("}}"))];
        assert!(effective_edits(&objects, edits).is_empty());
        let edits = [Edit::Delete(id.clone()), Edit::Put(service("}, spec: {x: 1}}"))];
        assert!(matches!(&effective_edits(&objects, edits)[..], [Edit::Put(_)]));
        assert!(effective_edits(&Objects::default(), [Edit::Delete(id)]).is_empty());
    }

    #[test]
    fn changes_are_sorted_by_id_and_free_ids_are_used_first() {
        let [a, b] =
            ["a", "b"].map(|name| object(&format!("{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}}}")));
        let before = Objects::new(vec![a.clone()]);
        let mut free = vec![ObjectId(7)];
        let (after, changes) = apply_edits(&before, vec![Edit::Put(b.clone()), Edit::Delete(a.id.clone())], &mut free);
        assert_eq!(changes.iter().map(|change| change.id).collect::<Vec<_>>(), [ObjectId(0), ObjectId(7)]);
        assert!(changes[0].is_removed() && matches!(changes[1].states, ObjectStates::Added(_)));
        assert_eq!((after.find(&a.id), after.find(&b.id)), (None, Some(ObjectId(7))));
        assert!(free.is_empty());
    }
}
