//! Which Gateway is in front of which Service, for kinds that know waypoints.

use crate::kinds::Waypoints;
use crate::object::{Object, Objects};
use crate::topology::{Level, NodeId, Topology};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// The value of the label by which an object opts out of the waypoint of its Namespace.
const NONE: &str = "none";

impl Waypoints {
    fn is_waypoint(&self, gateway: &Object) -> bool {
        gateway.spec().get_str("gatewayClassName") == Some(&self.class)
    }

    /// The waypoint that a Service, or else its Namespace, names.
    pub(crate) fn in_front_of(&self, objects: &Objects, topology: &Topology, service: NodeId) -> Option<NodeId> {
        let service = topology[service].owner.object()?;
        let object = &objects[service];
        let namespace = objects.lookup("", "Namespace", "", &object.id.namespace).map(|id| &objects[id]);
        let holder = [Some(object), namespace].into_iter().flatten();
        let (holder, name) = holder.filter_map(|it| Some((it, it.labels().get_str(&self.label)?))).next()?;
        if name == NONE {
            return None;
        }
        let home = holder.labels().get_str(&self.namespace_label).unwrap_or(&object.id.namespace);
        let gateway = objects.lookup(GATEWAY_API, "Gateway", home, name)?;
        self.is_waypoint(&objects[gateway]).then_some(NodeId::whole(gateway))
    }

    /// Whether the policies of its Namespaces do not hold for a node: only policies that target it, or its waypoint, do.
    pub(crate) fn needs_reference(&self, objects: &Objects, topology: &Topology, node: NodeId) -> bool {
        let it = &topology[node];
        match (it.level, it.owner.object()) {
            (Level::Namespace | Level::Workload, _) => false,
            (Level::Gateway, Some(gateway)) => self.is_waypoint(&objects[gateway]),
            _ => true,
        }
    }
}
