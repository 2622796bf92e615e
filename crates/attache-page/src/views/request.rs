//! One request: its path through listener, route, rule, filters and backends, and the policies on it.

use attache_answers::effective::{EffectiveGroup, MergedField};
use attache_answers::request::{
    BackendDocument, FiltersDocument, NotChosenDocument, Receiver, RequestDocument, RequestQuery, request,
};
use attache_engine::request::{ExtensionEffect, Request, RequestOutcome};
use attache_engine::{Level, NodeRef, ObjectRef, Problem};
use axum::http::StatusCode;
use maud::{Markup, html};

use crate::ask::{Answer, Ask, Unanswered};
use crate::html::{Frame, Tab, command, computed, grouped, input_problem, lost_values, message, more, node, policy};

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// The number of targets, and of candidates that were not chosen, that are named.
const NAMES: usize = 8;
const OTHERS: usize = 60;

/// The view.
pub fn request_view(ask: &Ask) -> Result<Answer, Unanswered> {
    let is_asked = ask.parameters.get("url").is_some();
    let answer = is_asked.then(|| request_document(ask));
    let (status, result) = match &answer {
        None => (
            StatusCode::OK,
            html! { p.empty { "Give a URL to see which gateway, listener, route, rule and backend serve it. Nothing is sent." } },
        ),
        Some(Err(problem)) => (StatusCode::BAD_REQUEST, html! { section { (input_problem(ask, problem)) } }),
        Some(Ok(document)) => (StatusCode::OK, request_path(document)),
    };
    let words = command_words(ask);
    let main = html! {
        h1 { "Request" }
        (form(ask))
        (result)
        (command(ask, &words.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    let title = ask.parameters.get("url").map_or("Request".to_owned(), |url| format!("{} {url}", method(ask)));
    Ok(Answer::Page(status, Frame::new(title).tab(Tab::Request).render(ask, main)))
}

fn method(ask: &Ask) -> &str {
    ask.parameters.get("method").unwrap_or("GET")
}

/// The trace of the request that the parameters describe.
pub fn request_document(ask: &Ask) -> Result<RequestDocument, Problem> {
    let mut asked = Request::parse(method(ask), ask.parameters.get("url").unwrap_or_default())?;
    let headers = ask.parameters.all("header").flat_map(str::lines).map(str::trim);
    for header in headers.filter(|line| !line.is_empty()) {
        asked.add_header(header)?;
    }
    asked.grpc = ask.parameters.has("grpc");
    asked.from = ask.parameters.get("from").map(str::to_owned);
    let receiver = match (ask.parameters.get("service"), ask.parameters.get("gateway")) {
        (Some(service), _) => Receiver::Service(service.to_owned()),
        (None, Some(gateway)) => Receiver::Gateway(gateway.to_owned()),
        (None, None) => Receiver::Any,
    };
    let query = RequestQuery { request: asked, receiver, namespace: None, why: true, names: NAMES };
    Ok(request(&ask.state.snapshot, &query)?)
}

fn command_words(ask: &Ask) -> Vec<String> {
    let mut words = vec!["request".to_owned(), method(ask).to_owned()];
    words.push(ask.parameters.get("url").unwrap_or("URL").to_owned());
    for header in ask.parameters.all("header").flat_map(str::lines).filter(|line| !line.trim().is_empty()) {
        words.extend(["-H".to_owned(), header.trim().to_owned()]);
    }
    for (option, name) in [("--gateway", "gateway"), ("--service", "service"), ("--from-namespace", "from")] {
        words.extend(ask.parameters.get(name).into_iter().flat_map(|value| [option.to_owned(), value.to_owned()]));
    }
    words.extend(ask.parameters.has("grpc").then(|| "--grpc".to_owned()));
    words.push("--why".to_owned());
    words
}

fn form(ask: &Ask) -> Markup {
    let value = |name: &str| ask.parameters.get(name).unwrap_or_default().to_owned();
    let gateways = gateways(ask);
    let has_more =
        ["header", "from", "gateway", "grpc", "service"].into_iter().any(|name| ask.parameters.get(name).is_some());
    html! {
        form.ask action="/request" method="get" {
            div.line {
                label { span { "Method" } select name="method" { @for it in METHODS { option selected[it == method(ask)] { (it) } } } }
                label.grow { span { "URL" } input type="text" name="url" value=(value("url")) placeholder="https://shop.example/orders" required spellcheck="false" autocomplete="off"; }
                button type="submit" { "Follow" }
            }
            details open[has_more] {
                summary { "Headers, gateway, client" }
                div.line {
                    label.grow { span { "Headers, one on each line" } textarea name="header" rows="3" placeholder="X-Beta: yes" spellcheck="false" { (ask.parameters.all("header").collect::<Vec<_>>().join("\n")) } }
                    label { span { "Gateway" } select name="gateway" { option value="" { "any" } @for it in &gateways { option value=(it) selected[*it == value("gateway")] { (it) } } } }
                    label { span { "Service of the mesh" } input type="text" name="service" value=(value("service")) placeholder="namespace/name"; }
                    label { span { "From namespace" } input type="text" name="from" value=(value("from")) placeholder="any"; }
                    label.check { input type="checkbox" name="grpc" value="yes" checked[ask.parameters.has("grpc")]; span { "gRPC" } }
                }
            }
        }
    }
}

/// All gateways, as `namespace/name`.
fn gateways(ask: &Ask) -> Vec<String> {
    let (topology, objects) = (ask.state.snapshot.engine.topology(), ask.state.snapshot.engine.objects());
    let nodes = topology.nodes().filter(|(_, node)| node.level == Level::Gateway);
    let mut names: Vec<String> =
        nodes.map(|(id, _)| topology.id(objects, id)).map(|id| format!("{}/{}", id.namespace, id.name)).collect();
    names.sort();
    names
}

/// The path of a request, step by step.
fn request_path(it: &RequestDocument) -> Markup {
    let is_served = it.outcome.is_served();
    html! {
        section.way aria-labelledby="outcome" {
            h2 #outcome {
                span.badge.(if is_served { "good" } else { "bad" }) { (it.status.map_or_else(|| it.outcome.name().to_owned(), |status| status.to_string())) }
                " " (outcome_text(it))
            }
            @if let Some(reason) = &it.reason { p.notice.(if it.outcome == RequestOutcome::Unknown { "warning" } else { "bad" }) { (message(reason)) } }
            ol.steps {
                @if let Some(gateway) = &it.gateway { (step("Gateway", html! { (node(gateway)) }, "")) }
                @if let Some((listener, listens)) = &it.listens { (step("Listener", node(listener), listens)) }
                @if let Some(service) = &it.service { (step("Service", node(service), &it.from.as_ref().map(|from| format!("called from namespace {from}")).unwrap_or_default())) }
                @for (at, rule) in it.rules.iter().enumerate() {
                    (step(if at + 1 < it.rules.len() { "By way of" } else { "Route" }, node(&rule.route), &if at == 0 && !it.hostname.is_empty() { format!("for {}", it.hostname) } else { String::new() }))
                    (step("Rule", node(&rule.rule), &rule.matched))
                }
                (filters(&it.filters))
                @for overridden in &it.overridden { (step("Overridden", html! { code { (overridden.path) } " does not count: " (policy(&overridden.by)) " overrides it" }, "")) }
                (backends(&it.backends))
            }
            @if it.outcome != RequestOutcome::Unknown { @for sentence in &it.unknown { p.notice.warning { strong { "Unknown: " } (message(sentence)) } } }
        }
        section aria-labelledby="policies" {
            h2 #policies { "Policies on this path" }
            @if it.groups.is_empty() { p.empty { "No policy applies to this request." } }
            @for group in &it.groups { (group_answer(group, it)) }
        }
        (others(it.why.as_deref().unwrap_or_default(), is_served))
    }
}

fn outcome_text(it: &RequestDocument) -> String {
    let serving: Vec<&BackendDocument> = it.backends.iter().filter(|backend| backend.serves).collect();
    match it.outcome {
        RequestOutcome::Backend => match serving.as_slice() {
            [only] => format!("from {}{}", only.backend, port(only.port)),
            several => format!("from one of {} backends", several.len()),
        },
        RequestOutcome::Redirect => {
            it.filters.redirect.as_ref().map(|to| format!("redirect to {}", to.location)).unwrap_or_default()
        }
        RequestOutcome::Preflight => "from the gateway itself, which answers the CORS preflight".to_owned(),
        RequestOutcome::DirectResponse => "from the gateway itself, because of a filter".to_owned(),
        RequestOutcome::NotFound => "no rule matches".to_owned(),
        RequestOutcome::InvalidBackend => "a rule matches, but it has no usable backend".to_owned(),
        RequestOutcome::NoListener => "no listener accepts it".to_owned(),
        RequestOutcome::Unknown => "depends on a filter of an unknown kind".to_owned(),
    }
}

fn step(what: &str, name: Markup, detail: &str) -> Markup {
    html! { li { span.what { (what) } div { (name) @if !detail.is_empty() { " " span.dim { (detail) } } } } }
}

fn filters(it: &FiltersDocument) -> Markup {
    html! {
        @for header in &it.request_headers { (step("Header", html! { code { (header.change.to_lowercase()) " " (header.name) @if let Some(value) = &header.value { ": " (value) } } }, &header.result.as_ref().map(|value| format!("becomes {value}")).unwrap_or_default())) }
        @for header in &it.response_headers { (step("Header", html! { code { (header.change.to_lowercase()) " " (header.name) @if let Some(value) = &header.value { ": " (value) } } }, "of the response")) }
        @if let Some(rewrite) = &it.rewrite {
            @for (word, value) in [("host", &rewrite.host), ("path", &rewrite.path)] { @if let Some(value) = value { (step("Rewrite", html! { (word) " " code { (value) } }, "")) } }
        }
        @for mirror in &it.mirrors { (step("Mirror", with_port(&mirror.backend, mirror.port), &format!("{}% of requests", mirror.percent))) }
        @if let Some(cors) = &it.cors { (step("CORS", html! { @match &cors.origin { Some(origin) => { "origin " code { (origin) } }, None => "the origin is not allowed" } }, "")) }
        @for filter in &it.extensions {
            @let effect = match &filter.effect {
                ExtensionEffect::Answer(status) => format!("answers with {status}"),
                ExtensionEffect::Missing => "does not exist".to_owned(),
                ExtensionEffect::Unknown => "its effect is unknown".to_owned(),
                ExtensionEffect::NotEvaluated(fields) => fields.join(", "),
                ExtensionEffect::Policy => "a policy".to_owned(),
            };
            (step("Filter", html! { bdi { (filter.name) } }, &effect))
        }
    }
}

fn backends(backends: &[BackendDocument]) -> Markup {
    let all: u64 = backends.iter().map(|backend| backend.weight).sum();
    let share = |weight: u64| if all == 0 { 0.0 } else { (weight as f64 * 1000.0 / all as f64).round() / 10.0 };
    html! {
        @for it in backends {
            li.backend {
                span.what { "Backend" }
                div {
                    (with_port(&it.backend, it.port)) " "
                    meter min="0" max="100" value=(share(it.weight)) aria-label="share of requests" {}
                    " " span.number { (share(it.weight)) "%" }
                    @if let Some(invalid) = &it.invalid { p.bad { "these fail: " (invalid.reason) ": " (message(&invalid.message)) } }
                    ol.steps { (filters(&it.filters)) }
                }
            }
        }
    }
}

/// `:8080`, or nothing.
fn port(port: Option<i64>) -> String {
    port.map(|port| format!(":{port}")).unwrap_or_default()
}

fn with_port(backend: &ObjectRef, number: Option<i64>) -> Markup {
    html! { (node(&NodeRef::from(backend))) (port(number)) }
}

fn group_answer(group: &EffectiveGroup, it: &RequestDocument) -> Markup {
    let route: Option<&ObjectRef> = it.route.as_ref().map(|route| &route.object);
    let nobody = ObjectRef::new("", "", "", "");
    let about = route.unwrap_or(&nobody);
    let effective = &group.effective;
    html! {
        article.answer {
            header { h3 { (group.policy_kind.kind) @if !group.policy_kind.group.is_empty() { span.dim { "." (group.policy_kind.group) } } } }
            @for MergedField { object, path, value, origins, .. } in &group.objects {
                p { (node(&NodeRef::from(object))) " behaves as if its " code { (path) } " were" }
                (computed(value, origins, about, true))
            }
            @if group.objects.is_empty() {
                @if let Some(spec) = &effective.spec { (computed(spec, &effective.origins, about, false)) }
                @for applied in effective.policies.iter().flatten() { p { (policy(&applied.policy)) " on " (node(&applied.target)) } (computed(&applied.spec, &[], about, false)) }
                @if effective.is_nothing() { p.empty { "Nothing is in force." } }
                (lost_values(&effective.superseded))
            }
        }
    }
}

/// Why others did not match: rules first, which came nearest. Open if nothing serves the request.
fn others(others: &[NotChosenDocument], is_served: bool) -> Markup {
    let mut sorted: Vec<&NotChosenDocument> = others.iter().collect();
    sorted.sort_by_key(|other| match (other.node.object_level(), other.node.section.is_some()) {
        (Level::Route, true) => 0,
        (Level::Route, false) => 1,
        _ => 2,
    });
    html! {
        @if !sorted.is_empty() {
            section {
                details open[!is_served] {
                    summary { "Why not the others (" (grouped(sorted.len())) ")" }
                    table.list {
                        thead { tr { th scope="col" { "Not chosen" } th scope="col" { "Because" } } }
                        tbody { @for other in sorted.iter().take(OTHERS) { tr { th scope="row" { (node(&other.node)) } td { (message(&other.reason)) } } } }
                    }
                    (more(sorted.len().saturating_sub(OTHERS)))
                }
            }
        }
    }
}
