//! Which listener, route, rule and backends serve a request, by the rules of the Gateway API.
//!
//! ```text
//! request ─→ listener of a gateway ─┬→ rule ─→ filters ─→ backends ─→ effective policies on that way
//!            Service of a mesh ─────┘
//! ```

mod backends;
mod client;
mod cors;
mod effective;
mod filters;
mod host;
mod listener;
mod matching;
mod mesh;
mod not_chosen;
mod rules;
#[cfg(test)]
mod tests;
mod through;

use crate::engine_view::EngineView;
use crate::topology::NodeId;

pub use backends::Backend;
pub use client::{Request, Scheme};
pub use cors::Cors;
pub use effective::effective;
pub use filters::{FilterEffects, HeaderChange, HeaderOperation, Mirror, Redirect, Rewrite, header_after};
pub use mesh::service_named;
pub use not_chosen::NotChosen;
pub use through::any_gateway;

/// Where a request comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    Gateway(NodeId),
    /// A client within a mesh calls a Service.
    Service(NodeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    Backend,
    Redirect,
    /// The gateway answers a CORS preflight itself.
    Preflight,
    /// No rule matches.
    NotFound,
    /// There is a rule, and nothing behind it that could serve.
    InvalidBackend,
    /// Nobody listens.
    NoListener,
}

impl RequestOutcome {
    pub fn name(self) -> &'static str {
        match self {
            RequestOutcome::Backend => "Backend",
            RequestOutcome::Redirect => "Redirect",
            RequestOutcome::Preflight => "Preflight",
            RequestOutcome::NotFound => "NotFound",
            RequestOutcome::InvalidBackend => "InvalidBackend",
            RequestOutcome::NoListener => "NoListener",
        }
    }

    /// Whether somebody serves the request.
    pub fn is_served(self) -> bool {
        matches!(self, RequestOutcome::Backend | RequestOutcome::Redirect | RequestOutcome::Preflight)
    }
}

/// The way of a request.
#[derive(Debug)]
pub struct RequestTrace {
    pub outcome: RequestOutcome,
    /// The answer's status, if all backends are well; none where no HTTP is spoken, or nobody answers.
    pub status: Option<u16>,
    /// Why the request is not served.
    pub reason: Option<String>,
    pub gateway: Option<NodeId>,
    pub listener: Option<NodeId>,
    /// The Service that a client within a mesh calls.
    pub service: Option<NodeId>,
    /// The hostname by which the request came to the route; empty for any.
    pub hostname: String,
    /// The rule that serves the request, after those that delegate to it.
    pub rules: Vec<RuleMatch>,
    pub filter_effects: FilterEffects,
    pub backends: Vec<Backend>,
    /// What else was there, and why it does not serve the request: if that was asked for.
    pub not_chosen: Vec<NotChosen>,
}

/// A rule on the way, and the match of it that holds.
#[derive(Clone, Debug)]
pub struct RuleMatch {
    pub rule: NodeId,
    pub matched: String,
}

impl RequestTrace {
    fn new(outcome: RequestOutcome) -> RequestTrace {
        RequestTrace {
            outcome,
            status: None,
            reason: None,
            gateway: None,
            listener: None,
            service: None,
            hostname: String::new(),
            rules: Vec::new(),
            filter_effects: FilterEffects::default(),
            backends: Vec::new(),
            not_chosen: Vec::new(),
        }
    }

    fn refused(outcome: RequestOutcome, status: Option<u16>, reason: impl Into<String>) -> RequestTrace {
        RequestTrace { status, reason: Some(reason.into()), ..RequestTrace::new(outcome) }
    }

    /// The rule that serves the request.
    pub fn rule(&self) -> Option<NodeId> {
        self.rules.last().map(|passed| passed.rule)
    }

    /// The status in the words of gRPC, if the request is not served.
    pub fn grpc_status(&self) -> Option<&'static str> {
        match self.outcome {
            RequestOutcome::NotFound | RequestOutcome::NoListener => self.status.map(|_| "UNIMPLEMENTED"),
            RequestOutcome::InvalidBackend => Some("UNAVAILABLE"),
            RequestOutcome::Backend | RequestOutcome::Redirect | RequestOutcome::Preflight => None,
        }
    }
}

/// Follows a request. With `why`, everything that does not serve it says why.
pub fn trace(view: EngineView<'_>, request: &Request, entrance: Entrance, why: bool) -> RequestTrace {
    match entrance {
        Entrance::Gateway(gateway) => through::gateway(view, request, gateway, why),
        Entrance::Service(service) => mesh::call(view, request, service, why),
    }
}
