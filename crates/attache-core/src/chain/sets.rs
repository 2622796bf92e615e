//! Sets of chains with the number of scopes in which each is met, interned: most nodes have what their parents have.

use hashbrown::HashMap;

use super::ChainId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetId(u32);

type Set = Box<[(ChainId, u64)]>;

#[derive(Debug)]
pub struct ChainSets {
    sets: Vec<Set>,
    by_set: HashMap<Set, SetId>,
}

impl SetId {
    /// The empty chain, once: what a root starts with.
    pub const ROOT: SetId = SetId(0);
}

impl Default for ChainSets {
    fn default() -> Self {
        let root: Set = Box::new([(ChainId::EMPTY, 1)]);
        ChainSets { by_set: HashMap::from_iter([(root.clone(), SetId::ROOT)]), sets: vec![root] }
    }
}

impl ChainSets {
    pub fn get(&self, id: SetId) -> &[(ChainId, u64)] {
        &self.sets[id.0 as usize]
    }

    /// The set of these, where the same chain may come several times.
    pub fn intern(&mut self, chains: &mut Vec<(ChainId, u64)>) -> SetId {
        chains.sort_unstable_by_key(|(chain, _)| *chain);
        chains.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(later.1);
            }
            same
        });
        if let Some(id) = self.by_set.get(chains.as_slice()) {
            return *id;
        }
        let id = SetId(self.sets.len() as u32);
        let set: Set = chains.as_slice().into();
        self.sets.push(set.clone());
        self.by_set.insert(set, id);
        id
    }
}
