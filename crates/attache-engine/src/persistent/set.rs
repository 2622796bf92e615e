//! Persistent sorted sets: a clone shares the content of the original.
//!
//! A [`PersistentSet`] is a tree of fixed height. A node is split when it is full, so it is found by its lowest value:
//!
//! ```text
//! inner nodes ─→ up to 128 leaves each ─→ up to 128 values each
//! ```

use std::sync::Arc;

/// The most children of a node. A change copies one leaf, one inner node and the list of inner nodes: 80 for a million values.
const MAX_LEN: usize = 128;
/// The number of children of the nodes of a new set. It leaves room for values that are added.
const NEW_LEN: usize = 112;

/// A sorted set of small values whose clones share their content.
#[derive(Clone, Debug)]
pub struct PersistentSet<T>(Arc<Vec<SetInnerNode<T>>>);

#[derive(Clone, Debug)]
struct TreeNode<T, C> {
    /// No child is lower.
    lowest: T,
    /// Sorted, and never empty.
    children: Arc<Vec<C>>,
}

type SetLeaf<T> = TreeNode<T, T>;
type SetInnerNode<T> = TreeNode<T, SetLeaf<T>>;

/// The position of a value in a tree, as indexes.
struct TreePosition {
    inner: usize,
    leaf: usize,
    /// `Err` with the position for a new value, if the leaf does not have it.
    value: Result<usize, usize>,
}

/// What a tree consists of: values, and nodes.
trait Child<T> {
    fn lowest(&self) -> T;
}

impl<T: Copy> Child<T> for T {
    fn lowest(&self) -> T {
        *self
    }
}

impl<T: Copy, C> Child<T> for TreeNode<T, C> {
    fn lowest(&self) -> T {
        self.lowest
    }
}

impl<T> Default for PersistentSet<T> {
    fn default() -> Self {
        PersistentSet(Arc::default())
    }
}

impl<T: Copy + Ord> PersistentSet<T> {
    /// The set of some values, which are sorted. Each is there once.
    pub fn from_sorted(values: &[T]) -> PersistentSet<T> {
        PersistentSet(Arc::new(grouped(&grouped(values))))
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values between two, both included.
    pub fn range(&self, from: T, to: T) -> impl Iterator<Item = T> {
        let inner_nodes = self.0.iter().skip(position(&self.0, from)).take_while(move |node| node.lowest <= to);
        let leaves = inner_nodes.flat_map(move |node| node.children.iter().skip(position(&node.children, from)));
        let leaves = leaves.take_while(move |leaf| leaf.lowest <= to);
        let values = leaves.flat_map(move |leaf| {
            let first = leaf.children.partition_point(|value| *value < from);
            leaf.children[first..].iter().copied()
        });
        values.take_while(move |value| *value <= to)
    }

    /// Adds a value.
    pub fn insert(&mut self, value: T) {
        if self.is_empty() {
            *self = PersistentSet::from_sorted(&[value]);
            return;
        }
        let TreePosition { inner, leaf, value: Err(at) } = self.find(value) else { return };
        let inner_nodes = Arc::make_mut(&mut self.0);
        let leaves = children_mut(&mut inner_nodes[inner], value);
        children_mut(&mut leaves[leaf], value).insert(at, value);
        split(leaves, leaf);
        split(inner_nodes, inner);
    }

    /// Removes a value.
    pub fn remove(&mut self, value: T) {
        if self.is_empty() {
            return;
        }
        let TreePosition { inner, leaf, value: Ok(at) } = self.find(value) else { return };
        let inner_nodes = Arc::make_mut(&mut self.0);
        let leaves = Arc::make_mut(&mut inner_nodes[inner].children);
        Arc::make_mut(&mut leaves[leaf].children).remove(at);
        join(leaves, leaf);
        join(inner_nodes, inner);
    }

    /// Where a value is, or would be, in a set that is not empty.
    fn find(&self, value: T) -> TreePosition {
        let inner = position(&self.0, value);
        let leaves = &self.0[inner].children;
        let leaf = position(leaves, value);
        TreePosition { inner, leaf, value: leaves[leaf].children.binary_search(&value) }
    }
}

/// Groups children into nodes.
fn grouped<T: Copy, C: Child<T> + Clone>(children: &[C]) -> Vec<TreeNode<T, C>> {
    let node = |children: &[C]| TreeNode { lowest: children[0].lowest(), children: Arc::new(children.to_vec()) };
    children.chunks(NEW_LEN).map(node).collect()
}

/// The position of the child that has a value, or would have it.
fn position<T: Copy + Ord>(children: &[impl Child<T>], value: T) -> usize {
    children.partition_point(|child| child.lowest() <= value).saturating_sub(1)
}

/// The children of a node that gets a value.
fn children_mut<T: Copy + Ord, C: Clone>(node: &mut TreeNode<T, C>, value: T) -> &mut Vec<C> {
    node.lowest = node.lowest.min(value);
    Arc::make_mut(&mut node.children)
}

/// Splits a node that has too many children.
fn split<T: Copy, C: Child<T> + Clone>(nodes: &mut Vec<TreeNode<T, C>>, at: usize) {
    if nodes[at].children.len() > MAX_LEN {
        let upper = Arc::make_mut(&mut nodes[at].children).split_off(MAX_LEN / 2);
        nodes.insert(at + 1, TreeNode { lowest: upper[0].lowest(), children: Arc::new(upper) });
    }
}

/// Removes a node that has no children left, or joins it with the next one if they are small.
fn join<T: Copy, C: Clone>(nodes: &mut Vec<TreeNode<T, C>>, at: usize) {
    if nodes[at].children.is_empty() {
        nodes.remove(at);
    } else if nodes.get(at + 1).is_some_and(|next| next.children.len() + nodes[at].children.len() <= MAX_LEN / 2) {
        let next = nodes.remove(at + 1);
        Arc::make_mut(&mut nodes[at].children).extend(next.children.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_persistent_set_is_a_set_and_its_clones_do_not_change(
            first in prop::collection::btree_set(0u32..40_000, 0..20_000),
            runs in prop::collection::vec((0u32..40_000, 0u32..2_000, any::<bool>()), 0..20),
            ranges in prop::collection::vec((0u32..40_000, 0u32..3_000), 1..10),
        ) {
            let sorted: Vec<u32> = first.iter().copied().collect();
            let mut persistent = PersistentSet::from_sorted(&sorted);
            let (before, mut expected) = (persistent.clone(), first);
            for (start, len, adds) in runs {
                for value in start..start + len {
                    match adds {
                        true => { persistent.insert(value); expected.insert(value); }
                        false => { persistent.remove(value); expected.remove(&value); }
                    }
                }
            }
            for (from, len) in ranges {
                let found: Vec<u32> = persistent.range(from, from + len).collect();
                prop_assert_eq!(found, expected.range(from..=from + len).copied().collect::<Vec<_>>());
            }
            prop_assert_eq!(persistent.range(0, u32::MAX).collect::<BTreeSet<_>>(), expected);
            prop_assert_eq!(before.range(0, u32::MAX).collect::<Vec<_>>(), sorted);
        }
    }
}
