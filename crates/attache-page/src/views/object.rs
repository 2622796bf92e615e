//! One object: its position, its effective policies, and the reasons.

use std::collections::HashMap;

use attache_answers::ObjectQuery;
use attache_answers::describe::{DescribeQuery, Description, ObjectDescription, PolicyEffect, describe};
use attache_answers::effective::NothingInForce;
use attache_answers::explain::{ExplainQuery, ExplainedGroup, Explanation, NothingToExplain, explain};
use attache_answers::lineage::{Lineage, LineageNode, LineageQuery, LineageStep, Position, lineage};
use attache_answers::samples::{RequestSample, SamplesQuery, samples};
use attache_answers::scopes::TargetOrPath;
use attache_engine::{NodeRef, ObjectRef, Path, plural};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::address::{self, with_query};
use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{
    Frame, MarginNote, candidates, command, computed, counted, finding, grouped, more, node, node_list, policy,
    qualified_name, section_node, short_node, written,
};

/// The number of nodes of a step of the path, and of targets of an answer, that are named.
const NAMES: usize = 8;
/// The number of answers that are shown.
const ANSWERS: usize = 40;

/// The view.
pub fn object(ask: &Ask, name: &[String]) -> Result<Answer, Unanswered> {
    let query = ask.object(name)?;
    let describe_query = DescribeQuery { object: query.clone(), namespace: None };
    let it = match describe(&ask.state.snapshot, &describe_query)? {
        Description::Policy(it) => return Ok(Answer::Elsewhere(address::policy(&it.about.object.object))),
        Description::Object(it) => it,
    };
    let path = lineage(&ask.state.snapshot, &LineageQuery { object: query.clone(), namespace: None, names: NAMES })?;
    let explanation = explain(
        &ask.state.snapshot,
        &ExplainQuery {
            object: query,
            field: None,
            kind: ask.parameters.get("kind").map(str::to_owned),
            namespace: None,
            steps: false,
            names: NAMES,
        },
    )?;
    let object = &it.about.object;
    let samples_query = SamplesQuery { object: ObjectQuery::exactly(object), namespace: None, most: NAMES };
    let samples = samples(&ask.state.snapshot, &samples_query)?.items;
    let main = html! {
        (title(&it))
        (lineage_path(&path, &it))
        @if !it.problems.is_empty() {
            section aria-labelledby="problems" {
                h2 #problems { (counted(it.problems.len(), "problem")) }
                ul.findings { @for problem in it.problems.iter().take(NAMES) { (finding(problem)) } }
                (more(it.problems.len().saturating_sub(NAMES)))
            }
        }
        (effective(ask, &it, &explanation))
        (requests(&samples))
        (conditions(&it))
        (yaml(ask, object, &it, &explanation))
        (command(ask, &command_words(ask, &object.to_string())))
    };
    Ok(Answer::Page(StatusCode::OK, Frame::new(object.to_string()).render(ask, main)))
}

fn command_words<'w>(ask: &'w Ask, name: &'w str) -> Vec<&'w str> {
    let word = if shows_styles(ask) { "explain" } else { "describe" };
    let kind = ask.parameters.get("kind").filter(|_| shows_styles(ask)).map(|kind| ["--kind", kind]);
    [word, name].into_iter().chain(kind.into_iter().flatten()).collect()
}

fn shows_styles(ask: &Ask) -> bool {
    ask.parameters.get("show") == Some("styles")
}

fn title(it: &ObjectDescription) -> Markup {
    let about = &it.about;
    let place = about.file.as_ref().map(|file| about.line.map_or(file.clone(), |line| format!("{file}:{line}")));
    html! {
        header.title {
            p.eyebrow { (attache_answers::topology::kind_of(&about.object)) }
            h1 { (qualified_name(&about.object)) }
            p.details {
                @if about.is_virtual { "has no manifest, exists because other objects refer to it · " }
                @if let Some(created) = &about.created { "created " (created) " · " }
                @if let Some(change) = &about.last_changed { "last changed by " (change.manager) " at " (change.time) " · " }
                @for manager in &about.managed_by { "managed by " (manager) " · " }
                @if let Some(place) = place { code { (place) } " · " }
                a href=(with_query("/topology", &[("object", &about.object.to_string())])) { "show in the topology" }
            }
            @if !it.live { p.notice.warning { strong { "No request arrives here. " } "It is not attached to anything that receives requests." } }
        }
    }
}

/// class › gateway › listener › namespace › route › rule › backend.
fn lineage_path(path: &Lineage, it: &ObjectDescription) -> Markup {
    let all = it.attached.iter().chain(&it.inherited).chain(&it.lower);
    let effects: HashMap<&ObjectRef, &PolicyEffect> = all.map(|effect| (&effect.policy, effect)).collect();
    html! {
        nav.lineage aria-label="Ancestors and descendants" {
            ol { @for step in &path.steps { (lineage_step(step, &effects)) } }
        }
    }
}

