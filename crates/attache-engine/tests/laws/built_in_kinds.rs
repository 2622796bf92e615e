//! Random inputs with policies of one built-in kind, which set the fields that the kind treats specially.

use attache_engine::kinds::{DictatedBy, Pattern, PatternStep, PolicyKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use crate::world::World;

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// A random policy.
#[derive(Clone, Debug)]
struct Draft {
    targets: Vec<Index>,
    created: Option<u8>,
    block: &'static str,
    strategy: Option<Index>,
    fields: Vec<(Index, u8)>,
}

fn draft() -> impl Strategy<Value = Draft> {
    (
        vec(any::<Index>(), 1..3),
        option::weighted(0.8, 1u8..4),
        select(vec!["", "", "defaults", "overrides"]),
        option::of(any::<Index>()),
        vec((any::<Index>(), 0u8..4), 0..4),
    )
        .prop_map(|(targets, created, block, strategy, fields)| Draft {
            targets,
            created,
            block,
            strategy,
            fields,
        })
}

/// Worlds with two Gateways, routes that delegate, and policies of one kind.
pub fn built_in_worlds(kinds: &'static [PolicyKind]) -> impl Strategy<Value = World> {
    let kinds: Vec<&PolicyKind> = kinds.iter().filter(|kind| !places(kind).is_empty()).collect();
    (select(kinds), vec(draft(), 1..6), option::of(any::<Index>())).prop_map(|(kind, drafts, annotation)| {
        let mut documents = infrastructure();
        if let (DictatedBy::Annotation(annotated), Some(value)) = (&kind.merging.dictated_by, annotation)
            && !annotated.values.is_empty()
        {
            let value = &value.get(&annotated.values).values[0];
            documents[3]["metadata"]["annotations"] = json!({ annotated.names[0].as_str(): value.as_str() });
        }
        documents.extend(drafts.iter().enumerate().map(|(i, draft)| draft.document(i, kind)));
        World(documents)
    })
}

fn infrastructure() -> Vec<Value> {
    let object = |kind: &str, name: &str, spec: Value| {
        let version = if kind == "Service" { "v1" } else { "gateway.networking.k8s.io/v1" };
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "a"}, "spec": spec})
    };
    let listener = |name: &str, port: u16, protocol: &str| json!({"name": name, "port": port, "protocol": protocol, "allowedRoutes": {"namespaces": {"from": "All"}}});
    let listeners = json!([listener("l0", 80, "HTTP"), listener("l1", 81, "HTTP"), listener("l2", 82, "TCP")]);
    let backend = json!([{"name": "s0", "port": 80}]);
    let child = json!([{"group": GATEWAY_API, "kind": "HTTPRoute", "name": "r1"}]);
    let rules = json!([{"name": "a", "backendRefs": backend}, {"name": "b", "backendRefs": child}]);
    let mut class = object("GatewayClass", "c", json!({"controllerName": "example.io/c"}));
    class["metadata"] = json!({"name": "c"});
    vec![
        class,
        object("Gateway", "g0", json!({"gatewayClassName": "c", "listeners": listeners})),
        object("Service", "s0", json!({"ports": [{"name": "p0", "port": 80}]})),
        object("HTTPRoute", "r0", json!({"parentRefs": [{"name": "g0"}], "rules": rules})),
        object("HTTPRoute", "r1", json!({"rules": [{"name": "a", "backendRefs": backend}]})),
        object(
            "TCPRoute",
            "r2",
            json!({"parentRefs": [{"name": "g0"}], "rules": [{"name": "a", "backendRefs": backend}]}),
        ),
    ]
}

