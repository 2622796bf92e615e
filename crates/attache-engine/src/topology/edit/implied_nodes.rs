//! Implied nodes, and the Namespaces of nodes.

use std::sync::Arc;

use super::TopologyEditor;
use crate::object::{ObjectId, ObjectRef};
use crate::topology::NodeId;
use crate::topology::build::implied_node;

impl TopologyEditor<'_> {
    /// Adds a node for an object that does not exist, but that other objects refer to.
    pub fn add_implied(&mut self, id: ObjectRef) {
        let at = self.take_parts(1);
        let node = NodeId::part(at);
        *self.topology.nodes.entry(node) = Some(implied_node(at as usize, &id));
        *self.topology.implied_names.entry(at as usize) = id.clone();
        Arc::make_mut(&mut self.topology.implied).insert(id, node);
        self.topology.count += 1;
        self.changes.nodes.push(node);
        self.forget_lists();
    }

    /// Removes an implied node to which no object refers any more, or whose object now exists.
    pub fn remove_implied(&mut self, id: &ObjectRef) {
        let Some(node) = Arc::make_mut(&mut self.topology.implied).remove(id) else { return };
        let Ok(at) = node.place() else { return };
        *self.topology.implied_names.entry(at) = ObjectRef::default();
        self.remove_parts(at as u32..at as u32 + 1);
        self.forget_lists();
    }

    /// Sets the Namespace of objects, and of the implied nodes in that namespace.
    pub fn set_namespace(&mut self, objects: &[ObjectId], name: &str, namespace: Option<NodeId>) {
        let implied = self.topology.implied.iter().filter(|(id, _)| id.namespace == name).map(|(_, node)| *node);
        let wholes: Vec<NodeId> = objects.iter().map(|id| NodeId::whole(*id)).chain(implied).collect();
        for whole in wholes {
            let frontend = self.topology.frontend(whole);
            for node in [whole].into_iter().chain(self.topology.sections(whole)).chain(frontend) {
                if self.topology.has(node) && self.topology.namespace(node) != namespace {
                    self.topology.edit(node, |node| node.namespace = namespace);
                    self.changes.renamespaced.push(node);
                }
            }
        }
    }
}
