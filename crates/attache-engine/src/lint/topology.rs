//! What asked to be attached, and was refused.

use std::collections::BTreeMap;

use super::policies::grant;
use super::subject::Subject;
use super::{Findings, Rule, rule};
use crate::topology::reference::Reference;
use crate::topology::{NodeId, Refused};
use crate::value::{Path, Segment};

pub fn refused(subject: Subject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    // Listeners that conflict with each other are one cause.
    let mut causes: BTreeMap<(&str, &str), Vec<&Refused>> = BTreeMap::new();
    let mut order = Vec::new();
    let refused = engine.topology().refused(engine.objects()).iter();
    for refused in refused.filter(|refused| subject.includes(refused.by)) {
        match field(refused) {
            Some("listeners") => causes.entry((&refused.parent, &refused.message)).or_default().push(refused),
            _ => order.push(vec![refused]),
        }
    }
    for group in order.into_iter().chain(causes.into_values()) {
        let Some(first) = group.first() else { continue };
        let object = &engine.objects()[first.by];
        let Some(rule) = broken_by(first, object.spec().list_at("listeners").is_empty()) else { continue };
        let sections: Vec<String> =
            group.iter().filter_map(|one| one.child.split_once('#')).map(|(_, name)| format!("`{name}`")).collect();
        let is_listener = field(first) == Some("listeners") && !sections.is_empty();
        let topology = engine.topology();
        let node = NodeId::whole(first.by);
        let message = match is_listener {
            true => format!("{}: {}", listeners(&sections), first.message),
            false if field(first) == Some("parentRefs") && !topology.live(node) => {
                format!("{}; nothing else leads to it", first.message)
            }
            false => first.message.clone(),
        };
        let finding = rule.at(object, first.path.clone(), message);
        let named = first.path.resolve(&object.body).and_then(|value| Reference::backend(value, &object.id.namespace));
        findings.push(
            match named
                .filter(|named| !is_listener && first.message.contains("ReferenceGrant") && !named.name.is_empty())
            {
                Some(named) => finding.help(grant(&object.id, named.group, named.kind, named.namespace)),
                None => finding,
            },
        );
    }
}

fn listeners(names: &[String]) -> String {
    match names {
        [one] => format!("listener {one}"),
        many => format!("listeners {}", many.join(", ")),
    }
}

/// Which field of its spec the refused object asked with.
fn field(refused: &Refused) -> Option<&str> {
    field_of(&refused.path)
}

fn field_of(path: &Path) -> Option<&str> {
    match path.segments().get(1)? {
        Segment::Key(key) => Some(key),
        Segment::Index(_) => None,
    }
}

fn broken_by(refused: &Refused, without_listeners: bool) -> Option<&'static Rule> {
    let delegates = refused.child.starts_with("HTTPRoute/") || refused.child.starts_with("label/");
    Some(match (field(refused)?, refused.reason) {
        ("parentRefs" | "parentRef", "NoMatchingParent") => &rule::DANGLING_PARENT,
        ("parentRefs", "NotAllowedByListeners") => &rule::ROUTE_NOT_ALLOWED,
        ("parentRefs", "NoMatchingListenerHostname") => &rule::NO_COMMON_HOSTNAME,
        ("parentRef", _) => &rule::LISTENER_SET_NOT_ALLOWED,
        ("hostnames", _) => &rule::CONFLICTED_ROUTE,
        ("rules", _) if delegates => &rule::REFUSED_DELEGATION,
        ("rules", "BackendNotFound") => &rule::DANGLING_BACKEND,
        ("rules", "InvalidKind") => &rule::WRONG_BACKEND_KIND,
        ("rules" | "listeners", "RefNotPermitted") => &rule::MISSING_GRANT,
        ("listeners", "HostnameConflict" | "ProtocolConflict") => &rule::LISTENER_CONFLICT,
        ("listeners", "UnsupportedProtocol") => &rule::UNSUPPORTED_PROTOCOL,
        ("listeners", "InvalidRouteKinds") => &rule::INVALID_ROUTE_KINDS,
        // What is wrong with each listener is said of that listener.
        ("listeners", "ListenersNotValid") if without_listeners => &rule::NO_LISTENERS,
        ("listeners", "ListenersNotValid") => return None,
        ("listeners", _) => &rule::INVALID_CERTIFICATE,
        _ => return None,
    })
}
