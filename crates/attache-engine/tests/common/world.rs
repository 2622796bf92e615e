//! Small random inputs with many conflicts: few names, few values, many policies.

use std::collections::BTreeSet;
use std::fmt;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};

/// `a-b/x` comes before `a/x`, though `a` comes before `a-b`.
const NAMESPACES: [&str; 2] = ["a", "a-b"];
const GATEWAY_API: &str = "gateway.networking.k8s.io";
pub const GROUP: &str = "laws.io";

/// Documents, in random order.
#[derive(Clone)]
pub struct World(pub Vec<Value>);

/// One document per line, so that it can be run.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|document| write!(f, "\n---\n{document}"))
    }
}

pub fn worlds() -> impl Strategy<Value = World> {
    (infrastructure(), vec(kind(), 1..3), vec(policy(), 0..8)).prop_map(|(mut documents, kinds, policies)| {
        let targets = targets(&documents);
        let made = policies.iter().enumerate().map(|(i, policy)| policy.document(i, &kinds, &targets));
        let made: Vec<Value> = made.collect();
        documents.extend(kinds.iter().enumerate().map(|(i, kind)| kind.document(i)));
        documents.extend(made);
        let mut seen = BTreeSet::new();
        documents.retain(|it| {
            seen.insert((
                it["kind"].to_string(),
                it["metadata"]["namespace"].to_string(),
                it["metadata"]["name"].to_string(),
            ))
        });
        World(documents)
    })
}

// Gateways, routes and Services.

fn infrastructure() -> impl Strategy<Value = Vec<Value>> {
    let some = (vec(gateway(), 1..3), vec(listener_set(), 0..2), vec(route(), 1..4), vec(service(), 0..4));
    let classes = subsequence(vec![("c", "laws.io/x"), ("d", "other.io/x")], 0..=2);
    (some, any::<bool>(), classes).prop_map(|((gateways, sets, routes, services), granted, classes)| {
        let named = |prefix: &str, documents: Vec<Value>| {
            let named = documents.into_iter().enumerate().map(|(i, mut document)| {
                document["metadata"]["name"] = json!(format!("{prefix}{i}"));
                document
            });
            named.collect::<Vec<_>>()
        };
        let mut all = [named("g", gateways), named("l", sets), named("r", routes), services].concat();
        all.extend(classes.into_iter().map(|(name, controller)| {
            json!({
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": name},
                "spec": {"controllerName": controller},
            })
        }));
        all.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}));
        if granted {
            all.extend(grants());
        }
        all
    })
}

/// Grants for all references.
fn grants() -> impl Iterator<Item = Value> {
    NAMESPACES.iter().zip(NAMESPACES.iter().rev()).map(|(to, from)| {
        let routes = json!({"group": GATEWAY_API, "kind": "HTTPRoute", "namespace": from});
        let policies = (0..2).map(|i| json!({"group": GROUP, "kind": format!("Policy{i}"), "namespace": from}));
        let from: Vec<Value> = policies.chain([routes]).collect();
        let to_kinds = [("", "Service"), (GATEWAY_API, "Gateway"), (GATEWAY_API, "HTTPRoute")];
        let to_kinds = to_kinds.map(|(group, kind)| json!({"group": group, "kind": kind}));
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
            "metadata": {"name": "grant", "namespace": to}, "spec": {"from": from, "to": to_kinds},
        })
    })
}

fn gateway() -> impl Strategy<Value = Value> {
    (select(&NAMESPACES[..]), 1..3, select(vec!["c", "c", "d"])).prop_map(|(namespace, listeners, class)| {
        let listeners: Vec<Value> = (0..listeners).map(listener).collect();
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"namespace": namespace},
            "spec": {"gatewayClassName": class, "listeners": listeners, "allowedListeners": {"namespaces": {"from": "All"}}},
        })
    })
}

fn listener(i: i32) -> Value {
    let allowed = json!({"namespaces": {"from": "All"}});
    json!({"name": format!("l{i}"), "port": 80 + i, "protocol": "HTTP", "allowedRoutes": allowed})
}

