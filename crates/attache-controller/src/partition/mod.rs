//! Which part of a cluster a controller is for, if several share the work: the objects of some GatewayClasses.
//!
//! ```text
//! edits of the cluster ─→ links   what each object names
//!                           │
//!                         graph   the classes that each object is in
//!                           │
//!                      Partition ─→ edits of what is followed ─→ engine
//!                           └────→ packed: what is left out, in little memory
//! ```
//!
//! Every scope begins at a Gateway, and so is in one class: what is in force in a class does not depend on others. An object is
//! in the classes of all scopes that it is part of. **One controller is responsible for an object**: that of its class, if it is
//! in one class only, and else the default one, which follows all that such an object depends on.

mod graph;
mod links;
mod packed;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use attache_cluster::KnownObjects;
use attache_engine::{Edit, Object, ObjectRef, Objects};
use smol_str::SmolStr;

use self::graph::{Graph, Membership, NO_CLASS, NodeId};
use self::links::{Links, excludes_others, is_frame, no_class, own_class};
use self::packed::PackedObject;
use crate::options::GatewayClasses;

/// A partition that is shared by all who ask. A clone is cheap.
#[derive(Clone, Debug)]
pub struct SharedPartition(Arc<RwLock<Partition>>);

impl SharedPartition {
    /// The part of a cluster that belongs to some classes. `None` if that is all of it.
    pub fn new(classes: &GatewayClasses) -> Option<SharedPartition> {
        let partition = Partition::new(classes)?;
        Some(SharedPartition(Arc::new(RwLock::new(partition))))
    }

    /// To ask.
    pub fn read(&self) -> RwLockReadGuard<'_, Partition> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To change it.
    pub fn write(&self) -> RwLockWriteGuard<'_, Partition> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which objects a controller follows, and for which of them it is responsible.
#[derive(Debug)]
pub struct Partition {
    graph: Graph,
    /// Whether it is for all classes but the chosen ones.
    is_default: bool,
    /// Namespaces with policies for everything in them, and how many such policies there are.
    pinned: HashMap<SmolStr, usize>,
}

/// What becomes of edits.
#[derive(Debug, Default)]
pub struct PartitionedEdits {
    /// The edits of what is followed.
    pub edits: Vec<Edit>,
    /// Objects that the controller is responsible for now and was not, or the other way round.
    pub moved: Vec<ObjectRef>,
}

impl Partition {
    fn new(classes: &GatewayClasses) -> Option<Partition> {
        let (names, is_default): (&BTreeSet<String>, bool) = match classes {
            GatewayClasses::Only(names) => (names, false),
            GatewayClasses::Except(names) if names.is_empty() => return None,
            GatewayClasses::Except(names) => (names, true),
        };
        let graph = Graph::new(names.iter().map(String::as_str));
        Some(Partition { graph, is_default, pinned: HashMap::new() })
    }

    /// Whether the controller is for what belongs to no class, or to several.
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// Whether the controller is responsible for an object.
    pub fn is_responsible(&self, id: &ObjectRef) -> bool {
        self.graph.find(id).map_or(self.is_default, |node| self.is_responsible_for(self.graph[node].membership))
    }

    /// Whether the controller would be responsible for an object. `None` if it is part of no hierarchy itself, but can change
    /// those of all classes, as a Namespace can.
    pub fn would_be_responsible(&self, object: &Object) -> Option<bool> {
        let (class, links) = (own_class(object), Links::read(object));
        if class.is_none() && links.is_empty() && !is_frame(&object.id) {
            return None;
        }
        Some(self.is_responsible_for(self.graph.membership(class.as_deref(), &links)))
    }

    fn is_responsible_for(&self, membership: Membership) -> bool {
        match membership {
            Membership::One(NO_CLASS) | Membership::Several | Membership::Unknown => self.is_default,
            Membership::One(class) => self.graph.is_chosen(class) != self.is_default,
        }
    }

