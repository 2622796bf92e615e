//! Changes to a topology, object by object, at a cost that depends on the object. Links are made after them: those of
//! routes by `relink`, those of Gateways by `relink_gateways`.
//!
//! Delegation, and what becomes a backend by being named, is not followed: whoever finds a change of that sort says so, and
//! the topology is built anew.

use std::sync::{Arc, OnceLock};

use hashbrown::HashSet;

use super::api::{self, RouteKind};
use super::ids::Ids;
use super::index::Index;
use super::needs_rebuild::NeedsRebuild;
use super::routes::ParentRequest;
use super::sections::Section;
use super::{Level, Node, NodeId, Owner, Topology, contest, sections};
use crate::object::{Object, ObjectId, Objects};

/// Where a topology was changed.
#[derive(Debug, Default)]
pub struct Edited {
    /// Nodes that are new, or whose links are.
    pub nodes: EachOnce,
    /// Nodes that requests have come to reach, or reach no more.
    pub lives: Vec<NodeId>,
    /// Nodes that live in another Namespace than before, or in one that has another node.
    pub housed: Vec<NodeId>,
    pub gone: Vec<NodeId>,
    /// Free places among the parts, from earlier changes, each with its length.
    pub free: Vec<(u32, u32)>,
    /// Those that became free: they may be used from the next change on.
    freed: Vec<(u32, u32)>,
}

/// Nodes in the order in which they came: many come again and again.
#[derive(Debug, Default)]
pub struct EachOnce {
    nodes: Vec<NodeId>,
    known: HashSet<NodeId>,
}

impl EachOnce {
    pub fn push(&mut self, node: NodeId) {
        if self.known.insert(node) {
            self.nodes.push(node);
        }
    }

    pub fn as_slice(&self) -> &[NodeId] {
        &self.nodes
    }
}

impl Edited {
    pub fn new(free: Vec<(u32, u32)>) -> Edited {
        Edited { free, ..Edited::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.as_slice().is_empty() && self.gone.is_empty() && self.housed.is_empty()
    }

    /// The free places for the next change.
    pub fn into_free(mut self) -> Vec<(u32, u32)> {
        self.free.append(&mut self.freed);
        self.free
    }
}

impl Topology {
    /// Adds the node of an object, and those of its sections if it is no route. It lives nowhere yet.
    pub fn add(&mut self, objects: &Objects, id: ObjectId, edited: &mut Edited) -> Result<(), NeedsRebuild> {
        let object = &objects[id];
        let node = NodeId::whole(id);
        let level = api::level(&object.id.group, &object.id.kind);
        if self.is_named(&object.id) && !matches!(level, Level::Namespace | Level::GatewayClass) {
            return Err(NeedsRebuild::VirtualTarget);
        }
        *self.nodes.entry(node) = Some(Node::new(level, Owner::Object(id)));
        self.count += 1;
        edited.nodes.push(node);
        self.changed();
        self.resection(objects, id, edited);
        Ok(())
    }

    /// Takes the nodes of an object away. Whoever links to it must be linked again.
    pub fn remove(&mut self, id: ObjectId, edited: &mut Edited) -> Result<(), NeedsRebuild> {
        let node = NodeId::whole(id);
        match self[node].level {
            Level::Route => self.unlink(node, edited)?,
            Level::Gateway => {
                let classes = self.parents(node).to_vec();
                classes.into_iter().for_each(|class| self.edit(class, |it| it.children.remove(node)));
            }
            _ => {}
        }
        self.free_sections(node, edited);
        *self.nodes.entry(node) = None;
        self.count -= 1;
        edited.gone.push(node);
        self.deny(id, Vec::new());
        self.changed();
        Ok(())
    }

    /// Reads the sections of an object again, if it is no route. Whoever links to them must be linked again.
    pub fn resection(&mut self, objects: &Objects, id: ObjectId, edited: &mut Edited) {
        let object = &objects[id];
        // Not that of its node: whatever somebody sends requests to is a backend.
        let level = api::level(&object.id.group, &object.id.kind);
        if level != Level::Route && sections::of(object, level).is_some() {
            let mut sections = Vec::new();
            sections::read(id, object, level, &mut sections);
            self.set_sections(NodeId::whole(id), sections, edited);
        }
    }

    /// Whether the sections of a whole object have the same names and ports as these.
    pub(super) fn are_sections(&self, whole: NodeId, sections: &[Section]) -> bool {
        let known = self.sections(whole).map(|id| &self[id]).map(|it| (it.section.as_ref(), it.port));
        known.eq(sections.iter().map(|it| (Some(&it.name), it.port)))
    }

    /// Gives a whole object these sections. They keep their nodes if they have the same names and ports as before.
    pub(super) fn set_sections(&mut self, whole: NodeId, sections: Vec<Section>, edited: &mut Edited) {
        if self.are_sections(whole, &sections) {
            return;
        }
        self.free_sections(whole, edited);
        let (len, namespace) = (sections.len() as u32, self[whole].namespace);
        let start = self.take_parts(len, edited);
        self.count += sections.len();
        for (at, section) in (start..).zip(sections) {
            *self.nodes.entry(NodeId::part(at)) = Some(Node { namespace, ..Node::from(section) });
            edited.nodes.push(NodeId::part(at));
        }
        let sections: Vec<NodeId> = (start..start + len).map(NodeId::part).collect();
        self.edit(whole, |node| {
            node.sections = start..start + len;
            // Sections are the last of the children, as they are when the topology is built.
            node.children = Ids::of(&sections);
        });
        self.changed();
    }

    pub(super) fn take_parts(&mut self, len: u32, edited: &mut Edited) -> u32 {
        match edited.free.iter().position(|(_, free)| *free == len) {
            Some(at) => edited.free.swap_remove(at).0,
            None => self.nodes.parts() as u32,
        }
    }

    fn free_sections(&mut self, whole: NodeId, edited: &mut Edited) {
        let sections = self[whole].sections.clone();
        if sections.is_empty() {
            return;
        }
        self.free_parts(sections, edited);
        self.edit(whole, |node| {
            node.sections = 0..0;
            node.children = Ids::default();
        });
    }

    pub(super) fn free_parts(&mut self, parts: std::ops::Range<u32>, edited: &mut Edited) {
        for at in parts.clone() {
            *self.nodes.entry(NodeId::part(at)) = None;
            edited.gone.push(NodeId::part(at));
        }
        self.count -= parts.len();
        edited.freed.push((parts.start, parts.len() as u32));
    }

    /// Whether a route may have to compete with others for a hostname.
    pub fn competes(&self, objects: &Objects, id: ObjectId) -> bool {
        let kind = RouteKind::named(&objects[id].id.kind);
        let is_rival = matches!(kind, Some(RouteKind::Http | RouteKind::Grpc));
        let owners = ParentRequest::by(objects, id).filter_map(|asked| asked.owner());
        let owners: Vec<ObjectId> = if is_rival { owners.collect() } else { Vec::new() };
        let index = Index::before(objects, self, owners.iter().copied());
        owners.iter().any(|owner| contest::is_held(&index, *owner))
    }

    pub fn add_grant(&mut self, grant: &Object, id: ObjectId) {
        Arc::make_mut(&mut self.grants).add(&grant.id.namespace, id);
    }

    pub fn remove_grant(&mut self, grant: &Object, id: ObjectId) {
        Arc::make_mut(&mut self.grants).remove(&grant.id.namespace, id);
    }

    /// What has to be listed again when somebody asks.
    pub(super) fn changed(&mut self) {
        self.order = OnceLock::new();
        self.refused = OnceLock::new();
    }
}
