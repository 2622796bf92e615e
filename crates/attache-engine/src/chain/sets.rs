//! Interned sets of chains, each chain with the number of scopes that have it. Most nodes share the set of their parents.

use std::sync::Arc;

use super::ChainId;
use crate::persistent::{PersistentIndex, PersistentVec, hash};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetId(pub u32);

type Set = Arc<[(ChainId, u64)]>;

#[derive(Clone, Debug)]
pub struct ChainSets {
    sets: PersistentVec<Option<Set>>,
    by_set: PersistentIndex,
}

impl SetId {
    /// The empty chain, once: what a root starts with.
    pub const ROOT: SetId = SetId(0);
}

impl Default for ChainSets {
    fn default() -> Self {
        let mut sets = ChainSets { sets: PersistentVec::default(), by_set: PersistentIndex::default() };
        sets.intern(&mut vec![(ChainId::EMPTY, 1)], ChainSets::next);
        sets
    }
}

impl ChainSets {
    pub fn get(&self, id: SetId) -> &[(ChainId, u64)] {
        self.sets.get(id.0 as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// The set of these chains, which may repeat. A new set gets the id that `free` returns.
    pub fn intern(&mut self, chains: &mut Vec<(ChainId, u64)>, free: impl FnOnce(&Self) -> SetId) -> SetId {
        chains.sort_unstable_by_key(|(chain, _)| *chain);
        chains.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(later.1);
            }
            same
        });
        let is_it = |at: u32| self.get(SetId(at)) == chains.as_slice();
        if let Some(known) = self.by_set.find(hash(chains.as_slice()), is_it) {
            return SetId(known);
        }
        let id = free(self);
        *self.sets.entry(id.0 as usize) = Some(chains.as_slice().into());
        let sets = &self.sets;
        self.by_set.insert(hash(chains.as_slice()), id.0, |at| hash_at(sets, at));
        id
    }

    /// The lowest id that was never used.
    pub fn next(&self) -> SetId {
        SetId(self.sets.len() as u32)
    }

    /// Removes a set.
    pub fn remove(&mut self, id: SetId) {
        let sets = &self.sets;
        self.by_set.remove(hash_at(sets, id.0), id.0, |at| hash_at(sets, at));
        *self.sets.entry(id.0 as usize) = None;
    }

    /// One more than the highest id in use.
    pub fn bound(&self) -> usize {
        self.sets.len()
    }
}

fn hash_at(sets: &PersistentVec<Option<Set>>, at: u32) -> u64 {
    hash(sets[at as usize].as_deref().unwrap_or_default())
}
