//! Scopes, folds and counts that were wrong once, each as small as possible.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use attache_engine::kinds::Settings;
use attache_engine::text;
use attache_engine::{Enforcement, Objects, ScopeCounts};
use attache_engine::{Engine, Loss};

const WORLD: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: a}
spec:
  gatewayClassName: c
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: a}
spec: {ports: [{name: one, port: 80}, {name: two, port: 81}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: b}
spec: {ports: [{name: one, port: 80}, {name: two, port: 81}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: all, namespace: b}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}]
  to: [{group: '', kind: Service}]
---
";

fn engine(kind: &str, documents: &[&str]) -> Engine {
    let kind = format!(
        "{{apiVersion: attache.dev/v1alpha1, kind: PolicyKind, metadata: {{name: p}}, \
         spec: {{group: x.io, kind: P, clusterTargets: true, {kind}}}}}"
    );
    let text = format!("{WORLD}{kind}\n---\n{}", documents.join("\n---\n"));
    let reading = text::read(&Arc::from("test.yaml"), &text);
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let engine = Engine::new(Objects::new(reading.objects), &[], Settings::default());
    assert!(engine.problems().is_empty(), "{:?}", engine.problems());
    engine
}

/// The scopes of a node, and the effective policy of each.
fn scopes(kind: &str, documents: &[&str], node: &str) -> Vec<String> {
    let engine = engine(kind, documents);
    let name = |id| engine.topology().name(engine.objects(), id);
    let (node, _) = engine.topology().nodes().find(|(id, _)| name(*id) == node).unwrap();
    let model = &engine.models()[0];
    let mut found = Vec::new();
    model.scopes(engine.view(), node, &mut |scope| {
        let nodes: Vec<String> = scope.nodes.iter().map(|node| name(*node)).collect();
        let from = scope.from.map_or(String::new(), |from| format!(" from {}", name(from)));
        let spec = &model.effective(engine.view(), scope.chain).spec;
        let spec = spec.as_ref().map_or("nothing".to_owned(), |spec| serde_json::to_string(spec).unwrap());
        found.push(format!("{}{from}: {spec}", nodes.join(" > ")));
    });
    let counted: u64 = model.chains_at(engine.view(), node).iter().map(|(_, scopes)| scopes).sum();
    assert_eq!(found.len() as u64, counted);
    found
}

fn policy(namespace: &str, name: &str, spec: &str) -> String {
    format!("{{apiVersion: x.io/v1, kind: P, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{{spec}}}}}")
}

fn route(namespace: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, \
         metadata: {{name: r, namespace: {namespace}}}, spec: {{{spec}}}}}"
    )
}

const ON_GATEWAY: &str = "targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: g}";
const ON_ROUTE: &str = "targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}";
const ON_NAMESPACE: &str = "targetRef: {group: '', kind: Namespace, name: a}";

