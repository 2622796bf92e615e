//! Problems: what, where, and what to do.

use attache_answers::lint::FindingDocument;
use attache_engine::lint::Rule;
use attache_engine::{NodeRef, Problem, Severity, SourceLocation};
use maud::{Markup, html};

use super::{message, node};
use crate::ask::Ask;

/// A lint finding, with its severity.
pub fn finding(it: &FindingDocument) -> Markup {
    html! { li.finding { (described(it, html! { (severity(it.severity)) " " })) } }
}

/// A lint finding in a list whose heading has the severity.
pub fn finding_of_rule(it: &FindingDocument) -> Markup {
    html! { li.finding { (described(it, html! {})) } }
}

fn described(it: &FindingDocument, before: Markup) -> Markup {
    let place = it.file.as_ref().map(|file| match (it.line, it.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        _ => file.clone(),
    });
    let fix = it.help.as_deref().or(Rule::named(it.id).map(|rule| rule.fix)).unwrap_or_default();
    html! {
        p { (before) @if let Some(object) = &it.object { (node(&NodeRef::from(object))) ": " } (message(&it.message)) }
        p.details {
            a href={ "/problems?rule=" (it.id) } { (it.id) }
            @if let Some(path) = &it.path { " · " code { (path) } }
            @if let Some(place) = &place { " · " code { (place) } }
        }
        p.fix { strong { "Fix: " } (message(fix)) }
    }
}

/// A problem with its location, and the line of the source.
pub fn input_problem(ask: &Ask, problem: &Problem) -> Markup {
    let line = (ask.page.options.excerpt)(problem);
    problem_with_line(problem, line.as_deref())
}

/// A problem with its location. `line` is the line of the source that it concerns.
pub fn problem_with_line(problem: &Problem, line: Option<&str>) -> Markup {
    html! {
        div.problem {
            p { (severity(problem.severity)) " " (message(&problem.message)) }
            @if let Some(place) = problem.file_location() {
                p.details { code { (place) } @if let Some(document @ 2..) = problem.document { " (document " (document) ")" } }
            }
            @if let Some((line, location)) = line.zip(problem.location) { (marked_line(line, location)) }
            @if let Some(object) = &problem.object {
                p.details { "in " (node(&NodeRef::from(&**object))) @if let Some(path) = &problem.path { ", " code { (path) } } }
            }
            @if let Some(help) = &problem.help { p.fix { (message(help)) } }
        }
    }
}

/// The line, with a mark under the location.
fn marked_line(line: &str, location: SourceLocation) -> Markup {
    let number = location.line.to_string();
    let margin = " ".repeat(number.len());
    let before = " ".repeat(usize::from(location.column).saturating_sub(1));
    html! { pre.excerpt { (number) " │ " (line.replace('\t', " ")) "\n" (margin) " │ " (before) strong { "^" } } }
}

/// The severity.
pub fn severity(severity: Severity) -> Markup {
    html! { span.severity.(severity.to_string()) { (severity) } }
}
