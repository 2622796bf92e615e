//! An overview: totals, and the effective policies on each route and backend.

use attache_answers::inline;
use attache_answers::matrix::{Matrix, MatrixCell, MatrixQuery, MatrixRow, MatrixSetting, OriginLevel};
use attache_answers::scopes::cut;
use attache_answers::summary::{ProblemTotals, Summary};
use attache_engine::Segment;
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::address::{self, with_query};
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{Frame, Tab, command, counted, grouped, level_tag, linked_total, more, noun, qualified_name};
use crate::views::search::matching_policies;

/// The number of rows in the first response; the script requests more while the user scrolls.
const ROWS: usize = 60;
/// The maximum number of rows in a response.
const MOST_ROWS: usize = 200;
/// The number of settings of a cell that are named.
const MOST_SETTINGS: usize = 12;

/// The view.
pub fn overview(ask: &Ask) -> Result<Answer, Unanswered> {
    let matrix = matrix(ask, ROWS);
    let query = ask.parameters.get("q");
    let main = html! {
        h1.sr { "Overview" }
        (totals(ask.state.summary()))
        @if let Some(text) = query { (matching_policies(ask, text)) }
        section aria-labelledby="in-force" {
            div.section-head {
                h2 #in-force { "In force, by route and backend" }
                @if matrix.total > 0 { p.dim { (counted(matrix.total, "row")) } }
            }
            @if matrix.total > 0 || has_filter(ask) { (filters(ask)) }
            @if matrix.rows.is_empty() { (nothing(ask)) } @else { (table(ask, &matrix)) }
        }
        (command(ask, &command_words(ask)))
    };
    let title = query.map_or("Overview".to_owned(), |query| format!("“{query}”"));
    let frame = Frame::new(title).tab(Tab::Overview).wide();
    let frame = if query.is_none() { frame.focus_search() } else { frame };
    Ok(Answer::Page(StatusCode::OK, frame.render(ask, main)))
}

/// More rows of the table, for the script.
pub fn rows(ask: &Ask) -> Result<Answer, Unanswered> {
    let matrix = matrix(ask, ask.parameters.number("most", ROWS).min(MOST_ROWS));
    Ok(Answer::Page(StatusCode::OK, table_rows(&matrix)))
}

fn matrix(ask: &Ask, most: usize) -> Matrix {
    let text = |name: &str| ask.parameters.get(name).map(str::to_owned);
    let query = MatrixQuery {
        namespace: text("namespace"),
        kind: text("kind"),
        text: text("q"),
        problems_first: ask.parameters.has("problems"),
        from: ask.parameters.number("from", 0),
        most,
    };
    ask.state.matrix().find(&ask.state.snapshot, &query)
}

fn command_words(ask: &Ask) -> Vec<&str> {
    match ask.parameters.get("namespace") {
        Some(namespace) => vec!["effective", "-n", namespace],
        None => vec!["effective"],
    }
}

fn totals(it: &Summary) -> Markup {
    let (policies, ProblemTotals { errors, warnings, .. }) = (&it.policies, it.problems);
    let not_enforced = policies.not_enforced + policies.not_accepted;
    let of = |word: &str| with_query("/policies", &[("status", word)]);
    html! {
        section.totals aria-label="Totals" {
            (linked_total(policies.total, &noun(policies.total, "policy"), "plain", "/policies"))
            (linked_total(policies.enforced, "in force", "good", &of("Enforced")))
            (linked_total(policies.partially_enforced, "partly", "partly", &of("PartiallyEnforced")))
            (linked_total(policies.overridden, "overridden", "plain", &of("Overridden")))
            (linked_total(not_enforced, "not in force", "plain", &of("NotEnforced")))
            span.divider {}
            (linked_total(errors, &noun(errors, "error"), "bad", "/problems?severity=error"))
            (linked_total(warnings, &noun(warnings, "warning"), "warning", "/problems?severity=warning"))
            span.divider {}
            (linked_total(it.gateways, &noun(it.gateways, "gateway"), "plain", "/topology"))
            (linked_total(it.routes, &noun(it.routes, "route"), "plain", "/"))
            (linked_total(it.backends, &noun(it.backends, "backend"), "plain", "/"))
        }
    }
}

fn filters(ask: &Ask) -> Markup {
    let index = ask.state.matrix();
    let select = |name: &str, label: &str, all: &str, values: &[String]| {
        let chosen = ask.parameters.get(name);
        html! {
            label {
                span { (label) }
                select name=(name) data-submit {
                    option value="" { (all) }
                    @for value in values { option value=(value) selected[chosen == Some(value)] { (value) } }
                }
            }
        }
    };
    html! {
        form.filters action="/" method="get" {
            label {
                span { "Text" }
                input type="search" name="q" value=(ask.parameters.get("q").unwrap_or_default()) placeholder="any name" data-filter;
            }
            (select("namespace", "Namespace", "all", &index.namespaces))
            (select("kind", "Kind", "all", &index.kinds))
            label.check {
                input type="checkbox" name="problems" value="first" checked[ask.parameters.has("problems")] data-submit;
                span { "Problems first" }
            }
            button.quiet type="submit" { "Filter" }
            p.legend {
                span.dim { "from " }
                @for level in [OriginLevel::Own, OriginLevel::Route, OriginLevel::Namespace, OriginLevel::Gateway, OriginLevel::Class] {
                    (level_tag(level)) " "
                }
            }
        }
    }
}