fn lineage_step(step: &LineageStep, effects: &HashMap<&ObjectRef, &PolicyEffect>) -> Markup {
    let class = match step.position {
        Position::Above => "above",
        Position::Here => "here",
        Position::Below => "below",
    };
    let what =
        if step.count == 1 { step.kind.clone() } else { format!("{} {}", grouped(step.count), plural(&step.kind)) };
    html! {
        li.(class) aria-current=[(step.position == Position::Here).then_some("location")] {
            span.what { (what) }
            // If there is only one section, the step before names its object.
            @let is_only_section = step.count == 1 && step.position != Position::Here;
            @for it in &step.nodes { (lineage_node(it, is_only_section, effects)) }
            (more(step.count - step.nodes.len()))
        }
    }
}

fn lineage_node(it: &LineageNode, is_only_section: bool, effects: &HashMap<&ObjectRef, &PolicyEffect>) -> Markup {
    html! {
        div.node {
            @if is_only_section && it.node.section.is_some() { (section_node(&it.node)) } @else { (short_node(&it.node)) }
            @for attached in it.policies.iter().take(NAMES) { (attached_policy(attached, effects.get(attached).copied())) }
            (more(it.policies.len().saturating_sub(NAMES)))
        }
    }
}

/// A policy on a step, with its effect on the object.
fn attached_policy(attached: &ObjectRef, effect: Option<&PolicyEffect>) -> Markup {
    let (mark, word) = match effect {
        Some(it) if it.in_force && !it.is_overridden && !it.is_inactive => ("●", "in force"),
        Some(it) if it.in_force => ("◐", "partly in force"),
        Some(it) if it.is_overridden => ("✗", "overridden"),
        Some(it) if !it.not_handled_by.is_empty() => ("○", "not handled by the controller of the Gateway"),
        Some(it) if !it.invalid_with.is_empty() => ("○", "invalid together with other policies"),
        Some(it) if it.is_inactive => ("○", "its condition does not hold"),
        _ => ("○", "no effect here"),
    };
    html! { span.attached { span.state title=(word) role="img" aria-label=(word) { (mark) } " " (policy(attached)) } }
}

fn effective(ask: &Ask, it: &ObjectDescription, explanation: &Explanation) -> Markup {
    let styles = shows_styles(ask);
    let here = address::object(&it.about.object);
    let kind = ask.parameters.get("kind").unwrap_or_default();
    let shown = attache_answers::scopes::cut(explanation.items.len(), ANSWERS);
    html! {
        section.effective aria-labelledby="effective" {
            div.section-head {
                h2 #effective { @if it.hands_down { "What objects below it inherit" } @else { "In force" } }
                @if !kind.is_empty() { p.dim { (kind) " only · " a href=(with_query(&here, &[("show", ask.parameters.get("show").unwrap_or_default())])) { "all kinds" } } }
                nav.tabs aria-label="How to show it" {
                    a href=(with_query(&here, &[("kind", kind)])) aria-current=[(!styles).then_some("true")] data-soft { "Computed" }
                    a href=(with_query(&here, &[("kind", kind), ("show", "styles")])) aria-current=[styles.then_some("true")] data-soft { "Styles" }
                }
            }
            @if it.hands_down { p.dim { "For everything below it. Policies there can change defaults, but not overrides." } }
            @if explanation.items.is_empty() {
                p.empty {
                    "No policy is in force here"
                    @match &explanation.nothing {
                        Some(NothingToExplain::NothingInForce(NothingInForce::OnRoutes { routes })) => { ", but on routes that lead to it: " (node_list(routes, NAMES)) "." }
                        Some(NothingToExplain::NothingInForce(NothingInForce::NoneReaches { policies })) => { ". None of the " (counted(*policies, "policy")) " reaches it." }
                        _ => "."
                    }
                }
            }
            @let styles_address = with_query(&here, &[("kind", kind), ("show", "styles")]);
            @for item in &explanation.items[..shown] { (answer(item, &it.about.object.object, (!styles).then_some(&styles_address))) }
            (more(explanation.items.len() - shown))
        }
    }
}

/// The effective policy of some scopes: computed, with the address of the reasons, or the reasons.
fn answer(item: &ExplainedGroup, about: &ObjectRef, styles_address: Option<&String>) -> Markup {
    let lost: usize = item.candidates.iter().map(|candidate| candidate.lost.len()).sum();
    html! {
        article.answer data-key={ (item.policy_kind.to_string()) " " (item.extent.places.first().map(ToString::to_string).unwrap_or_default()) } {
            header {
                h3 { (item.policy_kind.kind) @if !item.policy_kind.group.is_empty() { span.dim { "." (item.policy_kind.group) } } }
                p.places { "on " (places(item)) }
            }
            @if let Some(styles_address) = styles_address {
                @if let Some(merged) = &item.merged {
                    p { (node(&NodeRef::from(&merged.object))) " behaves as if its " code { (item.merges_into.as_ref().map(ToString::to_string).unwrap_or_default()) } " were" }
                }
                @if let Some(value) = &item.value { (computed(value, &item.origins, about, item.merged.is_some())) }
                @for applied in &item.applied { p { (policy(applied)) " applies" } }
                @if item.value.is_none() && item.applied.is_empty() { p.empty { "Nothing is in force." } }
                @if lost > 0 { p.dim { (counted(lost, "value")) (if lost == 1 { " is" } else { " are" }) " not in force: " a href=(styles_address) data-soft { "see why" } } }
            } @else {
                (candidates(&item.candidates, about))
            }
        }
    }
}

