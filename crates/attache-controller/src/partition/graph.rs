//! Which objects name which, and the classes that follow from it.
//!
//! An object is in the classes of the objects above it: a route in those of its Gateways, a backend in those of its routes, a
//! policy in those of its targets.

use std::collections::{HashMap, HashSet};

use attache_engine::ObjectRef;
use smol_str::SmolStr;

use super::links::Links;
use super::packed::PackedObject;

/// The number of a node.
pub type NodeId = u32;

/// The number of a class.
pub type ClassId = u32;

/// The class of objects that are in no class.
pub const NO_CLASS: ClassId = 0;

/// The classes that an object is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// Not known yet.
    #[default]
    Unknown,
    /// One class, or none at all.
    One(ClassId),
    /// Several classes.
    Several,
}

impl Membership {
    fn join(self, other: Membership) -> Membership {
        match (self, other) {
            (Membership::Unknown, it) | (it, Membership::Unknown) => it,
            (a, b) if a == b => a,
            _ => Membership::Several,
        }
    }
}

/// An object, or a name for which there is no object.
#[derive(Debug, Default)]
pub struct Node {
    /// Its name.
    pub id: ObjectRef,
    /// Its class, if the object says it itself.
    pub class: Option<ClassId>,
    /// What the object names.
    pub links: Links,
    /// The objects above it.
    pub above: Vec<NodeId>,
    /// The objects below it.
    pub below: Vec<NodeId>,
    /// The objects that it is attached to.
    pub targets: Vec<NodeId>,
    /// The objects that are attached to it.
    pub attached: Vec<NodeId>,
    /// The classes that it is in.
    pub membership: Membership,
    /// Whether one of them is chosen.
    pub is_chosen: bool,
    /// The object, if it is left out.
    pub packed: Option<Box<PackedObject>>,
}

impl Node {
    /// The objects whose classes it has.
    pub fn parents(&self) -> impl Iterator<Item = NodeId> {
        self.above.iter().chain(&self.targets).copied()
    }

    /// The objects that have its classes.
    pub fn children(&self) -> impl Iterator<Item = NodeId> {
        self.below.iter().chain(&self.attached).copied()
    }

    /// Whether it is in the classes of nothing else.
    pub fn is_root(&self) -> bool {
        self.above.is_empty() && self.targets.is_empty()
    }

    fn is_unused(&self) -> bool {
        self.is_root()
            && self.below.is_empty()
            && self.attached.is_empty()
            && self.class.is_none()
            && self.packed.is_none()
            && self.links.is_empty()
    }
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug)]
struct Edge {
    parent: NodeId,
    child: NodeId,
    /// Whether the child is attached to the parent, and not below it.
    is_attached: bool,
}

/// All objects that name others, or are named.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    ids: HashMap<ObjectRef, NodeId>,
    free: Vec<NodeId>,
    classes: HashMap<SmolStr, ClassId>,
    chosen: HashSet<ClassId>,
    /// Nodes of which something was taken away.
    reduced: Vec<NodeId>,
}

impl std::ops::Index<NodeId> for Graph {
    type Output = Node;

    fn index(&self, node: NodeId) -> &Node {
        &self.nodes[node as usize]
    }
}

