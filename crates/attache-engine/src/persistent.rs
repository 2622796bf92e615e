//! Vectors and indexes whose clones share what they have in common: to clone one costs nothing, and to change one after
//! that copies a few hundred bytes, however long it is. So a snapshot stays as it is while the next one is made.

use std::cell::LazyCell;
use std::hash::{BuildHasher, Hash};
use std::ops::{Index, Range};
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

/// How many values a leaf has: a change clones one leaf.
const LEAF: usize = 32;
/// How many leaves a twig has, and how many twigs a branch: a change counts one more user of each of them, for which it
/// has to fetch it. A million values have 123 branches.
const FAN: usize = 16;
const TWIG: usize = LEAF * FAN;
const BRANCH: usize = TWIG * FAN;

type Leaf<T> = Arc<[T; LEAF]>;
type Twig<T> = Arc<[Leaf<T>; FAN]>;
type Branch<T> = Arc<[Twig<T>; FAN]>;

#[derive(Clone, Debug)]
pub struct PersistentVec<T> {
    branches: Arc<Vec<Branch<T>>>,
    len: usize,
}

impl<T> Default for PersistentVec<T> {
    fn default() -> Self {
        PersistentVec { branches: Arc::default(), len: 0 }
    }
}

impl<T> PersistentVec<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        (at < self.len).then(|| self.leaf(at)).and_then(|leaf| leaf.get(at % LEAF))
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        let twigs = self.branches.iter().flat_map(|branch| branch.iter());
        twigs.flat_map(|twig| twig.iter()).flat_map(|leaf| leaf.iter()).take(self.len)
    }

    #[inline]
    fn leaf(&self, at: usize) -> &[T; LEAF] {
        &self.branches[at / BRANCH][at / TWIG % FAN][at / LEAF % FAN]
    }
}

impl<T: Clone + Default> PersistentVec<T> {
    /// The value at a place, to change it. A table that is too short for it is filled up.
    pub fn entry(&mut self, at: usize) -> &mut T {
        self.len = self.len.max(at + 1);
        &mut self.own_leaf(at)[at % LEAF]
    }

    /// Puts values at places, which are in order: those of one leaf share the way to it.
    pub fn put_all(&mut self, values: impl Iterator<Item = (usize, T)>) {
        let mut values = values.peekable();
        while let Some(&(first, _)) = values.peek() {
            let mut last = first;
            let leaf = self.own_leaf(first);
            while let Some((at, value)) = values.next_if(|(at, _)| at / LEAF == first / LEAF) {
                leaf[at % LEAF] = value;
                last = at;
            }
            self.len = self.len.max(last + 1);
        }
    }

    /// The leaf of a place, to change it.
    fn own_leaf(&mut self, at: usize) -> &mut [T; LEAF] {
        Arc::make_mut(&mut Arc::make_mut(self.own_twig(at))[at / LEAF % FAN])
    }

    #[inline]
    fn own_twig(&mut self, at: usize) -> &mut Twig<T> {
        let branches = Arc::make_mut(&mut self.branches);
        while branches.len() <= at / BRANCH {
            branches.push(all(all(blank())));
        }
        &mut Arc::make_mut(&mut branches[at / BRANCH])[at / TWIG % FAN]
    }

    pub fn push(&mut self, value: T) -> usize {
        let at = self.len;
        *self.entry(at) = value;
        at
    }
}

/// For many values at once, on all cores.
impl<T: Clone + Default + Send + Sync> PersistentVec<T> {
    /// Adds `len` values: `values` makes those of a range of them.
    pub fn par_extend<I: Iterator<Item = T>>(&mut self, len: usize, values: impl Fn(Range<usize>) -> I + Sync) {
        let (first, end) = (self.len, self.len + len);
        let start = first.next_multiple_of(TWIG).min(end);
        self.put_all((first..start).zip(values(0..start - first)));
        let starts: Vec<usize> = (start..end).step_by(TWIG).collect();
        let twigs = starts.into_par_iter().map(|at| {
            let places = at..end.min(at + TWIG);
            let leaves = places.len().div_ceil(LEAF);
            let mut values = values(places.start - first..places.end - first);
            let mut leaf = || std::array::from_fn(|_| values.next().unwrap_or_default());
            let empty = LazyCell::new(blank);
            let leaf = |at| if at < leaves { Arc::new(leaf()) } else { Arc::clone(&empty) };
            (at, Arc::new(std::array::from_fn(leaf)))
        });
        for (at, twig) in twigs.collect::<Vec<(usize, Twig<T>)>>() {
            *self.own_twig(at) = twig;
        }
        self.len = end;
    }

    /// Changes every value.
    pub fn par_edit(&mut self, edit: impl Fn(usize, &mut T) + Sync) {
        let len = self.len;
        let branches = Arc::make_mut(&mut self.branches).par_iter_mut().enumerate();
        let twigs = branches.flat_map(|(at, branch)| {
            let twigs = Arc::make_mut(branch).par_iter_mut().enumerate();
            twigs.map(move |(twig, it)| (at * BRANCH + twig * TWIG, it))
        });
        twigs.filter(|(first, _)| *first < len).for_each(|(first, twig)| {
            let leaves = Arc::make_mut(twig).iter_mut().take((len - first).div_ceil(LEAF));
            let values = leaves.flat_map(|leaf| Arc::make_mut(leaf).iter_mut());
            (first..len).zip(values).for_each(|(at, value)| edit(at, value));
        });
    }
}

