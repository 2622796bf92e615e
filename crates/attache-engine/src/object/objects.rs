//! All objects of one snapshot, by id, by name and by kind.
//!
//! # Ids
//!
//! An [`ObjectId`] is the index of an object in the table of a snapshot.
//!
//! - [`Objects::new`] numbers the objects in the order of group, kind, namespace and name. So ids, and everything that
//!   is derived from them, do not depend on the order of the input.
//! - An object keeps its id from one snapshot to the next, also when it is updated.
//! - The id of a deleted object is free from the next snapshot on: a later snapshot may give it to a new object.
//!
//! So an id is only valid together with its snapshot. `objects[id]` is for ids of the same snapshot and panics for
//! others. [`Objects::get`] is for ids that may come from the previous snapshot: `None` means deleted.

use std::cmp::Ordering;
use std::ops::Index;
use std::sync::{Arc, OnceLock};

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use super::{Object, ObjectId, ObjectRef};
use crate::persistent::{PersistentIndex, PersistentVec, hash};

/// All objects of one snapshot, each once.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    slots: PersistentVec<Option<Arc<Object>>>,
    by_ref: PersistentIndex,
    count: usize,
    sorted_ids: SortedIds,
}

impl Objects {
    /// A snapshot of these objects. Of several objects with the same identity, the last one is kept.
    pub fn new(list: Vec<Object>) -> Self {
        let mut list: Vec<Arc<Object>> = list.into_par_iter().map(Arc::new).collect();
        list.par_sort_by(|a, b| a.id.cmp(&b.id));
        if list.par_windows(2).any(|pair| pair[0].id == pair[1].id) {
            list.reverse();
            list.dedup_by(|a, b| a.id == b.id);
            list.reverse();
        }
        Objects::from_sorted(list)
    }

    /// A snapshot of objects that are sorted by identity.
    fn from_sorted(list: Vec<Arc<Object>>) -> Self {
        let count = list.len();
        let hashes: Vec<u64> = list.par_iter().map(|object| hash(&object.id)).collect();
        let by_ref = PersistentIndex::new(hashes.into_iter().zip(0..count as u32));
        let sorted_ids = SortedIds::new((0..count as u32).map(ObjectId).collect());
        Objects { slots: list.into_iter().map(Some).collect(), by_ref, count, sorted_ids }
    }

    /// The same objects with new ids, in order and without gaps. None of them is displayed with plural and group.
    pub(crate) fn compacted(&self) -> Self {
        let unqualified = |object: &Arc<Object>| {
            let mut object = Arc::clone(object);
            if object.id.is_qualified {
                Arc::make_mut(&mut object).id.is_qualified = false;
            }
            object
        };
        Objects::from_sorted(self.sorted_ids().iter().filter_map(|id| self.slot(id.0).map(unqualified)).collect())
    }

    /// The id of the object with this identity.
    pub fn find(&self, id: &ObjectRef) -> Option<ObjectId> {
        self.lookup(&id.group, &id.kind, &id.namespace, &id.name)
    }

    /// Like [`Objects::find`], from the parts of the identity.
    pub fn lookup(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<ObjectId> {
        let wanted = BorrowedRef { group, kind, namespace, name };
        let is_wanted = |at| self.slot(at).is_some_and(|object| wanted.equals(&object.id));
        self.by_ref.find(hash(&wanted), is_wanted).map(ObjectId)
    }

    /// The object with this id, or `None` if it was deleted. Use `objects[id]` for ids of the same snapshot.
    pub fn get(&self, id: ObjectId) -> Option<&Object> {
        self.slot(id.0).map(Arc::as_ref)
    }

    /// Like [`Objects::get`], with shared ownership: the object can outlive the snapshot.
    pub fn shared(&self, id: ObjectId) -> Option<&Arc<Object>> {
        self.slot(id.0)
    }

    fn slot(&self, at: u32) -> Option<&Arc<Object>> {
        self.slots.get(at as usize)?.as_ref()
    }

    /// All objects with their ids, in the order of group, kind, namespace and name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ObjectId, &Object)> + Clone {
        self.sorted_ids().iter().map(|id| (*id, &self[*id]))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The lowest id that was never used.
    fn unused_id(&self) -> ObjectId {
        ObjectId(self.slots.len() as u32)
    }

    /// The group and kind of all objects, each once, in order.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = self.sorted_ids();
        std::iter::from_fn(move || {
            let first = &self[*rest.first()?].id;
            let is_same = |id: &ObjectRef| id.kind == first.kind && id.group == first.group;
            rest = &rest[rest.partition_point(|id| is_same(&self[*id].id))..];
            Some((first.group.as_str(), first.kind.as_str()))
        })
    }

