//! How a request is served, as text.

use std::io::{self, Write};

use attache_answers::request::{
    BackendDocument, FiltersDocument, HeaderDocument, InvalidBackendDocument, NotChosenDocument,
    OverriddenRuleDocument, RequestDocument,
};
use attache_answers::scopes::cut;
use attache_engine::request::{ExtensionEffect, RequestOutcome};
use attache_engine::{Level, NodeRef, ObjectRef};

use super::effective::write_group;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, Painted, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, write_line};

/// At most `most` names and lost values are shown, and four times as many reasons, or one more.
pub fn write_request(it: &RequestDocument, most: usize, screen: &mut Screen) -> io::Result<()> {
    write_heading(it, screen)?;
    let mut table = Table::plain(2);
    if let Some(reason) = &it.reason {
        table.row([paint(DIM, "because").into(), paint(BAD, reason).into()]);
    }
    receiver_rows(it, &mut table);
    rule_rows(it, &mut table);
    filter_rows(&it.filters, "", &mut table);
    overridden_rows(&it.overridden, &mut table);
    backend_rows(&it.backends, &mut table);
    table.write(screen)?;
    // The reason of an unknown outcome is the same.
    if it.outcome != RequestOutcome::Unknown {
        write_unknown(&it.unknown, screen)?;
    }
    for group in &it.groups {
        writeln!(screen)?;
        write_group(group, most, screen)?;
    }
    if it.groups.is_empty() && it.outcome.is_served() {
        writeln!(screen, "\n{}", paint(DIM, "no policy applies to this request"))?;
    }
    match &it.why {
        Some(others) => write_not_chosen(others, most, screen),
        None if !it.outcome.is_served() => {
            writeln!(screen)?;
            write_line(paint(DIM, "add --why to see why other routes were not chosen"), screen)
        }
        None => Ok(()),
    }
}

/// The request, and the response.
fn write_heading(it: &RequestDocument, screen: &mut Screen) -> io::Result<()> {
    let style = if it.outcome.is_served() { GOOD } else { BAD };
    let without = match it.outcome {
        RequestOutcome::Unknown => "unknown",
        outcome if outcome.is_served() => "an answer",
        _ => "no answer",
    };
    let status = it.status.map_or_else(|| without.to_owned(), |status| status.to_string());
    let grpc = it.grpc_status.map(|status| format!(" {status}")).unwrap_or_default();
    let rest = match it.outcome {
        RequestOutcome::Redirect => match &it.filters.redirect {
            Some(redirect) => format!(" to {}", redirect.location),
            None => String::new(),
        },
        RequestOutcome::Preflight => " from the gateway itself, which answers the CORS preflight".to_owned(),
        RequestOutcome::DirectResponse => " from the gateway itself, because of a filter".to_owned(),
        RequestOutcome::NotFound
        | RequestOutcome::InvalidBackend
        | RequestOutcome::Unknown
        | RequestOutcome::NoListener => String::new(),
        RequestOutcome::Backend => {
            let serving: Vec<&BackendDocument> = it.backends.iter().filter(|backend| backend.serves).collect();
            match serving.as_slice() {
                [only] => format!(" from {}", address(&only.backend, only.port)),
                several => format!(" from one of {} backends", several.len()),
            }
        }
    };
    let mut heading = Table::plain(0);
    heading.row([[paint(HEAD, &it.request), paint(style, format!("  → {status}{grpc}")), paint(style, rest)].into()]);
    heading.write(screen)
}

fn receiver_rows(it: &RequestDocument, table: &mut Table) {
    if let Some(gateway) = &it.gateway {
        row(table, "gateway", node(gateway), "");
    }
    if let Some((listener, listens)) = &it.listens {
        row(table, "listener", node(listener), listens);
    }
    if let Some(service) = &it.service {
        let from = it.from.as_ref().map(|from| format!("called from namespace {from}"));
        row(table, "service", node(service), &from.unwrap_or_default());
    }
}

fn rule_rows(it: &RequestDocument, table: &mut Table) {
    for (at, rule) in it.rules.iter().enumerate() {
        let is_first = at == 0 && !it.hostname.is_empty();
        let hostname = if is_first { format!("for {}", it.hostname) } else { String::new() };
        let word = if at + 1 < it.rules.len() { "via" } else { "route" };
        row(table, word, node(&rule.route), &hostname);
        row(table, "rule", node(&rule.rule), &rule.matched);
    }
}

