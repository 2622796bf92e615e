//! Maps addresses to views.

use crate::api;
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::failure;
use crate::views::{changes, object, overview, plan, policies, policy, problems, request, search, topology};

/// Responds to a request.
pub fn route(ask: &Ask) -> Answer {
    let segments: Vec<&str> = ask.segments.iter().map(String::as_str).collect();
    let answer = match segments.as_slice() {
        [] => overview::overview(ask),
        ["rows"] => overview::rows(ask),
        ["search"] => search::search(ask),
        ["policies"] => policies::policies(ask),
        ["object", ..] => object::object(ask, &ask.segments[1..]),
        ["policy", ..] => policy::policy(ask, &ask.segments[1..]),
        ["request"] => request::request_view(ask),
        ["plan"] => plan::plan(ask),
        ["topology"] => topology::topology_view(ask),
        ["topology.svg"] => topology::topology_file(ask),
        ["changes"] => changes::changes(ask),
        ["problems"] => problems::problems(ask),
        ["api", question @ ..] => return api::answer(ask, question),
        _ => Err(Unanswered::nothing_here()),
    };
    answer.unwrap_or_else(|unanswered| failure(ask, &unanswered))
}
