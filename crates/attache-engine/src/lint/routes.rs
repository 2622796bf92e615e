//! Routes and rules that nothing leads to, and hostnames that no listener has.

use super::subject::Subject;
use super::{Findings, rule};
use crate::topology::delegation::inherits_matches;
use crate::topology::{Level, matches};
use crate::value::{Path, Value};

/// Routes that no request can come to, though nothing refused them.
pub fn unattached(subject: Subject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    let topology = engine.topology();
    for (node, object) in subject.routes() {
        if topology.live(node) || topology.is_refused(object) {
            continue;
        }
        let route = &engine.objects()[object];
        // What is wrong then is told of the field.
        if !matches!(route.spec().get("parentRefs"), None | Some(Value::Null | Value::List(_))) {
            continue;
        }
        let message = match topology.parents(node).first() {
            None => "it names no parent, and no route delegates to it".to_owned(),
            Some(parent) => format!("nothing leads to its parent {}", topology.name(engine.objects(), *parent)),
        };
        findings.push(rule::UNATTACHED_ROUTE.at(route, Path::parse("spec.parentRefs"), message));
    }
}

/// Hostnames of attached routes that none of their listeners lets in.
pub fn unused_hostnames(subject: Subject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    for (node, object) in subject.routes().filter(|(node, _)| topology.live(*node)) {
        for (position, hostname) in topology.unused_hostnames(objects, node) {
            let path = Path::parse("spec.hostnames").index(position);
            let message =
                format!("no listener that the route is attached to has a hostname in common with `{hostname}`");
            findings.push(rule::UNUSED_HOSTNAME.at(&objects[object], path, message));
        }
    }
}

/// Rules of routes that are only delegated to, of which no match lies within what is handed on to them.
pub fn unreachable_rules(subject: Subject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    for (node, object) in subject.routes() {
        let above = topology.parents(node);
        let is_delegated_to = above.iter().all(|parent| topology[*parent].level == Level::RouteRule);
        if above.is_empty() || !is_delegated_to || inherits_matches(&objects[object]) {
            continue;
        }
        let handed_on: Vec<&Value> = above.iter().filter_map(|rule| topology.section_value(objects, *rule)).collect();
        for (position, section) in topology.sections(node).enumerate() {
            let Some(own) = topology.section_value(objects, section) else { continue };
            if handed_on.iter().any(|above| matches::narrows(own, above)) {
                continue;
            }
            let names: Vec<String> = above.iter().map(|rule| topology.name(objects, *rule)).collect();
            let message = format!(
                "no request comes to `{}`: none of its matches lies within what {} hands on",
                topology[section].section.as_deref().unwrap_or_default(),
                names.join(", ")
            );
            let path = Path::parse("spec.rules").index(position);
            findings.push(rule::UNREACHABLE_RULE.at(&objects[object], path, message));
        }
    }
}
