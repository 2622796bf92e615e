//! Routes that have the same hostname and path as other routes on the same listener.

use hashbrown::HashMap;
use smol_str::{SmolStr, format_smolstr};

use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// A hostname and a path on a listener.
type Place = (NodeId, SmolStr, SmolStr);

/// The routes of all listeners, by hostname and path.
pub struct RoutePaths(HashMap<Place, Vec<NodeId>>);

impl RoutePaths {
    pub fn new(objects: &Objects, topology: &Topology) -> RoutePaths {
        let mut found: HashMap<Place, Vec<NodeId>> = HashMap::new();
        for (route, _) in topology.nodes().filter(|(_, node)| node.level == Level::Route) {
            for place in places(objects, topology, route) {
                found.entry(place).or_default().push(route);
            }
        }
        RoutePaths(found)
    }

    /// One of some routes, and another route that has the same hostname and path on the same listener.
    pub fn shared(&self, objects: &Objects, topology: &Topology, routes: &[NodeId]) -> Option<(NodeId, NodeId)> {
        routes.iter().find_map(|route| {
            let places = places(objects, topology, *route);
            let mut sharing = places.iter().filter_map(|place| self.0.get(place)).flatten();
            sharing.find(|other| !routes.contains(other)).map(|other| (*route, *other))
        })
    }
}

/// Where a route can be reached.
fn places(objects: &Objects, topology: &Topology, route: NodeId) -> Vec<Place> {
    let Some(spec) = topology[route].owner.object().map(|id| objects[id].spec()) else { return Vec::new() };
    let paths = spec.list_at("rules").iter().flat_map(|rule| match rule.list_at("matches") {
        [] => vec![SmolStr::new_static("/")],
        matches => matches.iter().map(path).collect(),
    });
    let paths: Vec<SmolStr> = paths.collect();
    let mut places = Vec::new();
    for &listener in topology.parents(route).iter().filter(|it| topology[**it].level == Level::Listener) {
        let hostname = topology.section_value(objects, listener).and_then(|it| it.get_str("hostname"));
        let mut hostnames: Vec<&str> = spec.list_at("hostnames").iter().filter_map(Value::as_str).collect();
        if hostnames.is_empty() {
            hostnames.push(hostname.unwrap_or("*"));
        }
        for hostname in hostnames {
            places.extend(paths.iter().map(|path| (listener, SmolStr::new(hostname), path.clone())));
        }
    }
    places
}

/// The path of a match of an HTTPRoute or a GRPCRoute.
fn path(it: &Value) -> SmolStr {
    let text = |field: &str, key: &str| it.get(field).and_then(|value| value.get_str(key));
    match (text("method", "service"), text("method", "method")) {
        (None, None) => SmolStr::new(text("path", "value").unwrap_or("/")),
        (service, method) => format_smolstr!("/{}/{}", service.unwrap_or_default(), method.unwrap_or_default()),
    }
}
