//! Which listener of a gateway takes a request: by port, then by protocol, then by the name that the client asks for.

use super::client::{Request, Scheme};
use crate::model::World;
use crate::topology::NodeId;
use crate::topology::api::Protocol;
use crate::topology::hostname::{covers, specificity};
use crate::topology::listeners::Listener;

/// A listener, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Door<'o> {
    pub node: NodeId,
    pub listener: Listener<'o>,
}

/// What comes of a request at the doors of a gateway.
#[derive(Debug)]
pub enum Reception<'o> {
    Taken(Door<'o>),
    /// Somebody else should be asked for this host: over this connection there is no way to them.
    Misdirected {
        by: Door<'o>,
        better: Door<'o>,
    },
    /// The connection is made for a name whose listener does not know the host.
    Unknown {
        by: Door<'o>,
    },
    Nobody(Nobody),
}

/// Why no listener takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nobody {
    Port,
    Protocol,
    Name,
}

/// The listeners that are served, and those that are not.
pub fn doors<'o>(world: World<'o>, gateway: NodeId) -> (Vec<Door<'o>>, Vec<Door<'o>>) {
    let listeners = world.topology.listeners(world.objects, gateway).into_iter();
    listeners.map(|(node, listener)| Door { node, listener }).partition(|door| world.topology.served(door.node))
}

/// Whether a listener would take a request, if nobody else did.
pub fn suits(request: &Request, door: &Door) -> bool {
    on_port(request, door) && speaks(request, door) && knows(request, door)
}

pub fn receive<'o>(request: &Request, doors: &[Door<'o>]) -> Reception<'o> {
    let mut open: Vec<Door> = doors.to_vec();
    for (holds, otherwise) in
        [(on_port as fn(&_, &_) -> _, Nobody::Port), (speaks, Nobody::Protocol), (knows, Nobody::Name)]
    {
        open.retain(|door| holds(request, door));
        if open.is_empty() {
            return Reception::Nobody(otherwise);
        }
    }
    let Some(by) = most_specific(&open) else { return Reception::Nobody(Nobody::Name) };
    if by.listener.protocol != Protocol::Https {
        return Reception::Taken(by);
    }
    let is_https = |door: &&Door| on_port(request, door) && door.listener.protocol == Protocol::Https;
    let for_host = doors.iter().filter(is_https).filter(|door| covers(door.listener.hostname, &request.host)).copied();
    let knows_host = covers(by.listener.hostname, &request.host);
    match most_specific(&for_host.collect::<Vec<_>>()) {
        None => Reception::Unknown { by },
        Some(better) if knows_host && of(&better) <= of(&by) => Reception::Taken(by),
        Some(better) => Reception::Misdirected { by, better },
    }
}

/// Why a listener does not take a request that another one takes.
pub fn passed_over(request: &Request, door: &Door) -> String {
    let Listener { port, hostname, spec, .. } = door.listener;
    let protocol = spec.get_str("protocol").unwrap_or_default();
    if !on_port(request, door) {
        format!("listens on port {port}")
    } else if !speaks(request, door) {
        format!("speaks {protocol}")
    } else if !knows(request, door) {
        format!("is for {hostname}")
    } else {
        let hostname = if hostname.is_empty() { "any host" } else { hostname };
        format!("is for {hostname}, which is less specific")
    }
}

fn most_specific<'o>(doors: &[Door<'o>]) -> Option<Door<'o>> {
    // Of equals the first, which is the gateway's own or that of the oldest set.
    doors.iter().rev().max_by_key(|door| of(door)).copied()
}

fn of(door: &Door) -> (bool, usize) {
    specificity(door.listener.hostname)
}

fn on_port(request: &Request, door: &Door) -> bool {
    door.listener.port == i64::from(request.port)
}

fn speaks(request: &Request, door: &Door) -> bool {
    let protocols: &[Protocol] = match request.scheme {
        Scheme::Http => &[Protocol::Http, Protocol::Tcp],
        Scheme::Https => &[Protocol::Https, Protocol::Tls, Protocol::Tcp],
        Scheme::Tls => &[Protocol::Tls, Protocol::Tcp],
        Scheme::Tcp => &[Protocol::Tcp],
        Scheme::Udp => &[Protocol::Udp],
    };
    protocols.contains(&door.listener.protocol)
}

fn knows(request: &Request, door: &Door) -> bool {
    let name = match door.listener.protocol {
        Protocol::Http => request.host.as_str(),
        Protocol::Https | Protocol::Tls => request.sni.as_deref().unwrap_or_default(),
        _ => "",
    };
    covers(door.listener.hostname, name)
}