fn listener_set() -> impl Strategy<Value = Value> {
    (select(&NAMESPACES[..]), 0..2, select(&NAMESPACES[..])).prop_map(|(namespace, gateway, elsewhere)| {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "ListenerSet", "metadata": {"namespace": namespace},
            "spec": {"parentRef": {"name": format!("g{gateway}"), "namespace": elsewhere}, "listeners": [listener(10)]},
        })
    })
}

fn route() -> impl Strategy<Value = Value> {
    let rule = vec(backend(), 0..3).prop_map(|backends| json!({"backendRefs": backends}));
    (select(&NAMESPACES[..]), vec(parent(), 0..3), vec(rule, 0..3)).prop_map(|(namespace, parents, rules)| {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"namespace": namespace},
            "spec": {"parentRefs": parents, "rules": rules},
        })
    })
}

fn parent() -> impl Strategy<Value = Value> {
    let gateways = (select(vec!["Gateway", "Gateway", "ListenerSet"]), 0..2, option::weighted(0.3, 0..2)).prop_map(
        |(kind, name, section)| {
            let name = format!("{}{name}", if kind == "Gateway" { "g" } else { "l" });
            let mut parent = json!({"kind": kind, "name": name});
            if let Some(section) = section {
                parent["sectionName"] = json!(format!("l{section}"));
            }
            parent
        },
    );
    let services = (0..2).prop_map(|i| json!({"group": "", "kind": "Service", "name": format!("s{i}")}));
    let parents = prop_oneof![3 => gateways, 1 => services];
    (parents, option::of(select(&NAMESPACES[..]))).prop_map(in_namespace)
}

fn backend() -> impl Strategy<Value = Value> {
    let service = (0..2, option::weighted(0.8, 80..82)).prop_map(|(i, port)| match port {
        Some(port) => json!({"name": format!("s{i}"), "port": port}),
        None => json!({"name": format!("s{i}")}),
    });
    let route = (0..4).prop_map(|i| json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": format!("r{i}")}));
    (prop_oneof![5 => service, 1 => route], option::weighted(0.3, select(&NAMESPACES[..]))).prop_map(in_namespace)
}

fn in_namespace((mut reference, namespace): (Value, Option<&str>)) -> Value {
    if let Some(namespace) = namespace {
        reference["namespace"] = json!(namespace);
    }
    reference
}

fn service() -> impl Strategy<Value = Value> {
    (select(&NAMESPACES[..]), 0..2, 0..3).prop_map(|(namespace, name, ports)| {
        let ports: Vec<Value> = (0..ports).map(|i| json!({"name": format!("p{i}"), "port": 80 + i})).collect();
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": format!("s{name}"), "namespace": namespace}, "spec": {"ports": ports},
        })
    })
}

/// Everything a policy can target, sections included, and something that does not exist.
fn targets(documents: &[Value]) -> Vec<(Value, String)> {
    let mut targets = Vec::new();
    for document in documents.iter().filter(|it| it["kind"] != "ReferenceGrant") {
        let kind = document["kind"].as_str().unwrap_or_default();
        let group = if ["Service", "Namespace"].contains(&kind) { "" } else { GATEWAY_API };
        let name = &document["metadata"]["name"];
        let home = document["metadata"]["namespace"].as_str().unwrap_or("a").to_owned();
        let target = json!({"group": group, "kind": kind, "name": name});
        let (sections, called) = match kind {
            "Gateway" | "ListenerSet" => ("listeners", "listener"),
            "HTTPRoute" => ("rules", "rule"),
            _ => ("ports", "port"),
        };
        let sections = document["spec"][sections].as_array().map_or(&[][..], Vec::as_slice);
        for (i, section) in sections.iter().enumerate() {
            let mut target = target.clone();
            target["sectionName"] = section.get("name").cloned().unwrap_or(json!(format!("{called}-{}", i + 1)));
            targets.push((target, home.clone()));
        }
        targets.push((target, home));
    }
    targets.push((json!({"group": GATEWAY_API, "kind": "GatewayClass", "name": "c"}), "a".to_owned()));
    targets.push((json!({"group": GATEWAY_API, "kind": "Gateway", "name": "nothing"}), "a".to_owned()));
    targets
}

