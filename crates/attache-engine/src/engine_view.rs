//! The parts of an engine that effective policies are computed from.

use crate::object::{ObjectRef, Objects};
use crate::policy::{Policies, PolicyId};
use crate::topology::{NodeId, NodeRef, Topology};

/// The objects, topology and policies of an engine, borrowed.
///
/// A [`Model`](crate::model::Model) holds no objects, so that the models of two states can share what is the same in both.
/// Its methods take the view of the engine that the model belongs to.
#[derive(Clone, Copy, Debug)]
pub struct EngineView<'e> {
    /// All objects.
    pub objects: &'e Objects,
    /// The nodes and their links.
    pub topology: &'e Topology,
    /// The policies among the objects.
    pub policies: &'e Policies,
}

impl<'e> EngineView<'e> {
    /// The reference of a policy.
    pub fn policy_ref(self, policy: PolicyId) -> &'e ObjectRef {
        &self.objects[policy.0].id
    }

    /// The reference of a node.
    pub fn node_ref(self, node: NodeId) -> NodeRef {
        self.topology.node_ref(self.objects, node)
    }
}
