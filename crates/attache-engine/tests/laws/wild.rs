//! Meaningless documents: the engine answers what it can.

use attache_engine::Engine;
use attache_engine::Objects;
use attache_engine::kinds::{PolicyKind, Settings, built_in};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::answer::answer;
use crate::world::worlds;
use crate::{config, objects};

/// Words with a meaning somewhere.
const WORDS: &[&str] = &[
    "",
    "*",
    "a",
    "a-b",
    "g0",
    "r0",
    "s0",
    "l0",
    "c",
    "p0",
    "laws.io",
    "Policy0",
    "v1",
    "apps",
    "core",
    "gateway.networking.k8s.io",
    "gateway.networking.k8s.io/v1",
    "Gateway",
    "HTTPRoute",
    "GRPCRoute",
    "TCPRoute",
    "Service",
    "Namespace",
    "GatewayClass",
    "ListenerSet",
    "ReferenceGrant",
    "PolicyKind",
    "attache.dev/v1alpha1",
    "CustomResourceDefinition",
    "apiextensions.k8s.io/v1",
    "atomic",
    "merge",
    "patch",
    "deep",
    "strategic",
    "shallow",
    "accumulate",
    "firstMatch",
    "Direct",
    "Inherited",
    "RejectNewer",
    "All",
    "Same",
    "Selector",
    "HTTP",
    "TLS",
    "*.example.com",
    "example.com",
    "In",
    "Exists",
    "spec.color == 1",
    "spec.",
    "rules.*",
    "spec.rules[*].filters[*]",
    "color",
    "limits.a",
    "Listener",
    "Backend",
    "BackendPort",
    "Consumer",
    "Granted",
    "2026-01-01T00:00:00Z",
    "rule-1",
    "ExtensionRef",
    "kuadrant.io/v1",
    "AuthPolicy",
    "TrafficPolicy",
    "gateway.kgateway.dev/v1alpha1",
    "RouteOption",
    "gateway.solo.io/v1",
    "SecurityPolicy",
    "gateway.envoyproxy.io/v1alpha1",
    "BackendTLSPolicy",
];

const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "creationTimestamp",
    "generation",
    "spec",
    "status",
    "group",
    "version",
    "versions",
    "names",
    "plural",
    "schema",
    "openAPIV3Schema",
    "properties",
    "additionalProperties",
    "type",
    "targetRef",
    "targetRefs",
    "targetSelectors",
    "selector",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "sectionName",
    "port",
    "parentRef",
    "parentRefs",
    "rules",
    "backendRefs",
    "filters",
    "extensionRef",
    "requestMirror",
    "backendRef",
    "hostname",
    "hostnames",
    "listeners",
    "allowedRoutes",
    "allowedListeners",
    "namespaces",
    "from",
    "to",
    "kinds",
    "protocol",
    "ports",
    "number",
    "gatewayClassName",
    "tls",
    "certificateRefs",
    "defaults",
    "overrides",
    "strategy",
    "when",
    "remove",
    "class",
    "hierarchy",
    "targets",
    "effectiveTarget",
    "sameLevel",
    "strategies",
    "whole",
    "keys",
    "priority",
    "annotation",
    "field",
    "mergesInto",
    "path",
    "crossNamespace",
    "fields",
    "settings",
    "dictatedBy",
    "conflicts",
    "oneLevel",
    "concatenate",
    "decisive",
    "yields",
    "virtualTargets",
    "color",
    "limits",
    "items",
    "mergeType",
    "a",
    "x",
];

fn wild() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => select(WORDS).prop_map(|word| json!(word)),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(|it| json!(it)),
        1 => select(vec![json!(0), json!(1), json!(80), json!(-1), json!(i64::MAX), json!(u64::MAX), json!(1.5), json!(1e300)]),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::from),
            2 => btree_map(select(FIELDS), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// A place in a document, found by going down a step for each index.
fn disturb(document: &mut Value, steps: &[Index], with: &Value) {
    let children: Vec<&mut Value> = match document {
        Value::Object(map) if !map.is_empty() => map.values_mut().collect(),
        Value::Array(items) if !items.is_empty() => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    match steps {
        [step, rest @ ..] if !children.is_empty() => {
            let at = step.index(children.len());
            children.into_iter().nth(at).into_iter().for_each(|child| disturb(child, rest, with));
        }
        _ => *document = with.clone(),
    }
}

fn ask(documents: &[Value]) {
    static BUILT_IN: std::sync::LazyLock<Vec<PolicyKind>> = std::sync::LazyLock::new(|| built_in().0);
    let engine = Engine::new(
        Objects::new(objects(documents)),
        &BUILT_IN,
        Settings { infer_unlabelled: true, ..Settings::default() },
    );
    engine.fold_all();
    answer(&engine);
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn documents_that_are_wrong_somewhere_do_not_panic(
        world in worlds(),
        disturbances in vec((any::<Index>(), vec(any::<Index>(), 1..7), wild()), 1..6),
    ) {
        let mut documents = world.0;
        for (which, steps, with) in &disturbances {
            let at = which.index(documents.len());
            disturb(&mut documents[at], steps, with);
        }
        ask(&documents);
    }

    #[test]
    fn documents_of_known_kinds_with_anything_in_them_do_not_panic(
        wild in vec((select(KINDS), wild(), wild()), 1..8),
    ) {
        let documents: Vec<Value> = wild
            .into_iter()
            .map(|((version, kind), metadata, spec)| {
                let mut document = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec});
                if let (Value::Object(known), Value::Object(more)) = (&mut document["metadata"], metadata) {
                    known.extend(more);
                }
                document
            })
            .collect();
        ask(&documents);
    }
}

const KINDS: &[(&str, &str)] = &[
    ("gateway.networking.k8s.io/v1", "Gateway"),
    ("gateway.networking.k8s.io/v1", "GatewayClass"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("gateway.networking.k8s.io/v1", "ListenerSet"),
    ("gateway.networking.k8s.io/v1", "BackendTLSPolicy"),
    ("gateway.networking.k8s.io/v1beta1", "ReferenceGrant"),
    ("v1", "Service"),
    ("v1", "Namespace"),
    ("v1", "Secret"),
    ("attache.dev/v1alpha1", "PolicyKind"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("kuadrant.io/v1", "AuthPolicy"),
    ("gateway.kgateway.dev/v1alpha1", "TrafficPolicy"),
    ("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy"),
    ("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy"),
    ("gateway.solo.io/v1", "RouteOption"),
];
