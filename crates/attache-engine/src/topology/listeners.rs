//! Listeners of Gateways and ListenerSets, as their specs define them.

use super::api::{GATEWAY_API, Protocol, RouteKind, RouteKinds};
use super::namespaces::AllowedNamespaces;
use crate::value::Value;

/// A listener, as the spec of its owner defines it.
#[derive(Clone, Copy, Debug)]
pub struct Listener<'o> {
    pub name: &'o str,
    pub port: i64,
    pub protocol: Protocol,
    /// Empty for any.
    pub hostname: &'o str,
    pub allowed: AllowedNamespaces<&'o Value>,
    /// The kinds of routes that it serves: those of its protocol, or those of them that it names.
    pub kinds: RouteKinds,
    pub spec: &'o Value,
}

impl<'o> Listener<'o> {
    pub fn read(spec: &'o Value) -> Self {
        let protocol = Protocol::named(spec.get_str("protocol").unwrap_or_default());
        Listener {
            name: spec.get_str("name").unwrap_or_default(),
            port: spec.get("port").and_then(Value::as_int).unwrap_or_default(),
            protocol,
            hostname: hostname_of(spec),
            allowed: spec
                .at(&["allowedRoutes", "namespaces"])
                .and_then(AllowedNamespaces::read)
                .unwrap_or(AllowedNamespaces::Same),
            kinds: served_kinds(spec, protocol),
            spec,
        }
    }

    /// The kinds of routes that it names and cannot serve.
    pub fn unserved_kinds(&self) -> impl Iterator<Item = &'o str> {
        let served = self.protocol.route_kinds();
        named_kinds(self.spec)
            .iter()
            .filter(move |named| !route_kind(named).is_some_and(|kind| served.contains(kind)))
            .map(|named| named.get_str("kind").unwrap_or_default())
    }
}

/// The hostname of a listener; empty for any.
pub fn hostname_of(spec: &Value) -> &str {
    let protocol = Protocol::named(spec.get_str("protocol").unwrap_or_default());
    if protocol.has_hostnames() { spec.get_str("hostname").unwrap_or_default() } else { "" }
}

fn served_kinds(spec: &Value, protocol: Protocol) -> RouteKinds {
    let served = protocol.route_kinds();
    match named_kinds(spec) {
        [] => served,
        named => named.iter().filter_map(route_kind).filter(|kind| served.contains(*kind)).collect(),
    }
}

fn named_kinds(spec: &Value) -> &[Value] {
    spec.get("allowedRoutes").map_or(&[], |allowed| allowed.list_at("kinds"))
}

fn route_kind(named: &Value) -> Option<RouteKind> {
    let group = named.get_str("group").unwrap_or(GATEWAY_API);
    RouteKind::named(named.get_str("kind")?).filter(|_| group == GATEWAY_API)
}