fn has_filter(ask: &Ask) -> bool {
    ["q", "namespace", "kind", "from"].into_iter().any(|name| ask.parameters.get(name).is_some())
}

fn nothing(ask: &Ask) -> Markup {
    html! {
        div.empty {
            @if has_filter(ask) {
                p { "No route or backend matches." }
                p { a href="/" { "Show all" } }
            } @else if ask.state.snapshot.engine.objects().is_empty() {
                p { "There are no objects yet." }
                p.dim { "As soon as there are manifests in " bdi { (ask.page.options.source) } ", they appear here." }
            } @else {
                p { "There are no routes and no backends among the " (counted(ask.state.summary().objects, "object")) "." }
                p { a href="/topology" { "See what there is" } }
            }
        }
    }
}

fn table(ask: &Ask, matrix: &Matrix) -> Markup {
    let Matrix { columns, total, from, rows, .. } = matrix;
    let parameters: Vec<(&str, &str)> = ask
        .parameters
        .0
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, _)| *key != "from")
        .collect();
    let page = |from: usize| with_query("/", &[&parameters[..], &[("from", &from.to_string())]].concat());
    html! {
        div.scroll tabindex="0" role="region" aria-label="Routes and backends" #matrix
            data-rows=(with_query("/rows", &parameters)) data-total=(total) data-from=(from) {
            table.matrix aria-rowcount=(total + 1) {
                thead {
                    tr {
                        th scope="col" { "Object" }
                        @for column in columns {
                            th scope="col" title=(column.to_string()) { (column.kind) }
                        }
                        @if columns.is_empty() { th scope="col" { "Policies" } }
                    }
                }
                tbody { (table_rows(matrix)) }
            }
        }
        @if rows.len() < *total {
            nav.pages aria-label="Rows" {
                @if *from > 0 { a href=(page(from.saturating_sub(ROWS))) rel="prev" { "← previous" } }
                span.dim { (grouped(from + 1)) "–" (grouped(from + rows.len())) " of " (grouped(*total)) }
                @if from + rows.len() < *total { a href=(page(from + rows.len())) rel="next" { "next →" } }
            }
        }
    }
}

fn table_rows(matrix: &Matrix) -> Markup {
    html! {
        @for (i, row) in matrix.rows.iter().enumerate() {
            tr data-key=(row.object.to_string()) aria-rowindex=(matrix.from + i + 2) {
                (row_head(row))
                @for (cell, column) in row.cells.iter().zip(&matrix.columns) {
                    (matrix_cell(cell, &with_query(&address::object(&row.object), &[("kind", &column.to_string())])))
                }
                @if row.cells.is_empty() { td { span.dim { "none" } } }
            }
        }
    }
}

fn row_head(row: &MatrixRow) -> Markup {
    html! {
        th scope="row" {
            a.object href=(address::object(&row.object)) title=(row.object.to_string()) {
                span.kind { (row.object.object.kind) } " " (qualified_name(&row.object))
            }
            @if row.problems > 0 { " " span.count.bad title=(counted(row.problems, "problem")) { "! " (row.problems) } }
            @if !row.live { " " span.dim { "no requests" } }
        }
    }
}

fn matrix_cell(cell: &MatrixCell, address: &str) -> Markup {
    let shown = &cell.settings[..cut(cell.settings.len(), MOST_SETTINGS)];
    let mut levels: Vec<OriginLevel> = shown.iter().map(|setting| setting.level).collect();
    levels.sort_unstable();
    levels.dedup();
    html! {
        td {
            @if cell.settings.is_empty() && cell.lost == 0 { span.dim aria-label="nothing" { "–" } }
            @else {
                a.cell href=(address) {
                    span.settings {
                        @if cell.answers > 1 { span.answers.dim title="not the same in all scopes; what is in italics is not in force in all of them" { (grouped(cell.answers)) " answers:" } " " }
                        @for level in levels {
                            span.group {
                                (level_tag(level)) " "
                                @for (i, setting) in shown.iter().filter(|it| it.level == level).enumerate() {
                                    @if i > 0 { ", " }
                                    (short_setting(setting))
                                }
                            }
                            " "
                        }
                        (more(cell.settings.len() - shown.len()))
                    }
                    @if cell.lost > 0 { " " span.dim.lost title="values of policies that are not in force" { (grouped(cell.lost)) " lost" } }
                }
            }
        }
    }
}

/// `attempts 5`, or only the name of a rule.
fn short_setting(setting: &MatrixSetting) -> Markup {
    let last = setting.path.segments().iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => Some(key.to_string()),
        _ => None,
    });
    let name = last.unwrap_or_else(|| setting.policy.name.to_string());
    html! {
        span.setting.part[!setting.everywhere] title={ (setting.path) " by " (setting.policy.to_string()) } {
            (name) @if let Some(value) = &setting.value { " " b { (shortened(&inline(value))) } }
        }
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 24;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
