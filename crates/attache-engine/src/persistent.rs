//! Persistent vectors, hash indexes and sorted sets: a clone shares the content of the original.
//!
//! A clone increments a counter. A later change copies a few hundred bytes, regardless of the length. So readers keep a
//! snapshot while the next one is built from it.
//!
//! A [`PersistentVec`] is a tree of fixed height:
//!
//! ```text
//! roots ─→ 16 inner nodes each ─→ 16 chunks each ─→ 32 values each
//! ```

mod set;

use std::cell::LazyCell;
use std::hash::{BuildHasher, Hash};
use std::ops::{Index, Range};
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

pub use set::PersistentSet;

/// The number of values in a chunk. A change clones one chunk.
const CHUNK_LEN: usize = 32;
/// The number of children of a node. Cloning a node increments the counter of each child, which must be fetched from
/// memory. A million values have 123 roots.
const FANOUT: usize = 16;
const INNER_LEN: usize = CHUNK_LEN * FANOUT;
const ROOT_LEN: usize = INNER_LEN * FANOUT;

type Chunk<T> = Arc<[T; CHUNK_LEN]>;
type InnerNode<T> = Arc<[Chunk<T>; FANOUT]>;
type RootNode<T> = Arc<[InnerNode<T>; FANOUT]>;

/// A vector whose clones share their content.
#[derive(Clone, Debug)]
pub struct PersistentVec<T> {
    roots: Arc<Vec<RootNode<T>>>,
    len: usize,
}

impl<T> Default for PersistentVec<T> {
    fn default() -> Self {
        PersistentVec { roots: Arc::default(), len: 0 }
    }
}

impl<T> PersistentVec<T> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The value at an index.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        (at < self.len).then(|| self.chunk(at)).and_then(|chunk| chunk.get(at % CHUNK_LEN))
    }

    /// All values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        let inner_nodes = self.roots.iter().flat_map(|root| root.iter());
        inner_nodes.flat_map(|inner| inner.iter()).flat_map(|chunk| chunk.iter()).take(self.len)
    }

    #[inline]
    fn chunk(&self, at: usize) -> &[T; CHUNK_LEN] {
        &self.roots[at / ROOT_LEN][at / INNER_LEN % FANOUT][at / CHUNK_LEN % FANOUT]
    }
}

impl<T: Clone + Default> PersistentVec<T> {
    /// The value at an index, to change it. A vector that is too short is extended with default values.
    pub fn entry(&mut self, at: usize) -> &mut T {
        self.len = self.len.max(at + 1);
        &mut self.chunk_mut(at)[at % CHUNK_LEN]
    }

    /// Sets values at indexes, which must be in ascending order: each chunk is looked up once.
    pub fn set_sorted(&mut self, values: impl Iterator<Item = (usize, T)>) {
        let mut values = values.peekable();
        while let Some(&(first, _)) = values.peek() {
            let mut last = first;
            let chunk = self.chunk_mut(first);
            while let Some((at, value)) = values.next_if(|(at, _)| at / CHUNK_LEN == first / CHUNK_LEN) {
                chunk[at % CHUNK_LEN] = value;
                last = at;
            }
            self.len = self.len.max(last + 1);
        }
    }

    /// The chunk of an index, to change it. Extends the tree if necessary.
    fn chunk_mut(&mut self, at: usize) -> &mut [T; CHUNK_LEN] {
        Arc::make_mut(&mut Arc::make_mut(self.inner_node_mut(at))[at / CHUNK_LEN % FANOUT])
    }

    #[inline]
    fn inner_node_mut(&mut self, at: usize) -> &mut InnerNode<T> {
        let roots = Arc::make_mut(&mut self.roots);
        while roots.len() <= at / ROOT_LEN {
            roots.push(repeated_child(repeated_child(default_chunk())));
        }
        &mut Arc::make_mut(&mut roots[at / ROOT_LEN])[at / INNER_LEN % FANOUT]
    }
}

/// For many values at once, in parallel.
impl<T: Clone + Default + Send + Sync> PersistentVec<T> {
    /// Appends `len` values. `values` returns those of a range of them.
    pub fn par_extend<I: Iterator<Item = T>>(&mut self, len: usize, values: impl Fn(Range<usize>) -> I + Sync) {
        let (first, end) = (self.len, self.len + len);
        let start = first.next_multiple_of(INNER_LEN).min(end);
        self.set_sorted((first..start).zip(values(0..start - first)));
        let starts: Vec<usize> = (start..end).step_by(INNER_LEN).collect();
        let inner_nodes = starts.into_par_iter().map(|at| {
            let range = at..end.min(at + INNER_LEN);
            let chunks = range.len().div_ceil(CHUNK_LEN);
            let mut values = values(range.start - first..range.end - first);
            let mut chunk = || std::array::from_fn(|_| values.next().unwrap_or_default());
            let empty = LazyCell::new(default_chunk);
            let chunk = |at| if at < chunks { Arc::new(chunk()) } else { Arc::clone(&empty) };
            (at, Arc::new(std::array::from_fn(chunk)))
        });
        for (at, inner) in inner_nodes.collect::<Vec<(usize, InnerNode<T>)>>() {
            *self.inner_node_mut(at) = inner;
        }
        self.len = end;
    }

