//! Which listener of a gateway takes a request: by port, then by protocol, then by the name that the client asks for.

use super::client::{Request, Scheme};
use crate::engine_view::EngineView;
use crate::topology::NodeId;
use crate::topology::api::Protocol;
use crate::topology::hostname::{covers, specificity};
use crate::topology::listeners::Listener;

/// A listener, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct ListenerView<'o> {
    pub node: NodeId,
    pub listener: Listener<'o>,
}

/// What comes of a request at the doors of a gateway.
#[derive(Debug)]
pub enum ListenerChoice<'o> {
    Taken(ListenerView<'o>),
    /// Somebody else should be asked for this host: over this connection there is no way to them.
    Misdirected {
        by: ListenerView<'o>,
        better: ListenerView<'o>,
    },
    /// The connection is made for a name whose listener does not know the host.
    Unknown {
        by: ListenerView<'o>,
    },
    NoListener(NoListener),
}

/// Why no listener takes a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoListener {
    Port,
    Protocol,
    Name,
}

/// The listeners that are served, and those that are not.
pub fn listeners<'o>(view: EngineView<'o>, gateway: NodeId) -> (Vec<ListenerView<'o>>, Vec<ListenerView<'o>>) {
    let listeners = view.topology.listeners(view.objects, gateway).into_iter();
    listeners
        .map(|(node, listener)| ListenerView { node, listener })
        .partition(|listener| view.topology.served(listener.node))
}

/// Whether a listener would take a request, if nobody else did.
pub fn suits(request: &Request, listener: &ListenerView) -> bool {
    on_port(request, listener) && speaks(request, listener) && knows(request, listener)
}

pub fn receive<'o>(request: &Request, listeners: &[ListenerView<'o>]) -> ListenerChoice<'o> {
    let mut open: Vec<ListenerView> = listeners.to_vec();
    for (holds, otherwise) in
        [(on_port as fn(&_, &_) -> _, NoListener::Port), (speaks, NoListener::Protocol), (knows, NoListener::Name)]
    {
        open.retain(|listener| holds(request, listener));
        if open.is_empty() {
            return ListenerChoice::NoListener(otherwise);
        }
    }
    let Some(by) = most_specific(&open) else { return ListenerChoice::NoListener(NoListener::Name) };
    if by.listener.protocol != Protocol::Https {
        return ListenerChoice::Taken(by);
    }
    let is_https =
        |listener: &&ListenerView| on_port(request, listener) && listener.listener.protocol == Protocol::Https;
    let for_host =
        listeners.iter().filter(is_https).filter(|listener| covers(listener.listener.hostname, &request.host)).copied();
    let knows_host = covers(by.listener.hostname, &request.host);
    match most_specific(&for_host.collect::<Vec<_>>()) {
        None => ListenerChoice::Unknown { by },
        Some(better) if knows_host && of(&better) <= of(&by) => ListenerChoice::Taken(by),
        Some(better) => ListenerChoice::Misdirected { by, better },
    }
}

/// Why a listener does not take a request that another one takes.
pub fn not_chosen(request: &Request, listener: &ListenerView) -> String {
    let Listener { port, hostname, spec, .. } = listener.listener;
    let protocol = spec.get_str("protocol").unwrap_or_default();
    if !on_port(request, listener) {
        format!("listens on port {port}")
    } else if !speaks(request, listener) {
        format!("speaks {protocol}")
    } else if !knows(request, listener) {
        format!("is for {hostname}")
    } else {
        let hostname = if hostname.is_empty() { "any host" } else { hostname };
        format!("is for {hostname}, which is less specific")
    }
}

fn most_specific<'o>(listeners: &[ListenerView<'o>]) -> Option<ListenerView<'o>> {
    // Of equals the first, which is the gateway's own or that of the oldest set.
    listeners.iter().rev().max_by_key(|listener| of(listener)).copied()
}

fn of(listener: &ListenerView) -> (bool, usize) {
    specificity(listener.listener.hostname)
}

fn on_port(request: &Request, listener: &ListenerView) -> bool {
    listener.listener.port == i64::from(request.port)
}

fn speaks(request: &Request, listener: &ListenerView) -> bool {
    let protocols: &[Protocol] = match request.scheme {
        Scheme::Http => &[Protocol::Http, Protocol::Tcp],
        Scheme::Https => &[Protocol::Https, Protocol::Tls, Protocol::Tcp],
        Scheme::Tls => &[Protocol::Tls, Protocol::Tcp],
        Scheme::Tcp => &[Protocol::Tcp],
        Scheme::Udp => &[Protocol::Udp],
    };
    protocols.contains(&listener.listener.protocol)
}

fn knows(request: &Request, listener: &ListenerView) -> bool {
    let name = match listener.listener.protocol {
        Protocol::Http => request.host.as_str(),
        Protocol::Https | Protocol::Tls => request.sni.as_deref().unwrap_or_default(),
        _ => "",
    };
    covers(listener.listener.hostname, name)
}
