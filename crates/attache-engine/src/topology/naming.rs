//! What exists only by being named, and which Namespace everything lives in, after changes.

use std::sync::Arc;

use super::build::named_node;
use super::edit::Edited;
use super::{NodeId, Topology};
use crate::object::{ObjectId, ObjectRef};

impl Topology {
    /// Whether something is there only because it is named.
    pub fn is_named(&self, id: &ObjectRef) -> bool {
        self.by_name.contains_key(id)
    }

    /// Whether something that is only named lives in a namespace.
    pub fn is_home(&self, namespace: &str) -> bool {
        self.by_name.keys().any(|id| id.namespace == namespace)
    }

    /// Gives a node to something that is named.
    pub fn name_it(&mut self, id: ObjectRef, edited: &mut Edited) {
        let at = self.take_parts(1, edited);
        let node = NodeId::part(at);
        *self.nodes.entry(node) = Some(named_node(at as usize, &id));
        *self.named.entry(at as usize) = id.clone();
        Arc::make_mut(&mut self.by_name).insert(id, node);
        self.count += 1;
        edited.nodes.push(node);
        self.changed();
    }

    /// Takes the node of something that nobody names any more, or that is there itself.
    pub fn unname(&mut self, id: &ObjectRef, edited: &mut Edited) {
        let Some(node) = Arc::make_mut(&mut self.by_name).remove(id) else { return };
        let Ok(at) = node.place() else { return };
        *self.named.entry(at) = ObjectRef::default();
        self.free_parts(at as u32..at as u32 + 1, edited);
        self.changed();
    }

    /// Moves objects, and what is only named there, to the Namespace of this name.
    pub fn house(&mut self, objects: &[ObjectId], name: &str, namespace: Option<NodeId>, edited: &mut Edited) {
        let named = self.by_name.iter().filter(|(id, _)| id.namespace == name).map(|(_, node)| *node);
        let wholes: Vec<NodeId> = objects.iter().map(|id| NodeId::whole(*id)).chain(named).collect();
        for whole in wholes {
            for node in [whole].into_iter().chain(self.sections(whole)).chain(self[whole].frontend) {
                if self.has(node) && self.namespace(node) != namespace {
                    self.edit(node, |node| node.namespace = namespace);
                    edited.housed.push(node);
                }
            }
        }
    }
}
