//! Selects the listener of a Gateway for a request: by port, then by protocol, then by hostname.

use super::client_request::{Request, Scheme};
use super::not_chosen::NotChosenReason;
use crate::engine_view::EngineView;
use crate::topology::NodeId;
use crate::topology::api::Protocol;
use crate::topology::hostname::{covers, specificity};
use crate::topology::listeners::Listener;

/// A listener and its node.
#[derive(Clone, Copy, Debug)]
pub struct ListenerView<'o> {
    pub node: NodeId,
    pub listener: Listener<'o>,
}

/// The listener that accepts a request, or why none does.
#[derive(Debug)]
pub enum ListenerChoice<'o> {
    Accepted(ListenerView<'o>),
    /// The TLS connection belongs to one listener, and another one serves the host of the request. A client cannot
    /// reach that one over this connection.
    Misdirected {
        connected: ListenerView<'o>,
        responsible: ListenerView<'o>,
    },
    /// The TLS connection belongs to a listener that does not serve the host of the request, and no other does.
    UnknownHost {
        connected: ListenerView<'o>,
    },
    NoListener(ListenerCriterion),
}

/// A property of a listener that a request must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListenerCriterion {
    /// The port that the client connects to.
    Port,
    /// The protocol that the client speaks.
    Protocol,
    /// The hostname: of the HTTP request, or of the TLS connection (SNI).
    Hostname,
}

/// The listeners of a Gateway that are served, and those that are not.
pub fn listeners<'o>(view: EngineView<'o>, gateway: NodeId) -> (Vec<ListenerView<'o>>, Vec<ListenerView<'o>>) {
    let listeners = view.topology.listeners(view.objects, gateway).into_iter();
    listeners
        .map(|(node, listener)| ListenerView { node, listener })
        .partition(|listener| view.topology.served(listener.node))
}

/// Whether a listener would accept a request if it were the only one.
pub fn would_accept(request: &Request, listener: &ListenerView) -> bool {
    has_port(request, listener) && has_protocol(request, listener) && has_hostname(request, listener)
}

pub fn choose<'o>(request: &Request, listeners: &[ListenerView<'o>]) -> ListenerChoice<'o> {
    let mut candidates: Vec<ListenerView> = listeners.to_vec();
    for (meets, criterion) in [
        (has_port as fn(&_, &_) -> _, ListenerCriterion::Port),
        (has_protocol, ListenerCriterion::Protocol),
        (has_hostname, ListenerCriterion::Hostname),
    ] {
        candidates.retain(|listener| meets(request, listener));
        if candidates.is_empty() {
            return ListenerChoice::NoListener(criterion);
        }
    }
    let Some(connected) = most_specific(&candidates) else {
        return ListenerChoice::NoListener(ListenerCriterion::Hostname);
    };
    if connected.listener.protocol != Protocol::Https {
        return ListenerChoice::Accepted(connected);
    }
    let is_https =
        |listener: &&ListenerView| has_port(request, listener) && listener.listener.protocol == Protocol::Https;
    let for_host =
        listeners.iter().filter(is_https).filter(|listener| covers(listener.listener.hostname, &request.host)).copied();
    let serves_host = covers(connected.listener.hostname, &request.host);
    match most_specific(&for_host.collect::<Vec<_>>()) {
        None => ListenerChoice::UnknownHost { connected },
        Some(responsible) if serves_host && hostname_rank(&responsible) <= hostname_rank(&connected) => {
            ListenerChoice::Accepted(connected)
        }
        Some(responsible) => ListenerChoice::Misdirected { connected, responsible },
    }
}

/// Why a listener does not accept a request that another one accepts.
pub fn not_chosen<'o>(request: &Request, listener: &ListenerView<'o>) -> NotChosenReason<'o> {
    let Listener { port, hostname, spec, .. } = listener.listener;
    if !has_port(request, listener) {
        NotChosenReason::ListenerPort(port)
    } else if !has_protocol(request, listener) {
        NotChosenReason::ListenerProtocol(spec.get_str("protocol").unwrap_or_default())
    } else if !has_hostname(request, listener) {
        NotChosenReason::ListenerHostname(hostname)
    } else {
        NotChosenReason::LessSpecificListener(hostname)
    }
}

fn most_specific<'o>(listeners: &[ListenerView<'o>]) -> Option<ListenerView<'o>> {
    // Of equally specific listeners the first: that of the Gateway, or of its oldest ListenerSet.
    listeners.iter().rev().max_by_key(|listener| hostname_rank(listener)).copied()
}

fn hostname_rank(listener: &ListenerView) -> (bool, usize) {
    specificity(listener.listener.hostname)
}

fn has_port(request: &Request, listener: &ListenerView) -> bool {
    listener.listener.port == i64::from(request.port)
}

fn has_protocol(request: &Request, listener: &ListenerView) -> bool {
    let protocols: &[Protocol] = match request.scheme {
        Scheme::Http => &[Protocol::Http, Protocol::Tcp],
        Scheme::Https => &[Protocol::Https, Protocol::Tls, Protocol::Tcp],
        Scheme::Tls => &[Protocol::Tls, Protocol::Tcp],
        Scheme::Tcp => &[Protocol::Tcp],
        Scheme::Udp => &[Protocol::Udp],
    };
    protocols.contains(&listener.listener.protocol)
}

fn has_hostname(request: &Request, listener: &ListenerView) -> bool {
    let name = match listener.listener.protocol {
        Protocol::Http => request.host.as_str(),
        Protocol::Https | Protocol::Tls => request.sni.as_deref().unwrap_or_default(),
        _ => "",
    };
    covers(listener.listener.hostname, name)
}
