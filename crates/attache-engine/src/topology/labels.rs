//! The labels by which policies choose workloads and gateways: those of the Pods that run them.

use super::Level;
use super::api::GATEWAY_API;
use crate::object::Object;
use crate::value::Value;

/// The labels that every Pod of a Gateway has, and what they say of it.
const OF_GATEWAY: [&str; 2] =
    ["gateway.networking.k8s.io/gateway-name", "gateway.networking.k8s.io/gateway-class-name"];

/// Where a kind of workload keeps the labels of its Pods.
const OF_PODS: [&[&str]; 4] = [
    &["spec", "template", "metadata", "labels"],
    &["spec", "jobTemplate", "spec", "template", "metadata", "labels"],
    &["spec", "metadata", "labels"],
    &["spec", "labels"],
];

/// The label of an object's Pods, if it has any, else its own.
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