fn places(item: &ExplainedGroup) -> Markup {
    let extent = &item.extent;
    html! {
        @if extent.target_count > 1 {
            strong { (grouped(extent.target_count)) " " (extent.target_kind.as_ref().map_or("places".to_owned(), |kind| plural(kind))) ": " }
        }
        @for (i, place) in extent.places.iter().enumerate() {
            @if i > 0 { ", " }
            @match place {
                TargetOrPath::Target(target) => (node(target)),
                TargetOrPath::Path(scope) => bdi { (scope.path()) },
            }
        }
        (more(extent.target_count - extent.shown))
        @if let Some(from) = &extent.from { ", for requests from " (node(from)) }
        @if !extent.reached { ", once requests reach it" }
    }
}

/// Sample requests that reach the object.
fn requests(samples: &[RequestSample]) -> Markup {
    html! {
        @if !samples.is_empty() {
            section aria-labelledby="requests" {
                h2 #requests { "Requests that reach it" }
                ul.plain { @for it in samples { li { a href=(request_address(it)) { code { (it.method) " " (it.url) } } @for header in &it.headers { " " code.dim { (header) } } } } }
            }
        }
    }
}

fn request_address(it: &RequestSample) -> String {
    let headers = it.headers.join("\n");
    let parameters = [("method", it.method.as_str()), ("url", &it.url), ("header", &headers), ("gateway", &it.gateway)];
    with_query("/request", &parameters)
}

fn conditions(it: &ObjectDescription) -> Markup {
    html! {
        @if !it.conditions.is_empty() {
            section aria-labelledby="status" {
                h2 #status { "Conditions that report policies" }
                (crate::views::policy::condition_table(&it.conditions))
            }
        }
    }
}

/// The object as written. Values of Secrets are dropped when they are read.
fn yaml(ask: &Ask, object: &NodeRef, it: &ObjectDescription, explanation: &Explanation) -> Markup {
    let objects = ask.state.snapshot.engine.objects();
    let found = objects.find(&object.object).map(|id| &objects[id]);
    html! {
        @if let Some(found) = found {
            section {
                details.yaml {
                    summary { "YAML" }
                    (written(found, &ask.state.snapshot.shown_object(found), &notes(ask, it, explanation)))
                    p {
                        a href=(with_query("/plan", &[("edit", &object.object.to_string())])) { "Edit it, and see what would change" }
                        " · "
                        a href=(with_query("/plan", &[("delete", &object.object.to_string())])) { "What if it were deleted?" }
                    }
                }
            }
        }
    }
}

/// The policies that are attached to the object or to a section of it, and those that set a field of it.
fn notes(ask: &Ask, it: &ObjectDescription, explanation: &Explanation) -> Vec<MarginNote> {
    let attached = it.attached.iter().map(|effect| MarginNote {
        path: section_path(ask, &effect.target).unwrap_or_else(|| Path::parse("metadata.name")),
        policy: effect.policy.clone(),
        sets_value: false,
    });
    let about = &it.about.object.object;
    let merged = explanation.items.iter().filter(|item| item.merged.as_ref().is_some_and(|own| own.object == *about));
    let set = merged.flat_map(|item| {
        let field = item.merges_into.clone().unwrap_or_default();
        item.origins.iter().map(move |origin| MarginNote {
            path: Path::new([field.segments(), origin.path.segments()].concat()),
            policy: origin.policy.clone(),
            sets_value: true,
        })
    });
    attached.chain(set).collect()
}

/// The path of a section in its object.
fn section_path(ask: &Ask, target: &NodeRef) -> Option<Path> {
    let engine = &ask.state.snapshot.engine;
    let (topology, objects) = (engine.topology(), engine.objects());
    let section = topology.section(topology.find(objects, &target.object)?, target.section.as_deref()?)?;
    let value = topology.section_value(objects, section)?;
    let spec = objects[objects.find(&target.object)?].body.get("spec")?;
    let mut items = spec.entries().iter().flat_map(|(key, list)| {
        list.items()
            .iter()
            .enumerate()
            .map(move |(at, item)| (Path::default().key("spec").key(key.clone()).index(at), item))
    });
    items.find(|(_, item)| std::ptr::eq(*item, value)).map(|(path, _)| path)
}
