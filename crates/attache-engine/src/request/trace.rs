//! The trace of a request: the nodes on its path, the effects of filters, and the response.

use super::backends::Backend;
use super::extension::ExtensionFilter;
use super::filters::FilterEffects;
use super::matching::RouteMatch;
use super::not_chosen::NotChosen;
use super::not_served::NotServedReason;
use crate::topology::NodeId;

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// A backend serves it.
    Backend,
    /// A filter redirects the client.
    Redirect,
    /// A filter makes the gateway respond.
    DirectResponse,
    /// The gateway responds to a CORS preflight.
    Preflight,
    /// No rule matches.
    NotFound,
    /// A rule matches, but it has no usable backend or filter.
    InvalidBackend,
    /// A rule without backends matches, and it is unknown whether one of its filters responds.
    Unknown,
    /// No listener accepts the request.
    NoListener,
}

impl RequestOutcome {
    /// The name in documents: `NotFound`.
    pub fn name(self) -> &'static str {
        match self {
            RequestOutcome::Backend => "Backend",
            RequestOutcome::Redirect => "Redirect",
            RequestOutcome::DirectResponse => "DirectResponse",
            RequestOutcome::Preflight => "Preflight",
            RequestOutcome::NotFound => "NotFound",
            RequestOutcome::InvalidBackend => "InvalidBackend",
            RequestOutcome::Unknown => "Unknown",
            RequestOutcome::NoListener => "NoListener",
        }
    }

    /// Whether the request gets the response that a route intends.
    pub fn is_served(self) -> bool {
        match self {
            RequestOutcome::Backend
            | RequestOutcome::Redirect
            | RequestOutcome::DirectResponse
            | RequestOutcome::Preflight => true,
            RequestOutcome::NotFound
            | RequestOutcome::InvalidBackend
            | RequestOutcome::Unknown
            | RequestOutcome::NoListener => false,
        }
    }
}

/// The path of a request. It borrows from the engine.
#[derive(Debug)]
pub struct RequestTrace<'e> {
    /// How the request ends.
    pub outcome: RequestOutcome,
    /// The HTTP status of the response if the backends are healthy. `None` without HTTP, or without a response.
    pub status: Option<u16>,
    /// Why the request is not served.
    pub reason: Option<NotServedReason>,
    /// The Gateway that receives the request.
    pub gateway: Option<NodeId>,
    /// The listener that accepts the request.
    pub listener: Option<NodeId>,
    /// The Service that a client in a mesh calls.
    pub service: Option<NodeId>,
    /// The hostname of the route that matches the host of the request; empty if the route has no hostnames.
    pub hostname: &'e str,
    /// The rule that serves the request, preceded by the rules that delegate to its route.
    pub rules: Vec<RuleMatch<'e>>,
    /// What the filters of the rules do.
    pub filter_effects: FilterEffects,
    /// The backends of the rule.
    pub backends: Vec<Backend>,
    /// The listeners, routes and rules that do not serve the request, if they were asked for.
    pub not_chosen: Vec<NotChosen<'e>>,
}

/// A rule that the request passes.
#[derive(Clone, Debug)]
pub struct RuleMatch<'e> {
    /// The rule.
    pub rule: NodeId,
    /// The match of the rule that the request meets.
    pub matched: RouteMatch<'e>,
}

impl RequestTrace<'_> {
    pub(super) fn new(outcome: RequestOutcome) -> Self {
        RequestTrace {
            outcome,
            status: None,
            reason: None,
            gateway: None,
            listener: None,
            service: None,
            hostname: "",
            rules: Vec::new(),
            filter_effects: FilterEffects::default(),
            backends: Vec::new(),
            not_chosen: Vec::new(),
        }
    }

    pub(super) fn not_served(outcome: RequestOutcome, status: Option<u16>, reason: NotServedReason) -> Self {
        RequestTrace { status, reason: Some(reason), ..RequestTrace::new(outcome) }
    }

    /// The rule that serves the request.
    pub fn rule(&self) -> Option<NodeId> {
        self.rules.last().map(|rule| rule.rule)
    }

    /// The backends that requests are sent to and that exist.
    pub fn serving_backends(&self) -> impl Iterator<Item = &Backend> {
        self.backends.iter().filter(|backend| backend.serves())
    }

    /// What is unknown about the filters on the path, as sentences.
    pub fn unknown(&self) -> Vec<String> {
        let of_backends = self.backends.iter().flat_map(|backend| &backend.filter_effects.extensions);
        let filters = self.filter_effects.extensions.iter().chain(of_backends);
        let mut unknown: Vec<String> = filters.filter_map(ExtensionFilter::unknown).collect();
        unknown.dedup();
        unknown
    }

    /// The gRPC status of a request that is not served.
    pub fn grpc_status(&self) -> Option<&'static str> {
        match self.outcome {
            RequestOutcome::NotFound | RequestOutcome::NoListener => self.status.map(|_| "UNIMPLEMENTED"),
            RequestOutcome::InvalidBackend => Some("UNAVAILABLE"),
            RequestOutcome::Backend
            | RequestOutcome::Redirect
            | RequestOutcome::DirectResponse
            | RequestOutcome::Preflight
            | RequestOutcome::Unknown => None,
        }
    }
}
