//! The way of a request, for a person.

use std::io::{self, Write};

use attache_engine::model::{Model, Scope};
use attache_engine::request::{
    Backend, FilterEffects, HeaderChange, HeaderOperation, NotChosen, Request, RequestOutcome, RequestTrace,
    header_after,
};
use attache_engine::topology::{Level, NodeId};
use attache_engine::value::Value;

use super::effective::EffectiveView;
use super::style::{BAD, DIM, GOOD, HEAD, OBJECT, PLAIN, Painted, WARNING, paint};
use super::table::{Cell, Table};
use super::{Screen, cut, write_line};
use attache_answers::Snapshot;
use attache_answers::scopes::Groups;

pub struct RequestView<'i> {
    pub input: &'i Snapshot,
    pub request: &'i Request,
    /// How many names, lost values and reasons are shown before the rest is only counted.
    pub most: usize,
}

impl RequestView<'_> {
    pub fn write(
        &self,
        trace: &RequestTrace<'_>,
        effective: &[(Model, Vec<Scope>)],
        why: bool,
        screen: &mut Screen,
    ) -> io::Result<()> {
        self.heading(trace, screen)?;
        let mut table = Table::plain(2);
        if let Some(reason) = trace.explain(self.input.engine.view(), self.request) {
            table.row([paint(DIM, "because").into(), paint(BAD, reason).into()]);
        }
        self.entrance(trace, &mut table);
        self.rules(trace, &mut table);
        self.filters(&trace.filter_effects, "", &mut table);
        self.backends(trace, &mut table);
        table.write(screen)?;
        self.effective(trace, effective, screen)?;
        if why {
            self.not_chosen(&trace.not_chosen, screen)?;
        } else if !trace.outcome.is_served() {
            writeln!(screen)?;
            write_line(paint(DIM, "with --why everything else says why it does not serve the request"), screen)?;
        }
        Ok(())
    }

    /// What was asked, and what comes of it.
    fn heading(&self, trace: &RequestTrace<'_>, screen: &mut Screen) -> io::Result<()> {
        let Request { method, scheme, grpc, .. } = self.request;
        let asked = match (scheme.is_http(), grpc) {
            (true, false) => format!("{method} {}", self.request.url()),
            (true, true) => format!("gRPC {}", self.request.url()),
            (false, _) => self.request.url(),
        };
        let style = if trace.outcome.is_served() { GOOD } else { BAD };
        let without = if trace.outcome.is_served() { "an answer" } else { "no answer" };
        let status = trace.status.map_or_else(|| without.to_owned(), |status| status.to_string());
        let grpc = trace.grpc_status().filter(|_| *grpc).map(|status| format!(" {status}")).unwrap_or_default();
        let rest = match trace.outcome {
            RequestOutcome::Redirect => match &trace.filter_effects.redirect {
                Some(redirect) => format!(" to {}", redirect.location(self.request.query.as_deref())),
                None => String::new(),
            },
            RequestOutcome::Preflight => " from the gateway itself, which answers the CORS preflight".to_owned(),
            RequestOutcome::NotFound | RequestOutcome::InvalidBackend | RequestOutcome::NoListener => String::new(),
            RequestOutcome::Backend => match trace.serving_backends().collect::<Vec<_>>().as_slice() {
                [only] => format!(" from {}", address(only)),
                several => format!(" from one of {} backends", several.len()),
            },
        };
        let mut heading = Table::plain(0);
        heading.row([[paint(HEAD, asked), paint(style, format!("  → {status}{grpc}")), paint(style, rest)].into()]);
        heading.write(screen)
    }

    fn entrance(&self, trace: &RequestTrace<'_>, table: &mut Table) {
        if let Some(gateway) = trace.gateway {
            row(table, "gateway", self.node(gateway), "");
        }
        if let Some(listener) = trace.listener {
            row(table, "listener", self.node(listener), &self.listens(listener));
        }
        if let Some(service) = trace.service {
            let from = self.request.from.as_ref().map(|from| format!("called from namespace {from}"));
            row(table, "service", self.node(service), &from.unwrap_or_default());
        }
    }

    /// `HTTPS on port 443 for *.example.com`.
    fn listens(&self, listener: NodeId) -> String {
        let says = self.input.engine.topology().section_value(self.input.engine.objects(), listener);
        let says = says.unwrap_or(&Value::Null);
        let text = |field| says.get_str(field).unwrap_or_default();
        let port = says.get("port").and_then(Value::as_int).unwrap_or_default();
        let host = match (text("protocol"), text("hostname")) {
            ("TCP" | "UDP", _) => String::new(),
            (_, "") => " for any host".to_owned(),
            (_, hostname) => format!(" for {hostname}"),
        };
        format!("{} on port {port}{host}", text("protocol"))
    }

    fn rules(&self, trace: &RequestTrace<'_>, table: &mut Table) {
        for (at, passed) in trace.rules.iter().enumerate() {
            let hostname =
                if at == 0 && !trace.hostname.is_empty() { format!("for {}", trace.hostname) } else { String::new() };
            let route = if at + 1 < trace.rules.len() { "by way of" } else { "route" };
            row(table, route, self.node(self.input.engine.topology().whole(passed.rule)), &hostname);
            row(table, "rule", self.node(passed.rule), &passed.matched.to_string());
        }
    }

    fn filters(&self, filter_effects: &FilterEffects, place: &str, table: &mut Table) {
        for change in &filter_effects.request_headers {
            let becomes = header_after(self.request, &filter_effects.request_headers, &change.name);
            let becomes = becomes.filter(|value| Some(value) != change.value.as_ref());
            let becomes = becomes.map(|value| format!("becomes {value}")).unwrap_or_default();
            row(table, &format!("{place}header"), header(change).into(), &becomes);
        }
        for change in &filter_effects.response_headers {
            row(table, &format!("{place}header"), header(change).into(), "of the answer");
        }
        if let Some(host) = &filter_effects.rewrite.host {
            row(table, &format!("{place}rewrite"), format!("host {host}").into(), "");
        }
        if let Some(path) = &filter_effects.rewrite.path {
            row(table, &format!("{place}rewrite"), format!("path {path}").into(), "");
        }
        for mirror in &filter_effects.mirrors {
            let share = format!("{}% of requests", mirror.percent);
            let (gets, fails) = (format!("{share}, whose answers nobody sees"), format!("{share}, whose copies fail"));
            backend_row(table, &format!("{place}mirror"), &mirror.backend, &gets, &fails);
        }
        if let Some(cors) = &filter_effects.cors {
            match &cors.origin {
                Some(origin) => row(table, "cors", format!("origin {origin}").into(), "is allowed"),
                None => row(table, "cors", paint(WARNING, "the origin is not allowed").into(), ""),
            }
        }
        for extension in &filter_effects.extensions {
            row(table, &format!("{place}filter"), paint(OBJECT, extension).into(), "");
        }
    }

    fn backends(&self, trace: &RequestTrace<'_>, table: &mut Table) {
        let all: u64 = trace.backends.iter().map(|backend| backend.weight).sum();
        for backend in &trace.backends {
            let share = if all == 0 { 0.0 } else { backend.weight as f64 * 100.0 / all as f64 };
            let share = format!("{}%", (share * 10.0).round() / 10.0);
            backend_row(table, "backend", backend, &share, &format!("{share}, which fail"));
            self.filters(&backend.filter_effects, "  ", table);
        }
    }

    fn effective(
        &self,
        trace: &RequestTrace<'_>,
        effective: &[(Model, Vec<Scope>)],
        screen: &mut Screen,
    ) -> io::Result<()> {
        let view = EffectiveView { input: self.input, most: self.most };
        let mut shown = false;
        for (model, scopes) in effective {
            let mut groups = Groups::default();
            for scope in scopes {
                scope.nodes.last().iter().for_each(|end| groups.add(scope.chain, 1, **end));
            }
            for group in groups.in_force(self.input, model) {
                writeln!(screen)?;
                view.group(model, &group, screen)?;
                shown = true;
            }
        }
        if !shown && trace.outcome.is_served() {
            writeln!(screen, "\n{}", paint(DIM, "no policy is in force on this way"))?;
        }
        Ok(())
    }

    fn not_chosen(&self, others: &[NotChosen<'_>], screen: &mut Screen) -> io::Result<()> {
        if others.is_empty() {
            return writeln!(screen, "\n{}", paint(DIM, "there is nothing else that could serve the request"));
        }
        writeln!(screen, "\n{}", paint(HEAD, "Passed by"))?;
        // What came nearest is at the bottom of the topology.
        let mut others: Vec<&NotChosen> = others.iter().collect();
        others.sort_by_key(|other| match self.input.engine.topology()[other.node].level {
            Level::RouteRule => 0,
            Level::Route => 1,
            _ => 2,
        });
        let shown = cut(others.len(), self.most.saturating_mul(4));
        let mut table = Table::plain(2);
        for other in &others[..shown] {
            table.row([self.node(other.node), other.reason.to_string().into()]);
        }
        table.write(screen)?;
        if shown < others.len() {
            writeln!(
                screen,
                "  {}",
                paint(DIM, format!("and {} more: {}", others.len() - shown, screen.invocation.in_full()))
            )?;
        }
        Ok(())
    }

    fn node(&self, node: NodeId) -> Cell {
        paint(OBJECT, self.input.name(node)).into()
    }
}

