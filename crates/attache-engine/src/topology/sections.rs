//! The sections of objects: listeners, rules and ports.

use std::sync::LazyLock;

use hashbrown::HashSet;
use smol_str::{SmolStr, format_smolstr};

use super::Level;
use super::api::RouteKind;
use super::conventions::Conventions;
use crate::object::{Object, ObjectId};
use crate::value::Value;

/// A section that has no node yet.
#[derive(Clone, Debug)]
pub struct Section {
    pub level: Level,
    pub owner: ObjectId,
    pub name: SmolStr,
    pub port: Option<i64>,
    /// Whether another section of its owner may have the same name.
    pub shares_name: bool,
}

/// Adds the sections of an object to `found`.
pub fn read(id: ObjectId, object: &Object, level: Level, found: &mut Vec<Section>) {
    let Some((level, sections)) = list(object, level) else { return };
    let first = found.len();
    found.extend(sections.iter().enumerate().map(|(position, section)| Section {
        level,
        owner: id,
        name: name(level, section, position),
        port: port(section),
        shares_name: false,
    }));
    mark_shared_names(sections, &mut found[first..]);
}

/// Renumbers each unnamed rule whose generated name is the name of another rule.
fn rename_unnamed_rules(specs: &[Value], sections: &mut [Section]) {
    let named: HashSet<SmolStr> = specs.iter().filter_map(|spec| own_name(spec).cloned()).collect();
    for (spec, section) in specs.iter().zip(sections).filter(|(_, section)| section.level == Level::RouteRule) {
        if own_name(spec).is_some() || !named.contains(&section.name) {
            continue;
        }
        let other_names = (2..).map(|number| format_smolstr!("{}-{number}", section.name));
        section.name = other_names.into_iter().find(|name| !named.contains(name)).unwrap_or_default();
    }
}

/// Marks the sections of an object, defined by `specs`, if some of them have the same name.
pub fn mark_shared_names(specs: &[Value], sections: &mut [Section]) {
    if !are_distinct(sections.iter().map(|section| section.name.as_str())) {
        rename_unnamed_rules(specs, sections);
    }
    if !are_distinct(sections.iter().map(|section| section.name.as_str())) {
        sections.iter_mut().for_each(|section| section.shares_name = true);
    }
}

/// The list that holds the sections of an object, and their level.
pub fn list(object: &Object, level: Level) -> Option<(Level, &[Value])> {
    match level {
        Level::Gateway | Level::ListenerSet => Some((Level::Listener, object.spec().list_at("listeners"))),
        Level::Route => Some((Level::RouteRule, rules(object))),
        Level::Backend => match object.spec().list_at("ports") {
            [] if Conventions::built_in().has_endpoints(&object.id.group, &object.id.kind) => {
                Some((Level::BackendPort, object.spec().list_at("endpoints")))
            }
            ports => Some((Level::BackendPort, ports)),
        },
        _ => None,
    }
}

/// The rules of a route. The API server adds a rule to an HTTPRoute without rules: it matches every path and has no
/// backends.
pub fn rules(route: &Object) -> &[Value] {
    static DEFAULT: LazyLock<[Value; 1]> = LazyLock::new(|| {
        let path = Value::map(vec![("type".into(), "PathPrefix".into()), ("value".into(), "/".into())]);
        let matches = Value::list(vec![Value::map(vec![("path".into(), path)])]);
        [Value::map(vec![("matches".into(), matches)])]
    });
    match route.spec() {
        Value::Map(spec) => match spec.get("rules") {
            Some(Value::List(rules)) => rules,
            _ if route.id.kind == RouteKind::Http.name() => &*DEFAULT,
            _ => &[],
        },
        _ => &[],
    }
}

/// The name of the section at an index. Sections without a name are numbered from one.
fn name(level: Level, section: &Value, position: usize) -> SmolStr {
    let number = || match level {
        Level::BackendPort => {
            port(section).map_or_else(|| format_smolstr!("port-{}", position + 1), |port| format_smolstr!("{port}"))
        }
        Level::Listener => format_smolstr!("listener-{}", position + 1),
        _ => rule(position),
    };
    own_name(section).cloned().unwrap_or_else(number)
}

/// The name in the spec of a section.
pub fn own_name(section: &Value) -> Option<&SmolStr> {
    match section.get("name") {
        Some(Value::Str(name)) if !name.is_empty() => Some(name),
        _ => None,
    }
}

/// The name of an unnamed rule at an index.
pub fn rule(position: usize) -> SmolStr {
    /// The maximum number of rules of a route.
    const FIRST: [&str; 16] = [
        "rule-1", "rule-2", "rule-3", "rule-4", "rule-5", "rule-6", "rule-7", "rule-8", "rule-9", "rule-10", "rule-11",
        "rule-12", "rule-13", "rule-14", "rule-15", "rule-16",
    ];
    FIRST.get(position).map_or_else(|| format_smolstr!("rule-{}", position + 1), |name| SmolStr::new_static(name))
}

/// The number of the port of a listener, of a Service or an object like a Service, or of an endpoint.
pub fn port(section: &Value) -> Option<i64> {
    let of_endpoint = || ENDPOINTS.iter().find_map(|kind| section.at(&[kind, "port"]));
    section.get("port").or_else(|| section.get("number")).or_else(of_endpoint)?.as_int()
}

/// The kinds of endpoints that have a port.
const ENDPOINTS: [&str; 2] = ["fqdn", "ip"];

/// Whether all names are different.
fn are_distinct<'n>(mut names: impl Iterator<Item = &'n str> + Clone) -> bool {
    const FEW: usize = 8;
    if names.clone().nth(FEW).is_some() {
        let mut known = HashSet::new();
        return names.all(|name| known.insert(name));
    }
    while let Some(name) = names.next() {
        if names.clone().any(|other| other == name) {
            return false;
        }
    }
    true
}
