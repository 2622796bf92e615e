//! The response to a request that a rule matches: its filters, its backends, and the status.

use super::backends;
use super::client_request::Request;
use super::filters::FilterEffects;
use super::gateway::route_of_kind;
use super::matching::RouteMatch;
use super::not_served::NotServedReason;
use super::rules::{self, MatchedRule};
use super::trace::{RequestOutcome, RequestTrace, RuleMatch};
use crate::engine_view::EngineView;
use crate::topology::NodeId;
use crate::topology::api::RouteKind;

/// The trace of a request that the last of `rules` serves. The rules before it delegate to it, and their filters apply
/// too.
pub fn respond<'e>(view: EngineView<'e>, request: &Request, rules: Vec<MatchedRule<'e>>) -> RequestTrace<'e> {
    let mut trace = RequestTrace::new(RequestOutcome::Backend);
    let speaks_http = rules.last().is_some_and(|last| is_http_route(view, last.rule));
    for MatchedRule { rule, route_match, details, base, .. } in rules {
        let Some((route, value)) = rules::route_and_rule(view, rule) else { continue };
        let prefix = details.prefix.as_deref();
        trace.filter_effects.apply(view, request, route, value.list_at("filters"), prefix);
        // Only the backends of the last rule count.
        trace.backends = backends::backends(view, request, route, value, prefix);
        trace.rules.push(RuleMatch { rule, matched: RouteMatch { value: route_match, base } });
    }
    let FilterEffects { missing, redirect, direct_response, cors, .. } = &trace.filter_effects;
    if let Some(filter) = missing {
        trace.outcome = RequestOutcome::InvalidBackend;
        trace.status = Some(500);
        trace.reason = Some(NotServedReason::MissingFilter(filter.clone()));
    } else if cors.as_ref().is_some_and(|cors| cors.preflight) {
        trace.outcome = RequestOutcome::Preflight;
        trace.status = Some(200);
        // The gateway responds: the request is not forwarded.
        trace.backends.clear();
        trace.filter_effects = FilterEffects { cors: trace.filter_effects.cors.take(), ..FilterEffects::default() };
    } else if let Some(response) = direct_response {
        if response.exclusive && (redirect.is_some() || !trace.backends.is_empty()) {
            trace.outcome = RequestOutcome::InvalidBackend;
            trace.status = Some(500);
            trace.reason = Some(NotServedReason::ExclusiveFilter(response.filter.clone()));
        } else {
            trace.outcome = RequestOutcome::DirectResponse;
            trace.status = Some(response.status);
        }
        trace.backends.clear();
    } else if let Some(redirect) = redirect {
        trace.outcome = RequestOutcome::Redirect;
        trace.status = Some(redirect.status);
        trace.backends.clear();
    } else if trace.serving_backends().next().is_some() {
        trace.status = request.scheme.is_http().then_some(200);
        answer_for_only_backend(&mut trace);
    } else if trace.backends.is_empty() && trace.filter_effects.may_answer() {
        trace.outcome = RequestOutcome::Unknown;
        trace.reason = Some(NotServedReason::UnknownFilter);
    } else {
        trace.outcome = RequestOutcome::InvalidBackend;
        trace.status = speaks_http.then_some(500);
        trace.reason = Some(no_backend(&trace));
    }
    trace
}

/// Filters of a backendRef can respond instead of the backend. They determine the response if there is no other
/// backend.
fn answer_for_only_backend(trace: &mut RequestTrace<'_>) {
    let [only] = trace.backends.as_slice() else { return };
    let FilterEffects { redirect, direct_response, .. } = &only.filter_effects;
    if let Some(response) = direct_response.clone() {
        trace.outcome = RequestOutcome::DirectResponse;
        trace.status = Some(response.status);
        trace.filter_effects.direct_response = Some(response);
    } else if let Some(redirect) = redirect.clone() {
        trace.outcome = RequestOutcome::Redirect;
        trace.status = Some(redirect.status);
        trace.filter_effects.redirect = Some(redirect);
    } else {
        return;
    }
    trace.backends.clear();
}

fn is_http_route(view: EngineView<'_>, rule: NodeId) -> bool {
    [RouteKind::Http, RouteKind::Grpc].into_iter().any(|kind| route_of_kind(view, rule, kind).is_some())
}

fn no_backend(trace: &RequestTrace<'_>) -> NotServedReason {
    if trace.backends.is_empty() {
        NotServedReason::NoBackends
    } else if trace.backends.iter().all(|backend| backend.weight == 0) {
        NotServedReason::ZeroWeights
    } else {
        NotServedReason::UnusableBackends
    }
}
