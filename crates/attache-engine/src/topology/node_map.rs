//! A value for each node.

use std::ops::{Index, IndexMut, Range};

use super::{Node, NodeId};
use crate::object::ObjectId;
use crate::persistent::PersistentVec;

/// A value for each node. A clone shares its values with the original.
#[derive(Clone, Debug)]
pub struct NodeMap<T> {
    wholes: PersistentVec<T>,
    parts: PersistentVec<T>,
}

impl<T> Default for NodeMap<T> {
    fn default() -> Self {
        NodeMap { wholes: PersistentVec::default(), parts: PersistentVec::default() }
    }
}

impl<T> NodeMap<T> {
    /// The value of a node; `None` if the map is too short for it.
    #[inline]
    pub fn get(&self, node: NodeId) -> Option<&T> {
        match node.place() {
            Ok(part) => self.parts.get(part),
            Err(whole) => self.wholes.get(whole),
        }
    }

    /// All values, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &T)> + Clone {
        let wholes = self.wholes.iter().enumerate().map(|(at, it)| (NodeId::whole(ObjectId(at as u32)), it));
        wholes.chain(self.parts.iter().enumerate().map(|(at, it)| (NodeId::part(at as u32), it)))
    }

    /// One more than the highest index of a part.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// One more than the highest index of a whole object.
    pub(crate) fn wholes(&self) -> usize {
        self.wholes.len()
    }
}

impl<T: Clone + Default> NodeMap<T> {
    /// The values of whole objects and of parts, by index.
    pub fn new(wholes: impl IntoIterator<Item = T>, parts: impl IntoIterator<Item = T>) -> NodeMap<T> {
        NodeMap { wholes: wholes.into_iter().collect(), parts: parts.into_iter().collect() }
    }

    /// Sets the values of nodes, which are in order.
    pub fn set_sorted(&mut self, values: impl Iterator<Item = (NodeId, T)>) {
        let mut values = values.peekable();
        let wholes = std::iter::from_fn(|| values.next_if(|(node, _)| node.place().is_err()));
        self.wholes.set_sorted(wholes.filter_map(|(node, value)| Some((node.place().err()?, value))));
        self.parts.set_sorted(values.filter_map(|(node, value)| Some((node.place().ok()?, value))));
    }

    /// The value of a node, to change it. A map that is too short is extended with defaults.
    pub fn entry(&mut self, node: NodeId) -> &mut T {
        match node.place() {
            Ok(part) => self.parts.entry(part),
            Err(whole) => self.wholes.entry(whole),
        }
    }
}

impl NodeMap<Option<Node>> {
    /// Adds `len` whole objects. `wholes` returns those of a range of them.
    pub(super) fn add_wholes<I: Iterator<Item = Node>>(
        &mut self,
        len: usize,
        wholes: impl Fn(Range<usize>) -> I + Sync,
    ) {
        self.wholes.par_extend(len, |range| wholes(range).map(Some));
    }

    /// Adds `len` parts. `parts` returns those of a range of them.
    pub(super) fn add_parts<I: Iterator<Item = Node>>(&mut self, len: usize, parts: impl Fn(Range<usize>) -> I + Sync) {
        self.parts.par_extend(len, |range| parts(range).map(Some));
    }

    /// Edits all whole objects.
    pub(super) fn edit_wholes(&mut self, edit: impl Fn(usize, &mut Node) + Sync) {
        self.wholes.par_edit(|at, node| node.iter_mut().for_each(|node| edit(at, node)));
    }

    /// Edits all parts. The edit can read the whole objects.
    pub(super) fn edit_parts(&mut self, edit: impl Fn(&PersistentVec<Option<Node>>, usize, &mut Node) + Sync) {
        let NodeMap { wholes, parts } = self;
        parts.par_edit(|at, node| node.iter_mut().for_each(|node| edit(wholes, at, node)));
    }
}

impl<T> Index<NodeId> for NodeMap<T> {
    type Output = T;

    fn index(&self, node: NodeId) -> &T {
        match node.place() {
            Ok(part) => &self.parts[part],
            Err(whole) => &self.wholes[whole],
        }
    }
}

/// A value for each node, used while the values of all nodes are computed. It is faster than a [`NodeMap`], and a clone
/// copies it.
#[derive(Debug)]
pub(crate) struct NodeVec<T> {
    wholes: Vec<T>,
    parts: Vec<T>,
}

impl<T: Clone + Default> NodeVec<T> {
    /// The values for the nodes of a topology. Nodes that are not in `known` have the default.
    pub fn new(topology: &super::Topology, known: &NodeMap<T>) -> NodeVec<T> {
        let filled = |known: &PersistentVec<T>, len: usize| {
            let mut values = Vec::with_capacity(len);
            values.extend(known.iter().take(len).cloned());
            values.resize_with(len, T::default);
            values
        };
        let (wholes, parts) = (topology.nodes.wholes(), topology.nodes.parts());
        NodeVec { wholes: filled(&known.wholes, wholes), parts: filled(&known.parts, parts) }
    }
}

impl<T> Index<NodeId> for NodeVec<T> {
    type Output = T;

    fn index(&self, node: NodeId) -> &T {
        match node.place() {
            Ok(part) => &self.parts[part],
            Err(whole) => &self.wholes[whole],
        }
    }
}

impl<T> IndexMut<NodeId> for NodeVec<T> {
    fn index_mut(&mut self, node: NodeId) -> &mut T {
        match node.place() {
            Ok(part) => &mut self.parts[part],
            Err(whole) => &mut self.wholes[whole],
        }
    }
}

impl<T: Clone + Default> From<NodeVec<T>> for NodeMap<T> {
    fn from(all: NodeVec<T>) -> Self {
        NodeMap::new(all.wholes, all.parts)
    }
}