    /// Takes edits of the cluster. `followed` is what is followed so far.
    pub fn take(&mut self, edits: Vec<Edit>, followed: &Objects) -> PartitionedEdits {
        // The last edit of an object counts.
        let mut positions: HashMap<ObjectRef, usize> = HashMap::new();
        let mut touched = Vec::new();
        let mut changed: HashSet<NodeId> = HashSet::new();
        for (at, edit) in edits.iter().enumerate() {
            positions.insert(edit.id().clone(), at);
            let object = match edit {
                Edit::Put(object) => Some(object),
                Edit::Delete(_) => None,
            };
            let (class, links) = (object.and_then(own_class), object.map(Links::read).unwrap_or_default());
            if self.graph.find(edit.id()).is_some() || class.is_some() || !links.is_empty() {
                changed.extend(self.repin(edit.id(), &links));
                touched.extend(self.graph.set(edit.id(), class.as_deref(), links));
            }
        }
        let others = self.graph.update(&touched);
        let mut taken = PartitionedEdits::default();
        let is_deleted = |id: &ObjectRef| positions.get(id).is_some_and(|at| matches!(edits[*at], Edit::Delete(_)));
        for (node, before) in &others {
            let node = &self.graph[*node];
            if !is_deleted(&node.id) && self.is_responsible_for(*before) != self.is_responsible_for(node.membership) {
                taken.moved.push(node.id.clone());
            }
        }
        changed.extend(touched.iter().copied());
        self.add_dependents(others.into_iter().map(|(node, _)| node), &mut changed);
        for (at, edit) in edits.into_iter().enumerate() {
            if positions.get(edit.id()) != Some(&at) {
                continue;
            }
            let Some(node) = self.graph.find(edit.id()) else {
                taken.edits.push(edit);
                continue;
            };
            changed.remove(&node);
            self.place(node, edit, followed, &mut taken.edits);
        }
        let mut changed: Vec<NodeId> = changed.into_iter().collect();
        changed.sort_unstable();
        for node in changed {
            self.reconsider(node, followed, &mut taken.edits);
        }
        self.graph.forget_unused();
        taken
    }

    /// An object was changed or deleted.
    fn place(&mut self, node: NodeId, edit: Edit, followed: &Objects, edits: &mut Vec<Edit>) {
        let is_followed = self.is_followed(node);
        match edit {
            Edit::Put(object) if !is_followed => {
                if followed.find(&object.id).is_some() {
                    edits.push(Edit::Delete(object.id.clone()));
                }
                self.graph.set_packed(node, Some(PackedObject::new(object)));
            }
            edit => {
                self.graph.set_packed(node, None);
                edits.push(edit);
            }
        }
    }

    /// Something else was changed on which it depends whether an object is followed.
    fn reconsider(&mut self, node: NodeId, followed: &Objects, edits: &mut Vec<Edit>) {
        let is_followed = self.is_followed(node);
        match &self.graph[node].packed {
            Some(packed) if is_followed => {
                edits.push(Edit::Put(packed.unpack()));
                self.graph.set_packed(node, None);
            }
            None if !is_followed => {
                let id = self.graph[node].id.clone();
                if let Some(object) = followed.find(&id).and_then(|object| followed.get(object)) {
                    self.graph.set_packed(node, Some(PackedObject::new(object.clone())));
                    edits.push(Edit::Delete(id));
                }
            }
            _ => {}
        }
    }

    /// Whether an object is followed.
    fn is_followed(&self, node: NodeId) -> bool {
        let it = &self.graph[node];
        if it.is_root() || it.links.selects || is_frame(&it.id) {
            return true;
        }
        match self.is_default {
            // What belongs to its classes, and policies for what belongs to none, such as Namespaces.
            false => {
                let is_apart = |parent: NodeId| {
                    let parent = &self.graph[parent];
                    parent.is_root() && !is_frame(&parent.id) && parent.id != no_class()
                };
                it.is_chosen || it.parents().any(is_apart)
            }
            true => self.is_needed(node, 0),
        }
    }

    /// Whether the default controller needs an object: it is responsible for it, or for something that depends on it.
    fn is_needed(&self, node: NodeId, depth: usize) -> bool {
        /// Routes can be below each other, and policies be attached to policies, but not without end.
        const DEEPEST: usize = 8;
        let it = &self.graph[node];
        if depth > DEEPEST
            || it.is_root()
            || is_frame(&it.id)
            || excludes_others(&it.id)
            || self.is_responsible_for(it.membership)
            || self.is_pinned(node)
        {
            return true;
        }
        let is_elsewhere = |child: &NodeId| {
            let below = &self.graph[*child];
            below.membership != it.membership || (!below.below.is_empty() && self.is_needed(*child, depth + 1))
        };
        it.below.iter().any(is_elsewhere) || it.targets.iter().any(|target| self.is_needed(*target, depth + 1))
    }

    /// Whether a policy for a whole namespace concerns an object: it is in the namespace, or next to something in it.
    fn is_pinned(&self, node: NodeId) -> bool {
        let is_in = |node: NodeId| self.pinned.contains_key(&self.graph[node].id.namespace);
        let it = &self.graph[node];
        is_in(node) || it.above.iter().chain(&it.below).any(|other| !is_frame(&self.graph[*other].id) && is_in(*other))
    }

    /// Adds the nodes for which it depends on others, and on these themselves, whether they are followed.
    fn add_dependents(&self, others: impl Iterator<Item = NodeId>, changed: &mut HashSet<NodeId>) {
        let mut stack: Vec<NodeId> = others.collect();
        let mut seen: HashSet<NodeId> = HashSet::new();
        while let Some(node) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            let it = &self.graph[node];
            stack.extend(it.above.iter().filter(|parent| !is_frame(&self.graph[**parent].id)));
            stack.extend(&it.attached);
        }
        changed.extend(seen);
    }