/// Everything that policies of a kind can target here.
fn places(kind: &PolicyKind) -> Vec<Value> {
    let places = [
        (GATEWAY_API, "Gateway", "g0", &[None, Some("l0"), Some("l2")][..]),
        (GATEWAY_API, "HTTPRoute", "r0", &[None, Some("a"), Some("b")][..]),
        (GATEWAY_API, "HTTPRoute", "r1", &[None, Some("a")][..]),
        (GATEWAY_API, "TCPRoute", "r2", &[None, Some("a")][..]),
        ("", "Service", "s0", &[None][..]),
    ];
    let mut found = Vec::new();
    for (group, name, object, sections) in places {
        if kind.targets.allowed.iter().any(|level| level.names(group, name) || level.to_string() == name) {
            for section in sections.iter().filter(|section| section.is_none() || kind.targets.sections) {
                let mut target = json!({"group": group, "kind": name, "name": object});
                if let Some(section) = section {
                    target["sectionName"] = json!(section);
                }
                found.push(target);
            }
        }
    }
    found
}

impl Draft {
    fn document(&self, i: usize, kind: &PolicyKind) -> Value {
        let places = places(kind);
        let paths = paths(kind);
        let mut rules = json!({});
        for (path, value) in &self.fields {
            set(&mut rules, path.get(&paths).steps(), *value);
        }
        let is_block = kind.has_blocks() && !self.block.is_empty();
        if let Some(strategy) = self.strategy.as_ref().filter(|_| kind.has_blocks()) {
            rules["strategy"] = json!(strategy.get(&kind.merging.strategies).name());
        }
        let mut spec = if is_block { json!({ self.block: rules }) } else { rules };
        if let (DictatedBy::Lower(lower), Some(value)) = (&kind.merging.dictated_by, &self.strategy)
            && let Some((word, _)) = lower.values.get(value.index(lower.values.len() + 1))
        {
            spec[lower.field.to_string().trim_start_matches("spec.")] = json!(word.as_str());
        }
        let targets: Vec<&Value> = self.targets.iter().map(|index| index.get(&places)).collect();
        match kind.fields.target_refs.iter().any(|path| path.to_string() == "spec.targetRefs") {
            true => spec["targetRefs"] = json!(targets),
            false => spec["targetRef"] = targets[0].clone(),
        }
        let version = kind.versions.first().map_or("v1", |version| version.as_str());
        let mut metadata = json!({"name": format!("p{i}"), "namespace": "a"});
        if let Some(day) = self.created {
            metadata["creationTimestamp"] = json!(format!("2026-01-0{day}T00:00:00Z"));
        }
        json!({"apiVersion": format!("{}/{version}", kind.group), "kind": kind.kind, "metadata": metadata, "spec": spec})
    }
}

/// The paths that a kind treats specially, and two others.
fn paths(kind: &PolicyKind) -> Vec<Pattern> {
    let merging = &kind.merging;
    let keyed = merging.keys.iter().map(|(list, key)| Pattern::parse(&format!("{list}[*].{key}")));
    let concatenated = merging.concatenated.iter().map(|(list, _)| Pattern::parse(&format!("{list}[*]")));
    let yielded = merging.yields_to_rule.iter().flat_map(|it| &it.fields);
    let special = merging.rules.iter().chain(&merging.decisive).chain(yielded).cloned();
    let plain = ["plain.x", "plain.y", "color"].map(Pattern::parse);
    special.chain(keyed).chain(concatenated).chain(plain).collect()
}

/// Sets a value at a path. Any key is `a` or `b`, any index the first.
fn set(value: &mut Value, steps: &[PatternStep], number: u8) {
    let [step, rest @ ..] = steps else {
        *value = json!(number);
        return;
    };
    match step {
        PatternStep::AnyIndex => {
            if !value.is_array() {
                *value = json!([Value::Null]);
            }
            set(&mut value[0], rest, number);
        }
        PatternStep::Key(_) | PatternStep::AnyKey => {
            let key = match step {
                PatternStep::Key(key) => key.as_str(),
                _ if number.is_multiple_of(2) => "a",
                _ => "b",
            };
            if !value.is_object() {
                *value = json!({});
            }
            set(&mut value[key], rest, number);
        }
    }
}
