//! Any text is a path that is read back as it is printed; and an override by patch is RFC 7386, whatever it patches.
//! The input is three documents: a path, what a route's policy says, and what its Gateway's policy patches it with.

#![no_main]

use attache_engine::Engine;
use attache_engine::kinds::Settings;
use attache_engine::{Object, Objects};
use attache_engine::text;
use attache_engine::{Path, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, "\n---\n");
    let path = Path::parse(parts.next().unwrap_or_default());
    assert_eq!(Path::parse(&path.to_string()), path, "{path}");
    let mut block = || text::read_value(parts.next()?).ok().and_then(rules);
    let (Some(target), Some(patch)) = (block(), block()) else { return };
    path.resolve(&target);
    let json = |value: &Value| serde_json::to_value(value).unwrap();
    let (expected, got) = (merge_patch(json(&target), json(&patch)), patched(target, patch));
    assert_eq!(got.as_ref().map_or(json!({}), json), without_nulls(expected));
});

/// What can stand in a block: fields, none of which says how the block merges or what it is for.
fn rules(value: Value) -> Option<Value> {
    let reserved = ["strategy", "when", "remove", "unset", "defaults", "default", "overrides", "override"];
    let targets = ["targetRef", "targetRefs", "targetSelectors"];
    let map = value.as_map()?.without(|key| reserved.contains(&key) || targets.contains(&key));
    Some(Value::Map(map))
}

/// What a route's bare rules become under the override of its Gateway.
fn patched(target: Value, patch: Value) -> Option<Value> {
    let with = |spec: Value, key: &str, value: Value| Value::Map(spec.as_map().unwrap().with(key, value));
    let reference = |kind: &str| json!({"kind": kind, "name": "x"}).into();
    let on_route = with(target, "targetRef", reference("HTTPRoute"));
    let on_gateway = with(json!({}).into(), "overrides", with(patch, "strategy", Value::str("patch")));
    let on_gateway = with(on_gateway, "targetRef", reference("Gateway"));
    let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
    let objects = vec![
        object(
            "attache.dev/v1alpha1",
            "PolicyKind",
            "x",
            json!({
                "group": "x.io", "kind": "P", "strategies": ["patch"], "hierarchy": ["Gateway", "Route"],
                "effectiveTarget": "Route",
            })
            .into(),
        ),
        object("gateway.networking.k8s.io/v1", "Gateway", "x", json!({"listeners": listeners}).into()),
        object("gateway.networking.k8s.io/v1", "HTTPRoute", "x", json!({"parentRefs": [{"name": "x"}]}).into()),
        object("x.io/v1", "P", "x", on_route),
        object("x.io/v1", "P", "y", on_gateway),
    ];
    let engine = Engine::new(Objects::new(objects), &[], Settings::default());
    let model = &engine.models()[0];
    let route = model.effective_targets(engine.view()).next().unwrap();
    model.effective(engine.view(), model.chains_at(engine.view(), route)[0].0).spec.clone()
}

fn object(version: &str, kind: &str, name: &str, spec: Value) -> Object {
    let head = Value::from(json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "a"}}));
    Object::from_value(Value::Map(head.as_map().unwrap().with("spec", spec))).unwrap()
}

fn merge_patch(target: Json, patch: Json) -> Json {
    let Json::Object(patch) = patch else { return patch };
    let mut result = match target {
        Json::Object(map) => map,
        _ => Default::default(),
    };
    for (key, value) in patch {
        if value.is_null() {
            result.remove(&key);
        } else {
            let object_merge = merge_patch(result.remove(&key).unwrap_or_default(), value);
            result.insert(key, object_merge);
        }
    }
    Json::Object(result)
}

fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        other => other,
    }
}
