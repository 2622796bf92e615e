//! Why a request is not served.

use super::backends::Backend;
use super::client_request::{Request, Scheme};
use super::listener::ListenerCriterion;
use super::trace::RequestTrace;
use crate::engine_view::EngineView;
use crate::object::ObjectRef;
use crate::topology::NodeId;

/// Why a request is not served. [`RequestTrace::explain`] is the explanation in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotServedReason {
    /// No Gateway has a listener for the request.
    NoGateway {
        /// Listeners that would accept it if they were served.
        not_served: Vec<NodeId>,
    },
    /// The Gateway has no listener for the request.
    NoListener {
        /// The Gateway.
        gateway: NodeId,
        /// The first criterion that no listener meets.
        criterion: ListenerCriterion,
        /// Listeners that would accept it if they were served.
        not_served: Vec<NodeId>,
    },
    /// Several Gateways have a listener for the request, and none has a rule that matches.
    NoRuleOnGateways(usize),
    /// The client has connected to one listener, and another one serves the host of the request.
    Misdirected {
        /// The listener of the TLS connection.
        connected: NodeId,
        /// The listener that serves the host.
        responsible: NodeId,
    },
    /// The client has connected to a listener that does not serve the host of the request.
    UnknownHost(NodeId),
    /// No route is attached to the listener.
    NoRoutes(NodeId),
    /// No rule of the routes of the listener, or of the mesh Service, matches.
    NoRule(NodeId),
    /// The mesh Service does not have the port of the request.
    NoServicePort(NodeId),
    /// A filter of the rule refers to an object that does not exist.
    MissingFilter(ObjectRef),
    /// A filter responds, and the rule has backends or a redirect too.
    ExclusiveFilter(ObjectRef),
    /// The rule has no backends.
    NoBackends,
    /// The rule has no backends, and it is unknown whether one of its filters responds.
    UnknownFilter,
    /// All backends of the rule have weight 0.
    ZeroWeights,
    /// No backend of the rule can be used. Each backend has its reason.
    UnusableBackends,
}

impl RequestTrace<'_> {
    /// Why the request is not served, in words.
    pub fn explain(&self, view: EngineView<'_>, request: &Request) -> Option<String> {
        let name = |node: NodeId| view.topology.name(view.objects, node);
        let listener = |node: NodeId| view.topology[node].section.as_deref().unwrap_or_default();
        let Request { scheme, host, port, .. } = request;
        Some(match self.reason.as_ref()? {
            NotServedReason::NoGateway { not_served } => {
                let scheme = scheme.name();
                let would = would_accept(not_served.iter().map(|listener| name(*listener)));
                format!("no Gateway has a listener for {scheme} on port {port} and host `{host}`{would}")
            }
            NotServedReason::NoListener { gateway, criterion, not_served } => {
                let gateway = name(*gateway);
                let reason = match (criterion, &request.sni) {
                    (ListenerCriterion::Port, _) => format!("{gateway} has no listener on port {port}"),
                    (ListenerCriterion::Protocol, _) => {
                        format!("no listener of {gateway} on port {port} accepts {}", scheme.name())
                    }
                    (ListenerCriterion::Hostname, _) if *scheme == Scheme::Http => {
                        format!("no listener of {gateway} on port {port} has a hostname that matches `{host}`")
                    }
                    (ListenerCriterion::Hostname, Some(name)) => {
                        format!("no listener of {gateway} on port {port} has a hostname that matches SNI `{name}`")
                    }
                    (ListenerCriterion::Hostname, None) => {
                        format!("no listener of {gateway} on port {port} accepts clients without SNI")
                    }
                };
                reason + &would_accept(not_served.iter().map(|listener| name(*listener)))
            }
            NotServedReason::NoRuleOnGateways(count) => {
                format!("{count} Gateways have a listener for the request, but none has a rule that matches")
            }
            NotServedReason::Misdirected { connected, responsible } => format!(
                "the client has connected to listener `{}`, but listener `{}` serves host `{host}`",
                listener(*connected),
                listener(*responsible)
            ),
            NotServedReason::UnknownHost(connected) => {
                format!("listener `{}` does not serve host `{host}`", listener(*connected))
            }
            NotServedReason::NoRoutes(node) => format!("no route is attached to listener `{}`", listener(*node)),
            NotServedReason::NoRule(node) => match view.topology[*node].section.as_deref() {
                Some(listener) => format!("no rule of the routes on listener `{listener}` matches"),
                None => format!("no rule of the routes on {} matches", name(*node)),
            },
            NotServedReason::NoServicePort(service) => format!("{} has no port {port}", name(*service)),
            NotServedReason::MissingFilter(filter) => format!("filter {filter} of the rule does not exist"),
            NotServedReason::ExclusiveFilter(filter) => {
                format!("filter {filter} answers by itself: the rule must have neither backends nor a redirect")
            }
            NotServedReason::NoBackends => "the rule has no backends".to_owned(),
            NotServedReason::UnknownFilter => {
                format!("the rule has no backends; {}", self.unknown().join("; "))
            }
            NotServedReason::ZeroWeights => "all backends have weight 0".to_owned(),
            NotServedReason::UnusableBackends => {
                let weighted = self.backends.iter().filter(|backend| backend.weight > 0);
                let faults = weighted.filter_map(Backend::fault);
                faults.map(|fault| fault.to_string()).collect::<Vec<_>>().join("; ")
            }
        })
    }
}

/// Follows a sentence about missing listeners.
fn would_accept(names: impl Iterator<Item = String>) -> String {
    match names.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!("; {one} would accept it, but is not served"),
        several => format!("; {} would accept it, but are not served", several.join(", ")),
    }
}
