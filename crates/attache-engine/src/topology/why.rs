//! Why something does not attach, in words that say what to do.

use std::fmt;

use super::listeners::Listener;
use super::reference::Reference;
use super::refusal::Refusal;
use super::routes::RouteView;
use super::{Level, api, sections};
use crate::object::{ObjectRef, Objects};

/// How many names a message lists before it only counts.
const SHOWN: usize = 5;

/// `` `a`, `b` and 3 more``.
pub fn list<T: fmt::Display>(names: impl ExactSizeIterator<Item = T>) -> String {
    let mut names = names;
    let shown: Vec<String> = names.by_ref().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub fn no_such_parent(objects: &Objects, parent: &Reference) -> Refusal {
    Refusal::new("NoMatchingParent", not_there(objects, parent))
}

pub fn no_such_backend(objects: &Objects, backend: &Reference) -> Refusal {
    Refusal::new("BackendNotFound", not_there(objects, backend))
}

pub fn not_there(objects: &Objects, named: &Reference) -> String {
    let Reference { group, kind, namespace, name, .. } = named;
    let there = objects.within(group, kind, namespace);
    let there = there.iter().map(|id| &objects[*id].id.name);
    match there.len() {
        0 => format!("there is no {kind} `{name}` in namespace `{namespace}`"),
        _ => format!("there is no {kind} `{name}` in namespace `{namespace}`, only {}", list(there)),
    }
}

pub fn no_such_listener(parent: &Reference, listeners: &[Listener]) -> Refusal {
    let asked = match (parent.section, parent.port) {
        (Some(section), Some(port)) => format!("no listener `{section}` on port {port}"),
        (Some(section), None) => format!("no listener `{section}`"),
        (None, Some(port)) => format!("no listener on port {port}"),
        (None, None) => "no listener".to_owned(),
    };
    let there = list(listeners.iter().map(|listener| format!("{}:{}", listener.name, listener.port)));
    let only = if listeners.is_empty() { String::new() } else { format!(", only {there}") };
    Refusal::new("NoMatchingParent", format!("{}/{}/{} has {asked}{only}", parent.kind, parent.namespace, parent.name))
}

pub fn not_allowed<'l, 'o: 'l>(
    guest: &RouteView,
    home: &str,
    listeners: impl Iterator<Item = &'l Listener<'o>>,
) -> Refusal {
    let reason = |listener: &Listener| match listener.kinds.contains(guest.kind) {
        true => format!("listener `{}` lets in routes from {}", listener.name, listener.allowed.describe(home)),
        false if listener.kinds.is_empty() => format!("listener `{}` lets in no kind of route", listener.name),
        false => format!("listener `{}` lets in {} only", listener.name, listener.kinds),
    };
    let mut listeners = listeners;
    let mut reasons: Vec<String> = listeners.by_ref().take(SHOWN).map(reason).collect();
    match listeners.count() {
        0 => {}
        more => reasons.push(format!("and {more} more do not let it in")),
    }
    Refusal::new("NotAllowedByListeners", reasons.join("; "))
}

pub fn no_common_hostname<'l, 'o: 'l>(guest: &RouteView, listeners: impl Iterator<Item = &'l Listener<'o>>) -> Refusal {
    let own: Vec<&str> = guest.hostnames().collect();
    let theirs: Vec<String> = listeners.map(|listener| format!("{} ({})", listener.hostname, listener.name)).collect();
    let message = format!(
        "its hostnames {} have nothing in common with those of the listeners, {}",
        list(own.iter()),
        list(theirs.iter())
    );
    Refusal::new("NoMatchingListenerHostname", message)
}

pub fn no_such_port(objects: &Objects, named: &Reference) -> Refusal {
    Refusal::new("NoMatchingParent", missing_port(objects, named))
}

pub fn missing_backend_port(objects: &Objects, named: &Reference) -> Refusal {
    Refusal::new("BackendNotFound", missing_port(objects, named))
}

fn missing_port(objects: &Objects, named: &Reference) -> String {
    let Some(service) = named.find(objects).map(|id| &objects[id]) else { return not_there(objects, named) };
    let ports = service.spec().list_at("ports").iter();
    let there = ports.map(|port| match (port.get_str("name"), sections::port(port)) {
        (Some(name), Some(number)) => format!("{number} ({name})"),
        (_, number) => number.unwrap_or_default().to_string(),
    });
    let asked = match (named.section, named.port) {
        (Some(section), _) => format!("`{section}`"),
        (None, port) => port.unwrap_or_default().to_string(),
    };
    format!("{} has no port {asked}, only {}", service.id, list(there))
}

pub fn unknown_kind(backend: &Reference) -> Refusal {
    let kind =
        if backend.group.is_empty() { backend.kind.to_owned() } else { format!("{}.{}", backend.kind, backend.group) };
    let none = if api::level(backend.group, backend.kind) == Level::Other { ", and none is there" } else { "" };
    Refusal::new("InvalidKind", format!("a `{kind}` cannot be a backend{none}; a backend is usually a Service"))
}

pub fn not_granted(from: &ObjectRef, to: &Reference) -> Refusal {
    let message = format!(
        "namespace `{}` has no ReferenceGrant that lets {} of namespace `{}` refer to {} `{}`",
        to.namespace, from.kind, from.namespace, to.kind, to.name
    );
    Refusal::new("RefNotPermitted", message)
}
