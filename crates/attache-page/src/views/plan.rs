//! The effects of a change: an edited object, new objects, or a deleted object.

use std::sync::Arc;

use attache_answers::ObjectQuery;
use attache_answers::change::new_problems;
use attache_answers::plan::{Deletion, PlanDocument, PlanQuery, PlanSummary, PlannedFindings};
use attache_engine::text::{self, Reading, to_yaml};
use attache_engine::{Object, Problem, Value};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{
    Frame, Tab, change_groups, command, counted, finding, input_problem, more, node, noun, policy, problem_with_line,
    status_badge, total,
};

/// The file name of the edited YAML in messages.
const FILE: &str = "change.yaml";
const NAMES: usize = 20;

/// The change: the YAML, the objects to delete, and the resulting plan.
struct PlanRequest {
    yaml: String,
    delete: Vec<String>,
    outcome: Option<Result<Planned, Vec<Problem>>>,
}

struct Planned {
    summary: PlanSummary,
    problems: Vec<Problem>,
}

/// The view.
pub fn plan(ask: &Ask) -> Result<Answer, Unanswered> {
    let delete: Vec<String> = ask.parameters.all("delete").flat_map(str::split_whitespace).map(str::to_owned).collect();
    let yaml = match ask.parameters.get("edit") {
        Some(edited) if !ask.posted => yaml_of(ask, &edited.parse()?)?,
        _ => ask.parameters.get("apply").unwrap_or_default().to_owned(),
    };
    let is_asked = !delete.is_empty() || ask.posted && !yaml.trim().is_empty();
    let outcome = is_asked.then(|| outcome(ask, &yaml, &delete));
    let asked = PlanRequest { yaml, delete, outcome };
    let status = match &asked.outcome {
        Some(Err(_)) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    let main = html! {
        h1 { "Plan" }
        p.dim { "See the effects of a change before it is made. Nothing is applied." }
        (form(&asked))
        @match &asked.outcome {
            None => {}
            Some(Err(problems)) => (refused(&asked.yaml, problems)),
            Some(Ok(planned)) => (planned_changes(ask, planned)),
        }
        (command(ask, &command_words(&asked)))
    };
    let title = asked.delete.first().map_or("Plan".to_owned(), |object| format!("Plan: delete {object}"));
    Ok(Answer::Page(status, Frame::new(title).tab(Tab::Plan).render(ask, main)))
}

/// The plan that the parameters describe, for the API.
pub fn plan_document(ask: &Ask) -> Result<PlanDocument, Problem> {
    let delete: Vec<String> = ask.parameters.all("delete").map(str::to_owned).collect();
    let yaml = ask.parameters.get("apply").unwrap_or_default();
    let (query, _) = query(yaml, &delete).map_err(|problems| {
        problems.into_iter().next().unwrap_or_else(|| Problem::error("the change cannot be read"))
    })?;
    Ok(ask.page.plan(query)?)
}

fn outcome(ask: &Ask, yaml: &str, delete: &[String]) -> Result<Planned, Vec<Problem>> {
    let (query, problems) = query(yaml, delete)?;
    let (summary, report) = ask.page.plan_summary(query).map_err(|error| vec![Problem::from(error)])?;
    let problems = problems.into_iter().chain(new_problems(&report).into_iter().cloned()).collect();
    Ok(Planned { summary, problems })
}

/// The change, and warnings about it.
fn query(yaml: &str, delete: &[String]) -> Result<(PlanQuery, Vec<Problem>), Vec<Problem>> {
    let Reading { objects, problems } = text::read(&Arc::from(FILE), yaml);
    if problems.iter().any(Problem::is_error) {
        return Err(problems);
    }
    if !yaml.trim().is_empty() && objects.is_empty() {
        return Err(vec![Problem::error("there are no objects in the YAML")]);
    }
    let delete: Result<Vec<ObjectQuery>, _> = delete.iter().map(|object| object.parse()).collect();
    let delete = delete.map_err(|error| vec![Problem::from(error)])?;
    Ok((PlanQuery { apply: objects, delete, namespace: None }, problems))
}

/// An object as a user would write it: without the status, and without fields that the API server adds.
fn yaml_of(ask: &Ask, query: &ObjectQuery) -> Result<String, Unanswered> {
    let found = ask.state.snapshot.find(query, None)?;
    let objects = ask.state.snapshot.engine.objects();
    let object: Option<&Object> = objects.find(&found.object).map(|id| &objects[id]);
    let body = object.map(|object| ask.state.snapshot.shown_object(object));
    let Some(Value::Map(body)) = body else { return Ok(String::new()) };
    let mut body = body.without(|key| key == "status");
    if let Some(Value::Map(metadata)) = body.get("metadata") {
        let added = ["managedFields", "resourceVersion", "uid", "generation", "selfLink"];
        body = body.with("metadata", Value::Map(metadata.without(|key| added.contains(&key))));
    }
    Ok(to_yaml(&Value::Map(body)))
}

fn command_words(asked: &PlanRequest) -> Vec<&str> {
    let is_needed = asked.delete.is_empty() || !asked.yaml.trim().is_empty();
    let apply = is_needed.then_some(["--apply", FILE]);
    let delete = asked.delete.iter().flat_map(|object| ["--delete", object]);
    ["plan"].into_iter().chain(apply.into_iter().flatten()).chain(delete).collect()
}

fn form(asked: &PlanRequest) -> Markup {
    // The effects are not below the fold.
    let (least_rows, most_rows) = if asked.outcome.is_some() { (2, 14) } else { (6, 28) };
    html! {
        form.ask action="/plan" method="post" data-keep {
            label {
                span { "YAML to apply: objects that are new, or replace those of the same name" }
                textarea #yaml name="apply" rows=(asked.yaml.lines().count().clamp(least_rows, most_rows)) spellcheck="false" placeholder="Paste manifests here" { (asked.yaml) }
            }
            div.line {
                label.grow { span { "Objects to delete" } input type="text" name="delete" value=(asked.delete.join(" ")) placeholder="RetryPolicy/baker/be-patient" spellcheck="false" autocomplete="off"; }
                button type="submit" { "What would change?" }
                @if !asked.yaml.trim().is_empty() { button.quiet type="button" data-save="yaml" data-name=(FILE) hidden { "Save the YAML" } }
            }
        }
    }
}

/// Why there is no plan: each problem below its line.
fn refused(yaml: &str, problems: &[Problem]) -> Markup {
    let line = |problem: &Problem| {
        let location = problem.location.filter(|_| problem.file.as_deref() == Some(FILE))?;
        yaml.lines().nth((location.line as usize).checked_sub(1)?)
    };
    html! {
        section aria-labelledby="refused" {
            h2 #refused { "The change cannot be read" }
            @for problem in problems.iter().filter(|problem| problem.is_error()) { (problem_with_line(problem, line(problem))) }
        }
    }
}

fn planned_changes(ask: &Ask, planned: &Planned) -> Markup {
    let Planned { summary, problems } = planned;
    let touched = summary.touched;
    let PlannedFindings { new, fixed } = &summary.findings;
    html! {
        section.effects aria-labelledby="effects" {
            h2 #effects { "What would change" }
            div.totals {
                (total(touched.routes, &noun(touched.routes, "route"), "plain"))
                (total(touched.backends, &noun(touched.backends, "backend"), "plain"))
                (total(touched.namespaces, &noun(touched.namespaces, "namespace"), "plain"))
                (total(touched.scopes, &noun(touched.scopes, "scope"), "plain"))
                span.divider {}
                (total(new.len(), &noun(new.len(), "new problem"), "bad"))
                (total(fixed.len(), &noun(fixed.len(), "fixed problem"), "good"))
            }
        }
        @for problem in problems { (input_problem(ask, problem)) }
        (deleted(&summary.deleted))
        section aria-labelledby="changes" {
            h2 #changes { "In force, before and after" }
            @if summary.groups.is_empty() { p.empty { "No effective policy changes." } }
            (change_groups(&summary.groups))
        }
        @if !summary.policies.is_empty() {
            section aria-labelledby="statuses" {
                h2 #statuses { "Status of policies" }
                table.list.stacks {
                    thead { tr { th scope="col" { "Policy" } th scope="col" { "Before" } th scope="col" { "After" } } }
                    tbody {
                        @for it in summary.policies.iter().take(NAMES) {
                            tr {
                                th scope="row" { (policy(&it.policy)) }
                                td data-label="Before" { @match it.before { Some(word) => (status_badge(word)), None => span.dim { "new" } } }
                                td data-label="After" { @match it.after { Some(word) => (status_badge(word)), None => span.dim { "deleted" } } }
                            }
                        }
                    }
                }
                (more(summary.policies.len().saturating_sub(NAMES)))
            }
        }
        @for (title, id, findings) in [("New problems", "new", new), ("Fixed problems", "fixed", fixed)] {
            @if !findings.is_empty() {
                section aria-labelledby=(id) {
                    h2 #(id) { (title) }
                    ul.findings { @for it in findings.iter().take(NAMES) { (finding(it)) } }
                    (more(findings.len().saturating_sub(NAMES)))
                }
            }
        }
    }
}

fn deleted(deletions: &[Deletion]) -> Markup {
    html! {
        @for deletion in deletions.iter().filter(|it| !it.with.is_empty()) {
            p.notice.warning {
                "With " (node(&(&deletion.object).into())) " the cluster deletes " strong { (counted(deletion.with.len(), "object")) } "."
            }
        }
    }
}
