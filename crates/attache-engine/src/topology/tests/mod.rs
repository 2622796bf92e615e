#![allow(clippy::unwrap_used)]

mod backends;
mod delegation;
mod edit;
mod listeners;
mod properties;
mod served;

use serde_json::{Value as Json, json};

use super::*;
use crate::object::Object;

pub fn objects(docs: Json) -> Objects {
    Objects::new(docs.as_array().unwrap().iter().map(|document| Object::from_json(document).unwrap()).collect())
}

/// A Gateway API object in namespace `a`, from `Kind/name` or `Kind/namespace/name`.
pub fn gw(id: &str, spec: Json) -> Json {
    manifest("gateway.networking.k8s.io/v1", id, spec)
}

pub fn manifest(api_version: &str, id: &str, spec: Json) -> Json {
    let parts: Vec<&str> = id.split('/').collect();
    let (namespace, name) = if parts.len() == 3 { (parts[1], parts[2]) } else { ("a", parts[1]) };
    json!({"apiVersion": api_version, "kind": parts[0], "metadata": {"namespace": namespace, "name": name}, "spec": spec})
}

pub fn service(id: &str) -> Json {
    manifest("v1", id, json!({"ports": [{"port": 80, "name": "http"}, {"port": 8080}]}))
}

pub fn aged(mut doc: Json, day: u32) -> Json {
    doc["metadata"]["creationTimestamp"] = json!(format!("2026-01-{day:02}T00:00:00Z"));
    doc
}

/// Every link and refusal, as text.
pub struct Shown {
    pub links: Vec<String>,
    pub refused: Vec<String>,
    pub objects: Objects,
    pub topology: Topology,
}

pub fn show(docs: Json) -> Shown {
    let objects = objects(docs);
    let topology = Topology::build(&objects, &[]);
    describe(objects, topology)
}

pub fn describe(objects: Objects, topology: Topology) -> Shown {
    let mut links = Vec::new();
    for (id, _) in topology.nodes() {
        for child in topology.children(id) {
            links.push(format!("{} > {}", topology.name(&objects, id), topology.name(&objects, *child)));
        }
    }
    let refused = topology.refused(&objects).iter();
    let refused = refused.map(|r| format!("{} > {}: {}: {}", r.parent, r.child, r.reason(), r.cause)).collect();
    Shown { links, refused, objects, topology }
}

impl Shown {
    pub fn live(&self, name: &str) -> bool {
        let mut nodes = self.topology.nodes().map(|(id, _)| id);
        self.topology.live(nodes.find(|id| self.topology.name(&self.objects, *id) == name).unwrap())
    }

    /// The names of the children of a node, sorted.
    pub fn below(&self, parent: &str) -> Vec<&str> {
        let mut below: Vec<&str> =
            self.links.iter().filter_map(|link| link.strip_prefix(parent)?.strip_prefix(" > ")).collect();
        below.sort_unstable();
        below
    }
}

fn gateway(listeners: Json) -> Json {
    gw("Gateway/gw", json!({"gatewayClassName": "c", "listeners": listeners}))
}

#[test]
fn a_route_is_below_its_listener_and_above_its_backends() {
    let shown = show(json!([
        gateway(json!([{"name": "http", "port": 80, "protocol": "HTTP"}])),
        gw(
            "HTTPRoute/r",
            json!({"parentRefs": [{"name": "gw"}], "rules": [
            {"backendRefs": [{"name": "s", "port": 80}, {"name": "s", "port": 8080}]}, {"name": "two"}]})
        ),
        service("Service/s"),
    ]));
    let mut links = shown.links.clone();
    links.sort();
    assert_eq!(
        links,
        [
            "Gateway/a/gw > Gateway/a/gw#http",
            "Gateway/a/gw#http > HTTPRoute/a/r",
            "GatewayClass/c > Gateway/a/gw",
            "HTTPRoute/a/r > HTTPRoute/a/r#rule-1",
            "HTTPRoute/a/r > HTTPRoute/a/r#two",
            "HTTPRoute/a/r#rule-1 > Service/a/s",
            "Service/a/s > Service/a/s#8080",
            "Service/a/s > Service/a/s#http",
        ]
    );
    assert!(shown.refused.is_empty());
    let route = shown.topology.find(&shown.objects, &ObjectRef::new(api::GATEWAY_API, "HTTPRoute", "a", "r")).unwrap();
    let namespace = shown.topology.namespace(route).unwrap();
    assert_eq!(shown.topology.name(&shown.objects, namespace), "Namespace/a");
    let rule = shown.topology.section(route, "two").unwrap();
    assert_eq!(shown.topology.name(&shown.objects, rule), "HTTPRoute/a/r#two");
}

#[test]
fn what_does_not_attach_says_why_in_the_order_of_the_gateway_api() {
    let listeners = json!([
        {"name": "http", "port": 80, "protocol": "HTTP", "hostname": "*.x.com"},
        {"name": "tls", "port": 443, "protocol": "TLS", "allowedRoutes": {"namespaces": {"from": "All"}}},
    ]);
    let refused = |id: &str, spec: Json| {
        let shown = show(json!([gateway(listeners.clone()), gw(id, spec)]));
        let name = if id.matches('/').count() == 1 { id.replace('/', "/a/") } else { id.to_owned() };
        assert!(!shown.live(&name), "{id}");
        shown.refused.join("\n")
    };
    assert_eq!(
        refused("HTTPRoute/r", json!({"parentRefs": [{"name": "gw", "sectionName": "https"}]})),
        "Gateway/a/gw#https > HTTPRoute/a/r: NoMatchingParent: Gateway/a/gw has no listener `https`, only `http:80`, `tls:443`"
    );
    assert_eq!(
        refused("HTTPRoute/r", json!({"parentRefs": [{"name": "gw", "sectionName": "http", "port": 443}]})),
        "Gateway/a/gw#http > HTTPRoute/a/r: NoMatchingParent: Gateway/a/gw has no listener `http` on port 443, only `http:80`, `tls:443`"
    );
    assert_eq!(
        refused("HTTPRoute/b/r", json!({"parentRefs": [{"name": "gw", "namespace": "a"}]})),
        "Gateway/a/gw > HTTPRoute/b/r: NotAllowedByListeners: listener `http` lets in routes from namespace `a` only; listener `tls` lets in TLSRoute, TCPRoute only"
    );
    assert_eq!(
        refused("HTTPRoute/r", json!({"parentRefs": [{"name": "gw"}], "hostnames": ["x.com", "y.com"]})),
        "Gateway/a/gw > HTTPRoute/a/r: NoMatchingListenerHostname: its hostnames `x.com`, `y.com` have nothing in common with those of the listeners, `*.x.com (http)`"
    );
    assert_eq!(
        refused("HTTPRoute/r", json!({"parentRefs": [{"name": "gv"}]})),
        "Gateway/a/gv > HTTPRoute/a/r: NoMatchingParent: there is no Gateway `gv` in namespace `a`, only `gw`"
    );
}
