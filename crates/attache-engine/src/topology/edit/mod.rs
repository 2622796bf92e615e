//! Updates a topology after changes of objects, at a cost that depends on their number.
//!
//! ```text
//! add_object, remove_object, update_sections ─→ relink_gateways ─→ relink_routes ─→ remove_unused
//! add_implied, remove_implied, set_namespace ─┘
//! ```
//!
//! The caller finds the affected objects, and passes them. Links are found by the functions that build a topology. A
//! few changes are not applied: see [`NeedsRebuild`].

mod changes;
mod gateways;
mod implied_nodes;
mod needs_rebuild;
mod routes;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::neighbors::Neighbors;
use super::refusal::StoredRefusal;
use super::sections::{self, Section};
use super::{Level, Node, NodeId, Owner, Topology, api};
use crate::object::{Object, ObjectId, Objects};

pub use changes::TopologyChanges;
pub use needs_rebuild::NeedsRebuild;
pub use routes::LinkSides;

/// Changes a topology, and records the changed nodes.
#[derive(Debug)]
pub struct TopologyEditor<'t> {
    topology: &'t mut Topology,
    /// The objects after the changes.
    objects: &'t Objects,
    changes: &'t mut TopologyChanges,
}

impl<'t> TopologyEditor<'t> {
    /// An editor that changes a topology into that of `objects`.
    pub fn new(topology: &'t mut Topology, objects: &'t Objects, changes: &'t mut TopologyChanges) -> Self {
        TopologyEditor { topology, objects, changes }
    }

    /// Adds the node of an object, and those of its sections unless it is a route. It has no namespace and no links yet.
    pub fn add_object(&mut self, id: ObjectId) -> Result<(), NeedsRebuild> {
        let object = &self.objects[id];
        let node = NodeId::whole(id);
        let level = api::level(&object.id.group, &object.id.kind);
        if self.topology.is_implied(&object.id) && !matches!(level, Level::Namespace | Level::GatewayClass) {
            return Err(NeedsRebuild::VirtualTarget);
        }
        *self.topology.nodes.entry(node) = Some(Node::new(level, Owner::Object(id)));
        self.topology.count += 1;
        self.changes.nodes.push(node);
        self.forget_lists();
        self.update_sections(id);
        Ok(())
    }

    /// Removes the nodes of an object. The caller relinks the objects that were linked to it.
    pub fn remove_object(&mut self, id: ObjectId) -> Result<(), NeedsRebuild> {
        let node = NodeId::whole(id);
        match self.topology.node(node).map(|node| node.level) {
            Some(Level::Route) => self.unlink_route(id)?,
            Some(Level::Gateway) => {
                let classes = self.topology.parents(node).to_vec();
                classes.into_iter().for_each(|class| self.topology.edit(class, |it| it.children.remove(node)));
            }
            _ => {}
        }
        self.remove_sections(node);
        *self.topology.nodes.entry(node) = None;
        self.topology.count -= 1;
        self.changes.removed.push(node);
        self.set_refusals(id, Vec::new());
        self.set_isolation(id, None);
        self.forget_lists();
        Ok(())
    }

    /// Reads the sections of an object again, unless it is a route. The caller relinks the objects that were linked to
    /// them.
    pub fn update_sections(&mut self, id: ObjectId) {
        let object = &self.objects[id];
        // The level of the kind, because the node has the level of a backend if a route refers to the object.
        let level = api::level(&object.id.group, &object.id.kind);
        if level != Level::Route && sections::list(object, level).is_some() {
            let mut sections = Vec::new();
            sections::read(id, object, level, &mut sections);
            self.set_sections(NodeId::whole(id), sections);
        }
    }

    /// Adds a ReferenceGrant, whose node exists.
    pub fn add_grant(&mut self, grant: &Object, id: ObjectId) {
        Arc::make_mut(&mut self.topology.grants).add(&grant.id.namespace, id);
    }

    /// Removes a ReferenceGrant.
    pub fn remove_grant(&mut self, grant: &Object, id: ObjectId) {
        Arc::make_mut(&mut self.topology.grants).remove(&grant.id.namespace, id);
    }
}

/// Parts.
impl TopologyEditor<'_> {
    /// Whether a whole object has sections with these names and ports.
    fn has_sections(&self, whole: NodeId, sections: &[Section]) -> bool {
        let nodes = self.topology.sections(whole).map(|id| &self.topology[id]);
        let existing = nodes.map(|node| (node.section.as_ref(), node.port));
        existing.eq(sections.iter().map(|it| (Some(&it.name), it.port)))
    }

    /// Sets the sections of a whole object. The nodes stay if names and ports stay.
    fn set_sections(&mut self, whole: NodeId, sections: Vec<Section>) {
        if self.has_sections(whole, &sections) {
            return;
        }
        self.remove_sections(whole);
        let (len, namespace) = (sections.len() as u32, self.topology[whole].namespace);
        let start = self.take_parts(len);
        self.topology.count += sections.len();
        for (at, section) in (start..).zip(sections) {
            *self.topology.nodes.entry(NodeId::part(at)) = Some(Node { namespace, ..Node::from(section) });
            self.changes.nodes.push(NodeId::part(at));
        }
        let sections: Vec<NodeId> = (start..start + len).map(NodeId::part).collect();
        self.topology.edit(whole, |node| {
            node.sections = start..start + len;
            // Sections are the last children, as in a topology that is built.
            node.children = Neighbors::new(&sections);
        });
        self.forget_lists();
    }

    fn remove_sections(&mut self, whole: NodeId) {
        let Some(sections) = self.topology.node(whole).map(|node| node.sections.clone()) else { return };
        if sections.is_empty() {
            return;
        }
        self.remove_parts(sections);
        self.topology.edit(whole, |node| {
            node.sections = 0..0;
            node.children = Neighbors::default();
        });
    }

    /// Allocates `len` parts, and returns the index of the first.
    fn take_parts(&mut self, len: u32) -> u32 {
        match self.changes.free.iter().position(|(_, free)| *free == len) {
            Some(at) => self.changes.free.swap_remove(at).0,
            None => self.topology.nodes.parts() as u32,
        }
    }

    fn remove_parts(&mut self, parts: Range<u32>) {
        for at in parts.clone() {
            *self.topology.nodes.entry(NodeId::part(at)) = None;
            self.changes.removed.push(NodeId::part(at));
        }
        self.topology.count -= parts.len();
        self.changes.freed.push((parts.start, parts.len() as u32));
    }
}

/// Consequences of links.
impl TopologyEditor<'_> {
    /// Determines whether requests reach a node, given its parents.
    fn settle_live(&mut self, node: NodeId) {
        let (it, live) = (&self.topology[node], self.topology.is_reached(self.objects, node));
        if it.live != live {
            self.changes.live_changed.push(node);
            // The nodes below have a different set of live parents.
            self.changes.nodes.push(node);
            let below = it.children.as_slice().iter().chain(it.across.as_slice());
            below.for_each(|node| _ = self.changes.nodes.push(*node));
            self.topology.edit(node, |node| node.live = live);
        }
    }

    /// Replaces the refusals of an object.
    fn set_refusals(&mut self, by: ObjectId, refusals: Vec<StoredRefusal>) {
        if self.topology.refusals_of(by) != refusals {
            *self.topology.refusals.entry(by.0 as usize) = refusals;
        }
    }

    /// Clears the cached lists of nodes and refusals.
    fn forget_lists(&mut self) {
        self.topology.order = OnceLock::new();
        self.topology.refused = OnceLock::new();
    }
}
