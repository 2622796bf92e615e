//! Plain HTTP listeners that share a port share the settings of connections: a policy cannot be for one of them alone.

use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// The plain HTTP listeners of a Gateway that have the same port as a target, or as one of its listeners.
pub fn sharing(objects: &Objects, topology: &Topology, target: NodeId) -> Vec<NodeId> {
    let (own, owner) = match topology[target].level {
        Level::Listener => (vec![target], topology.whole(target)),
        Level::ListenerSet => (topology.sections(target).collect(), target),
        _ => return Vec::new(),
    };
    let gateway = match topology[owner].level {
        Level::ListenerSet => topology.parents(owner).first().copied(),
        _ => Some(owner),
    };
    let Some(gateway) = gateway else { return Vec::new() };
    let ports: Vec<i64> = own.iter().filter_map(|listener| http_port(objects, topology, *listener)).collect();
    let sets = topology.children(gateway).iter().filter(|node| topology[**node].level == Level::ListenerSet);
    let all = topology.sections(gateway).chain(sets.flat_map(|set| topology.sections(*set)));
    let beside = all.filter(|listener| !own.contains(listener));
    beside.filter(|it| http_port(objects, topology, *it).is_some_and(|port| ports.contains(&port))).collect()
}

fn http_port(objects: &Objects, topology: &Topology, listener: NodeId) -> Option<i64> {
    let spec = topology.section_value(objects, listener).filter(|_| topology.served(listener))?;
    spec.get("port").and_then(Value::as_int).filter(|_| spec.get_str("protocol") == Some("HTTP"))
}
