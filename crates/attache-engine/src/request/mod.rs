//! Predicts how a request is served, by the matching and precedence rules of the Gateway API. Nothing is sent.
//!
//! ```text
//!           listener of a Gateway ─→ routes of the listener ─┐
//! request ─┤                                                 ├─→ rule ─→ filters ─→ backends ─→ effective policies
//!           Service of a mesh ─────→ routes of the Service ──┘
//! ```
//!
//! - `gateway` chooses the listener by port, protocol and hostname, `mesh` the Service that a client calls;
//! - `rules` chooses the rule: it tests the matches of all routes (`matching`) and compares those that hold (`precedence`);
//! - `respond` applies the `filters` of the rule, finds its `backends` and decides who answers with which status;
//! - `effective` selects the scopes, and with them the effective policies, on the path that the request takes.
//!
//! Every listener, route and rule that the request could have come to, and did not, can give its reason
//! ([`NotChosenReason`]), and so can a request that is not served ([`NotServedReason`]).

mod backends;
mod client_request;
mod cors;
mod effective;
mod filters;
mod gateway;
mod headers;
mod hostname;
mod listener;
mod matching;
mod mesh;
mod not_chosen;
mod not_served;
mod precedence;
mod respond;
mod rules;
#[cfg(test)]
mod tests;
mod trace;

use crate::engine_view::EngineView;
use crate::topology::NodeId;

pub use backends::Backend;
pub use client_request::{Request, Scheme};
pub use cors::Cors;
pub use effective::effective;
pub use filters::{ExtensionFilter, FilterEffects, Mirror, Redirect, Rewrite};
pub use gateway::{SeveralGateways, trace_any_gateway};
pub use headers::{HeaderChange, HeaderOperation, header_after};
pub use listener::ListenerCriterion;
pub use matching::{MatchCondition, MatchFailure, PathMatch, RouteMatch};
pub use mesh::service_named;
pub use not_chosen::{NotChosen, NotChosenReason};
pub use not_served::NotServedReason;
pub use precedence::Precedence;
pub use trace::{RequestOutcome, RequestTrace, RuleMatch};

/// The node at which a request enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// A client sends the request to a Gateway.
    Gateway(NodeId),
    /// A client in a mesh calls a Service.
    Service(NodeId),
}

/// Follows a request from its entrance to the backends. With `why`, the trace also lists everything that was not chosen.
pub fn trace<'e>(view: EngineView<'e>, request: &Request, entrance: Entrance, why: bool) -> RequestTrace<'e> {
    match entrance {
        Entrance::Gateway(gateway) => gateway::trace(view, request, gateway, why),
        Entrance::Service(service) => mesh::trace(view, request, service, why),
    }
}