fn row(table: &mut Table, what: &str, it: Cell, detail: &str) {
    table.row([paint(DIM, what).into(), it, paint(DIM, detail).into()]);
}

/// A backend with what it gets, or with what fails there and why.
fn backend_row(table: &mut Table, what: &str, backend: &Backend, gets: &str, fails: &str) {
    let name = paint(OBJECT, address(backend)).into();
    match &backend.resolved {
        Ok(_) => row(table, what, name, gets),
        Err(refusal) => {
            let fault = format!("{fails}: {}: {refusal}", refusal.reason());
            table.row([paint(DIM, what).into(), name, paint(BAD, fault).into()]);
        }
    }
}

fn header(change: &HeaderChange) -> Painted {
    let HeaderChange { operation, name, value } = change;
    let value = value.as_ref().map(|value| format!(": {value}")).unwrap_or_default();
    let word = match operation {
        HeaderOperation::Set => "set",
        HeaderOperation::Add => "add",
        HeaderOperation::Remove => "remove",
    };
    paint(PLAIN, format!("{word} {name}{value}"))
}

/// `Service/namespace/name:port`.
fn address(backend: &Backend) -> String {
    match backend.port {
        Some(port) => format!("{}:{port}", backend.id),
        None => backend.id.to_string(),
    }
}
