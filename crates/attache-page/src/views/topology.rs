//! The graph as a picture: levels in columns, policies as tags.

use attache_answers::ObjectQuery;
use attache_answers::picture::{SvgOptions, svg};
use attache_answers::topology::{TopologyQuery, topology};
use attache_engine::NodeRef;
use axum::http::StatusCode;
use maud::{Markup, PreEscaped, html};

use crate::address::with_query;
use crate::ask::{Answer, Ask, Unanswered};
use crate::drawing::TopologyDrawing;
use crate::html::{Frame, Tab, command, counted, grouped, message, more, node};

/// The number of refused links that are listed.
const REFUSED: usize = 30;

/// The view.
pub fn topology_view(ask: &Ask) -> Result<Answer, Unanswered> {
    let (query, focus) = query(ask)?;
    let part = match (&query.object, &query.namespace) {
        (None, None) => None,
        _ => Some(TopologyDrawing::new(&ask.state.snapshot, &query, focus.as_ref())?),
    };
    let TopologyDrawing { nodes, is_empty, refused, svg } = part.as_ref().unwrap_or_else(|| ask.state.drawing());
    let name = focus.as_ref().map(ToString::to_string);
    let words: Vec<&str> = ["topology"].into_iter().chain(name.as_deref()).chain(namespace_words(ask)).collect();
    let main = html! {
        div.section-head {
            h1 { "Topology" }
            p.dim { (counted(*nodes, "node")) @if let Some(focus) = &focus { " around " (node(focus)) " · " a href="/topology" { "show all" } } }
        }
        (controls(ask))
        @if *is_empty { div.empty { p { "There is nothing that policies could target." } } }
        @else { div.picture #picture tabindex="0" role="region" aria-label="Picture of the topology" { (PreEscaped(svg)) } }
        @if !refused.is_empty() {
            section aria-labelledby="refused" {
                h2 #refused { (grouped(refused.len())) " refused" }
                table.list.stacks {
                    thead { tr { th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Why" } } }
                    tbody { @for it in refused.iter().take(REFUSED) { tr { td { (node(&it.child)) } td data-label="To" { (node(&it.parent)) } td { strong { (it.reason) } " " (message(&it.message)) } } } }
                }
                (more(refused.len().saturating_sub(REFUSED)))
            }
        }
        (command(ask, &words))
    };
    let title = name.as_ref().map_or("Topology".to_owned(), |name| format!("Topology around {name}"));
    Ok(Answer::Page(StatusCode::OK, Frame::new(title).tab(Tab::Topology).wide().render(ask, main)))
}

/// The picture as a separate file.
pub fn topology_file(ask: &Ask) -> Result<Answer, Unanswered> {
    let (query, focus) = query(ask)?;
    let graph = topology(&ask.state.snapshot, &query)?;
    let content = svg(graph, &SvgOptions { addresses: None, focus: focus.as_ref() });
    Ok(Answer::File { name: "topology.svg", media_type: "image/svg+xml", content })
}

fn query(ask: &Ask) -> Result<(TopologyQuery, Option<NodeRef>), Unanswered> {
    let object: Option<ObjectQuery> = ask.parameter_object("object")?;
    let focus = object.as_ref().map(|object| ask.state.snapshot.find(object, None)).transpose()?;
    Ok((TopologyQuery { object, namespace: ask.parameters.get("namespace").map(str::to_owned) }, focus))
}

fn namespace_words(ask: &Ask) -> impl Iterator<Item = &str> {
    ask.parameters.get("namespace").into_iter().flat_map(|namespace| ["-n", namespace])
}

fn controls(ask: &Ask) -> Markup {
    let (object, namespace) =
        (ask.parameters.get("object").unwrap_or_default(), ask.parameters.get("namespace").unwrap_or_default());
    html! {
        form.filters action="/topology" method="get" {
            label { span { "Around" } input type="text" name="object" value=(object) placeholder="Gateway/infra/main" spellcheck="false"; }
            label {
                span { "Namespace" }
                select name="namespace" data-submit {
                    option value="" { "all" }
                    @for it in &ask.state.matrix().namespaces { option value=(it) selected[it == namespace] { (it) } }
                }
            }
            button.quiet type="submit" { "Show" }
            div.zoom #zoom hidden {
                label { span { "Find in the picture" } input type="search" id="find" autocomplete="off"; }
                button.quiet type="button" data-zoom="in" aria-label="Zoom in" { "+" }
                button.quiet type="button" data-zoom="out" aria-label="Zoom out" { "−" }
                button.quiet type="button" data-zoom="fit" { "Fit" }
            }
            a.button.quiet href=(with_query("/topology.svg", &[("object", object), ("namespace", namespace)])) download="topology.svg" { "Save as SVG" }
        }
    }
}
