//! All policies, and the status of each.

use attache_answers::get::PolicyItem;
use attache_answers::scopes::cut;
use attache_engine::{Enforcement, NodeId, NodeRef};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::address::with_query;
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{Frame, Tab, command, grouped, message, more, node_list, policy, policy_list, status_badge};

/// The number of rows on a page.
const ROWS: usize = 200;
/// The number of targets, and of policies that override it, that are named.
const NAMES: usize = 3;
const STATUSES: [(&str, &str); 4] = [
    ("Enforced", "In force"),
    ("PartiallyEnforced", "Partly in force"),
    ("Overridden", "Overridden"),
    ("NotEnforced", "Not in force"),
];

/// The view.
pub fn policies(ask: &Ask) -> Result<Answer, Unanswered> {
    let status = ask.parameters.get("status");
    let (kind, namespace) = (ask.parameters.get("kind"), ask.parameters.get("namespace"));
    let is_wanted = |item: &&PolicyItem| {
        status.is_none_or(|wanted| status_word(item) == wanted)
            && kind.is_none_or(|wanted| item.policy_kind.to_string() == wanted)
            && namespace.is_none_or(|wanted| item.policy.namespace == wanted)
    };
    let items: Vec<&PolicyItem> = ask.state.policies().iter().filter(is_wanted).collect();
    let from = ask.parameters.number("from", 0).min(items.len());
    let shown = &items[from..items.len().min(from + ROWS)];
    let page = |from: usize| {
        let (status, kind, namespace) =
            (status.unwrap_or_default(), kind.unwrap_or_default(), namespace.unwrap_or_default());
        let from = from.to_string();
        with_query("/policies", &[("status", status), ("kind", kind), ("namespace", namespace), ("from", &from)])
    };
    let main = html! {
        h1 { "Policies" }
        (statuses(ask, status))
        @if items.is_empty() { (nothing(ask)) } @else { (table(ask, shown)) }
        @if shown.len() < items.len() {
            nav.pages aria-label="Rows" {
                span.dim { (grouped(from + 1)) "–" (grouped(from + shown.len())) " of " (grouped(items.len())) }
                @if from > 0 { a rel="prev" href=(page(from.saturating_sub(ROWS))) { "← previous" } }
                @if from + shown.len() < items.len() { a rel="next" href=(page(from + ROWS)) { "next →" } }
            }
        }
        (command(ask, &["get", "policies"]))
    };
    Ok(Answer::Page(StatusCode::OK, Frame::new("Policies").tab(Tab::Policies).wide().render(ask, main)))
}

/// A policy that is not accepted is not enforced.
fn status_word(item: &PolicyItem) -> &'static str {
    if item.accepted { item.enforcement.name() } else { "NotEnforced" }
}

fn statuses(ask: &Ask, chosen: Option<&str>) -> Markup {
    let count = |word: &str| ask.state.policies().iter().filter(|item| status_word(item) == word).count();
    html! {
        ul.choices {
            li { a href="/policies" aria-current=[chosen.is_none().then_some("true")] { "All " span.count { (grouped(ask.state.policies().len())) } } }
            @for (word, text) in STATUSES {
                li {
                    a href=(with_query("/policies", &[("status", word)])) aria-current=[(chosen == Some(word)).then_some("true")] {
                        (text) " " span.count { (grouped(count(word))) }
                    }
                }
            }
        }
    }
}

fn nothing(ask: &Ask) -> Markup {
    html! {
        div.empty {
            @if ask.state.policies().is_empty() {
                p { "There are no policies of a known kind." }
                (command(ask, &["get", "kinds"]))
            } @else {
                p { "No policy has this status." }
            }
        }
    }
}

fn table(ask: &Ask, items: &[&PolicyItem]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Policies" {
            table.list.stacks {
                thead {
                    tr {
                        th scope="col" { "Policy" }
                        th scope="col" { "Status" }
                        th.number scope="col" { "Targets in force" }
                        th.number scope="col" { "Rules in force" }
                        th scope="col" { "On" }
                        th scope="col" { "Why not everywhere" }
                    }
                }
                tbody { @for item in items { (row(ask, item)) } }
            }
        }
    }
}

fn row(ask: &Ask, item: &PolicyItem) -> Markup {
    let status = &item.status;
    html! {
        tr data-key=(item.policy.to_string()) {
            th scope="row" { (policy(&item.policy)) }
            td { (status_badge(status.word())) }
            td.number data-label="Targets in force" { @if let Some(it) = &status.effective_targets { (grouped(it.in_force)) span.dim { " of " (grouped(it.total)) } } }
            td.number data-label="Rules in force" { @if let Some(it) = &status.rules { (grouped(it.in_force)) span.dim { " of " (grouped(it.total)) } } }
            td data-label="On" { (targets(ask, item)) }
            td { (why_not(item)) }
        }
    }
}

/// What a policy is attached to. If that is nothing: its targets, as they are written in it.
fn targets(ask: &Ask, item: &PolicyItem) -> Markup {
    let engine = &ask.state.snapshot.engine;
    let attached = engine.find_policy(&item.policy).map(|policy| &engine.attachments().for_policy(policy).to);
    let attached: Vec<NodeId> = attached.into_iter().flatten().filter(|it| !it.is_absent()).map(|it| it.node).collect();
    if attached.is_empty() {
        let shown = cut(item.targets.len(), NAMES);
        return html! { bdi { (item.targets[..shown].join(", ")) } (more(item.targets.len() - shown)) };
    }
    let shown = cut(attached.len(), NAMES);
    let named: Vec<NodeRef> = attached[..shown].iter().map(|it| engine.view().node_ref(*it)).collect();
    html! { (node_list(&named, shown)) (more(attached.len() - shown)) }
}

/// Why a policy, or a part of it, is not in force.
fn why_not(item: &PolicyItem) -> Markup {
    let status = &item.status;
    let enforced = status.conditions.iter().find(|condition| condition.r#type == "Enforced");
    let reported = enforced.map(|condition| condition.message.as_str()).unwrap_or_default();
    match status.by.as_slice() {
        _ if !item.accepted => html! { span.dim { (message(&status.accepted.message)) } },
        [] if status.enforcement == Enforcement::Enforced => html! {},
        [] => html! { span.dim { (message(reported)) } },
        by => html! { span.dim { "overridden by " } (policy_list(by, NAMES)) },
    }
}
