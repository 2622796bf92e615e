//! Nodes: whole objects, and parts, which are sections, frontends and implied nodes.

use std::fmt;
use std::ops::{Deref, Range};

use smol_str::SmolStr;

use super::neighbors::Neighbors;
use super::sections::Section;
use crate::level::Level;
use crate::object::ObjectId;

/// The id of a node in one topology. The node of a whole object has the number of the object. Parts have their own
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    const PARTS: u32 = 1 << 31;

    /// The node of a whole object.
    pub const fn whole(object: ObjectId) -> NodeId {
        NodeId(object.0)
    }

    pub(crate) const fn part(at: u32) -> NodeId {
        NodeId(NodeId::PARTS | at)
    }

    /// The index: `Ok` in the parts, or `Err` in the whole objects.
    #[inline]
    pub(super) fn place(self) -> Result<usize, usize> {
        match self.0 & NodeId::PARTS {
            0 => Err(self.0 as usize),
            _ => Ok((self.0 & !NodeId::PARTS) as usize),
        }
    }

    /// The object, if this is the node of a whole object.
    pub(crate) fn object(self) -> Option<ObjectId> {
        self.place().err().map(|at| ObjectId(at as u32))
    }
}

/// Marks on nodes: a bit for each.
#[derive(Debug, Default)]
struct NodeMarks {
    wholes: Vec<u64>,
    parts: Vec<u64>,
}

impl NodeMarks {
    /// Marks a node. Returns whether it was not marked before.
    fn insert(&mut self, node: NodeId) -> bool {
        let (marks, (word, bit)) = match node.place() {
            Ok(part) => (&mut self.parts, place_of_mark(part)),
            Err(whole) => (&mut self.wholes, place_of_mark(whole)),
        };
        if marks.len() <= word {
            marks.resize(word + 1, 0);
        }
        let is_new = marks[word] & bit == 0;
        marks[word] |= bit;
        is_new
    }

    fn contains(&self, node: NodeId) -> bool {
        let (marks, (word, bit)) = match node.place() {
            Ok(part) => (&self.parts, place_of_mark(part)),
            Err(whole) => (&self.wholes, place_of_mark(whole)),
        };
        marks.get(word).is_some_and(|marks| marks & bit != 0)
    }
}

/// The word and the bit in it that mark a node.
fn place_of_mark(at: usize) -> (usize, u64) {
    (at / 64, 1 << (at % 64))
}

/// A list of nodes, each once.
#[derive(Debug, Default)]
pub struct DistinctNodes {
    nodes: Vec<NodeId>,
    marks: NodeMarks,
}

impl DistinctNodes {
    /// Adds a node. Returns whether it was not in the list.
    pub(crate) fn push(&mut self, node: NodeId) -> bool {
        let is_new = self.marks.insert(node);
        if is_new {
            self.nodes.push(node);
        }
        is_new
    }

    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.marks.contains(node)
    }

    pub(super) fn into_vec(self) -> Vec<NodeId> {
        self.nodes
    }
}

impl Deref for DistinctNodes {
    type Target = [NodeId];

    fn deref(&self) -> &[NodeId] {
        &self.nodes
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

/// The object that a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// An object.
    Object(ObjectId),
    /// None: the node is implied, because other objects refer to it. It is a Namespace or GatewayClass without an
    /// object, or a virtual target. The value is its index in the parts.
    Implied(u32),
}

impl Owner {
    /// The object, if there is one.
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Owner::Object(id) => Some(id),
            Owner::Implied(_) => None,
        }
    }
}

/// A node with its links.
#[derive(Clone, Debug)]
pub struct Node {
    /// The position in the hierarchy.
    pub level: Level,
    /// The object that the node belongs to.
    pub owner: Owner,
    /// The name of the listener, rule or port, if the node is a section.
    pub section: Option<SmolStr>,
    /// The number of a port, or of the port of a listener. It is needed often, and reading it from the spec is slower.
    pub(super) port: Option<i64>,
    pub(super) live: bool,
    pub(super) served: bool,
    pub(super) namespace: Option<NodeId>,
    /// Whether another section of its owner may have the same name.
    pub(super) shares_name: bool,
    /// The range of the sections of a whole object in the parts.
    pub(super) sections: Range<u32>,
    /// The node of a Service as a parent of routes.
    pub(super) frontend: Option<NodeId>,
    pub(super) parents: Neighbors,
    pub(super) children: Neighbors,
    /// For a port, the rules that refer to it; for a rule, the ports that it refers to.
    pub(super) across: Neighbors,
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
            parents: Neighbors::default(),
            children: Neighbors::default(),
            across: Neighbors::default(),
        }
    }

    /// The node of the whole object that this node, which has the id `id`, belongs to.
    pub(crate) fn whole(&self, id: NodeId) -> NodeId {
        self.owner.object().map_or(id, NodeId::whole)
    }

    /// The sections of a whole object, in order.
    pub(crate) fn sections(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.sections.clone().map(NodeId::part)
    }

    /// Whether another node may have the same name, which is rare.
    pub(crate) fn may_share_name(&self) -> bool {
        self.shares_name || self.frontend.is_some() || self.level == Level::Frontend
    }

    /// Whether requests reach it, see [`super::Topology::live`].
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn namespace(&self) -> Option<NodeId> {
        self.namespace
    }

    pub(crate) fn parents(&self) -> &[NodeId] {
        self.parents.as_slice()
    }

    /// For a port, the rules that refer to it; for a rule, the ports that it refers to.
    pub(crate) fn across(&self) -> &[NodeId] {
        self.across.as_slice()
    }
}

impl From<Section> for Node {
    fn from(Section { level, owner, name, port, shares_name }: Section) -> Node {
        let parents = Neighbors::new(&[NodeId::whole(owner)]);
        Node { section: Some(name), port, shares_name, parents, ..Node::new(level, Owner::Object(owner)) }
    }
}
