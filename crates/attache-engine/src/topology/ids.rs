//! Nodes that a node is linked to.

use std::sync::Arc;

use super::NodeId;

/// Nodes, mostly few.
#[derive(Clone, Debug)]
pub enum Ids {
    Few(u8, [NodeId; 3]),
    Many(Arc<Vec<NodeId>>),
}

impl Default for Ids {
    fn default() -> Self {
        Ids::Few(0, [NodeId::part(0); 3])
    }
}

impl FromIterator<NodeId> for Ids {
    fn from_iter<I: IntoIterator<Item = NodeId>>(ids: I) -> Self {
        let (mut len, mut few) = (0, [NodeId::part(0); 3]);
        let mut ids = ids.into_iter();
        while let Some(id) = ids.next() {
            match few.get_mut(len) {
                Some(place) => *place = id,
                None => return Ids::Many(Arc::new(few.into_iter().chain([id]).chain(ids).collect())),
            }
            len += 1;
        }
        Ids::Few(len as u8, few)
    }
}

impl Ids {
    pub fn of(ids: &[NodeId]) -> Ids {
        const NONE: NodeId = NodeId::part(0);
        match *ids {
            [] => Ids::default(),
            [a] => Ids::Few(1, [a, NONE, NONE]),
            [a, b] => Ids::Few(2, [a, b, NONE]),
            [a, b, c] => Ids::Few(3, [a, b, c]),
            _ => Ids::Many(Arc::new(ids.to_vec())),
        }
    }

    pub fn as_slice(&self) -> &[NodeId] {
        match self {
            Ids::Few(len, ids) => ids.get(..usize::from(*len)).unwrap_or_default(),
            Ids::Many(ids) => ids,
        }
    }

    /// Adds one, at its place among those that are sorted.
    pub fn insert(&mut self, id: NodeId) {
        let Err(at) = self.as_slice().binary_search(&id) else { return };
        match self {
            Ids::Many(ids) => Arc::make_mut(ids).insert(at, id),
            Ids::Few(..) => *self = Ids::of(&[&self.as_slice()[..at], &[id], &self.as_slice()[at..]].concat()),
        }
    }

    /// Takes one from those that are sorted.
    pub fn remove(&mut self, id: NodeId) {
        let Ok(at) = self.as_slice().binary_search(&id) else { return };
        match self {
            Ids::Many(ids) if ids.len() > 8 => drop(Arc::make_mut(ids).remove(at)),
            _ => *self = Ids::of(&[&self.as_slice()[..at], &self.as_slice()[at + 1..]].concat()),
        }
    }

    /// Takes some and adds others, all of them sorted.
    pub fn exchange(&mut self, gone: &[NodeId], came: &[NodeId]) {
        match (gone, came) {
            (&[id], []) => return self.remove(id),
            ([], &[id]) => return self.insert(id),
            _ => {}
        }
        let gone = gone.iter().map(|id| (*id, false));
        let mut edits: Vec<(NodeId, bool)> = gone.chain(came.iter().map(|id| (*id, true))).collect();
        edits.sort_unstable();
        edits.dedup();
        let old = self.as_slice();
        let (mut ids, mut from) = (Vec::with_capacity(old.len() + came.len()), 0);
        // What lies between two of them is taken over in one go.
        for (id, came) in edits {
            let at = from + old[from..].partition_point(|it| *it < id);
            ids.extend_from_slice(&old[from..at]);
            ids.extend(came.then_some(id));
            from = at + usize::from(old.get(at) == Some(&id));
        }
        ids.extend_from_slice(&old[from..]);
        *self = if ids.len() > 8 { Ids::Many(Arc::new(ids)) } else { Ids::of(&ids) };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn some_are_taken_and_others_added(
            ids in prop::collection::btree_set(0u32..40, 0..30),
            gone in prop::collection::vec(0u32..40, 0..6),
            came in prop::collection::vec(0u32..40, 0..6),
        ) {
            let sorted = |ids: &mut dyn Iterator<Item = u32>| {
                let mut ids: Vec<NodeId> = ids.map(NodeId::part).collect();
                ids.sort_unstable();
                ids
            };
            let mut exchanged = Ids::of(&sorted(&mut ids.iter().copied()));
            exchanged.exchange(&sorted(&mut gone.iter().copied()), &sorted(&mut came.iter().copied()));
            let stayed: BTreeSet<u32> = ids.into_iter().filter(|id| !gone.contains(id)).chain(came).collect();
            prop_assert_eq!(exchanged.as_slice(), sorted(&mut stayed.into_iter()));
        }
    }
}
