//! Routes, hostnames and rules that receive no requests, although no link is refused.

use std::fmt;

use smol_str::SmolStr;

use super::finding::{Finding, FindingCause, Findings};
use super::rule;
use super::subject::LintSubject;
use crate::object::ObjectRef;
use crate::topology::delegation::inherits_matches;
use crate::topology::{Level, NodeRef, matches};
use crate::value::{Path, Value};

/// Why a route, a hostname of it or a rule receives no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFinding {
    /// The route has no parent.
    NoParent,
    /// The parent of the route receives no requests.
    UnreachableParent(NodeRef),
    /// No listener of the route has a hostname that matches this one.
    UnusedHostname(SmolStr),
    /// No match of the rule is within the matches of the rules that delegate to its route.
    UnreachableRule {
        /// The rule.
        rule: SmolStr,
        /// The rules that delegate to its route.
        delegated_by: Vec<NodeRef>,
    },
}

impl RouteFinding {
    pub(super) fn related(&self) -> Vec<&ObjectRef> {
        match self {
            RouteFinding::NoParent | RouteFinding::UnusedHostname(_) => Vec::new(),
            RouteFinding::UnreachableParent(parent) => vec![&parent.object],
            RouteFinding::UnreachableRule { delegated_by, .. } => {
                delegated_by.iter().map(|rule| &rule.object).collect()
            }
        }
    }
}

impl fmt::Display for RouteFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteFinding::NoParent => f.write_str("it has no parentRefs, and no route delegates to it"),
            RouteFinding::UnreachableParent(parent) => write!(f, "its parent {parent} receives no requests"),
            RouteFinding::UnusedHostname(hostname) => {
                write!(f, "no listener that the route is attached to has a hostname that matches `{hostname}`")
            }
            RouteFinding::UnreachableRule { rule, delegated_by } => {
                let rules: Vec<String> = delegated_by.iter().map(ToString::to_string).collect();
                write!(f, "`{rule}` receives no requests: none of its matches is within those of {}", rules.join(", "))
            }
        }
    }
}

/// Routes that receive no requests.
pub fn unattached(subject: LintSubject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    let topology = engine.topology();
    for (node, object) in subject.routes() {
        if topology.live(node) || topology.is_refused(object) {
            continue;
        }
        let route = &engine.objects()[object];
        // Otherwise the field itself has a finding.
        if !matches!(route.spec().get("parentRefs"), None | Some(Value::Null | Value::List(_))) {
            continue;
        }
        let parents = topology.parents(node).iter().map(|parent| topology.node_ref(engine.objects(), *parent));
        let finding = parents.min().map_or(RouteFinding::NoParent, RouteFinding::UnreachableParent);
        let path = Path::parse("spec.parentRefs");
        findings.push(Finding::new(&rule::UNATTACHED_ROUTE, route, path, FindingCause::Route(finding)));
    }
}

/// Hostnames of attached routes that match none of their listeners.
pub fn unused_hostnames(subject: LintSubject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    for (node, object) in subject.routes().filter(|(node, _)| topology.live(*node)) {
        for (position, hostname) in topology.unused_hostnames(objects, node) {
            let path = Path::parse("spec.hostnames").index(position);
            let cause = FindingCause::Route(RouteFinding::UnusedHostname(hostname.into()));
            findings.push(Finding::new(&rule::UNUSED_HOSTNAME, &objects[object], path, cause));
        }
    }
}

/// Rules of delegated routes that no request can reach.
pub fn unreachable_rules(subject: LintSubject<'_>, findings: &mut Findings) {
    let (topology, objects) = (subject.engine.topology(), subject.engine.objects());
    for (node, object) in subject.routes() {
        let parents = topology.parents(node);
        let is_delegated = parents.iter().all(|parent| topology[*parent].level == Level::RouteRule);
        if parents.is_empty() || !is_delegated || inherits_matches(&objects[object]) {
            continue;
        }
        let delegating: Vec<&Value> =
            parents.iter().filter_map(|rule| topology.section_value(objects, *rule)).collect();
        for (position, section) in topology.sections(node).enumerate() {
            let Some(own) = topology.section_value(objects, section) else { continue };
            if delegating.iter().any(|parent| matches::narrows(own, parent)) {
                continue;
            }
            let finding = RouteFinding::UnreachableRule {
                rule: topology[section].section.clone().unwrap_or_default(),
                delegated_by: parents.iter().map(|rule| topology.node_ref(objects, *rule)).collect(),
            };
            let path = Path::parse("spec.rules").index(position);
            let cause = FindingCause::Route(finding);
            findings.push(Finding::new(&rule::UNREACHABLE_RULE, &objects[object], path, cause));
        }
    }
}
