//! All objects of one snapshot, found by id, by name and by kind.
//!
//! # Ids
//!
//! An [`ObjectId`] is the position of an object in the table of a snapshot.
//!
//! - [`Objects::new`] numbers the objects in the order of group, kind, namespace and name. So ids, and everything that is
//!   derived from them, do not depend on the order of the input.
//! - An object keeps its id from one snapshot to the next, also when it is updated.
//! - The id of a deleted object is free from the next snapshot on: a later snapshot may give it to a new object.
//!
//! So an id has a meaning only together with its snapshot. `objects[id]` is for ids that come from the same snapshot and
//! panics for others. [`Objects::get`] is for ids that may come from the snapshot before: `None` means deleted.

use std::cmp::Ordering;
use std::ops::Index;
use std::sync::{Arc, OnceLock};

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use super::{Object, ObjectId, ObjectRef};
use crate::persistent::{PersistentIndex, PersistentVec, hash};

/// All objects of one snapshot, each once. See the [module documentation](self) for how ids are given.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    slots: PersistentVec<Option<Arc<Object>>>,
    by_ref: PersistentIndex,
    count: usize,
    order: Order,
}

impl Objects {
    /// Of several objects with one name the last is kept.
    pub fn new(list: Vec<Object>) -> Self {
        let mut list: Vec<Arc<Object>> = list.into_par_iter().map(Arc::new).collect();
        list.par_sort_by(|a, b| a.id.cmp(&b.id));
        if list.par_windows(2).any(|pair| pair[0].id == pair[1].id) {
            list.reverse();
            list.dedup_by(|a, b| a.id == b.id);
            list.reverse();
        }
        Objects::sorted(list)
    }

    fn sorted(list: Vec<Arc<Object>>) -> Self {
        let count = list.len();
        let hashes: Vec<u64> = list.par_iter().map(|object| hash(&object.id)).collect();
        let by_ref = PersistentIndex::new(hashes.into_iter().zip(0..count as u32));
        let order = Order::known((0..count as u32).map(ObjectId).collect());
        Objects { slots: list.into_iter().map(Some).collect(), by_ref, count, order }
    }

    /// The same objects, with ids in their order and none between.
    pub(crate) fn tidy(&self) -> Self {
        Objects::sorted(self.order().iter().filter_map(|id| self.slot(id.0).cloned()).collect())
    }

    pub fn find(&self, id: &ObjectRef) -> Option<ObjectId> {
        self.lookup(&id.group, &id.kind, &id.namespace, &id.name)
    }

    /// As [`Objects::find`], for those who have the parts only.
    pub fn lookup(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<ObjectId> {
        let parts = Parts { group, kind, namespace, name };
        let is_it = |at| self.slot(at).is_some_and(|object| parts.are(&object.id));
        self.by_ref.find(hash(&parts), is_it).map(ObjectId)
    }

    /// The object with this id, or `None` if it was deleted. Use `objects[id]` for ids of the same snapshot.
    pub fn get(&self, id: ObjectId) -> Option<&Object> {
        self.slot(id.0).map(Arc::as_ref)
    }

    /// As [`Objects::get`], with shared ownership: the object can outlive the snapshot.
    pub fn shared(&self, id: ObjectId) -> Option<&Arc<Object>> {
        self.slot(id.0)
    }

    fn slot(&self, at: u32) -> Option<&Arc<Object>> {
        self.slots.get(at as usize)?.as_ref()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ObjectId, &Object)> + Clone {
        self.order().iter().map(|id| (*id, &self[*id]))
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The next id that was never used.
    fn next(&self) -> ObjectId {
        ObjectId(self.slots.len() as u32)
    }

    /// Group and kind of everything there is, each once, in order.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = self.order();
        std::iter::from_fn(move || {
            let first = &self[*rest.first()?].id;
            let is_like_it = |id: &ObjectRef| id.kind == first.kind && id.group == first.group;
            rest = &rest[rest.partition_point(|id| is_like_it(&self[*id].id))..];
            Some((first.group.as_str(), first.kind.as_str()))
        })
    }

    /// The ids of all objects of one kind, in order.
    pub fn of_kind(&self, group: &str, kind: &str) -> &[ObjectId] {
        self.between(self.order(), |id| (id.group.as_str(), id.kind.as_str()).cmp(&(group, kind)))
    }

    /// The ids of all objects of one kind in one namespace, in order.
    pub fn within(&self, group: &str, kind: &str, namespace: &str) -> &[ObjectId] {
        self.between(self.of_kind(group, kind), |id| id.namespace.as_str().cmp(namespace))
    }

    /// The objects of one kind, in order.
    pub fn each(&self, group: &str, kind: &str) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.of_kind(group, kind).iter().map(|id| (*id, &self[*id]))
    }

