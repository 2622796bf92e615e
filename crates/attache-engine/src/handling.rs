//! Where policies are not in force because no controller handles them.

use std::fmt;

use smol_str::SmolStr;

use crate::engine::Engine;
use crate::kinds::{ClassOwner, KindId};
use crate::topology::{Level, NodeId, NodeRef};

/// A Gateway, mesh Service or ListenerSet for which policies of a kind are not handled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnhandledRoot {
    /// A Gateway whose class belongs to another controller.
    Gateway {
        /// The Gateway.
        gateway: NodeRef,
        /// The `controllerName` of its GatewayClass.
        controller_name: SmolStr,
    },
    /// A Gateway whose GatewayClass is not in the input, in strict mode.
    UnknownClass {
        /// The Gateway.
        gateway: NodeRef,
        /// The name of its GatewayClass.
        class: SmolStr,
    },
    /// A Service that is the parent of mesh routes. The kind is for routes of Gateways.
    MeshService {
        /// The Service.
        service: NodeRef,
    },
    /// A ListenerSet, which the controller of the policies does not support.
    ListenerSet {
        /// The ListenerSet.
        set: NodeRef,
    },
}

impl UnhandledRoot {
    /// Whether it is a Gateway.
    pub fn is_gateway(&self) -> bool {
        matches!(self, UnhandledRoot::Gateway { .. } | UnhandledRoot::UnknownClass { .. })
    }

    /// The Gateway, Service or ListenerSet.
    pub fn node(&self) -> &NodeRef {
        match self {
            UnhandledRoot::Gateway { gateway, .. } | UnhandledRoot::UnknownClass { gateway, .. } => gateway,
            UnhandledRoot::MeshService { service } => service,
            UnhandledRoot::ListenerSet { set } => set,
        }
    }
}

/// Why no policy is in force below it.
impl fmt::Display for UnhandledRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnhandledRoot::Gateway { gateway, controller_name } => {
                write!(f, "handled by no controller of {gateway}: its class belongs to {controller_name}")
            }
            UnhandledRoot::UnknownClass { gateway, class } => {
                write!(f, "GatewayClass {class} of {gateway} is not in the input: its controller is unknown")
            }
            UnhandledRoot::MeshService { service } => {
                write!(f, "its kind is for routes of Gateways, not for mesh routes of {service}")
            }
            UnhandledRoot::ListenerSet { set } => {
                write!(f, "its controller does not know ListenerSets, and not the routes of {set}")
            }
        }
    }
}

impl Engine {
    /// The description of a Gateway or mesh Service whose controller does not handle the policies of a chain.
    pub fn unhandled_root(&self, root: NodeId) -> UnhandledRoot {
        let node = self.view().node_ref(root);
        if self.topology().node(root).is_some_and(|node| node.level == Level::ListenerSet) {
            return UnhandledRoot::ListenerSet { set: node };
        }
        match self.topology().gateway_owner(self.objects(), root) {
            Some(ClassOwner::Known { controller_name, .. } | ClassOwner::Other { controller_name }) => {
                UnhandledRoot::Gateway { gateway: node, controller_name: controller_name.into() }
            }
            Some(ClassOwner::Unknown { class }) => UnhandledRoot::UnknownClass { gateway: node, class: class.into() },
            None => UnhandledRoot::MeshService { service: node },
        }
    }

    /// Whether the controller of a Gateway handles policies of a kind. An unknown class is assumed to, except in strict
    /// mode.
    pub fn handles(&self, kind: KindId, gateway: NodeId) -> bool {
        let owner = self.topology().gateway_owner(self.objects(), gateway);
        owner.is_none_or(|owner| self.kinds().controllers().handle(&self.kinds().get(kind).controllers, owner))
    }

    /// The Gateways and mesh Services whose controllers do not handle a policy that would otherwise be in force below them,
    /// in the order of names.
    pub(crate) fn unhandled_roots(&self, roots: impl Iterator<Item = NodeId>) -> Vec<UnhandledRoot> {
        let mut found: Vec<UnhandledRoot> = roots.map(|root| self.unhandled_root(root)).collect();
        found.sort();
        // A Service has two nodes.
        found.dedup();
        found
    }
}
