//! The nodes that a node is linked to.

use std::sync::Arc;

use super::NodeId;

/// The ids of linked nodes. Most nodes have at most three, which need no allocation.
#[derive(Clone, Debug)]
pub enum Neighbors {
    Few(u8, [NodeId; 3]),
    Many(Arc<Vec<NodeId>>),
}

impl Default for Neighbors {
    fn default() -> Self {
        Neighbors::Few(0, [NodeId::part(0); 3])
    }
}

impl FromIterator<NodeId> for Neighbors {
    fn from_iter<I: IntoIterator<Item = NodeId>>(ids: I) -> Self {
        let (mut len, mut few) = (0, [NodeId::part(0); 3]);
        let mut ids = ids.into_iter();
        while let Some(id) = ids.next() {
            match few.get_mut(len) {
                Some(place) => *place = id,
                None => return Neighbors::Many(Arc::new(few.into_iter().chain([id]).chain(ids).collect())),
            }
            len += 1;
        }
        Neighbors::Few(len as u8, few)
    }
}

impl Neighbors {
    pub fn new(ids: &[NodeId]) -> Neighbors {
        const NONE: NodeId = NodeId::part(0);
        match *ids {
            [] => Neighbors::default(),
            [a] => Neighbors::Few(1, [a, NONE, NONE]),
            [a, b] => Neighbors::Few(2, [a, b, NONE]),
            [a, b, c] => Neighbors::Few(3, [a, b, c]),
            _ => Neighbors::Many(Arc::new(ids.to_vec())),
        }
    }

    pub fn as_slice(&self) -> &[NodeId] {
        match self {
            Neighbors::Few(len, ids) => ids.get(..usize::from(*len)).unwrap_or_default(),
            Neighbors::Many(ids) => ids,
        }
    }

    /// Adds an id to sorted ones.
    pub fn insert(&mut self, id: NodeId) {
        let Err(at) = self.as_slice().binary_search(&id) else { return };
        match self {
            Neighbors::Many(ids) => Arc::make_mut(ids).insert(at, id),
            Neighbors::Few(..) => {
                let (before, after) = self.as_slice().split_at(at);
                *self = before.iter().chain([&id]).chain(after).copied().collect();
            }
        }
    }

    /// Removes an id from sorted ones.
    pub fn remove(&mut self, id: NodeId) {
        let Ok(at) = self.as_slice().binary_search(&id) else { return };
        match self {
            Neighbors::Many(ids) if ids.len() > 8 => drop(Arc::make_mut(ids).remove(at)),
            _ => *self = self.as_slice().iter().copied().filter(|it| *it != id).collect(),
        }
    }

    /// Removes some ids from sorted ones and adds others. All of them are sorted.
    pub fn replace(&mut self, removed: &[NodeId], added: &[NodeId]) {
        match (removed, added) {
            (&[id], []) => return self.remove(id),
            ([], &[id]) => return self.insert(id),
            _ => {}
        }
        let removed = removed.iter().map(|id| (*id, false));
        let mut edits: Vec<(NodeId, bool)> = removed.chain(added.iter().map(|id| (*id, true))).collect();
        edits.sort_unstable();
        edits.dedup();
        let old = self.as_slice();
        let (mut ids, mut from) = (Vec::with_capacity(old.len() + added.len()), 0);
        // The ids between two edits are copied at once.
        for (id, is_added) in edits {
            let at = from + old[from..].partition_point(|it| *it < id);
            ids.extend_from_slice(&old[from..at]);
            ids.extend(is_added.then_some(id));
            from = at + usize::from(old.get(at) == Some(&id));
        }
        ids.extend_from_slice(&old[from..]);
        *self = if ids.len() > 8 { Neighbors::Many(Arc::new(ids)) } else { Neighbors::new(&ids) };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn some_are_removed_and_others_added(
            ids in prop::collection::btree_set(0u32..40, 0..30),
            gone in prop::collection::vec(0u32..40, 0..6),
            came in prop::collection::vec(0u32..40, 0..6),
        ) {
            let sorted = |ids: &mut dyn Iterator<Item = u32>| {
                let mut ids: Vec<NodeId> = ids.map(NodeId::part).collect();
                ids.sort_unstable();
                ids
            };
            let mut replaced = Neighbors::new(&sorted(&mut ids.iter().copied()));
            replaced.replace(&sorted(&mut gone.iter().copied()), &sorted(&mut came.iter().copied()));
            let stayed: BTreeSet<u32> = ids.into_iter().filter(|id| !gone.contains(id)).chain(came).collect();
            prop_assert_eq!(replaced.as_slice(), sorted(&mut stayed.into_iter()));
        }
    }
}
