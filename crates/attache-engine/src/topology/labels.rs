//! The labels by which policies select workloads and Gateways: those of their Pods.

use smol_str::SmolStr;

use super::Level;
use super::api::GATEWAY_API;
use crate::kinds::WorkloadFilter;
use crate::object::{Object, ObjectId, Objects};
use crate::value::{Path, Value};

/// The label of the Pods of a Gateway with the name of the Gateway.
const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";

/// The label of the Pods of a Gateway with the name of its class.
const GATEWAY_CLASS_NAME: &str = "gateway.networking.k8s.io/gateway-class-name";

/// The paths of the Pods' labels, by kind of workload.
const OF_PODS: [&[&str]; 4] = [
    &["spec", "template", "metadata", "labels"],
    &["spec", "jobTemplate", "spec", "template", "metadata", "labels"],
    &["spec", "metadata", "labels"],
    &["spec", "labels"],
];

/// The paths of the Pods' spec, by kind of workload.
const POD_SPECS: [&[&str]; 3] =
    [&["spec", "template", "spec"], &["spec", "jobTemplate", "spec", "template", "spec"], &["spec"]];

/// A label of the Pods of an object, or of the object itself if it has no Pods.
pub fn label<'o>(object: &'o Object, level: Level, key: &str) -> Option<&'o str> {
    match level {
        Level::Workload if object.id.kind == "Pod" => object.labels().get_str(key),
        Level::Workload => OF_PODS.iter().find_map(|path| object.body.at(path))?.get_str(key),
        Level::Gateway if object.id.group == GATEWAY_API => match key {
            GATEWAY_NAME => Some(&object.id.name),
            GATEWAY_CLASS_NAME => object.spec().get_str("gatewayClassName"),
            _ => {
                // Its Pods have the labels in `infrastructure`, or else those of the Gateway.
                let given = object.spec().at(&["infrastructure", "labels"]).filter(|labels| !labels.is_null());
                given.unwrap_or_else(|| object.labels()).get_str(key)
            }
        },
        _ => object.labels().get_str(key),
    }
}

/// The Gateway that the Pods of a workload belong to.
pub fn gateway_of_pods(objects: &Objects, workload: &Object) -> Option<ObjectId> {
    let name = label(workload, Level::Workload, GATEWAY_NAME)?;
    objects.lookup(GATEWAY_API, "Gateway", &workload.id.namespace, name)
}

impl WorkloadFilter {
    /// Whether the filter matches a workload.
    pub(crate) fn matches(&self, workload: &Object) -> bool {
        let has_label = |(key, value): &(SmolStr, SmolStr)| label(workload, Level::Workload, key) == Some(value);
        let pods = POD_SPECS.iter().find_map(|path| workload.body.at(path)).unwrap_or(&Value::Null);
        let is_true = |field: &Path| field.resolve(pods).and_then(Value::as_bool) == Some(true);
        self.labels.iter().all(has_label) && self.field.as_ref().is_none_or(is_true)
    }
}
