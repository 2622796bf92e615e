//! Problems, by severity, with their explanation and fix.

use std::collections::BTreeMap;

use attache_answers::lint::FindingDocument;
use attache_engine::lint::Rule;
use attache_engine::{Problem, Severity};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::address::with_query;
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{
    Frame, Tab, command, counted, finding_of_rule, grouped, input_problem, message, more, sentence, severity,
};

/// The number of findings of a rule that are shown, and the number if the rule is selected.
const MOST: usize = 10;
const MOST_OF_RULE: usize = 200;

/// The lint rule about what cannot be read, which is shown with the line that it is about.
const UNREADABLE: &str = "unusable-input";

/// The view.
pub fn problems(ask: &Ask) -> Result<Answer, Unanswered> {
    let (wanted, rule) = (ask.parameters.get("severity"), ask.parameters.get("rule"));
    let all = ask.state.findings();
    let is_wanted = |finding: &&FindingDocument| {
        finding.suppressed.is_none()
            && finding.id != UNREADABLE
            && wanted.is_none_or(|wanted| finding.severity.to_string() == wanted)
            && rule.is_none_or(|rule| finding.id == rule)
    };
    let mut rules: BTreeMap<(Severity, &str), Vec<&FindingDocument>> = BTreeMap::new();
    for finding in all.items.iter().filter(is_wanted) {
        rules.entry((finding.severity, finding.id)).or_default().push(finding);
    }
    let most = if rule.is_some() { MOST_OF_RULE } else { MOST };
    let asks_for_unreadable = wanted.is_none_or(|it| it == "error") && rule.is_none_or(|it| it == UNREADABLE);
    let unreadable = ask.state.snapshot.input_problems().filter(|it| asks_for_unreadable && it.is_error());
    let unreadable: Vec<&Problem> = unreadable.collect();
    let suppressed = all.items.iter().filter(|finding| finding.suppressed.is_some()).count();
    let main = html! {
        h1 { "Problems" }
        (severities(ask, wanted))
        @if !unreadable.is_empty() {
            section aria-labelledby="unreadable" {
                h2 #unreadable { "Cannot be read" }
                p.dim { "These parts of the input are not used. If a file was valid before, its previous content counts until it is fixed." }
                @for problem in unreadable.iter().take(most) { (input_problem(ask, problem)) }
                (more(unreadable.len().saturating_sub(most)))
            }
        }
        @if rules.is_empty() && unreadable.is_empty() { p.empty.good { "No problems in " (counted(all.objects, "object")) ", " (counted(all.policies, "policy")) " among them." } }
        @for ((_, id), findings) in &rules { (rule_section(id, findings, most)) }
        @if suppressed > 0 { p.dim { (counted(suppressed, "finding")) " suppressed by an annotation." } }
        (command(ask, &["lint"]))
    };
    Ok(Answer::Page(StatusCode::OK, Frame::new("Problems").tab(Tab::Problems).render(ask, main)))
}

fn severities(ask: &Ask, chosen: Option<&str>) -> Markup {
    let totals = ask.state.summary().problems;
    let choices = [
        ("error", "Errors", totals.errors),
        ("warning", "Warnings", totals.warnings),
        ("info", "Good to know", totals.infos),
    ];
    html! {
        ul.choices {
            li { a href="/problems" aria-current=[chosen.is_none().then_some("true")] { "All " span.count { (grouped(totals.total())) } } }
            @for (word, text, count) in choices {
                li { a href=(with_query("/problems", &[("severity", word)])) aria-current=[(chosen == Some(word)).then_some("true")] { (text) " " span.count { (grouped(count)) } } }
            }
        }
    }
}

fn rule_section(id: &str, findings: &[&FindingDocument], most: usize) -> Markup {
    let rule = Rule::named(id);
    let shown = attache_answers::scopes::cut(findings.len(), most);
    html! {
        section.rule aria-labelledby=(id) {
            div.section-head {
                h2 #(id) {
                    @if let Some(first) = findings.first() { (severity(first.severity)) " " }
                    (sentence(rule.map_or(id, |rule| rule.title)))
                }
                p.dim { (counted(findings.len(), "finding")) }
            }
            ul.findings { @for it in &findings[..shown] { (finding_of_rule(it)) } }
            @if shown < findings.len() { p { a href=(with_query("/problems", &[("rule", id)])) { "All " (counted(findings.len(), "finding")) } } }
            @if let Some(rule) = rule { details { summary { "What this means" } (explanation(rule.explanation)) } }
        }
    }
}

/// The page of a rule: paragraphs and examples.
fn explanation(markdown: &str) -> Markup {
    html! {
        div.explanation {
            @for (i, part) in markdown.split("```").enumerate() {
                @if i % 2 == 1 {
                    pre tabindex="0" { code { (part.split_once('\n').map_or(part, |(_, code)| code)) } }
                } @else {
                    @for paragraph in part.split("\n\n").map(str::trim).filter(|text| !text.is_empty() && !text.starts_with("# ")) {
                        p { (message(paragraph.trim_start_matches('#').trim())) }
                    }
                }
            }
        }
    }
}
