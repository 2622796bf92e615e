//! Which waypoint serves which Service, for kinds that support waypoints.

use crate::kinds::{GatewayPods, KindHierarchy, Waypoints};
use crate::object::{Object, ObjectId, Objects};
use crate::topology::listeners::Listener;
use crate::topology::{Level, Namespace, NodeId, Topology, gateway_of_pods};
use crate::value::Value;

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// The value of the label by which an object opts out of the waypoint of its Namespace.
const NONE: &str = "none";

impl Waypoints {
    pub(crate) fn is_waypoint(&self, gateway: &Object) -> bool {
        gateway.spec().get_str("gatewayClassName") == Some(&self.class)
    }

    /// The waypoint that a Service, or else its Namespace, names, if it can serve the Service.
    pub(crate) fn in_front_of(&self, objects: &Objects, service: ObjectId) -> Option<NodeId> {
        let object = &objects[service];
        let is_exempt = |key: &str, values: &[_]| {
            object.labels().get_str(key).is_some_and(|value| values.iter().any(|it| it == value))
        };
        if self.exempt.iter().any(|(key, values)| is_exempt(key, values)) {
            return None;
        }
        let namespace = objects.lookup("", "Namespace", "", &object.id.namespace).map(|id| &objects[id]);
        let holder = [Some(object), namespace].into_iter().flatten();
        let (holder, name) = holder.filter_map(|it| Some((it, it.labels().get_str(&self.label)?))).next()?;
        if name == NONE {
            return None;
        }
        let home = holder.labels().get_str(&self.namespace_label).unwrap_or(&object.id.namespace);
        let id = objects.lookup(GATEWAY_API, "Gateway", home, name)?;
        let gateway = &objects[id];
        let can_use = self.is_waypoint(gateway)
            && self.is_for_services(objects, gateway)
            && self.allows(objects, gateway, &object.id.namespace);
        can_use.then_some(NodeId::whole(id))
    }

    /// Whether a waypoint is for the traffic of Services.
    fn is_for_services(&self, objects: &Objects, gateway: &Object) -> bool {
        let Some(label) = &self.traffic_label else { return true };
        let class = objects.lookup(GATEWAY_API, "GatewayClass", "", &self.class).map(|id| &objects[id]);
        let traffic = [Some(gateway), class].into_iter().flatten().find_map(|it| it.labels().get_str(label));
        traffic.is_none_or(|traffic| self.service_traffic.iter().any(|it| it == traffic))
    }

    /// Whether Services of a namespace can use a waypoint.
    fn allows(&self, objects: &Objects, gateway: &Object, namespace: &str) -> bool {
        let Some(wanted) = &self.listener else { return true };
        let is_wanted = |spec: &&Value| {
            spec.get_str("protocol") == Some(&wanted.protocol)
                && spec.get("port").and_then(Value::as_int) == Some(wanted.port)
        };
        let own = &gateway.id.namespace;
        match gateway.spec().list_at("listeners").iter().find(is_wanted) {
            Some(spec) => Listener::read(spec).allowed.allow(own, &Namespace::named(objects, namespace)),
            None => own == namespace,
        }
    }
}

impl KindHierarchy {
    /// Whether selectors select a node: they do not select waypoints, the Pods of waypoints, and Services.
    pub(crate) fn can_select(&self, objects: &Objects, topology: &Topology, node: NodeId) -> bool {
        let Some(waypoints) = &self.waypoints else { return true };
        let it = &topology[node];
        match (it.level, it.owner.object()) {
            (Level::Workload, Some(workload)) => {
                let gateway = || gateway_of_pods(objects, &objects[workload]);
                self.gateway_pods != GatewayPods::Gateway
                    || !gateway().is_some_and(|gateway| waypoints.is_waypoint(&objects[gateway]))
            }
            (Level::Gateway, Some(gateway)) => !waypoints.is_waypoint(&objects[gateway]),
            (Level::Namespace | Level::Workload, _) => true,
            _ => false,
        }
    }

    /// Whether policies that target a Gateway are attached to its Pods. Pods of a waypoint inherit them instead.
    pub(crate) fn attaches_to_pods(&self, gateway: &Object) -> bool {
        self.gateway_pods == GatewayPods::Gateway && !self.waypoints.as_ref().is_some_and(|it| it.is_waypoint(gateway))
    }
}