    /// Takes the links of an object that is changed, and returns the nodes of a namespace that was pinned or is so no more: one
    /// with a policy that is for everything in it.
    fn repin(&mut self, id: &ObjectRef, links: &Links) -> Vec<NodeId> {
        let before = self.graph.find(id).map(|node| pins(id, &self.graph[node].links)).unwrap_or_default();
        let after = pins(id, links);
        if before == after {
            return Vec::new();
        }
        let mut changed: BTreeSet<SmolStr> = BTreeSet::new();
        for namespace in after {
            let count = self.pinned.entry(namespace.clone()).or_default();
            *count += 1;
            changed.insert(namespace);
        }
        for namespace in before {
            if let Some(count) = self.pinned.get_mut(&namespace) {
                *count -= 1;
                if *count == 0 {
                    self.pinned.remove(&namespace);
                }
                changed.insert(namespace);
            }
        }
        let inside = self.graph.iter().filter(|(_, it)| changed.contains(&it.id.namespace));
        inside.flat_map(|(node, it)| [node].into_iter().chain(it.parents()).chain(it.children())).collect()
    }

    /// What is left out of a namespace, or of all, with everything that its effective policies depend on. With `reach` also
    /// what is below the targets of its policies.
    pub fn left_out_of(&self, namespace: Option<&str>, reach: bool) -> Vec<Object> {
        let is_in = |id: &ObjectRef| namespace.is_none_or(|namespace| id.namespace == namespace);
        let mut nodes: Vec<NodeId> = self.graph.iter().filter(|(_, it)| is_in(&it.id)).map(|(node, _)| node).collect();
        if reach {
            nodes.extend(nodes.clone().into_iter().flat_map(|node| self.graph[node].targets.iter().copied()));
        }
        let mut below: HashSet<NodeId> = HashSet::new();
        let mut stack: Vec<NodeId> = nodes.clone();
        while let Some(node) = stack.pop() {
            if below.insert(node) && (reach || !is_frame(&self.graph[node].id)) {
                stack.extend(&self.graph[node].below);
            }
        }
        self.with_dependencies(below)
    }

    /// What is left out of the objects that an object names, with everything that their effective policies depend on.
    pub fn named_by(&self, object: &Object) -> Vec<Object> {
        let links = Links::read(object);
        self.with_dependencies(links.all().filter_map(|id| self.graph.find(id)).collect())
    }

    /// What is left out of objects, of those above them, and of policies that are attached to any of them.
    fn with_dependencies(&self, nodes: HashSet<NodeId>) -> Vec<Object> {
        let mut found: HashSet<NodeId> = HashSet::new();
        let mut stack: Vec<NodeId> = nodes.into_iter().collect();
        while let Some(node) = stack.pop() {
            if found.insert(node) {
                let it = &self.graph[node];
                stack.extend(it.parents().chain(it.attached.iter().copied()));
            }
        }
        let packed = found.into_iter().filter_map(|node| self.graph[node].packed.as_ref());
        let mut objects: Vec<Object> = packed.map(|packed| packed.unpack()).collect();
        objects.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        objects
    }

    fn left_out_of_kind(&self, group: &str, kind: &str) -> Vec<ObjectRef> {
        let is_meant = |id: &ObjectRef| id.group == group && id.kind == kind;
        let left_out = self.graph.iter().filter(|(_, it)| it.packed.is_some() && is_meant(&it.id));
        left_out.map(|(_, it)| it.id.clone()).collect()
    }
}

/// The namespaces for which a policy is as a whole: those that are its targets, and its own if it selects its targets.
fn pins(id: &ObjectRef, links: &Links) -> Vec<SmolStr> {
    let is_namespace = |target: &&ObjectRef| target.kind == "Namespace" && target.group.is_empty();
    let targets = links.targets.iter().filter(is_namespace).map(|target| target.name.clone());
    targets.chain(links.selects.then(|| id.namespace.clone())).collect()
}

/// What is known of a cluster: what is followed, and what is left out.
#[derive(Debug)]
pub struct Known<'k> {
    /// What is followed.
    pub followed: &'k Objects,
    /// The partition, unless everything is followed.
    pub partition: Option<&'k SharedPartition>,
}

impl KnownObjects for Known<'_> {
    fn objects(&self) -> &Objects {
        self.followed
    }

    fn left_out(&self, group: &str, kind: &str) -> Vec<ObjectRef> {
        self.partition.map(|partition| partition.read().left_out_of_kind(group, kind)).unwrap_or_default()
    }
}
