//! What the links of one object depend on besides itself.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::api::{GATEWAY_API, LISTENER_OWNERS};
use super::delegation::{BY_LABEL, Delegation};
use super::listeners::Listener;
use super::reference::Reference;
use super::refusal::{RefusalCause, RefusedLink, StoredRefusal};
use super::sections::Section;
use super::{NodeId, NodeRef, Topology};
use crate::object::{ObjectId, ObjectRef, Objects};
use crate::value::Path;

#[derive(Debug)]
pub struct Index<'o> {
    pub objects: &'o Objects,
    pub topology: &'o Topology,
    listeners: HashMap<ObjectId, Vec<Listener<'o>>>,
    /// HTTPRoutes by label and value; made when somebody delegates by label.
    labelled: OnceLock<HashMap<(&'static str, &'o str), Vec<ObjectId>>>,
}

impl<'o> Index<'o> {
    pub fn new(objects: &'o Objects, topology: &'o Topology) -> Self {
        let owners = LISTENER_OWNERS.iter().flat_map(|(group, kind)| objects.of_kind(group, kind));
        Index::before(objects, topology, owners.copied())
    }

    /// For routes that have no other parents than these.
    pub fn before(objects: &'o Objects, topology: &'o Topology, owners: impl Iterator<Item = ObjectId>) -> Self {
        let read = |id: ObjectId| objects[id].spec().list_at("listeners").iter().map(Listener::read).collect();
        Index { objects, topology, listeners: owners.map(|id| (id, read(id))).collect(), labelled: OnceLock::new() }
    }

    /// Whether `from` may refer to what a reference names.
    pub fn permits(&self, from: &ObjectRef, to: &Reference) -> bool {
        self.topology.grants.permit(self.objects, from, to.group, to.kind, to.namespace, to.name)
    }

    /// The node of the section at `position` of the owner's list.
    pub fn section(&self, owner: ObjectId, position: usize) -> NodeId {
        NodeId::part(self.topology[NodeId::whole(owner)].sections.start + position as u32)
    }

    /// The listeners of a Gateway or ListenerSet, in the order of their nodes.
    pub fn listeners(&self, owner: ObjectId) -> &[Listener<'o>] {
        self.listeners.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// The HTTPRoutes that carry one of the [labels of delegation](BY_LABEL) with this value, in order.
    pub fn labelled(&self, label: &'static str, value: &'o str) -> &[ObjectId] {
        let labelled = self.labelled.get_or_init(|| {
            let mut labelled: HashMap<_, Vec<ObjectId>> = HashMap::new();
            for (id, route) in self.objects.each_of_kind(GATEWAY_API, "HTTPRoute") {
                for (_, label) in BY_LABEL {
                    if let Some(value) = route.labels().get_str(label) {
                        labelled.entry((label, value)).or_default().push(id);
                    }
                }
            }
            labelled
        });
        labelled.get(&(label, value)).map_or(&[], Vec::as_slice)
    }
}

/// The links of some objects, and what was refused to them.
#[derive(Debug, Default)]
pub struct Found {
    /// From parent to child.
    pub links: Vec<(NodeId, NodeId)>,
    /// Route by route.
    pub rules: Vec<Section>,
    /// From one of the `rules` to its backend.
    pub backends: Vec<(u32, NodeId)>,
    /// From the port of a backend to one of the `rules` that names it.
    pub ports: Vec<(NodeId, u32)>,
    /// The routes that name a Service as their parent.
    pub frontends: Vec<(ObjectId, NodeId)>,
    pub delegations: Vec<Delegation>,
    /// Routes, parent and child, where the child says that it is delegated to.
    pub adopted: Vec<(ObjectId, ObjectId)>,
    /// The listeners that nobody can reach.
    pub unserved: Vec<NodeId>,
    /// By who asked.
    pub denied: Vec<(ObjectId, StoredRefusal)>,
}

impl Found {
    /// Refuses the link that an object asks for at a path.
    pub fn refuse(
        &mut self,
        (by, path): (ObjectId, Path),
        parent: impl Into<NodeRef>,
        child: impl Into<NodeRef>,
        cause: impl Into<RefusalCause>,
    ) {
        let refused = RefusedLink { parent: parent.into(), child: child.into(), cause: cause.into(), by, path };
        self.denied.push((by, StoredRefusal::Explained(Box::new(refused))));
    }

    /// Adds others, one after the other.
    pub fn append_all(&mut self, mut others: Vec<Found>) {
        let sum = |len: fn(&Found) -> usize| others.iter().map(len).sum();
        self.links.reserve(sum(|it| it.links.len()));
        self.rules.reserve(sum(|it| it.rules.len()));
        self.backends.reserve(sum(|it| it.backends.len()));
        self.ports.reserve(sum(|it| it.ports.len()));
        others.iter_mut().for_each(|it| self.append(it));
    }

    pub fn append(&mut self, other: &mut Found) {
        let before = self.rules.len() as u32;
        other.backends.iter_mut().for_each(|(rule, _)| *rule += before);
        other.ports.iter_mut().for_each(|(_, rule)| *rule += before);
        other.delegations.iter_mut().for_each(|delegation| delegation.rule += before);
        join(&mut self.links, &mut other.links);
        join(&mut self.rules, &mut other.rules);
        join(&mut self.backends, &mut other.backends);
        join(&mut self.ports, &mut other.ports);
        join(&mut self.frontends, &mut other.frontends);
        join(&mut self.delegations, &mut other.delegations);
        join(&mut self.adopted, &mut other.adopted);
        join(&mut self.unserved, &mut other.unserved);
        join(&mut self.denied, &mut other.denied);
    }
}

/// Appends, without copying where there was nothing before.
fn join<T>(list: &mut Vec<T>, other: &mut Vec<T>) {
    if list.capacity() == 0 { std::mem::swap(list, other) } else { list.append(other) }
}

/// Drops what is twice after the first `start` items, as when two references name the same object.
pub fn dedup_after<T: Ord>(start: usize, list: &mut Vec<T>) {
    if list.len() > start + 1 {
        let mut tail = list.split_off(start);
        tail.sort_unstable();
        tail.dedup();
        list.append(&mut tail);
    }
}