#[test]
fn a_direct_policy_is_for_what_it_targets_and_its_sections() {
    let route = route("a", "parentRefs: [{name: g}], rules: [{}]");
    let policy = policy("a", "p", &format!("{ON_GATEWAY}, color: red"));
    let at = |node| scopes("class: Direct, hierarchy: [Gateway, Listener, Route]", &[&route, &policy], node);
    assert_eq!(at("Gateway/a/g#http"), [r#"Gateway/a/g > Gateway/a/g#http: {"color":"red"}"#]);
    assert_eq!(at("HTTPRoute/a/r"), ["Gateway/a/g > Gateway/a/g#http > HTTPRoute/a/r: nothing"]);
}

#[test]
fn ties_go_to_the_first_in_order_of_namespace_slash_name() {
    let kind = "hierarchy: [Gateway], effectiveTarget: Gateway, sameLevel: OldestWins, crossNamespace: Granted";
    let grant = "{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: p, namespace: a}, \
                 spec: {from: [{group: x.io, kind: P, namespace: a-b}], \
                 to: [{group: gateway.networking.k8s.io, kind: Gateway}]}}";
    let near = policy("a", "p", &format!("{ON_GATEWAY}, color: near"));
    let far = ON_GATEWAY.replace("name: g", "name: g, namespace: a");
    let far = policy("a-b", "p", &format!("{far}, color: far"));
    assert_eq!(scopes(kind, &[grant, &near, &far], "Gateway/a/g"), [r#"Gateway/a/g: {"color":"far"}"#]);
}

#[test]
fn an_empty_map_sets_nothing() {
    let empty = policy("a", "p", &format!("{ON_GATEWAY}, defaults: {{cors: {{}}, strategy: merge}}"));
    let kind = "hierarchy: [Gateway], effectiveTarget: Gateway, strategies: [merge]";
    assert_eq!(scopes(kind, &[&empty], "Gateway/a/g"), ["Gateway/a/g: nothing"]);
}

#[test]
fn a_block_whose_condition_does_not_hold_removes_nothing() {
    let kind = "hierarchy: [Gateway, Route], effectiveTarget: Route, strategies: [patch]";
    let route = route("a", "parentRefs: [{name: g}]");
    let above = policy("a", "above", &format!("{ON_GATEWAY}, defaults: {{color: red}}"));
    let below = policy("a", "below", &format!("{ON_ROUTE}, overrides: {{size: 1, remove: [color], when: 'false'}}"));
    let found = scopes(kind, &[&route, &above, &below], "HTTPRoute/a/r");
    assert_eq!(found, [r#"Gateway/a/g > HTTPRoute/a/r: {"color":"red"}"#]);
}

#[test]
fn a_rule_is_removed_by_its_name_whatever_the_strategy() {
    let kind = "hierarchy: [Gateway, Route], effectiveTarget: Route, strategies: [patch]";
    let route = route("a", "parentRefs: [{name: g}]");
    let above = policy("a", "above", &format!("{ON_GATEWAY}, defaults: {{limits: {{one: {{x: 1}}, two: {{x: 2}}}}}}"));
    let below = policy("a", "below", &format!("{ON_ROUTE}, remove: [one]"));
    let found = scopes(kind, &[&route, &above, &below], "HTTPRoute/a/r");
    assert_eq!(found, [r#"Gateway/a/g > HTTPRoute/a/r: {"limits":{"two":{"x":2}}}"#]);
}

#[test]
fn a_namespace_below_other_nodes_on_every_path_has_effective_policies() {
    let class = policy("a", "class", "targetRef: {kind: GatewayClass, name: c}, color: red");
    let here = policy("a", "here", &format!("{ON_NAMESPACE}, color: blue"));
    assert_eq!(scopes("class: Inherited", &[&class, &here], "Namespace/a"), [r#"Namespace/a: {"color":"blue"}"#]);
}

#[test]
fn a_path_from_outside_the_hierarchy_has_a_scope() {
    let route = route("a", "parentRefs: [{name: g}, {group: '', kind: Service, name: s}]");
    let policy = policy("a", "p", &format!("{ON_GATEWAY}, color: red"));
    let found = scopes("hierarchy: [Gateway, Route]", &[&route, &policy], "HTTPRoute/a/r");
    assert_eq!(found, ["HTTPRoute/a/r: nothing", r#"Gateway/a/g > HTTPRoute/a/r: {"color":"red"}"#]);
}

#[test]
fn requests_of_a_consumer_have_one_scope_though_both_policy_and_route_are_for_them() {
    let kind = "hierarchy: [Route, Backend], effectiveTarget: Route, crossNamespace: Consumer";
    let route = route("b", "parentRefs: [{group: '', kind: Service, name: s, namespace: a}]");
    let policy = policy("b", "p", "targetRef: {group: '', kind: Service, name: s, namespace: a}, color: red");
    let found = scopes(kind, &[&route, &policy], "HTTPRoute/b/r");
    assert_eq!(found, [r#"Service/a/s > HTTPRoute/b/r from Namespace/b: {"color":"red"}"#]);
}

#[test]
fn a_consumer_route_applies_to_no_other_client_when_its_service_is_outside_the_hierarchy() {
    let route = route("b", "parentRefs: [{group: '', kind: Service, name: s, namespace: a}]");
    let policy = policy("b", "p", &format!("{ON_ROUTE}, color: red"));
    let found = scopes("hierarchy: [Route], effectiveTarget: Route", &[&route, &policy], "HTTPRoute/b/r");
    assert_eq!(found, [r#"HTTPRoute/b/r from Namespace/b: {"color":"red"}"#]);
}

#[test]
fn a_rule_reaches_the_port_it_names_and_no_port_with_the_same_name() {
    let backends = "backendRefs: [{name: s, port: 80}, {name: s, namespace: b, port: 81}]";
    let route = route("a", &format!("parentRefs: [{{name: g}}], rules: [{{{backends}}}]"));
    let policy = policy("a", "p", &format!("{ON_ROUTE}, color: red"));
    let at = |node| scopes("hierarchy: [Route, Backend, BackendPort]", &[&route, &policy], node);
    assert_eq!(at("Service/a/s#two"), ["Service/a/s > Service/a/s#two: nothing"]);
    assert_eq!(at("Service/b/s#one"), ["Service/b/s > Service/b/s#one: nothing"]);
    assert_eq!(at("Service/b/s#two"), [r#"HTTPRoute/a/r > Service/b/s > Service/b/s#two: {"color":"red"}"#]);
}

#[test]
fn requests_of_a_consumer_have_one_scope_though_a_direct_policy_is_for_them_on_two_objects() {
    let kind = "class: Direct, hierarchy: [Gateway, Route], crossNamespace: Consumer";
    let route = route("a", "parentRefs: [{name: g}]");
    let elsewhere = |target: &str| target.replace("name: ", "namespace: a, name: ");
    let on_gateway = policy("b", "p", &format!("{}, color: red", elsewhere(ON_GATEWAY)));
    let on_route = policy("b", "q", &format!("{}, color: blue", elsewhere(ON_ROUTE)));
    let found = scopes(kind, &[&route, &on_gateway, &on_route], "HTTPRoute/a/r");
    let path = "Gateway/a/g > HTTPRoute/a/r";
    assert_eq!(found, [format!("{path}: nothing"), format!(r#"{path} from Namespace/b: {{"color":"blue"}}"#)]);
}

#[test]
fn a_policy_that_is_not_accepted_is_overridden_wherever_it_would_be() {
    let kind = "hierarchy: [Gateway], effectiveTarget: Gateway, sameLevel: RejectNewer";
    let (first, second) = (format!("{ON_GATEWAY}, color: red"), format!("{ON_GATEWAY}, color: blue"));
    let engine = engine(kind, &[&policy("a", "p", &first), &policy("a", "q", &second)]);
    let [_, rejected] = &engine.policy_statuses()[..] else { panic!() };
    assert_eq!(rejected.scopes, ScopeCounts { total: 1, enforced: 0, partial: 0, overridden: 1 });
}

#[test]
fn a_policy_without_rules_is_not_enforced_though_it_has_a_scope() {
    let kind = "hierarchy: [Gateway], effectiveTarget: Gateway";
    let engine = engine(kind, &[&policy("a", "p", ON_GATEWAY)]);
    let status = &engine.policy_statuses()[0];
    assert_eq!((status.enforcement, status.scopes.total), (Enforcement::NotEnforced, 1));
    assert!(engine.target_statuses().is_empty());
}

#[test]
fn a_removed_rule_of_an_atomic_default_is_lost_once() {
    let kind = "hierarchy: [Gateway, Route], effectiveTarget: Route";
    let route = route("a", "parentRefs: [{name: g}]");
    let above = policy("a", "above", &format!("{ON_GATEWAY}, color: red"));
    let below = policy("a", "below", &format!("{ON_ROUTE}, size: 1, remove: [color]"));
    let engine = engine(kind, &[&route, &above, &below]);
    let model = &engine.models()[0];
    let target = model.effective_targets(engine.view()).next().unwrap();
    let superseded = &model.effective(engine.view(), model.chains_at(engine.view(), target)[0].0).superseded;
    let reasons: Vec<(String, Loss)> = superseded.iter().map(|lost| (lost.path.to_string(), lost.reason)).collect();
    assert_eq!(reasons, [("color".to_owned(), Loss::Removed)]);
}

#[test]
fn a_namespace_is_not_affected_by_nodes_below_it_when_the_path_returns_to_it() {
    let kind = "hierarchy: [Namespace, Gateway, Route, Backend], effectiveTarget: Backend";
    let grant = "{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: all, namespace: a}, \
                 spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: b}], \
                 to: [{group: '', kind: Service}]}}";
    let route = route(
        "b",
        "parentRefs: [{name: g, namespace: a}], rules: [{backendRefs: [{name: s, namespace: a, port: 80}]}]",
    );
    let engine = engine(kind, &[grant, &route, &policy("b", "p", &format!("{ON_ROUTE}, color: red"))]);
    let affected: Vec<String> =
        engine.target_statuses().iter().map(|status| engine.topology().name(engine.objects(), status.target)).collect();
    assert_eq!(affected, ["Service/a/s", "HTTPRoute/b/r"]);
}

#[test]
fn a_listener_is_not_affected_by_a_direct_policy_of_the_route_below() {
    let kind = "class: Direct, hierarchy: [Gateway, Listener, Route]";
    let route = route("a", "parentRefs: [{name: g}]");
    let both = policy(
        "a",
        "both",
        "color: red, targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: g}, \
         {group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}]",
    );
    let own =
        policy("a", "own", &format!("{}, color: blue", ON_GATEWAY.replace("name: g", "name: g, sectionName: http")));
    let engine = engine(kind, &[&route, &both, &own]);
    let name = |id| engine.topology().name(engine.objects(), id);
    let statuses = engine.target_statuses();
    let listener = statuses.iter().find(|status| name(status.target) == "Gateway/a/g#http").unwrap();
    assert_eq!(listener.affected_by.iter().map(|id| engine.policy_id(*id).name.as_str()).collect::<Vec<_>>(), ["own"]);
}
