//! The labels by which policies select workloads and Gateways: those of their Pods.

use super::Level;
use super::api::GATEWAY_API;
use crate::object::Object;
use crate::value::Value;

/// The labels that every Pod of a Gateway has: the name of the Gateway, and that of its class.
const OF_GATEWAY: [&str; 2] =
    ["gateway.networking.k8s.io/gateway-name", "gateway.networking.k8s.io/gateway-class-name"];

/// Where kinds of workloads have the labels of their Pods.
const OF_PODS: [&[&str]; 4] = [
    &["spec", "template", "metadata", "labels"],
    &["spec", "jobTemplate", "spec", "template", "metadata", "labels"],
    &["spec", "metadata", "labels"],
    &["spec", "labels"],
];

/// A label of the Pods of an object, or of the object itself if it has no Pods.
pub fn label<'o>(object: &'o Object, level: Level, key: &str) -> Option<&'o str> {
    match level {
        Level::Workload if object.id.kind == "Pod" => object.labels().get_str(key),
        Level::Workload => OF_PODS.iter().find_map(|path| object.body.at(path))?.get_str(key),
        Level::Gateway if object.id.group == GATEWAY_API => match OF_GATEWAY.iter().position(|name| *name == key) {
            Some(0) => Some(&object.id.name),
            Some(_) => object.spec().get_str("gatewayClassName"),
            None => {
                let given = object.spec().at(&["infrastructure", "labels"]).unwrap_or(&Value::Null);
                given.get_str(key).or_else(|| object.labels().get_str(key))
            }
        },
        _ => object.labels().get_str(key),
    }
}
