//! The changes since the server was started.

use attache_answers::status::PolicyStatusDocument;
use attache_answers::watch::PolicyStatusChange;
use attache_engine::NodeRef;
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{Frame, Tab, change_groups, command, counted, input_problem, more, node, policy, status_badge};
use crate::log::LogEntry;

/// The number of names in an entry.
const NAMES: usize = 12;

/// The view.
pub fn changes(ask: &Ask) -> Result<Answer, Unanswered> {
    let entries = ask.page.changes();
    let main = html! {
        h1 { "Changes" }
        @if entries.is_empty() {
            div.empty {
                p { "Nothing has changed since the server was started." }
                p.dim { "Changes of " bdi { (ask.page.options.source) } " appear here, with the effective policies before and after." }
            }
        }
        ol.log { @for entry in &entries { (log_entry(ask, entry)) } }
        (command(ask, &["watch", "--diff"]))
    };
    Ok(Answer::Page(StatusCode::OK, Frame::new("Changes").tab(Tab::Changes).render(ask, main)))
}

fn log_entry(ask: &Ask, it: &LogEntry) -> Markup {
    let time = it.time.map(|time| time.to_string()).unwrap_or_default();
    html! {
        li data-key=(it.revision) {
            div.section-head {
                h2 { time datetime=(time) { (time) } }
                p.dim { (summary(it)) }
            }
            p {
                @for (i, (object, is_deleted)) in it.edited.iter().take(NAMES).enumerate() {
                    @if i > 0 { ", " }
                    @if *is_deleted { "deleted " (object.to_string()) } @else { (node(&NodeRef::from(object))) }
                }
                (more(it.edited.len().saturating_sub(NAMES)))
            }
            @for problem in it.problems.iter().take(NAMES) { (input_problem(ask, problem)) }
            (change_groups(&it.groups))
            @for change in it.policies.iter().take(NAMES) { (status_change(change)) }
            (more(it.policies.len().saturating_sub(NAMES)))
        }
    }
}

fn summary(it: &LogEntry) -> String {
    let scopes: usize = it.groups.iter().map(|group| group.scopes).sum();
    let parts = [
        (it.edited.len(), "object"),
        (scopes, "scope"),
        (it.policies.len(), "policy status"),
        (it.targets.len(), "target"),
        (it.problems.len(), "new problem"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
    if scopes == 0 && it.policies.is_empty() && it.targets.is_empty() {
        return format!("{}; no effective policy changed", parts.join(", "));
    }
    parts.join(", ")
}

fn status_change(change: &PolicyStatusChange) -> Markup {
    let badge = |side: &Option<PolicyStatusDocument>, otherwise: &str| match side {
        Some(status) => status_badge(status.word()),
        None => html! { span.dim { (otherwise) } },
    };
    html! { p { (policy(&change.policy)) ": " (badge(&change.before, "new")) " → " (badge(&change.after, "deleted")) } }
}