    /// Changes every value.
    pub fn par_edit(&mut self, edit: impl Fn(usize, &mut T) + Sync) {
        let len = self.len;
        let roots = Arc::make_mut(&mut self.roots).par_iter_mut().enumerate();
        let inner_nodes = roots.flat_map(|(at, root)| {
            let inner_nodes = Arc::make_mut(root).par_iter_mut().enumerate();
            inner_nodes.map(move |(inner, it)| (at * ROOT_LEN + inner * INNER_LEN, it))
        });
        inner_nodes.filter(|(first, _)| *first < len).for_each(|(first, inner)| {
            let chunks = Arc::make_mut(inner).iter_mut().take((len - first).div_ceil(CHUNK_LEN));
            let values = chunks.flat_map(|chunk| Arc::make_mut(chunk).iter_mut());
            (first..len).zip(values).for_each(|(at, value)| edit(at, value));
        });
    }
}

fn default_chunk<T: Default>() -> Chunk<T> {
    Arc::new(std::array::from_fn(|_| T::default()))
}

fn repeated_child<T>(child: Arc<T>) -> Arc<[Arc<T>; FANOUT]> {
    Arc::new(std::array::from_fn(|_| Arc::clone(&child)))
}

/// Groups children into nodes. The last node is filled up with empty children.
fn group_children<T>(parts: Vec<Arc<T>>, empty: impl FnOnce() -> Arc<T>) -> Vec<Arc<[Arc<T>; FANOUT]>> {
    let empty = LazyCell::new(empty);
    let part = |at: usize| Arc::clone(parts.get(at).unwrap_or_else(|| &empty));
    (0..parts.len()).step_by(FANOUT).map(|first| Arc::new(std::array::from_fn(|at| part(first + at)))).collect()
}

impl<T> Index<usize> for PersistentVec<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.chunk(at)[at % CHUNK_LEN]
    }
}

impl<T: Clone + Default> FromIterator<T> for PersistentVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let (mut chunks, mut len): (Vec<Chunk<T>>, usize) = (Vec::new(), 0);
        while let Some(first) = values.next() {
            let mut first = Some(first);
            chunks.push(Arc::new(std::array::from_fn(|_| match first.take().or_else(|| values.next()) {
                Some(value) => {
                    len += 1;
                    value
                }
                None => T::default(),
            })));
        }
        let inner_nodes = group_children(chunks, default_chunk);
        PersistentVec { roots: Arc::new(group_children(inner_nodes, || repeated_child(default_chunk()))), len }
    }
}

/// A hash table of numbers, such as ids, whose keys are stored elsewhere. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct PersistentIndex {
    /// A power of two, or none.
    slots: PersistentVec<IndexSlot>,
    used: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct IndexSlot {
    /// The upper half of the hash.
    tag: u32,
    /// The number plus one; 0 if the slot is free.
    number: u32,
}

/// A hash that is the same in every process, so that no result depends on a random seed.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    foldhash::fast::FixedState::with_seed(0).hash_one(value)
}

impl PersistentIndex {
    /// An index of numbers with their hashes, each number once.
    pub fn new(numbers: impl ExactSizeIterator<Item = (u64, u32)>) -> PersistentIndex {
        let size = (numbers.len() * 2).next_power_of_two().max(16);
        let mut slots = vec![IndexSlot::default(); size];
        let used = numbers.len();
        for (hash, number) in numbers {
            let mut at = hash as usize % size;
            while slots[at].number != 0 {
                at = (at + 1) % size;
            }
            slots[at] = IndexSlot { tag: (hash >> 32) as u32, number: number + 1 };
        }
        PersistentIndex { slots: slots.into_iter().collect(), used }
    }

    /// The number with this hash for which `is_match` is true.
    pub fn find(&self, hash: u64, mut is_match: impl FnMut(u32) -> bool) -> Option<u32> {
        let (size, tag) = (self.slots.len(), (hash >> 32) as u32);
        if size == 0 {
            return None;
        }
        let mut at = hash as usize % size;
        loop {
            match self.slots[at] {
                IndexSlot { number: 0, .. } => return None,
                slot if slot.tag == tag && is_match(slot.number - 1) => return Some(slot.number - 1),
                _ => at = (at + 1) % size,
            }
        }
    }