fn blank<T: Default>() -> Leaf<T> {
    Arc::new(std::array::from_fn(|_| T::default()))
}

fn all<T>(of: Arc<T>) -> Arc<[Arc<T>; FAN]> {
    Arc::new(std::array::from_fn(|_| Arc::clone(&of)))
}

/// As many together as there have to be; the last of them with some that are empty.
fn gather<T>(parts: Vec<Arc<T>>, empty: impl FnOnce() -> Arc<T>) -> Vec<Arc<[Arc<T>; FAN]>> {
    let empty = LazyCell::new(empty);
    let part = |at: usize| Arc::clone(parts.get(at).unwrap_or_else(|| &empty));
    (0..parts.len()).step_by(FAN).map(|first| Arc::new(std::array::from_fn(|at| part(first + at)))).collect()
}

impl<T> Index<usize> for PersistentVec<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.leaf(at)[at % LEAF]
    }
}

impl<T: Clone + Default> FromIterator<T> for PersistentVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let (mut leaves, mut len): (Vec<Leaf<T>>, usize) = (Vec::new(), 0);
        while let Some(first) = values.next() {
            let mut first = Some(first);
            leaves.push(Arc::new(std::array::from_fn(|_| match first.take().or_else(|| values.next()) {
                Some(value) => {
                    len += 1;
                    value
                }
                None => T::default(),
            })));
        }
        let twigs = gather(leaves, blank);
        PersistentVec { branches: Arc::new(gather(twigs, || all(blank()))), len }
    }
}

/// Finds numbers by what they stand for, which is kept elsewhere.
#[derive(Clone, Debug, Default)]
pub struct PersistentIndex {
    /// As many as a power of two, or none.
    slots: PersistentVec<Slot>,
    used: usize,
}

/// Part of a hash and, if it is taken, a number plus one.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    number: u32,
}

/// The same everywhere and always: what is derived must not depend on a seed.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    foldhash::fast::FixedState::with_seed(0).hash_one(value)
}

impl PersistentIndex {
    /// Of numbers with their hashes, each once.
    pub fn new(numbers: impl ExactSizeIterator<Item = (u64, u32)>) -> PersistentIndex {
        let size = (numbers.len() * 2).next_power_of_two().max(16);
        let mut slots = vec![Slot::default(); size];
        let used = numbers.len();
        for (hash, number) in numbers {
            let mut at = hash as usize % size;
            while slots[at].number != 0 {
                at = (at + 1) % size;
            }
            slots[at] = Slot { tag: (hash >> 32) as u32, number: number + 1 };
        }
        PersistentIndex { slots: slots.into_iter().collect(), used }
    }

    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (size, tag) = (self.slots.len(), (hash >> 32) as u32);
        if size == 0 {
            return None;
        }
        let mut at = hash as usize % size;
        loop {
            match self.slots[at] {
                Slot { number: 0, .. } => return None,
                slot if slot.tag == tag && is(slot.number - 1) => return Some(slot.number - 1),
                _ => at = (at + 1) % size,
            }
        }
    }

    /// Adds a number that is not there. `hash_of` tells the hashes of those that are, should they have to move.
    pub fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            let there = self.slots.iter().filter(|slot| slot.number != 0).map(|slot| slot.number - 1);
            let there: Vec<(u64, u32)> = there.map(|number| (hash_of(number), number)).collect();
            *self = PersistentIndex::new(there.into_iter());
        }
        let size = self.slots.len();
        let mut at = hash as usize % size;
        while self.slots[at].number != 0 {
            at = (at + 1) % size;
        }
        *self.slots.entry(at) = Slot { tag: (hash >> 32) as u32, number: number + 1 };
        self.used += 1;
    }

    pub fn remove(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
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
        // Whoever stands behind the hole and could stand in it moves up: nobody may have a hole before him.
        let mut at = (hole + 1) % size;
        while self.slots[at].number != 0 {
            let slot = self.slots[at];
            let home = hash_of(slot.number - 1) as usize % size;
            if (at + size - home) % size >= (at + size - hole) % size {
                *self.slots.entry(hole) = slot;
                hole = at;
            }
            at = (at + 1) % size;
        }
        *self.slots.entry(hole) = Slot::default();
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
        fn a_table_is_a_vector_and_its_clones_stay_as_they_are(
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
            persistent.put_all(more.iter().map(|(at, value)| (*at, *value)));
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
        fn a_finder_finds_what_is_there(edits in prop::collection::vec((0u32..90, any::<bool>()), 0..300)) {
            // Few hashes, so that many numbers meet.
            let hash_of = |number: u32| u64::from(number % 12) * 0x1_0000_0001;
            let mut finder = PersistentIndex::default();
            let mut there: HashMap<u32, ()> = HashMap::new();
            for (number, add) in edits {
                match (add, there.contains_key(&number)) {
                    (true, false) => {
                        there.insert(number, ());
                        finder.insert(hash_of(number), number, hash_of);
                    }
                    (false, true) => {
                        there.remove(&number);
                        finder.remove(hash_of(number), number, hash_of);
                    }
                    _ => {}
                }
                for number in 0..90 {
                    let found = finder.find(hash_of(number), |it| it == number);
                    prop_assert_eq!(found.is_some(), there.contains_key(&number));
                }
            }
        }
    }
}
