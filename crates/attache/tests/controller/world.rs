//! Policy kinds and topologies for tests, and what their statuses say.

use std::path::Path;
use std::time::{Duration, Instant};

use attache_testenv::TestCluster;
use serde_json::{Value, json};

/// Installs the CRDs of Attaché.
pub fn install_crds(cluster: &TestCluster) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/chart/files/crds");
    cluster.kubectl(&["apply", "--server-side", "-f", &folder.to_string_lossy()]);
    cluster.wait_until_served();
}

/// The schema of a condition.
fn condition() -> Value {
    let string = json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": string, "status": string, "reason": string, "message": string,
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "observedGeneration": {"type": "integer", "format": "int64"},
        },
    })
}

/// The schema of `status.conditions`.
pub fn conditions() -> Value {
    json!({
        "type": "array", "items": condition(),
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
    })
}

/// The schema of `status.ancestors`, as in the Gateway API.
pub fn ancestors() -> Value {
    let string = json!({"type": "string"});
    let reference = json!({"type": "object", "properties": {
        "group": string, "kind": string, "namespace": string, "name": string, "sectionName": string}});
    json!({
        "type": "array", "maxItems": 16, "x-kubernetes-list-type": "atomic",
        "items": {"type": "object", "properties": {
            "ancestorRef": reference, "controllerName": string, "conditions": conditions()}},
    })
}

/// Installs the CRD of a policy kind of the group `example.io`, with these fields in its status.
pub fn install_kind(cluster: &TestCluster, kind: &str, status: &Value) {
    let plural = format!("{}ies", kind.to_lowercase().trim_end_matches('y'));
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.io"), "labels": {"gateway.networking.k8s.io/policy": "Inherited"}},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "status": {"type": "object", "properties": status},
                }}},
            }],
        },
    });
    cluster.apply(&crd.to_string());
    cluster.wait_until_served();
}

/// A PolicyKind for a kind of the group `example.io`.
pub fn policy_kind(kind: &str, fields: Value) -> String {
    let mut spec = json!({"group": "example.io", "kind": kind});
    spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let name = format!("{}.example.io", kind.to_lowercase());
    json!({"apiVersion": "attache.dev/v1alpha1", "kind": "PolicyKind", "metadata": {"name": name}, "spec": spec})
        .to_string()
}

/// A policy of the group `example.io` for one target, written `KIND/NAME`.
pub fn policy(kind: &str, namespace: &str, name: &str, target: &str, fields: Value) -> String {
    let (target_kind, target) = target.split_once('/').unwrap();
    let group = if target_kind == "Service" { "" } else { "gateway.networking.k8s.io" };
    let mut spec = json!({"targetRefs": [{"group": group, "kind": target_kind, "name": target}]});
    spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"apiVersion": "example.io/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
        .to_string()
}

/// A namespace with Gateways, routes and Services, each written `GATEWAY > ROUTE > SERVICE`.
pub fn topology(cluster: &TestCluster, namespace: &str, paths: &[&str]) {
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "class"},
            "spec": {"controllerName": "example.io/gateways"}}),
    ];
    for path in paths {
        let names: Vec<&str> = path.split(" > ").collect();
        let [gateway, route, service] = names.as_slice() else { unreachable!("{path}") };
        objects.push(json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": gateway, "namespace": namespace},
            "spec": {"gatewayClassName": "class", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}}));
        objects.push(json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": route, "namespace": namespace},
            "spec": {"parentRefs": [{"name": gateway}], "rules": [{"backendRefs": [{"name": service, "port": 80}]}]}}));
        objects
            .push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service, "namespace": namespace},
            "spec": {"ports": [{"port": 80}]}}));
    }
    cluster.apply(&list(objects));
}

/// Objects as one document.
pub fn list(objects: Vec<Value>) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

/// Objects as kubectl reads them.
pub fn get(cluster: &TestCluster, namespace: &str, kinds: &str) -> Vec<Value> {
    objects(&cluster.kubectl(&["get", kinds, "-n", namespace, "-o", "json"]))
}

/// The objects in what kubectl prints as JSON.
pub fn objects(text: &str) -> Vec<Value> {
    let found: Value = serde_json::from_str(text).unwrap();
    found["items"].as_array().cloned().unwrap_or_else(|| vec![found])
}

/// What our statuses in a namespace say, a line for each list of conditions.
pub fn statuses(cluster: &TestCluster, namespace: &str, kinds: &str) -> Vec<String> {
    get(cluster, namespace, kinds).iter().flat_map(lines).collect()
}

/// What our status of an object says. Conditions of others are left out.
pub fn lines(object: &Value) -> Vec<String> {
    let name = format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"]));
    let generation = &object["metadata"]["generation"];
    let shown = |conditions: &Value, is_ours: &dyn Fn(&str) -> bool| {
        let conditions = conditions.as_array().cloned().unwrap_or_default();
        let ours = conditions.iter().filter(|it| is_ours(text(&it["type"])));
        let shown = ours.map(|it| {
            let observed = &it["observedGeneration"];
            let old = if observed == generation { String::new() } else { format!(" of generation {observed}") };
            let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|key| text(&it[key]));
            assert!(it["lastTransitionTime"].is_string(), "{it}");
            format!("{kind}={status} {reason} ({message}){old}")
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let is_policy = object["apiVersion"] == "example.io/v1";
    let is_ours = |kind: &str| is_policy || kind.ends_with("Affected");
    let mut lines = vec![format!("{name}: {}", shown(&object["status"]["conditions"], &is_ours))];
    for (list, reference) in [("ancestors", "ancestorRef"), ("parents", "parentRef")] {
        for entry in object["status"][list].as_array().into_iter().flatten() {
            if entry["controllerName"] == "attache.dev/controller" {
                let to = text(&entry[reference]["name"]);
                lines.push(format!("{name} > {to}: {}", shown(&entry["conditions"], &|_| true)));
            }
        }
    }
    lines.retain(|line| !line.ends_with(": "));
    lines
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until lines are as expected: a line of `expected` each.
#[track_caller]
pub fn become_lines(expected: &str, found: impl Fn() -> Vec<String>) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let start = Instant::now();
    loop {
        let found = found();
        if found == expected {
            return;
        }
        let lines = found.join("\n");
        assert!(start.elapsed() < Duration::from_secs(180), "after three minutes, instead of {expected:#?}:\n{lines}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
