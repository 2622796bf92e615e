//! Tests of the stages on small inputs: dependents of a change, rebuilds, and reports.

use std::sync::Arc;

use super::dependents::DependencyKey;
use super::{Edit, IncrementalEngine, NeedsRebuild};
use crate::engine::Engine;
use crate::object::{Object, ObjectRef, Source};
use crate::text;
use crate::value::Value;

const GATEWAY_API: &str = "gateway.networking.k8s.io";
const OBJECTS: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: a}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: a}
spec: {parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, namespace: b, port: 80}]}]}
---
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {name: colorpolicies.example.io}
spec: {group: example.io, kind: ColorPolicy, class: Inherited, effectiveTarget: Route}
---
apiVersion: example.io/v1
kind: ColorPolicy
metadata: {name: p, namespace: a}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}, color: red}
";

fn read(yaml: &str) -> Vec<Object> {
    text::read(&Arc::from("test.yaml"), yaml).objects
}

fn incremental() -> IncrementalEngine {
    Engine::builder().objects(read(OBJECTS)).build_incremental()
}

fn put(yaml: &str) -> Vec<Edit> {
    read(yaml).into_iter().map(Edit::Put).collect()
}

#[test]
fn a_route_depends_on_its_parent_its_backend_and_the_grants_of_its_namespace() {
    let engine = incremental();
    let route = engine.now().objects().find(&ObjectRef::new(GATEWAY_API, "HTTPRoute", "a", "r"));
    let depends_on = |key| engine.dependencies.dependents(key).any(|id| Some(id) == route);
    assert!(depends_on(DependencyKey::Object(GATEWAY_API, "Gateway", "a", "g")));
    assert!(depends_on(DependencyKey::Object("", "Service", "b", "s")));
    assert!(depends_on(DependencyKey::Grants("b")));
    assert!(!depends_on(DependencyKey::Grants("a")));
    assert!(!depends_on(DependencyKey::Object("", "Service", "a", "s")));
}

#[test]
fn a_changed_policy_is_applied_incrementally_and_reported() {
    let mut engine = incremental();
    let changed = OBJECTS.rsplit("---").next().unwrap_or_default().replace("red", "blue");
    let report = engine.apply(put(&changed));
    assert_eq!(report.rebuild_reason(), None);
    let changes = report.effective();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].leaves[0].path.to_string(), "color");
    assert!(report.policies().is_empty() && report.targets().is_empty());
}

#[test]
fn a_changed_policy_kind_needs_a_rebuild_and_the_report_says_so() {
    let mut engine = incremental();
    let kind =
        OBJECTS.split("---").nth(2).unwrap_or_default().replace("effectiveTarget: Route", "effectiveTarget: Gateway");
    let report = engine.apply(put(&kind));
    assert_eq!(report.rebuild_reason(), Some(NeedsRebuild::PolicyKinds));
    assert!(!report.effective().is_empty());
}

#[test]
fn the_status_of_a_policy_kind_needs_no_rebuild() {
    let mut objects = read(OBJECTS);
    // As objects of a cluster: in a file, everything behind the status would be at another place.
    objects.iter_mut().for_each(|object| object.source = Source::default());
    let mut kind = objects.iter().find(|object| object.id.kind == "PolicyKind").cloned().unwrap_or_default();
    let mut engine = Engine::builder().objects(objects).build_incremental();
    let status = Value::from(serde_json::json!({"conditions": [{"type": "Accepted", "status": "True"}]}));
    kind.body = Value::Map(kind.body.as_map().cloned().unwrap_or_default().with("status", status.clone()));
    let id = kind.id.clone();
    let report = engine.apply([Edit::Put(kind)]);
    assert_eq!(report.rebuild_reason(), None);
    assert!(report.is_empty());
    let objects = engine.now().objects();
    let written = objects.find(&id).map(|id| &objects[id]).and_then(|kind| kind.body.get("status"));
    assert_eq!(written, Some(&status));
}

#[test]
fn a_changed_setting_of_a_controller_needs_a_rebuild_and_nothing_else_of_its_object_does() {
    let setting = "settings: [{sets: rootNamespace, kind: ConfigMap, name: mesh, path: data.root}]";
    let objects = OBJECTS.replace("effectiveTarget: Route", &format!("effectiveTarget: Route, {setting}"));
    let mut engine = Engine::builder().objects(read(&objects)).build_incremental();
    let config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: mesh, namespace: x}, data: {root: a}}";
    assert_eq!(engine.apply(put(config)).rebuild_reason(), Some(NeedsRebuild::ControllerSettings));
    let kinds = engine.now().kinds();
    let root = kinds.find("example.io", "ColorPolicy").and_then(|id| kinds.get(id).hierarchy.root_namespace.clone());
    assert_eq!(root.as_deref(), Some("a"));
    assert_eq!(engine.apply(put(&config.replace("a}}", "a, more: b}}"))).rebuild_reason(), None);
    let other = config.replace("name: mesh", "name: other");
    assert_eq!(engine.apply(put(&other)).rebuild_reason(), None);
    let removed = Edit::Delete(ObjectRef::new("", "ConfigMap", "x", "mesh"));
    assert_eq!(engine.apply([removed]).rebuild_reason(), Some(NeedsRebuild::ControllerSettings));
}

#[test]
fn the_first_grpc_route_beside_http_routes_needs_a_rebuild() {
    let mut engine = incremental();
    let route = "{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: q, namespace: a}}";
    assert_eq!(engine.apply(put(route)).rebuild_reason(), Some(NeedsRebuild::FirstCompetingRoute));
    let another = route.replace("name: q", "name: z");
    assert_eq!(engine.apply(put(&another)).rebuild_reason(), None);
}

#[test]
fn a_changed_status_changes_nothing() {
    let mut engine = incremental();
    let mut gateway = OBJECTS.split("---").next().unwrap_or_default().to_owned();
    gateway.push_str("status: {ready: true}\n");
    let report = engine.apply(put(&gateway));
    assert!(report.is_empty());
    assert!(report.after.objects().iter().any(|(_, object)| object.body.get("status").is_some()));
}
