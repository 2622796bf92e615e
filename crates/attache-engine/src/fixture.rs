//! Small engines for unit tests.

#![allow(clippy::panic)]

use std::sync::Arc;

use crate::engine::Engine;
use crate::kinds::Settings;
use crate::object::{ObjectRef, Objects};
use crate::policy::PolicyId;
use crate::text;
use crate::topology::NodeId;

/// A Gateway `g` with a listener `http`, an HTTPRoute `r` with one rule below it, and the Service `s` that the rule
/// refers to. All are in the namespace `default`.
pub const ROUTED_SERVICE: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: default}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: default}
spec: {parentRefs: [{name: g}], rules: [{backendRefs: [{name: s, port: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: default}
spec: {ports: [{port: 80}]}
---
";

/// An engine built from these documents, which must be valid. It has no built-in kinds.
pub fn engine(yaml: &str) -> Engine {
    let reading = text::read(&Arc::from("test.yaml"), yaml);
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let engine = Engine::new(Objects::new(reading.objects), &[], Settings::default());
    assert!(engine.problems().is_empty(), "{:?}", engine.problems());
    engine
}

/// A PolicyKind document for `TestPolicy`, with further fields.
pub fn kind(fields: &str) -> String {
    format!(
        "apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {{name: testpolicies.example.io}}
spec: {{group: example.io, kind: TestPolicy, {fields}}}
---
"
    )
}

/// A `TestPolicy` in the namespace `default`, with further fields of `spec`. The target is written `Kind/name`.
pub fn policy(name: &str, target: &str, spec: &str) -> String {
    dated_policy(name, "2020-01-01T00:00:00Z", target, spec)
}

/// Like [`policy`], with a creation time.
pub fn dated_policy(name: &str, created: &str, target: &str, spec: &str) -> String {
    let (kind, target) = target.split_once('/').unwrap_or_default();
    format!(
        "apiVersion: example.io/v1
kind: TestPolicy
metadata: {{name: {name}, namespace: default, creationTimestamp: {created:?}}}
spec: {{targetRef: {{kind: {kind}, name: {target}}}, {spec}}}
---
"
    )
}

/// The `TestPolicy` of that name.
pub fn policy_id(engine: &Engine, name: &str) -> PolicyId {
    let id = ObjectRef::new("example.io", "TestPolicy", "default", name);
    engine.find_policy(&id).unwrap_or_else(|| panic!("there is no {id}"))
}

/// The node of that name: `Kind/namespace/name#section`.
pub fn node(engine: &Engine, name: &str) -> NodeId {
    let mut nodes = engine.topology().nodes().map(|(node, _)| node);
    let found = nodes.find(|node| engine.topology().name(engine.objects(), *node) == name);
    found.unwrap_or_else(|| panic!("there is no {name}"))
}
