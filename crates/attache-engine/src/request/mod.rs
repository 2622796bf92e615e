//! Predicts how a request is served, by the matching and precedence rules of the Gateway API. Nothing is sent.
//!
//! ```text
//!           listener of a Gateway ─→ routes of the listener ─┐
//! request ─┤                                                 ├─→ rule ─→ filters ─→ backends ─→ effective policies
//!           Service of a mesh ─────→ routes of the Service ──┘
//! ```
//!
//! - `gateway` selects the listener by port, protocol and hostname, `mesh` the Service that a client calls;
//! - `rules` selects the rule: it tests the matches of all routes (`matching`) and compares those that hold
//!   (`precedence`);
//! - `respond` applies the `filters` of the rule, finds its `backends` and determines the response and its status;
//! - `effective` selects the scopes on the path of the request, and with them the effective policies.
//!
//! Every listener, route and rule that was considered and not chosen has a reason ([`NotChosenReason`]), and so has a
//! request that is not served ([`NotServedReason`]).

mod backends;
mod client_request;
mod cors;
mod effective;
mod extension;
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

pub use backends::{Backend, BackendFault};
pub use client_request::{Request, Scheme};
pub use cors::Cors;
pub use effective::{OverriddenRuleValue, effective, overridden_in_rules};
pub use extension::{DirectResponse, ExtensionEffect, ExtensionFilter, ExtensionName};
pub use filters::{FilterEffects, Mirror, Redirect, Rewrite};
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