// Kinds.

#[derive(Clone, Debug)]
pub struct Kind {
    direct: bool,
    hierarchy: Vec<&'static str>,
    effective: Option<Index>,
    strategies: Vec<&'static str>,
    same_level: &'static str,
    declares_rules: bool,
    whole: bool,
    priority: bool,
    cross_namespace: &'static str,
    controllers: Vec<&'static str>,
    mesh: bool,
}

const LEVELS: [&str; 8] =
    ["GatewayClass", "Namespace", "Gateway", "Listener", "Route", "RouteRule", "Backend", "BackendPort"];

fn kind() -> impl Strategy<Value = Kind> {
    let strategies = prop_oneof![
        9 => subsequence(vec!["atomic", "merge", "patch"], 1..=3).prop_shuffle(),
        1 => Just(vec!["none"]),
    ];
    let shape = (
        prop::bool::weighted(0.15),
        prop_oneof![1 => Just(LEVELS.to_vec()), 1 => subsequence(LEVELS.to_vec(), 1..=8)],
        option::weighted(0.3, any::<Index>()),
        select(vec!["Never", "Granted", "Consumer"]),
        select(vec![vec![], vec![], vec!["laws.io/*"], vec!["nobody"]]),
        prop::bool::weighted(0.8),
    );
    let merging = (
        strategies,
        select(vec!["OldestIsHigher", "OldestWins", "RejectNewer"]),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.3),
    );
    (shape, merging).prop_map(|((direct, hierarchy, effective, cross_namespace, controllers, mesh), merging)| {
        let (strategies, same_level, declares_rules, whole, priority) = merging;
        Kind {
            direct,
            hierarchy,
            effective,
            strategies,
            same_level,
            declares_rules,
            whole,
            priority,
            cross_namespace,
            controllers,
            mesh,
        }
    })
}

impl Kind {
    fn document(&self, i: usize) -> Value {
        let mut spec = json!({
            "group": GROUP, "kind": format!("Policy{i}"), "hierarchy": self.hierarchy,
            "clusterTargets": true, "crossNamespace": self.cross_namespace, "numberedRules": true,
            "controllers": self.controllers, "mesh": self.mesh,
        });
        if self.direct {
            spec["class"] = json!("Direct");
        } else {
            spec["strategies"] = json!(self.strategies);
            if self.strategies != ["none"] {
                spec["sameLevel"] = json!(self.same_level);
            }
        }
        if let Some(effective) = &self.effective {
            spec["effectiveTarget"] = json!(effective.get(&self.hierarchy));
        }
        if self.declares_rules {
            spec["rules"] = json!(["rules.*", "limits.*.*", "color"]);
        }
        if self.whole {
            spec["whole"] = json!(["labels", "limits.a"]);
        }
        if self.priority {
            spec["priority"] = json!({"annotation": "priority"});
        }
        let name = format!("policy{i}s.{GROUP}");
        json!({"apiVersion": "attache.dev/v1alpha1", "kind": "PolicyKind", "metadata": {"name": name}, "spec": spec})
    }
}

// Policies.

#[derive(Clone, Debug)]
struct Policy {
    kind: Index,
    targets: Vec<Index>,
    /// The namespace, if it is not that of the first target.
    elsewhere: Option<&'static str>,
    created: Option<u8>,
    priority: Option<i32>,
    defaults: Option<Block>,
    bare: Block,
    overrides: Option<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    strategy: Option<Index>,
    when: Option<&'static str>,
    remove: Vec<&'static str>,
    spec: Value,
}

