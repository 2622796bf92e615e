//! What the links of one object depend on besides itself.

use hashbrown::HashMap;

use super::api::LISTENER_OWNERS;
use super::grants::Grants;
use super::listeners::Listener;
use super::namespaces::Namespaces;
use super::sections::Sections;
use super::{NodeId, Refused};
use crate::object::{ObjectId, Objects};

#[derive(Debug)]
pub struct Index<'o> {
    pub objects: &'o Objects,
    pub sections: &'o Sections,
    pub namespaces: Namespaces<'o>,
    pub grants: Grants<'o>,
    listeners: HashMap<ObjectId, Vec<Listener<'o>>>,
}

impl<'o> Index<'o> {
    pub fn new(objects: &'o Objects, sections: &'o Sections, namespaces: Namespaces<'o>) -> Self {
        let owners = LISTENER_OWNERS.iter().flat_map(|(group, kind)| objects.each(group, kind));
        let listeners = owners
            .map(|(id, owner)| (id, owner.spec().list_at("listeners").iter().map(Listener::read).collect()))
            .collect();
        Index { objects, sections, namespaces, grants: Grants::of(objects), listeners }
    }

    /// The listeners of a Gateway or ListenerSet, in the order of their nodes.
    pub fn listeners(&self, owner: ObjectId) -> &[Listener<'o>] {
        self.listeners.get(&owner).map_or(&[], Vec::as_slice)
    }
}

/// The links of some objects, and what was refused to them.
#[derive(Debug, Default)]
pub struct Found {
    /// From parent to child.
    pub links: Vec<(NodeId, NodeId)>,
    /// The routes that name a Service as their parent.
    pub frontends: Vec<(ObjectId, NodeId)>,
    pub refused: Vec<Refused>,
}

impl Found {
    pub fn refuse(&mut self, parent: impl ToString, child: impl ToString, refusal: Refusal) {
        let Refusal { reason, message } = refusal;
        self.refused.push(Refused { parent: parent.to_string(), child: child.to_string(), reason, message });
    }

    pub fn append(&mut self, other: &mut Found) {
        self.links.append(&mut other.links);
        self.frontends.append(&mut other.frontends);
        self.refused.append(&mut other.refused);
    }
}

/// Why something is not attached.
#[derive(Debug)]
pub struct Refusal {
    pub reason: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Refusal { reason, message: message.into() }
    }
}
