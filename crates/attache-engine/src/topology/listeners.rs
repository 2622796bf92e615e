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
    /// The kinds of routes that it serves: all that its protocol can serve, or those of them that it lists.
    pub kinds: RouteKinds,
    /// The kinds of routes that its protocol can serve.
    servable: RouteKinds,
    pub spec: &'o Value,
}

impl<'o> Listener<'o> {
    pub fn read(spec: &'o Value) -> Self {
        let protocol = Protocol::named(spec.get_str("protocol").unwrap_or_default());
        let mut servable = protocol.route_kinds();
        if protocol == Protocol::Tls && terminates_tls(spec) {
            servable.insert(RouteKind::Tcp);
        }
        Listener {
            name: spec.get_str("name").unwrap_or_default(),
            port: spec.get("port").and_then(Value::as_int).unwrap_or_default(),
            protocol,
            hostname: hostname_of(spec),
            allowed: spec
                .at(&["allowedRoutes", "namespaces"])
                .and_then(AllowedNamespaces::read)
                .unwrap_or(AllowedNamespaces::Same),
            kinds: served_kinds(spec, servable),
            servable,
            spec,
        }
    }

    /// The same listener, for a controller that attaches no TCPRoutes to listeners that terminate TLS.
    pub fn without_tcp_on_tls(mut self) -> Self {
        if self.protocol == Protocol::Tls {
            self.servable = self.protocol.route_kinds();
            self.kinds = served_kinds(self.spec, self.servable);
        }
        self
    }

    /// The kinds of routes that it lists and cannot serve.
    pub fn unserved_kinds(&self) -> impl Iterator<Item = &'o str> {
        let served = self.servable;
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

/// Whether a TLS listener terminates TLS, which is the default.
pub fn terminates_tls(spec: &Value) -> bool {
    spec.at(&["tls", "mode"]).and_then(Value::as_str) != Some("Passthrough")
}

fn served_kinds(spec: &Value, served: RouteKinds) -> RouteKinds {
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
