//! Plain HTTP listeners on one port share connection settings, so a policy cannot target one of them alone.

use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// Listeners that share ports.
pub struct SharedPorts {
    /// The listeners of a target that share their ports with others.
    pub own: Vec<NodeId>,
    /// Whether the target has other listeners.
    pub has_others: bool,
    /// The listeners of the same Gateway, beside the target, that have the same ports.
    pub beside: Vec<NodeId>,
}

/// The plain HTTP listeners of a target that share a port with listeners of the same Gateway beside it. `None` if there are
/// none.
pub fn shared(objects: &Objects, topology: &Topology, target: NodeId) -> Option<SharedPorts> {
    let (own, owner) = match topology[target].level {
        Level::Listener => (vec![target], topology.whole(target)),
        Level::ListenerSet => (topology.sections(target).collect(), target),
        _ => return None,
    };
    let gateway = match topology[owner].level {
        Level::ListenerSet => topology.parents(owner).first().copied()?,
        _ => owner,
    };
    let port = |listener: &NodeId| http_port(objects, topology, *listener);
    let sets = topology.children(gateway).iter().filter(|node| topology[**node].level == Level::ListenerSet);
    let all = topology.sections(gateway).chain(sets.flat_map(|set| topology.sections(*set)));
    let ports: Vec<i64> = own.iter().filter_map(port).collect();
    let beside: Vec<NodeId> = all
        .filter(|listener| !own.contains(listener))
        .filter(|listener| port(listener).is_some_and(|port| ports.contains(&port)))
        .collect();
    let is_shared = |listener: &NodeId| {
        let own = port(listener);
        own.is_some() && beside.iter().any(|other| port(other) == own)
    };
    let (own, others): (Vec<NodeId>, Vec<NodeId>) = own.into_iter().partition(is_shared);
    if own.is_empty() {
        return None;
    }
    Some(SharedPorts { own, has_others: !others.is_empty(), beside })
}

fn http_port(objects: &Objects, topology: &Topology, listener: NodeId) -> Option<i64> {
    let spec = topology.section_value(objects, listener).filter(|_| topology.served(listener))?;
    spec.get("port").and_then(Value::as_int).filter(|_| spec.get_str("protocol") == Some("HTTP"))
}