    /// Adds a number that is not in the index. `hash_of_number` returns the hashes of the others, in case the index grows.
    pub fn insert(&mut self, hash: u64, number: u32, hash_of_number: impl Fn(u32) -> u64) {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            let present = self.slots.iter().filter(|slot| slot.number != 0).map(|slot| slot.number - 1);
            let present: Vec<(u64, u32)> = present.map(|number| (hash_of_number(number), number)).collect();
            *self = PersistentIndex::new(present.into_iter());
        }
        let size = self.slots.len();
        let mut at = hash as usize % size;
        while self.slots[at].number != 0 {
            at = (at + 1) % size;
        }
        *self.slots.entry(at) = IndexSlot { tag: (hash >> 32) as u32, number: number + 1 };
        self.used += 1;
    }

    /// Removes a number. `hash_of_number` returns the hashes of the others, some of which may move.
    pub fn remove(&mut self, hash: u64, number: u32, hash_of_number: impl Fn(u32) -> u64) {
        let size = self.slots.len();
        if size == 0 {
            return;
        }
        let mut hole = hash as usize % size;
        while self.slots[hole].number != number + 1 {
            if self.slots[hole].number == 0 {
                return;
            }
            hole = (hole + 1) % size;
        }
        // Move entries that follow the hole into it where their hash allows: a lookup stops at the first free slot.
        let mut at = (hole + 1) % size;
        while self.slots[at].number != 0 {
            let slot = self.slots[at];
            let home = hash_of_number(slot.number - 1) as usize % size;
            if (at + size - home) % size >= (at + size - hole) % size {
                *self.slots.entry(hole) = slot;
                hole = at;
            }
            at = (at + 1) % size;
        }
        *self.slots.entry(hole) = IndexSlot::default();
        self.used -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_persistent_vector_is_a_vector_and_its_clones_do_not_change(
            first in prop::collection::vec(0u32..100, 0..5_000),
            then in prop::collection::vec(0u32..100, 0..5_000),
            edits in prop::collection::vec((0usize..9_000, 0u32..100), 0..50),
            more in prop::collection::btree_map(0usize..9_000, 0u32..100, 0..50),
        ) {
            let mut persistent: PersistentVec<u32> = first.iter().copied().collect();
            let before = persistent.clone();
            let mut expected = [first.as_slice(), &then].concat();
            persistent.par_extend(then.len(), |range| then[range].iter().copied());
            persistent.par_edit(|at, value| *value += at as u32);
            expected.iter_mut().enumerate().for_each(|(at, value)| *value += at as u32);
            for (at, value) in edits {
                if expected.len() <= at {
                    expected.resize(at + 1, 0);
                }
                expected[at] = value;
                *persistent.entry(at) = value;
            }
            persistent.set_sorted(more.iter().map(|(at, value)| (*at, *value)));
            for (at, value) in more {
                expected.resize(expected.len().max(at + 1), 0);
                expected[at] = value;
            }
            prop_assert_eq!(persistent.iter().copied().collect::<Vec<_>>(), &expected[..]);
            prop_assert_eq!(persistent.len(), expected.len());
            for (at, value) in expected.iter().enumerate() {
                prop_assert_eq!(persistent.get(at), Some(value));
            }
            prop_assert_eq!(persistent.get(expected.len()), None);
            prop_assert_eq!(before.iter().copied().collect::<Vec<_>>(), first);
        }

        #[test]
        fn an_index_finds_the_numbers_that_were_added_and_not_removed(edits in prop::collection::vec((0u32..90, any::<bool>()), 0..300)) {
            // Few different hashes, so that many numbers collide.
            let hash_of_number = |number: u32| u64::from(number % 12) * 0x1_0000_0001;
            let mut index = PersistentIndex::default();
            let mut present: HashMap<u32, ()> = HashMap::new();
            for (number, add) in edits {
                match (add, present.contains_key(&number)) {
                    (true, false) => {
                        present.insert(number, ());
                        index.insert(hash_of_number(number), number, hash_of_number);
                    }
                    (false, true) => {
                        present.remove(&number);
                        index.remove(hash_of_number(number), number, hash_of_number);
                    }
                    _ => {}
                }
                for number in 0..90 {
                    let found = index.find(hash_of_number(number), |it| it == number);
                    prop_assert_eq!(found.is_some(), present.contains_key(&number));
                }
            }
        }
    }
}
