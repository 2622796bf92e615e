//! The results of the search box.

use attache_answers::matrix::MatrixQuery;
use attache_engine::{Level, NodeRef, ObjectRef};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::address::{self, with_query};
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{counted, more, policy, qualified_name, status_badge};

/// The number of results of each type.
const MOST: usize = 7;

/// The results, as a list below the box.
pub fn search(ask: &Ask) -> Result<Answer, Unanswered> {
    let text = ask.parameters.get("q").unwrap_or_default().trim().to_owned();
    Ok(Answer::Page(StatusCode::OK, hits(ask, &text)))
}

fn hits(ask: &Ask, text: &str) -> Markup {
    if text.is_empty() {
        return html! {};
    }
    let query = MatrixQuery {
        namespace: None,
        kind: None,
        text: Some(text.to_owned()),
        problems_first: false,
        from: 0,
        most: MOST,
    };
    let (rows, total) = ask.state.matrix().names(&ask.state.snapshot, &query);
    let policies = policies_with(ask, text);
    let others = others_with(ask, text);
    let url = as_url(text);
    html! {
        ul role="listbox" aria-label="Found" {
            @if let Some(url) = &url {
                (hit(&with_query("/request", &[("url", url)]), html! { span.kind { "Follow the request" } " GET " bdi { (url) } }))
            }
            @for id in others.iter().take(MOST) { (named(&address::object(&NodeRef::from(*id)), id)) }
            @for id in policies.iter().take(MOST) { (named(&address::policy(id), id)) }
            @for node in &rows { (named(&address::object(node), &node.object)) }
            @if total > rows.len() {
                (hit(&with_query("/", &[("q", text)]), html! { "All " (counted(total, "route")) " and backends that match" }))
            }
        }
        @if url.is_none() && others.is_empty() && policies.is_empty() && rows.is_empty() {
            p.dim { "Nothing matches." }
        }
    }
}

fn hit(address: &str, content: Markup) -> Markup {
    html! { li role="none" { a role="option" href=(address) { (content) } } }
}

fn named(address: &str, id: &ObjectRef) -> Markup {
    hit(address, html! { span.kind { (id.kind) } " " (qualified_name(&NodeRef::from(id))) })
}

/// A URL, or a text that looks like a host.
fn as_url(text: &str) -> Option<String> {
    let is_host = |text: &str| {
        let host = text.split(['/', ':']).next().unwrap_or_default();
        host.contains('.') && host.split('.').all(|label| !label.is_empty()) && !text.contains(char::is_whitespace)
    };
    match text.split_once("://") {
        Some(_) => Some(text.to_owned()),
        None if is_host(text) => Some(format!("http://{text}")),
        None => None,
    }
}

fn policies_with<'a>(ask: &'a Ask, text: &str) -> Vec<&'a ObjectRef> {
    let text = text.to_lowercase();
    let names = ask.state.policies().iter().map(|item| &item.policy);
    names.filter(|id| id.to_string().to_lowercase().contains(&text)).collect()
}

/// Gateways, classes and namespaces.
fn others_with<'a>(ask: &'a Ask, text: &str) -> Vec<&'a ObjectRef> {
    let (topology, objects) = (ask.state.snapshot.engine.topology(), ask.state.snapshot.engine.objects());
    let text = text.to_lowercase();
    let is_other = |level: Level| {
        matches!(level, Level::GatewayClass | Level::Namespace | Level::Gateway | Level::ListenerSet | Level::Workload)
    };
    let nodes = topology.nodes().filter(|(_, node)| is_other(node.level)).map(|(id, _)| topology.id(objects, id));
    nodes.filter(|id| id.to_string().to_lowercase().contains(&text)).take(MOST + 1).collect()
}

/// The policies whose names match, shown above matching routes and backends.
pub fn matching_policies(ask: &Ask, text: &str) -> Markup {
    let found = policies_with(ask, text);
    let items = ask.state.policies().iter().filter(|item| found.contains(&&item.policy));
    html! {
        @if !found.is_empty() {
            section aria-labelledby="matching" {
                div.section-head { h2 #matching { "Policies that match" } p.dim { (counted(found.len(), "policy")) } }
                ul.plain {
                    @for item in items.take(MOST) { li { (policy(&item.policy)) " " (status_badge(item.status.word())) } }
                }
                (more(found.len().saturating_sub(MOST)))
            }
        }
    }
}
