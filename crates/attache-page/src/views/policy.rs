//! One policy: what it affects, which of its rules are in force, and what overrides them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use attache_answers::describe::{BlockDocument, DescribeQuery, Description, PolicyDescription, describe};
use attache_answers::reach::{NodeCount, ReachPartDocument, RuleReach, rule_reaches};
use attache_answers::spec_lines;
use attache_answers::status::ConditionDocument;
use attache_engine::{BlockKind, ObjectRef, Path, plural};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::address::{self, with_query};
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{
    Frame, Tab, command, counted, finding, grouped, loss, message, more, node_list, noun, policy_list, qualified_name,
    status_badge, total,
};

/// The number of names, rules, lines of a block, parts, namespaces and affected objects that are shown.
const NAMES: usize = 8;
const RULES: usize = 40;
const LINES: usize = 400;
const PARTS: usize = 30;
const NAMESPACES: usize = 20;
const AFFECTED: usize = 100;

/// The view.
pub fn policy(ask: &Ask, name: &[String]) -> Result<Answer, Unanswered> {
    let query = DescribeQuery { object: ask.object(name)?, namespace: None };
    let it = match describe(&ask.state.snapshot, &query)? {
        Description::Object(it) => return Ok(Answer::Elsewhere(address::object(&it.about.object))),
        Description::Policy(it) => it,
    };
    let name = it.about.object.to_string();
    let main = html! {
        (title(&it))
        (numbers(&it))
        @if !it.refusals.is_empty() { (refusals(&it)) }
        @if !it.problems.is_empty() {
            section aria-labelledby="problems" {
                h2 #problems { (counted(it.problems.len(), "problem")) }
                ul.findings { @for problem in it.problems.iter().take(NAMES) { (finding(problem)) } }
                (more(it.problems.len().saturating_sub(NAMES)))
            }
        }
        (by_namespace(&it))
        (rules(&it))
        (blocks(&it))
        @if !it.conditions.is_empty() {
            section aria-labelledby="status" { h2 #status { "Status" } (condition_table(&it.conditions)) }
        }
        (command(ask, &["describe", &name]))
    };
    Ok(Answer::Page(StatusCode::OK, Frame::new(name.clone()).tab(Tab::Policies).render(ask, main)))
}

fn title(it: &PolicyDescription) -> Markup {
    let about = &it.about;
    let place = about.file.as_ref().map(|file| about.line.map_or(file.clone(), |line| format!("{file}:{line}")));
    let name = about.object.to_string();
    html! {
        header.title {
            p.eyebrow { (it.policy_kind) }
            h1 { (qualified_name(&about.object)) " " (status_badge(it.reach.status.word())) }
            p.details {
                "on "
                @if it.attached.is_empty() { "nothing" } @else { (node_list(&it.attached, NAMES)) }
                @if let Some(created) = &about.created { " · created " (created) }
                @if let Some(change) = &about.last_changed { " · last changed by " (change.manager) " at " (change.time) }
                @for manager in &about.managed_by { " · managed by " (manager) }
                @if let Some(place) = place { " · " code { (place) } }
            }
            p.actions {
                a.button href=(with_query("/plan", &[("delete", &name)])) { "What if it were deleted?" }
                " "
                a.button.quiet href=(with_query("/plan", &[("edit", &name)])) { "What if it were edited?" }
            }
        }
    }
}

fn numbers(it: &PolicyDescription) -> Markup {
    let status = &it.reach.status;
    html! {
        section.totals aria-label="Totals" {
            @if let Some(targets) = &status.effective_targets {
                (total(targets.in_force, &format!("of {} in force", counted(targets.total, targets.kind.as_deref().unwrap_or("place"))), "good"))
            }
            @if let Some(rules) = &status.rules {
                (total(rules.in_force, &format!("of {} in force everywhere", counted(rules.total, "policy rule")), "plain"))
            }
            @if !it.reach.affected_counts.is_empty() {
                span.divider {}
                @for NodeCount { kind, count } in &it.reach.affected_counts {
                    (total(*count, &noun(*count, kind), "plain"))
                }
            }
            @if !status.by.is_empty() { p.by { "overridden, in whole or in part, by " (policy_list(&status.by, NAMES)) } }
        }
    }
}

fn refusals(it: &PolicyDescription) -> Markup {
    html! {
        section aria-labelledby="refused" {
            h2 #refused { "Not accepted" }
            ul.findings {
                @for refusal in &it.refusals {
                    li.finding {
                        p { span.severity.error { (refusal.reason.name()) } " " @if let Some(target) = &refusal.target { bdi { (target) } ": " } (message(&refusal.message)) }
                    }
                }
            }
        }
    }
}

/// The rules, each with how far it is in force; then the places, each with its rules.
fn rules(it: &PolicyDescription) -> Markup {
    let shown = attache_answers::scopes::cut(it.parts.len(), PARTS);
    html! {
        section aria-labelledby="rules" {
            h2 #rules { "Which rules are in force where" }
            @if it.parts.is_empty() { p.empty { "It has no effect: nothing below its target receives traffic." } }
            @if it.parts.len() > 1 { (rule_table(&rule_reaches(&it.parts))) }
            @for part in &it.parts[..shown] { (part_rules(part)) }
            (more(it.parts.len() - shown))
        }
    }
}

fn rule_table(rules: &[RuleReach]) -> Markup {
    let shown = attache_answers::scopes::cut(rules.len(), RULES);
    html! {
        table.list.stacks {
            thead { tr { th scope="col" { "Rule" } th.number scope="col" { "Places in force" } th scope="col" { "Why not everywhere" } } }
            tbody {
                @for rule in &rules[..shown] {
                    tr {
                        th scope="row" { code { (rule_name(&rule.path)) } }
                        td.number data-label="Places in force" { (grouped(rule.in_force)) span.dim { " of " (grouped(rule.total)) } }
                        td { @for (i, lost) in rule.lost.iter().take(NAMES).enumerate() { @if i > 0 { ", " } (loss(&lost.sentence())) } (more(rule.lost.len().saturating_sub(NAMES))) }
                    }
                }
            }
        }
        (more(rules.len() - shown))
    }
}

fn rule_name(path: &Path) -> String {
    if path.is_empty() { "all of it".to_owned() } else { path.to_string() }
}

fn part_rules(part: &ReachPartDocument) -> Markup {
    html! {
        article.answer {
            header {
                p.places {
                    strong { (counted(part.targets.len(), "place")) } ": "
                    @if part.ways.is_empty() || !part.whole_targets.is_empty() { (node_list(if part.ways.is_empty() { &part.targets } else { &part.whole_targets }, NAMES)) }
                    @for way in part.ways.iter().take(NAMES) { " " bdi { (way) } }
                    (more(part.ways.len().saturating_sub(NAMES)))
                }
            }
            table.computed {
                tbody {
                    @for path in part.in_force.iter().take(RULES) { tr { td.line { span.mark.good { "●" } code { (rule_name(path)) } } td.origin { "in force" } } }
                    @for lost in part.lost.iter().take(RULES) {
                        tr.lost { td.line { span.mark { "✗" } del { code { (rule_name(&lost.path)) } } } td.origin { span.why { (loss(&lost.sentence())) } } }
                    }
                }
            }
            (more(part.in_force.len().saturating_sub(RULES) + part.lost.len().saturating_sub(RULES)))
        }
    }
}

/// The affected objects in numbers: a row for each namespace, those with the most objects first, and a column for each
/// kind.
fn by_namespace(it: &PolicyDescription) -> Markup {
    let mut namespaces: BTreeMap<&str, HashMap<String, usize>> = BTreeMap::new();
    for affected in &it.affected {
        let ObjectRef { group, kind, namespace, name, .. } = &affected.object;
        let is_namespace = group.is_empty() && kind == "Namespace";
        let kinds = namespaces.entry(if is_namespace { name } else { namespace }).or_default();
        *kinds.entry(attache_answers::topology::kind_of(affected)).or_default() += 1;
    }
    let mut namespaces: Vec<(&str, HashMap<String, usize>)> = namespaces.into_iter().collect();
    namespaces.sort_by_key(|(_, counts)| Reverse(counts.values().sum::<usize>()));
    let kinds = &it.reach.affected_counts;
    let shown = attache_answers::scopes::cut(namespaces.len(), NAMESPACES);
    html! {
        @if !namespaces.is_empty() {
            section aria-labelledby="namespaces" {
                h2 #namespaces { "What it affects, by namespace" }
                div.scroll tabindex="0" role="region" aria-label="Affected objects" {
                    table.list.stacks {
                        thead { tr { th scope="col" { "Namespace" } @for NodeCount { kind, .. } in kinds { th.number scope="col" { (plural(kind)) } } } }
                        tbody {
                            @for (namespace, counts) in &namespaces[..shown] {
                                tr {
                                    th scope="row" { @if namespace.is_empty() { span.dim { "cluster-scoped" } } @else { a href=(with_query("/", &[("namespace", namespace)])) { bdi { (namespace) } } } }
                                    @for NodeCount { kind, .. } in kinds {
                                        td.number data-label=(plural(kind)) { @if let Some(count) = counts.get(kind) { (grouped(*count)) } }
                                    }
                                }
                            }
                        }
                    }
                }
                (more(namespaces.len() - shown))
                details { summary { "Their names" } p { (node_list(&it.affected, AFFECTED)) } }
            }
        }
    }
}

fn blocks(it: &PolicyDescription) -> Markup {
    html! {
        section aria-labelledby="says" {
            h2 #says { "Spec" }
            p.dim { (it.kind_summary) "." }
            @for BlockDocument { block, strategy, when, removes, spec } in &it.blocks {
                article.answer {
                    header {
                        h3 { @if *block == BlockKind::Bare { "rules" } @else { (block.name()) } }
                        p.details { "strategy " (strategy) @if let Some(when) = when { " · when " code { (when) } } @if !removes.is_empty() { " · removes " (removes.join(", ")) } }
                    }
                    @let lines = spec_lines(spec);
                    pre tabindex="0" { code { @for line in lines.iter().take(LINES) { (line.text) "\n" } } }
                    @if lines.len() > LINES { p { (more(lines.len() - LINES)) " lines" } }
                }
            }
            @if it.blocks.is_empty() { p.empty { "It has no rules." } }
        }
    }
}

/// Kubernetes conditions.
pub fn condition_table(conditions: &[ConditionDocument]) -> Markup {
    html! {
        table.list.stacks {
            thead { tr { th scope="col" { "Condition" } th scope="col" { "Status" } th scope="col" { "Reason" } th scope="col" { "Message" } } }
            tbody {
                @for it in conditions {
                    tr { th scope="row" { (it.r#type) } td { span.badge.(if it.status == "True" { "good" } else { "bad" }) { (it.status) } } td { (it.reason) } td { (message(&it.message)) } }
                }
            }
        }
    }
}