impl Graph {
    /// A graph without nodes, in which some classes are chosen.
    pub fn new<'c>(chosen: impl Iterator<Item = &'c str>) -> Graph {
        let mut graph = Graph::default();
        for class in chosen {
            let class = graph.class(class);
            graph.chosen.insert(class);
        }
        graph
    }

    fn class(&mut self, name: &str) -> ClassId {
        let next = self.classes.len() as ClassId + 1;
        *self.classes.entry(name.into()).or_insert(next)
    }

    /// The node of an object.
    pub fn find(&self, id: &ObjectRef) -> Option<NodeId> {
        self.ids.get(id).copied()
    }

    /// All nodes.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.ids.values().map(|node| (*node, &self[*node]))
    }

    /// Packs the object of a node, or forgets it.
    pub fn set_packed(&mut self, node: NodeId, packed: Option<PackedObject>) {
        self.nodes[node as usize].packed = packed.map(Box::new);
        self.reduced.push(node);
    }

    /// Whether objects of a class are chosen.
    pub fn is_chosen(&self, class: ClassId) -> bool {
        self.chosen.contains(&class)
    }

    /// The classes that an object with these links would be in.
    pub fn membership(&self, class: Option<&str>, links: &Links) -> Membership {
        if let Some(class) = class {
            return Membership::One(self.classes.get(class).copied().unwrap_or(ClassId::MAX));
        }
        let of = |id: &ObjectRef| self.find(id).map_or(Membership::One(NO_CLASS), |node| self[node].membership);
        let parents = links.above.iter().chain(&links.targets).map(of);
        let seed = if links.selects { Membership::One(NO_CLASS) } else { Membership::Unknown };
        match parents.fold(seed, Membership::join) {
            Membership::Unknown => Membership::One(NO_CLASS),
            known => known,
        }
    }

    /// Sets what an object names. Returns the nodes whose classes may be others now.
    pub fn set(&mut self, id: &ObjectRef, class: Option<&str>, links: Links) -> Vec<NodeId> {
        let node = self.node(id);
        let class = class.map(|class| self.class(class));
        let before = std::mem::take(&mut self.nodes[node as usize].links);
        if before == links && self[node].class == class && self[node].membership != Membership::Unknown {
            self.nodes[node as usize].links = links;
            return Vec::new();
        }
        let mut touched = vec![node];
        self.reduced.push(node);
        self.unlink(node, &before, &mut touched);
        self.link(node, &links, &mut touched);
        let changed = &mut self.nodes[node as usize];
        (changed.class, changed.links) = (class, links);
        touched
    }

    fn node(&mut self, id: &ObjectRef) -> NodeId {
        if let Some(node) = self.find(id) {
            return node;
        }
        let new = Node { id: id.clone(), ..Node::default() };
        let node = match self.free.pop() {
            Some(node) => {
                self.nodes[node as usize] = new;
                node
            }
            None => {
                self.nodes.push(new);
                self.nodes.len() as NodeId - 1
            }
        };
        self.ids.insert(id.clone(), node);
        node
    }

    /// Where the parent has the child.
    fn down(&mut self, edge: Edge) -> &mut Vec<NodeId> {
        let parent = &mut self.nodes[edge.parent as usize];
        if edge.is_attached { &mut parent.attached } else { &mut parent.below }
    }

    /// Where the child has the parent.
    fn up(&mut self, edge: Edge) -> &mut Vec<NodeId> {
        let child = &mut self.nodes[edge.child as usize];
        if edge.is_attached { &mut child.targets } else { &mut child.above }
    }

    fn link(&mut self, node: NodeId, links: &Links, touched: &mut Vec<NodeId>) {
        for edge in self.edges(node, links, touched) {
            self.down(edge).push(edge.child);
            self.up(edge).push(edge.parent);
        }
    }

    fn unlink(&mut self, node: NodeId, links: &Links, touched: &mut Vec<NodeId>) {
        for edge in self.edges(node, links, touched) {
            remove(self.down(edge), edge.child);
            remove(self.up(edge), edge.parent);
            self.reduced.extend([edge.parent, edge.child]);
        }
    }

    /// The edges that the links of a node stand for. What is below it is touched, and every node that is new.
    fn edges(&mut self, node: NodeId, links: &Links, touched: &mut Vec<NodeId>) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (list, is_attached, is_above) in [
            (&links.above, false, true),
            (&links.targets, true, true),
            (&links.below, false, false),
            (&links.attached, true, false),
        ] {
            for id in list {
                let other = self.node(id);
                if !is_above || self[other].membership == Membership::Unknown {
                    touched.push(other);
                }
                let (parent, child) = if is_above { (other, node) } else { (node, other) };
                edges.push(Edge { parent, child, is_attached });
            }
        }
        edges
    }

    /// Computes the classes of nodes, and of everything below them, again. Returns those that are in other classes now, with
    /// the classes that they were in.
    pub fn update(&mut self, touched: &[NodeId]) -> Vec<(NodeId, Membership)> {
        let mut stack: Vec<NodeId> = touched.to_vec();
        let mut region: HashSet<NodeId> = HashSet::new();
        while let Some(node) = stack.pop() {
            if region.insert(node) {
                stack.extend(self[node].children());
            }
        }
        let before: Vec<(NodeId, Membership, bool)> =
            region.iter().map(|node| (*node, self[*node].membership, self[*node].is_chosen)).collect();
        for node in &region {
            let node = &mut self.nodes[*node as usize];
            (node.membership, node.is_chosen) = (Membership::Unknown, false);
        }
        let mut queue: Vec<NodeId> = region.iter().copied().collect();
        while let Some(node) = queue.pop() {
            let computed = self.compute(node);
            let known = &mut self.nodes[node as usize];
            if (known.membership, known.is_chosen) != computed {
                (known.membership, known.is_chosen) = computed;
                queue.extend(self[node].children());
            }
        }
        for node in &region {
            let node = &mut self.nodes[*node as usize];
            if node.membership == Membership::Unknown {
                // Objects that name each other, and nothing else.
                node.membership = Membership::One(NO_CLASS);
            }
        }
        let is_other = |(node, membership, is_chosen): &(NodeId, Membership, bool)| {
            (self[*node].membership, self[*node].is_chosen) != (*membership, *is_chosen)
        };
        before.into_iter().filter(is_other).map(|(node, membership, _)| (node, membership)).collect()
    }

    fn compute(&self, node: NodeId) -> (Membership, bool) {
        let node = &self[node];
        if let Some(class) = node.class {
            return (Membership::One(class), self.is_chosen(class));
        }
        let mut membership =
            if node.is_root() || node.links.selects { Membership::One(NO_CLASS) } else { Membership::Unknown };
        let mut is_chosen = false;
        for parent in node.parents() {
            membership = membership.join(self[parent].membership);
            is_chosen |= self[parent].is_chosen;
        }
        (membership, is_chosen)
    }

    /// Forgets nodes that nothing names, and that have no object that names something.
    pub fn forget_unused(&mut self) {
        for node in std::mem::take(&mut self.reduced) {
            if self[node].is_unused() && self.ids.get(&self[node].id) == Some(&node) {
                let id = std::mem::take(&mut self.nodes[node as usize]).id;
                self.ids.remove(&id);
                self.free.push(node);
            }
        }
    }
}

fn remove(list: &mut Vec<NodeId>, node: NodeId) {
    if let Some(at) = list.iter().position(|it| *it == node) {
        list.swap_remove(at);
    }
}
