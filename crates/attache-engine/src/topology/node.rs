//! Nodes: whole objects, and the parts that have a node of their own.

use std::fmt;
use std::ops::{Index, IndexMut, Range};

use smol_str::SmolStr;

use super::ids::Ids;
use super::sections::Section;
use crate::level::Level;
use crate::object::ObjectId;
use crate::persistent::PersistentVec;

/// A whole object has the number of its object. Parts are counted apart: sections, frontends, and what is only named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    const PARTS: u32 = 1 << 31;

    pub const fn whole(object: ObjectId) -> NodeId {
        NodeId(object.0)
    }

    pub(crate) const fn part(at: u32) -> NodeId {
        NodeId(NodeId::PARTS | at)
    }

    /// The place among the parts, or that among the whole objects.
    #[inline]
    pub(super) fn place(self) -> Result<usize, usize> {
        match self.0 & NodeId::PARTS {
            0 => Err(self.0 as usize),
            _ => Ok((self.0 & !NodeId::PARTS) as usize),
        }
    }

    /// The object that has this node as a whole.
    pub(crate) fn object(self) -> Option<ObjectId> {
        self.place().err().map(|at| ObjectId(at as u32))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Ok(part) => write!(f, "part {part}"),
            Err(whole) => write!(f, "whole {whole}"),
        }
    }
}

/// Something for each node.
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
    #[inline]
    pub fn get(&self, node: NodeId) -> Option<&T> {
        match node.place() {
            Ok(part) => self.parts.get(part),
            Err(whole) => self.wholes.get(whole),
        }
    }

    /// In the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &T)> + Clone {
        let wholes = self.wholes.iter().enumerate().map(|(at, it)| (NodeId(at as u32), it));
        wholes.chain(self.parts.iter().enumerate().map(|(at, it)| (NodeId::part(at as u32), it)))
    }

    /// How many parts there may be: the highest one, plus one.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// How many whole objects there may be.
    pub(crate) fn wholes(&self) -> usize {
        self.wholes.len()
    }
}

impl<T: Clone + Default> NodeMap<T> {
    pub fn new(wholes: impl IntoIterator<Item = T>, parts: impl IntoIterator<Item = T>) -> NodeMap<T> {
        NodeMap { wholes: wholes.into_iter().collect(), parts: parts.into_iter().collect() }
    }

    /// Puts something at nodes, which are in order.
    pub fn set_sorted(&mut self, values: impl Iterator<Item = (NodeId, T)>) {
        let mut values = values.peekable();
        let wholes = std::iter::from_fn(|| values.next_if(|(node, _)| node.place().is_err()));
        self.wholes.set_sorted(wholes.filter_map(|(node, value)| Some((node.place().err()?, value))));
        self.parts.set_sorted(values.filter_map(|(node, value)| Some((node.place().ok()?, value))));
    }

    pub fn entry(&mut self, node: NodeId) -> &mut T {
        match node.place() {
            Ok(part) => self.parts.entry(part),
            Err(whole) => self.wholes.entry(whole),
        }
    }
}

impl NodeMap<Option<Node>> {
    /// Adds as many whole objects: `wholes` makes those of a range of them.
    pub(super) fn add_wholes<I: Iterator<Item = Node>>(
        &mut self,
        len: usize,
        wholes: impl Fn(Range<usize>) -> I + Sync,
    ) {
        self.wholes.par_extend(len, |range| wholes(range).map(Some));
    }

    /// Adds as many parts: `parts` makes those of a range of them.
    pub(super) fn add_parts<I: Iterator<Item = Node>>(&mut self, len: usize, parts: impl Fn(Range<usize>) -> I + Sync) {
        self.parts.par_extend(len, |range| parts(range).map(Some));
    }

    pub(super) fn edit_wholes(&mut self, edit: impl Fn(usize, &mut Node) + Sync) {
        self.wholes.par_edit(|at, node| node.iter_mut().for_each(|node| edit(at, node)));
    }

    /// For those who look at the whole objects meanwhile.
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

/// Something for each node, while it is worked out for all of them: faster than a [`NodeMap`], and shared with nobody.
#[derive(Debug)]
pub(crate) struct NodeVec<T> {
    wholes: Vec<T>,
    parts: Vec<T>,
}

impl<T: Clone + Default> NodeVec<T> {
    /// For the nodes of a topology, with what is known of them.
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

/// Whose node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    Object(ObjectId),
    /// It exists only by being named: a namespace without a Namespace object, a virtual target.
    Named(u32),
}

impl Owner {
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Owner::Object(id) => Some(id),
            Owner::Named(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    pub level: Level,
    pub owner: Owner,
    /// The listener, rule or port, for a section of the owner.
    pub section: Option<SmolStr>,
    /// The number of a port or of a listener's port: many routes ask, and reading it from the spec would take longer.
    pub(super) port: Option<i64>,
    pub(super) live: bool,
    pub(super) served: bool,
    /// The Namespace that it lives in.
    pub(super) namespace: Option<NodeId>,
    /// Whether another section of its owner may have the same name.
    pub(super) shares_name: bool,
    /// The sections of a whole object, among the parts.
    pub(super) sections: Range<u32>,
    /// The node that stands for a Service as a parent.
    pub(super) frontend: Option<NodeId>,
    pub(super) parents: Ids,
    pub(super) children: Ids,
    /// Of a port, the rules that name it; of a rule, the ports that it names.
    pub(super) across: Ids,
}

impl Node {
    pub(super) fn new(level: Level, owner: Owner) -> Node {
        Node {
            level,
            owner,
            section: None,
            port: None,
            live: true,
            served: true,
            namespace: None,
            shares_name: false,
            sections: 0..0,
            frontend: None,
            parents: Ids::default(),
            children: Ids::default(),
            across: Ids::default(),
        }
    }

    /// The node of the whole object, for this one, which may be a part of it.
    pub(crate) fn whole(&self, id: NodeId) -> NodeId {
        self.owner.object().map_or(id, NodeId::whole)
    }

    /// The sections of a whole object, in order.
    pub(crate) fn sections(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.sections.clone().map(NodeId::part)
    }

    /// Whether there may be another node of the same name: hardly ever.
    pub(crate) fn may_have_namesakes(&self) -> bool {
        self.shares_name || self.frontend.is_some() || self.level == Level::Frontend
    }

    /// Whether requests can come by, see [`super::Topology::live`].
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn namespace(&self) -> Option<NodeId> {
        self.namespace
    }

    pub(crate) fn parents(&self) -> &[NodeId] {
        self.parents.as_slice()
    }

    /// Of a port, the rules that name it; of a rule, the ports that it names.
    pub(crate) fn across(&self) -> &[NodeId] {
        self.across.as_slice()
    }
}

impl From<Section> for Node {
    fn from(Section { level, owner, name, port, shares_name }: Section) -> Node {
        let parents = Ids::of(&[NodeId::whole(owner)]);
        Node { section: Some(name), port, shares_name, parents, ..Node::new(level, Owner::Object(owner)) }
    }
}
