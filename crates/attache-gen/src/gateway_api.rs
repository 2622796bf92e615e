//! Generates Namespaces, Gateways, routes and Services.

use attache_engine::{Object, Value};

use crate::manifest::{fields, list, object};
use crate::random::Random;
use crate::shape::ManifestShape;

pub const GATEWAY_API: &str = "gateway.networking.k8s.io";
const V1: &str = "gateway.networking.k8s.io/v1";

/// The namespace of the gateways.
pub const GATEWAY_NAMESPACE: &str = "infra";

impl ManifestShape {
    pub(crate) fn services_per_namespace(&self) -> usize {
        self.services.div_ceil(self.namespaces.max(1))
    }

    pub(crate) fn route_namespace(&self, route: usize) -> String {
        namespace(route * self.namespaces.max(1) / self.routes)
    }
}

// Numbers in names have leading zeros, so that manifests are generated in the order in which `kubectl get` lists them.

pub fn namespace(index: usize) -> String {
    format!("team-{index:03}")
}

pub fn gateway(index: usize) -> String {
    format!("gateway-{index:03}")
}

pub fn listener(index: usize) -> String {
    format!("listener-{index:03}")
}

pub fn route(index: usize) -> String {
    format!("route-{index:06}")
}

pub fn service(index: usize) -> String {
    format!("service-{index:06}")
}

pub fn generate(shape: &ManifestShape) -> Vec<Object> {
    let mut random = Random::new(shape.seed);
    let namespaces = (0..shape.namespaces.max(1)).map(namespace);
    let mut objects: Vec<_> = std::iter::once(GATEWAY_NAMESPACE.to_owned())
        .chain(namespaces.clone())
        .map(|name| object("v1", "Namespace", "", &name, 0, Value::Null))
        .collect();
    let controller = fields([("controllerName", "bench.attache.dev/controller".into())]);
    objects.push(object(V1, "GatewayClass", "", "bench", 0, controller));
    objects.extend((0..shape.gateways).map(|index| {
        let listeners = list((0..shape.listeners).map(|index| listener_spec(shape, index)));
        let spec = fields([("gatewayClassName", "bench".into()), ("listeners", listeners)]);
        object(V1, "Gateway", GATEWAY_NAMESPACE, &gateway(index), index, spec)
    }));
    for namespace in namespaces {
        objects.extend((0..shape.services_per_namespace()).map(|index| {
            let ports = [("http", 8080), ("metrics", 9090)]
                .map(|(name, port)| fields([("name", name.into()), ("port", Value::Int(port))]));
            object("v1", "Service", &namespace, &service(index), index, fields([("ports", list(ports))]))
        }));
    }
    objects.extend((0..shape.routes).map(|index| {
        let pinned = random.below(100) < shape.pinned;
        let spec = route_spec(shape, index, pinned);
        object(V1, "HTTPRoute", &shape.route_namespace(index), &route(index), index, spec)
    }));
    objects
}

fn listener_spec(shape: &ManifestShape, index: usize) -> Value {
    let mut listener = vec![
        ("name", Value::str(listener(index))),
        ("protocol", "HTTP".into()),
        ("port", Value::Int(8000 + index as i64)),
        ("allowedRoutes", fields([("namespaces", fields([("from", "All".into())]))])),
    ];
    if shape.hostnames > 0 {
        listener.push(("hostname", "*.example.com".into()));
    }
    fields(listener)
}

fn route_spec(shape: &ManifestShape, index: usize, pinned: bool) -> Value {
    let parents = (0..shape.parents.min(shape.gateways)).map(|parent| {
        // Shifted after each round: otherwise each route of a tenth would always have the same one of ten gateways.
        let nth = index + index / shape.gateways + parent;
        let mut parent =
            vec![("name", Value::str(gateway(nth % shape.gateways))), ("namespace", GATEWAY_NAMESPACE.into())];
        if pinned && shape.listeners > 0 {
            parent.push(("sectionName", Value::str(listener(index % shape.listeners))));
        }
        fields(parent)
    });
    let rules = (0..shape.rules).map(|rule| {
        let path = format!("/{}/{rule}", route(index));
        let path = fields([("type", "PathPrefix".into()), ("value", Value::str(path))]);
        let mut rule_fields = vec![("matches", list([fields([("path", path)])]))];
        if shape.services > 0 {
            let nth = index * shape.rules + rule;
            let name = Value::str(service(nth % shape.services_per_namespace()));
            rule_fields.push(("backendRefs", list([fields([("name", name), ("port", Value::Int(8080))])])));
        }
        fields(rule_fields)
    });
    let mut spec = vec![("parentRefs", list(parents)), ("rules", list(rules))];
    if shape.hostnames > 0 {
        let hostname = format!("host-{}.example.com", index % shape.hostnames);
        spec.push(("hostnames", list([Value::str(hostname)])));
    }
    fields(spec)
}