    /// The ids of all objects of one kind, in order.
    pub fn of_kind(&self, group: &str, kind: &str) -> &[ObjectId] {
        self.range(self.sorted_ids(), |id| (id.group.as_str(), id.kind.as_str()).cmp(&(group, kind)))
    }

    /// The ids of all objects of one kind in one namespace, in order.
    pub fn of_kind_in(&self, group: &str, kind: &str, namespace: &str) -> &[ObjectId] {
        self.range(self.of_kind(group, kind), |id| id.namespace.as_str().cmp(namespace))
    }

    /// All objects of one kind with their ids, in order.
    pub fn each_of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.of_kind(group, kind).iter().map(|id| (*id, &self[*id]))
    }

    /// The part of `ids`, which are in order, whose identities `compare` equal.
    fn range<'i>(&self, ids: &'i [ObjectId], compare: impl Fn(&ObjectRef) -> Ordering) -> &'i [ObjectId] {
        let start = ids.partition_point(|id| compare(&self[*id].id).is_lt());
        let end = ids.partition_point(|id| compare(&self[*id].id).is_le());
        &ids[start..end]
    }

    fn sorted_ids(&self) -> &[ObjectId] {
        self.sorted_ids.get(self)
    }

    /// Displays the objects of a kind with the plural and group of their kind, or without.
    pub(crate) fn qualify(&mut self, group: &str, kind: &str, is_qualified: bool) {
        for id in self.of_kind(group, kind).to_vec() {
            if let Some(object) =
                self.slots.entry(id.0 as usize).as_mut().filter(|it| it.id.is_qualified != is_qualified)
            {
                Arc::make_mut(object).id.is_qualified = is_qualified;
            }
        }
    }

    /// Whether most ids are free, so that [`Objects::compacted`] saves memory.
    pub(crate) fn is_sparse(&self) -> bool {
        const MIN_SLOTS: usize = 4096;
        self.slots.len() > MIN_SLOTS && self.count < self.slots.len() / 4
    }

    /// Adds an object, or replaces the one with the same identity. A new object gets the id that `free_id` returns, or one that
    /// was never used.
    pub(crate) fn put(&mut self, mut object: Arc<Object>, free_id: impl FnOnce() -> Option<ObjectId>) -> ObjectId {
        let known = self.find(&object.id);
        // An object keeps the form in which its name is displayed.
        let is_qualified = known.is_some_and(|known| self[known].id.is_qualified);
        if object.id.is_qualified != is_qualified {
            Arc::make_mut(&mut object).id.is_qualified = is_qualified;
        }
        let id = known.or_else(free_id).unwrap_or(self.unused_id());
        let hash = hash(&object.id);
        *self.slots.entry(id.0 as usize) = Some(object);
        if known.is_none() {
            let slots = &self.slots;
            self.by_ref.insert(hash, id.0, |at| hash_at(slots, at));
            self.count += 1;
            self.sorted_ids.add(id);
        }
        id
    }

    /// Removes an object. Its id is free from the next snapshot on.
    pub(crate) fn remove(&mut self, id: ObjectId) -> Option<Arc<Object>> {
        let object = self.slot(id.0).cloned()?;
        let slots = &self.slots;
        self.by_ref.remove(hash(&object.id), id.0, |at| hash_at(slots, at));
        *self.slots.entry(id.0 as usize) = None;
        self.count -= 1;
        self.sorted_ids.remove(id);
        Some(object)
    }
}

/// For ids that were taken from this snapshot.
impl Index<ObjectId> for Objects {
    type Output = Object;

    /// # Panics
    ///
    /// If no object has this id, because the id was taken from another snapshot.
    #[inline]
    fn index(&self, id: ObjectId) -> &Object {
        self.slot(id.0).expect("an object id is only used with the snapshot that it was taken from")
    }
}

fn hash_at(slots: &PersistentVec<Option<Arc<Object>>>, at: u32) -> u64 {
    slots[at as usize].as_ref().map_or(0, |object| hash(&object.id))
}

/// All ids in the order of their objects' identities. After edits the order is updated when it is needed.
#[derive(Clone, Debug, Default)]
struct SortedIds {
    ids: OnceLock<Arc<[ObjectId]>>,
    /// The order before the edits in `removed` and `added`. `None` if all ids must be sorted again.
    before: Option<Arc<[ObjectId]>>,
    removed: Vec<ObjectId>,
    added: Vec<ObjectId>,
}

impl SortedIds {
    /// After more edits than this, all ids are sorted again.
    const MAX_EDITS: usize = 1024;

    fn new(ids: Arc<[ObjectId]>) -> SortedIds {
        SortedIds { ids: OnceLock::from(ids), ..SortedIds::default() }
    }