fn filter_rows(filters: &FiltersDocument, indent: &str, table: &mut Table) {
    for header in &filters.request_headers {
        let becomes = header.result.as_ref().filter(|value| Some(*value) != header.value.as_ref());
        let becomes = becomes.map(|value| format!("becomes {value}")).unwrap_or_default();
        row(table, &format!("{indent}header"), header_text(header).into(), &becomes);
    }
    for header in &filters.response_headers {
        row(table, &format!("{indent}header"), header_text(header).into(), "of the answer");
    }
    if let Some(redirect) = filters.redirect.as_ref().filter(|_| !indent.is_empty()) {
        row(table, &format!("{indent}redirect"), format!("{} to {}", redirect.status, redirect.location).into(), "");
    }
    if let Some(rewrite) = &filters.rewrite {
        let parts = [("host", &rewrite.host), ("path", &rewrite.path)];
        for (word, value) in parts.into_iter().filter_map(|(word, value)| Some((word, value.as_ref()?))) {
            row(table, &format!("{indent}rewrite"), format!("{word} {value}").into(), "");
        }
    }
    for mirror in &filters.mirrors {
        let share = format!("{}% of requests", mirror.percent);
        let (gets, fails) = (format!("{share}, whose responses are ignored"), format!("{share}, whose copies fail"));
        let address = address(&mirror.backend, mirror.port);
        backend_row(table, &format!("{indent}mirror"), address, mirror.invalid.as_ref(), &gets, &fails);
    }
    if let Some(cors) = &filters.cors {
        match &cors.origin {
            Some(origin) => row(table, "cors", format!("origin {origin}").into(), "is allowed"),
            None => row(table, "cors", paint(WARNING, "the origin is not allowed").into(), ""),
        }
    }
    for filter in &filters.extensions {
        let effect = match &filter.effect {
            ExtensionEffect::Answer(status) => format!("answers with {status}"),
            ExtensionEffect::Missing => "does not exist".to_owned(),
            ExtensionEffect::Unknown => "unknown".to_owned(),
            ExtensionEffect::NotEvaluated(fields) => fields.join(", "),
            ExtensionEffect::Policy => "a policy".to_owned(),
        };
        row(table, &format!("{indent}filter"), paint(OBJECT, &filter.name).into(), &effect);
    }
}

fn overridden_rows(overridden: &[OverriddenRuleDocument], table: &mut Table) {
    for OverriddenRuleDocument { path, by } in overridden {
        let by = format!("of the rule does not count: {by} overrides it");
        row(table, "overridden", paint(PLAIN, path).into(), &by);
    }
}

fn write_unknown(unknown: &[String], screen: &mut Screen) -> io::Result<()> {
    let mut table = Table::plain(2);
    for sentence in unknown {
        table.row([[paint(WARNING, "unknown: "), paint(PLAIN, sentence)].into()]);
    }
    table.write(screen)
}

fn backend_rows(backends: &[BackendDocument], table: &mut Table) {
    let all: u64 = backends.iter().map(|backend| backend.weight).sum();
    for backend in backends {
        let share = if all == 0 { 0.0 } else { backend.weight as f64 * 100.0 / all as f64 };
        let share = format!("{}%", (share * 10.0).round() / 10.0);
        let (address, fails) = (address(&backend.backend, backend.port), format!("{share}, which fail"));
        backend_row(table, "backend", address, backend.invalid.as_ref(), &share, &fails);
        filter_rows(&backend.filters, "  ", table);
    }
}

fn write_not_chosen(others: &[NotChosenDocument], most: usize, screen: &mut Screen) -> io::Result<()> {
    if others.is_empty() {
        return writeln!(screen, "\n{}", paint(DIM, "there is nothing else that could serve the request"));
    }
    writeln!(screen, "\n{}", paint(HEAD, "Not matched"))?;
    // Rules first: they came nearest to serving the request.
    let mut others: Vec<&NotChosenDocument> = others.iter().collect();
    others.sort_by_key(|other| match (other.node.object_level(), other.node.section.is_some()) {
        (Level::Route, true) => 0,
        (Level::Route, false) => 1,
        _ => 2,
    });
    let shown = cut(others.len(), most.saturating_mul(4));
    let mut table = Table::plain(2);
    for other in &others[..shown] {
        table.row([node(&other.node), other.reason.as_str().into()]);
    }
    table.write(screen)?;
    if shown < others.len() {
        let more = format!("and {} more: {}", others.len() - shown, screen.invocation.in_full());
        writeln!(screen, "  {}", paint(DIM, more))?;
    }
    Ok(())
}

fn node(node: &NodeRef) -> Cell {
    paint(OBJECT, node).into()
}

fn row(table: &mut Table, word: &str, cell: Cell, detail: &str) {
    table.row([paint(DIM, word).into(), cell, paint(DIM, detail).into()]);
}

/// A backend with its share, or with its error.
fn backend_row(
    table: &mut Table,
    word: &str,
    address: String,
    invalid: Option<&InvalidBackendDocument>,
    gets: &str,
    fails: &str,
) {
    let name = paint(OBJECT, address).into();
    match invalid {
        None => row(table, word, name, gets),
        Some(InvalidBackendDocument { reason, message }) => {
            let fault = format!("{fails}: {reason}: {message}");
            table.row([paint(DIM, word).into(), name, paint(BAD, fault).into()]);
        }
    }
}

fn header_text(header: &HeaderDocument) -> Painted {
    let value = header.value.as_ref().map(|value| format!(": {value}")).unwrap_or_default();
    paint(PLAIN, format!("{} {}{value}", header.change.to_lowercase(), header.name))
}

/// `Service/namespace/name:port`.
fn address(backend: &ObjectRef, port: Option<i64>) -> String {
    match port {
        Some(port) => format!("{backend}:{port}"),
        None => backend.to_string(),
    }
}