fn policy() -> impl Strategy<Value = Policy> {
    let place = (
        any::<Index>(),
        vec(any::<Index>(), 1..3),
        option::weighted(0.2, select(&NAMESPACES[..])),
        option::weighted(0.8, 1u8..4),
        option::weighted(0.3, -1..2),
    );
    let block = || option::weighted(0.4, block(spec(1)));
    (place, block(), self::block(spec(0)), block()).prop_map(|(place, defaults, bare, overrides)| {
        let (kind, targets, elsewhere, created, priority) = place;
        Policy { kind, targets, elsewhere, created, priority, defaults, bare, overrides }
    })
}

fn block(spec: impl Strategy<Value = Value>) -> impl Strategy<Value = Block> {
    let conditions = [
        "true",
        "false",
        "spec.color == 1",
        "has(spec.rules.a)",
        "spec.limits.a.x > 0",
        "size(spec) > 1",
        "!has(spec.color)",
    ];
    let removable = ["color", "a", "rules.a", "rules.b", "limits.a.x", "x", "labels", "limits"];
    (
        option::of(any::<Index>()),
        option::weighted(0.2, select(conditions.to_vec())),
        vec(select(removable.to_vec()), 0..2),
        spec,
    )
        .prop_map(|(strategy, when, remove, spec)| Block { strategy, when, remove, spec })
}

fn spec(least: usize) -> impl Strategy<Value = Value> {
    let scalar = || prop_oneof![4 => (0..3).prop_map(|i| json!(i)), 1 => Just(Value::Null), 1 => Just(json!([1, {"x": null}])), 1 => Just(json!([]))];
    let inner = prop_oneof![3 => scalar(), 1 => btree_map("[xy]", scalar(), 0..3).prop_map(|map| json!(map))];
    let field = prop_oneof![1 => scalar(), 3 => btree_map("[ab]", inner, 0..3).prop_map(|map| json!(map))];
    btree_map(select(vec!["color", "rules", "limits", "labels"]), field, least..4).prop_map(|map| json!(map))
}

impl Policy {
    fn document(&self, i: usize, kinds: &[Kind], targets: &[(Value, String)]) -> Value {
        let at = self.kind.index(kinds.len());
        let kind = &kinds[at];
        let chosen: Vec<&(Value, String)> = self.targets.iter().map(|index| index.get(targets)).collect();
        let home = self.elsewhere.unwrap_or(&chosen[0].1);
        let mut spec = self.bare.document(kind, true);
        let references = chosen.iter().map(|(target, namespace)| match target["kind"].as_str() {
            Some("GatewayClass" | "Namespace") => target.clone(),
            _ => in_namespace((target.clone(), Some(namespace).filter(|it| *it != home).map(String::as_str))),
        });
        spec["targetRefs"] = references.collect();
        if !kind.direct {
            for (name, block) in [("defaults", &self.defaults), ("overrides", &self.overrides)] {
                if let Some(block) = block {
                    spec[name] = block.document(kind, false);
                }
            }
        }
        let mut metadata = json!({"name": format!("p{i}"), "namespace": home});
        if let Some(day) = self.created {
            metadata["creationTimestamp"] = json!(format!("2026-01-0{day}T00:00:00Z"));
        }
        if let Some(priority) = self.priority {
            metadata["annotations"] = json!({"priority": priority.to_string()});
        }
        json!({"apiVersion": "laws.io/v1", "kind": format!("Policy{at}"), "metadata": metadata, "spec": spec})
    }
}

impl Block {
    fn document(&self, kind: &Kind, bare: bool) -> Value {
        let mut spec = self.spec.clone();
        if kind.direct {
            return spec;
        }
        // A strategy beside bare rules is rarer.
        if let Some(strategy) = self.strategy.as_ref().filter(|index| !bare || index.index(3) == 0) {
            spec["strategy"] = json!(strategy.get(&kind.strategies));
        }
        if let Some(when) = self.when {
            spec["when"] = json!(when);
        }
        if !self.remove.is_empty() {
            spec["remove"] = json!(self.remove);
        }
        spec
    }
}