    fn between<'i>(&self, ids: &'i [ObjectId], compare: impl Fn(&ObjectRef) -> Ordering) -> &'i [ObjectId] {
        let start = ids.partition_point(|id| compare(&self[*id].id).is_lt());
        let end = ids.partition_point(|id| compare(&self[*id].id).is_le());
        &ids[start..end]
    }

    fn order(&self) -> &[ObjectId] {
        self.order.get(self)
    }

    /// Whether most ids are those of nobody.
    pub(crate) fn is_sparse(&self) -> bool {
        const FEW: usize = 4096;
        self.slots.len() > FEW && self.count < self.slots.len() / 4
    }

    /// Puts an object in the place of the one with its name, or else at one that is free, or new.
    pub(crate) fn put(&mut self, object: Arc<Object>, free: impl FnOnce() -> Option<ObjectId>) -> ObjectId {
        let known = self.find(&object.id);
        let id = known.or_else(free).unwrap_or(self.next());
        let hash = hash(&object.id);
        *self.slots.entry(id.0 as usize) = Some(object);
        if known.is_none() {
            let slots = &self.slots;
            self.by_ref.insert(hash, id.0, |at| hash_at(slots, at));
            self.count += 1;
            self.order.add(id);
        }
        id
    }

    pub(crate) fn remove(&mut self, id: ObjectId) -> Option<Arc<Object>> {
        let object = self.slot(id.0).cloned()?;
        let slots = &self.slots;
        self.by_ref.remove(hash(&object.id), id.0, |at| hash_at(slots, at));
        *self.slots.entry(id.0 as usize) = None;
        self.count -= 1;
        self.order.remove(id);
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

/// All ids in the order of what they stand for. After edits it is mended when somebody asks, and not before.
#[derive(Clone, Debug, Default)]
struct Order {
    ids: OnceLock<Arc<[ObjectId]>>,
    /// How it was, and what was taken from it and added to it since.
    before: Option<Arc<[ObjectId]>>,
    gone: Vec<ObjectId>,
    new: Vec<ObjectId>,
}

impl Order {
    /// With more edits than these it is as well sorted anew.
    const MANY: usize = 1024;

    fn known(ids: Arc<[ObjectId]>) -> Order {
        Order { ids: OnceLock::from(ids), ..Order::default() }
    }

    fn edit(&mut self) {
        if let Some(ids) = self.ids.take() {
            *self = Order { before: Some(ids), ..Order::default() };
        } else if self.gone.len() + self.new.len() > Order::MANY {
            *self = Order::default();
        }
    }

    fn add(&mut self, id: ObjectId) {
        self.edit();
        if self.before.is_some() {
            self.new.push(id);
        }
    }

    fn remove(&mut self, id: ObjectId) {
        self.edit();
        if self.before.is_none() {
            return;
        }
        match self.new.iter().position(|it| *it == id) {
            Some(at) => drop(self.new.swap_remove(at)),
            None => self.gone.push(id),
        }
    }

    fn get(&self, objects: &Objects) -> &[ObjectId] {
        if let Some(known) = self.ids.get() {
            return known;
        }
        // Maybe in parallel, and so not below: who waits for other threads must not keep them waiting.
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
        let mut new = self.new.clone();
        new.sort_by(|a, b| name(a).cmp(name(b)));
        let mut gone = self.gone.clone();
        gone.sort_unstable();
        let mut ids = Vec::with_capacity(objects.count);
        let mut kept = before.iter().filter(|id| gone.binary_search(id).is_err()).copied().peekable();
        for id in new {
            while let Some(other) = kept.next_if(|other| name(other) < name(&id)) {
                ids.push(other);
            }
            ids.push(id);
        }
        ids.extend(kept);
        ids.into()
    }
}

/// An [`ObjectRef`] that borrows: to look one up costs no allocation. Hashes as `ObjectRef` does, field by field.
#[derive(Hash)]
struct Parts<'a> {
    group: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl Parts<'_> {
    fn are(&self, id: &ObjectRef) -> bool {
        // Names differ most.
        self.name == id.name && self.namespace == id.namespace && self.kind == id.kind && self.group == id.group
    }
}
