//! Listener isolation: which of the listeners on a port serves a hostname alone.

use hashbrown::{HashMap, HashSet};
use smol_str::SmolStr;

use crate::kinds::ListenerIsolation;
use crate::object::{ObjectId, Objects};
use crate::topology::hostname::{intersect, suffixes, wildcard};
use crate::topology::listeners::{Listener, hostname_of};
use crate::topology::{NodeId, Topology, sections};

/// The hostnames of the listeners of a Gateway and its ListenerSets, by port. Ports with a single listener are left
/// out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerHostnames {
    isolation: ListenerIsolation,
    by_port: HashMap<i64, PortHostnames>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PortHostnames {
    listeners: u32,
    /// The hostnames of all listeners, each with the number of listeners that have it.
    all: HashMap<SmolStr, u32>,
    /// The exact hostnames of listeners that are served.
    served: HashSet<SmolStr>,
    /// The suffixes after the `*` of wildcard hostnames of listeners that are served.
    served_wildcards: HashSet<SmolStr>,
}

impl ListenerHostnames {
    /// The isolation of a Gateway and its attached ListenerSets. `None` if no listener serves a hostname alone. It must
    /// be known which listeners are served.
    pub fn find(
        objects: &Objects,
        topology: &Topology,
        gateway: ObjectId,
        sets: &[ObjectId],
    ) -> Option<ListenerHostnames> {
        let supports = topology.controllers().gateway_owner(objects, objects.get(gateway)?);
        let isolation = supports.supports().listener_isolation;
        if isolation == ListenerIsolation::Never {
            return None;
        }
        let mut by_port: HashMap<i64, PortHostnames> = HashMap::new();
        for owner in [gateway].iter().chain(sets) {
            let listeners = objects.get(*owner)?.spec().list_at("listeners");
            for (listener, node) in listeners.iter().zip(topology.sections(NodeId::whole(*owner))) {
                let Some(port) = sections::port(listener) else { continue };
                by_port.entry(port).or_default().add(hostname_of(listener), topology.served(node));
            }
        }
        by_port.retain(|_, port| port.listeners > 1);
        (!by_port.is_empty()).then_some(ListenerHostnames { isolation, by_port })
    }

    /// Whether another listener alone serves a hostname that a listener matches.
    pub fn belongs_elsewhere(&self, listener: &Listener, is_served: bool, hostname: &str) -> bool {
        let Some(port) = self.by_port.get(&listener.port) else { return false };
        let is_own = hostname == listener.hostname;
        match self.isolation {
            ListenerIsolation::Never => false,
            ListenerIsolation::SameHostname => match port.all.get(hostname) {
                Some(count) if is_own => *count > 1 && !is_served,
                count => count.is_some(),
            },
            ListenerIsolation::MostSpecific => {
                let Some(own) = wildcard(listener.hostname) else { return false };
                let within = wildcard(hostname).unwrap_or(hostname);
                let mut wildcards = suffixes(within).filter(|suffix| suffix.len() > own.len());
                port.served.contains(hostname) || wildcards.any(|suffix| port.served_wildcards.contains(suffix))
            }
        }
    }

    /// Whether a hostname may be served by different listeners than in `other`.
    pub fn differs_for(&self, other: &ListenerHostnames, hostname: &str) -> bool {
        let differing = |a: &ListenerHostnames, b: &ListenerHostnames| {
            let ports = a.by_port.iter().filter(|(port, names)| b.by_port.get(*port) != Some(*names));
            ports.flat_map(|(_, names)| names.all.keys()).any(|name| intersect(name, hostname))
        };
        self.isolation != other.isolation || differing(self, other) || differing(other, self)
    }
}

impl PortHostnames {
    fn add(&mut self, hostname: &str, is_served: bool) {
        self.listeners += 1;
        if hostname.is_empty() {
            return;
        }
        *self.all.entry(hostname.into()).or_default() += 1;
        match wildcard(hostname) {
            _ if !is_served => {}
            Some(suffix) => drop(self.served_wildcards.insert(suffix.into())),
            None => drop(self.served.insert(hostname.into())),
        }
    }
}
