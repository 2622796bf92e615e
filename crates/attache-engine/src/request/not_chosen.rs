//! Listeners, routes and rules that were considered for a request, and why they were not chosen.

use std::fmt;

use super::matching::MatchFailure;
use super::precedence::Precedence;
use crate::topology::{NodeId, RefusalCause};

/// A listener, route or rule that does not serve a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NotChosen<'e> {
    /// The listener, route or rule.
    pub node: NodeId,
    /// Why it does not serve the request.
    pub reason: NotChosenReason<'e>,
}

/// Why a listener, route or rule does not serve a request. Its `Display` completes the sentence "it …".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NotChosenReason<'e> {
    /// The listener has another port.
    ListenerPort(i64),
    /// The listener has another protocol.
    ListenerProtocol(&'e str),
    /// The hostname of the listener does not match.
    ListenerHostname(&'e str),
    /// The hostname of the listener matches, but that of another listener is more specific. Empty for any host.
    LessSpecificListener(&'e str),
    /// The listener is not served.
    ListenerNotServed(Option<&'e RefusalCause>),
    /// The route is not attached to the Gateway.
    RouteNotAttached(&'e RefusalCause),
    /// None of the hostnames of the route matches.
    RouteHostnames(Vec<&'e str>),
    /// The route is a GRPCRoute, and the request is not a gRPC call.
    RouteIsGrpc,
    /// The mesh route applies to clients in another namespace.
    OtherConsumer(&'e str),
    /// The client's own namespace has mesh routes for the Service, which replace this one.
    ReplacedByConsumer,
    /// Only the first rule of a TLSRoute, TCPRoute or UDPRoute is used.
    NotFirstRule,
    /// No match of the rule is met: for each match, the first requirement that fails.
    NoMatch(Vec<MatchFailure<'e>>),
    /// The rule matches, but the chosen rule takes precedence.
    LowerPrecedence(Precedence),
}

impl fmt::Display for NotChosenReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotChosenReason::ListenerPort(port) => write!(f, "listens on port {port}"),
            NotChosenReason::ListenerProtocol(protocol) => write!(f, "has protocol {protocol}"),
            NotChosenReason::ListenerHostname(hostname) => write!(f, "has hostname {hostname}"),
            NotChosenReason::LessSpecificListener("") => f.write_str("has no hostname, which is less specific"),
            NotChosenReason::LessSpecificListener(hostname) => {
                write!(f, "has hostname {hostname}, which is less specific")
            }
            NotChosenReason::ListenerNotServed(None) => f.write_str("is not served"),
            NotChosenReason::ListenerNotServed(Some(cause)) => write!(f, "is not served: {cause}"),
            NotChosenReason::RouteNotAttached(cause) => write!(f, "is not attached: {cause}"),
            NotChosenReason::RouteHostnames(hostnames) => match hostnames.as_slice() {
                [one] => write!(f, "has hostname {one}"),
                several => write!(f, "has hostnames {}", several.join(", ")),
            },
            NotChosenReason::RouteIsGrpc => f.write_str("is a GRPCRoute: it serves gRPC calls only"),
            NotChosenReason::OtherConsumer(namespace) => {
                write!(f, "applies only to clients in namespace {namespace}")
            }
            NotChosenReason::ReplacedByConsumer => f.write_str("is replaced by routes of the client's own namespace"),
            NotChosenReason::NotFirstRule => f.write_str("is not the first rule of its route, and only that is used"),
            NotChosenReason::NoMatch(failures) => {
                for (i, failure) in failures.iter().enumerate() {
                    write!(f, "{}{failure}", if i > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
            NotChosenReason::LowerPrecedence(precedence) => {
                write!(f, "also matches, but the chosen rule {precedence}")
            }
        }
    }
}

/// Collects what was not chosen, if the caller wants it.
#[derive(Debug)]
pub struct NotChosenList<'e> {
    pub wanted: bool,
    pub list: Vec<NotChosen<'e>>,
}

impl<'e> NotChosenList<'e> {
    pub fn new(wanted: bool) -> Self {
        NotChosenList { wanted, list: Vec::new() }
    }

    pub fn add(&mut self, node: NodeId, reason: impl FnOnce() -> NotChosenReason<'e>) {
        if self.wanted {
            self.list.push(NotChosen { node, reason: reason() });
        }
    }
}
