//! The sections of objects: listeners, rules and ports.

use std::sync::LazyLock;

use hashbrown::HashSet;
use smol_str::{SmolStr, format_smolstr};

use super::Level;
use super::api::RouteKind;
use crate::object::{Object, ObjectId};
use crate::value::Value;

/// A section, before it has a node.
#[derive(Clone, Debug)]
pub struct Section {
    pub level: Level,
    pub owner: ObjectId,
    pub name: SmolStr,
    pub port: Option<i64>,
    /// Whether another section of its owner may have the same name.
    pub shares_name: bool,
}

/// Adds the sections of an object to a list.
pub fn read(id: ObjectId, object: &Object, level: Level, list: &mut Vec<Section>) {
    let Some((level, sections)) = of(object, level) else { return };
    let first = list.len();
    list.extend(sections.iter().enumerate().map(|(position, section)| Section {
        level,
        owner: id,
        name: name(level, section, position),
        port: port(section),
        shares_name: false,
    }));
    tell_apart(&mut list[first..]);
}

/// Takes note of it if some sections of an object have the same name.
pub fn tell_apart(sections: &mut [Section]) {
    if !are_distinct(sections.iter().map(|section| section.name.as_str())) {
        sections.iter_mut().for_each(|section| section.shares_name = true);
    }
}

/// The list that holds the sections of an object, and their level.
pub fn of(object: &Object, level: Level) -> Option<(Level, &[Value])> {
    match level {
        Level::Gateway | Level::ListenerSet => Some((Level::Listener, object.spec().list_at("listeners"))),
        Level::Route => Some((Level::RouteRule, rules(object))),
        Level::Backend => Some((Level::BackendPort, object.spec().list_at("ports"))),
        _ => None,
    }
}

/// The rules of a route. To an HTTPRoute that says nothing of them the API server gives one, which takes every path and
/// has no backends.
pub fn rules(route: &Object) -> &[Value] {
    static GIVEN: LazyLock<[Value; 1]> = LazyLock::new(|| {
        let path = Value::map(vec![("type".into(), "PathPrefix".into()), ("value".into(), "/".into())]);
        let matches = Value::list(vec![Value::map(vec![("path".into(), path)])]);
        [Value::map(vec![("matches".into(), matches)])]
    });
    match route.spec() {
        Value::Map(spec) => match spec.get("rules") {
            Some(Value::List(rules)) => rules,
            _ if route.id.kind == RouteKind::Http.name() => &*GIVEN,
            _ => &[],
        },
        _ => &[],
    }
}

/// What the section at `position` is called. Rules and whatever else has no name are counted from one.
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

/// The name that a section has of its own.
pub fn own_name(section: &Value) -> Option<&SmolStr> {
    match section.get("name") {
        Some(Value::Str(name)) if !name.is_empty() => Some(name),
        _ => None,
    }
}

/// What the rule at `position` is called if it has no name of its own.
pub fn rule(position: usize) -> SmolStr {
    /// A route has at most so many.
    const FIRST: [&str; 16] = [
        "rule-1", "rule-2", "rule-3", "rule-4", "rule-5", "rule-6", "rule-7", "rule-8", "rule-9", "rule-10", "rule-11",
        "rule-12", "rule-13", "rule-14", "rule-15", "rule-16",
    ];
    FIRST.get(position).map_or_else(|| format_smolstr!("rule-{}", position + 1), |name| SmolStr::new_static(name))
}

/// The number of a listener's port, of a Service's, or of one of what is like a Service.
pub fn port(section: &Value) -> Option<i64> {
    section.get("port").or_else(|| section.get("number"))?.as_int()
}

/// Whether all names are different, as they should be.
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