    fn start_edit(&mut self) {
        if let Some(ids) = self.ids.take() {
            *self = SortedIds { before: Some(ids), ..SortedIds::default() };
        } else if self.removed.len() + self.added.len() > SortedIds::MAX_EDITS {
            *self = SortedIds::default();
        }
    }

    fn add(&mut self, id: ObjectId) {
        self.start_edit();
        if self.before.is_some() {
            self.added.push(id);
        }
    }

    fn remove(&mut self, id: ObjectId) {
        self.start_edit();
        if self.before.is_none() {
            return;
        }
        match self.added.iter().position(|added| *added == id) {
            Some(at) => drop(self.added.swap_remove(at)),
            None => self.removed.push(id),
        }
    }

    fn get(&self, objects: &Objects) -> &[ObjectId] {
        if let Some(known) = self.ids.get() {
            return known;
        }
        // Sort outside of `get_or_init`: rayon inside it can deadlock.
        let sorted = self.sorted(objects);
        self.ids.get_or_init(|| sorted)
    }

    fn sorted(&self, objects: &Objects) -> Arc<[ObjectId]> {
        let name = |id: &ObjectId| &objects[*id].id;
        let Some(before) = &self.before else {
            let slots = objects.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
            let mut ids: Vec<ObjectId> = slots.map(|(at, _)| ObjectId(at as u32)).collect();
            ids.par_sort_by(|a, b| name(a).cmp(name(b)));
            return ids.into();
        };
        let mut added = self.added.clone();
        added.sort_by(|a, b| name(a).cmp(name(b)));
        let mut removed = self.removed.clone();
        removed.sort_unstable();
        let kept: Vec<ObjectId> = before.iter().filter(|id| removed.binary_search(id).is_err()).copied().collect();
        let (mut ids, mut from) = (Vec::with_capacity(objects.count), 0);
        // The ids between two added ones are copied at once.
        for id in added {
            let at = from + kept[from..].partition_point(|other| name(other) < name(&id));
            ids.extend_from_slice(&kept[from..at]);
            ids.push(id);
            from = at;
        }
        ids.extend_from_slice(&kept[from..]);
        ids.into()
    }
}

/// A borrowed [`ObjectRef`], with the same hash: a lookup needs no allocation.
#[derive(Hash)]
struct BorrowedRef<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl BorrowedRef<'_> {
    fn equals(&self, id: &ObjectRef) -> bool {
        // The name first: it differs most often.
        self.name == id.name && self.namespace == id.namespace && self.kind == id.kind && self.group == id.group
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(name: &str) -> Object {
        let document = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "n"}});
        Object::from_json(&document).unwrap_or_default()
    }

    fn names(objects: &Objects) -> Vec<&str> {
        objects.iter().map(|(_, object)| object.id.name.as_str()).collect()
    }

    #[test]
    fn ids_are_in_the_order_of_identities_and_the_last_duplicate_is_kept() {
        let newer = Object { version: "v2".into(), ..service("a") };
        let objects = Objects::new(vec![service("c"), service("a"), service("b"), newer]);
        assert_eq!(names(&objects), ["a", "b", "c"]);
        assert_eq!(objects.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(objects[ObjectId(0)].version, "v2");
    }

    #[test]
    fn an_id_stays_until_its_object_is_removed_and_is_then_free() {
        let before = Objects::new(vec![service("a"), service("b")]);
        let mut after = before.clone();
        assert_eq!(after.put(Arc::new(service("b")), || None), ObjectId(1));
        after.remove(ObjectId(0));
        assert!(before.get(ObjectId(0)).is_some() && after.get(ObjectId(0)).is_none());
        assert_eq!(after.put(Arc::new(service("c")), || None), ObjectId(2));
        assert_eq!(after.put(Arc::new(service("d")), || Some(ObjectId(0))), ObjectId(0));
        assert_eq!((names(&before), names(&after)), (vec!["a", "b"], vec!["b", "c", "d"]));
        assert_eq!(after.find(&service("d").id), Some(ObjectId(0)));
        assert_eq!(names(&after.compacted()), ["b", "c", "d"]);
        assert_eq!(after.compacted().find(&service("d").id), Some(ObjectId(2)));
    }

    #[test]
    fn the_order_is_updated_after_any_number_of_edits() {
        let mut objects = Objects::new((0..10).map(|i| service(&format!("m{i}"))).collect());
        for edits in [3, 2 * SortedIds::MAX_EDITS] {
            for i in 0..edits {
                objects.put(Arc::new(service(&format!("n{}", i % 500))), || None);
                let id = objects.find(&service(&format!("n{}", (i * 7) % 500)).id);
                id.into_iter().for_each(|id| drop(objects.remove(id)));
            }
            let names = names(&objects);
            assert!(names.is_sorted() && names.len() == objects.len(), "{names:?}");
        }
    }
}
