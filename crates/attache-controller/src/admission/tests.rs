//! What the webhook answers, for the example of the bakery.

use std::collections::BTreeSet;

use attache_engine::kinds::{Settings, built_in};
use attache_engine::{IncrementalEngine, Object, text};
use serde_json::{Value, json};

use super::{AdmissionAnswer, AdmissionOptions, review};
use crate::follow::followed;
use crate::options::GatewayClasses;
use crate::partition::SharedPartition;
use crate::state::State;

const MANIFESTS: [&str; 5] = [
    include_str!("../../../../examples/bakery/kind.yaml"),
    include_str!("../../../../examples/bakery/gateway.yaml"),
    include_str!("../../../../examples/bakery/baker.yaml"),
    include_str!("../../../../examples/bakery/policies.yaml"),
    DIRECT,
];

/// A kind of which two policies on one target conflict, and one policy of it.
const DIRECT: &str = "
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {name: certificatepolicies.example.io}
spec: {group: example.io, kind: CertificatePolicy, class: Direct, targets: [Service, Gateway]}
---
apiVersion: example.io/v1
kind: CertificatePolicy
metadata: {name: first, namespace: baker, creationTimestamp: '2025-01-01T00:00:00Z'}
spec: {targetRef: {kind: Service, name: cakes}, issuer: a}
";

/// The bakery, with more manifests, as the controller has it.
fn bakery(more: &str) -> State {
    part_of_bakery(more, &GatewayClasses::default())
}

/// What a controller for some GatewayClasses has of it.
fn part_of_bakery(more: &str, classes: &GatewayClasses) -> State {
    let manifests = MANIFESTS.iter().chain([&more]).flat_map(|text| text::read(&"bakery.yaml".into(), text).objects);
    let mut objects: Vec<Object> = manifests.collect();
    text::settle_namespaces(&mut objects, &mut [], |group, _| group == "attache.dev");
    let partition = SharedPartition::new(classes);
    let objects = followed(partition.as_ref(), objects);
    let engine = IncrementalEngine::new(objects, &built_in().0, Settings::default());
    State { partition, ..State::first(engine, Vec::new()) }
}

/// An object of the state as JSON.
fn stored(state: &State, kind: &str, name: &str) -> Value {
    let mut objects = state.snapshot.engine.objects().iter().map(|(_, object)| object);
    let object = objects.find(|it| it.id.kind == kind && it.id.name == name).expect("the object is there");
    serde_json::to_value(&object.body).expect("an object is JSON")
}

fn edited(mut object: Value, edit: impl FnOnce(&mut Value)) -> Value {
    edit(&mut object);
    object
}

fn ask(state: &State, options: AdmissionOptions, before: Value, after: Value) -> AdmissionAnswer {
    let operation = match (before.is_null(), after.is_null()) {
        (true, _) => "CREATE",
        (_, true) => "DELETE",
        _ => "UPDATE",
    };
    let request = json!({"uid": "u", "operation": operation, "object": after, "oldObject": before});
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (answer, response) =
        review(Some(state), options, body.to_string().as_bytes()).expect("the body is an AdmissionReview");
    let response: Value = serde_json::from_slice(&response).expect("the response is JSON");
    assert_eq!(response["response"]["uid"], "u");
    assert_eq!(response["response"]["allowed"], answer.refusal.is_none());
    answer
}

fn created(state: &State, after: Value) -> AdmissionAnswer {
    ask(state, AdmissionOptions::default(), Value::Null, after)
}

fn deleted(state: &State, before: Value) -> AdmissionAnswer {
    ask(state, AdmissionOptions::default(), before, Value::Null)
}

fn changed(state: &State, before: Value, edit: impl FnOnce(&mut Value)) -> AdmissionAnswer {
    let after = edited(before.clone(), edit);
    ask(state, AdmissionOptions::default(), before, after)
}

fn warned(answer: &AdmissionAnswer) -> &str {
    assert_eq!(answer.refusal, None);
    assert_eq!(answer.warnings.len(), 1, "{:?}", answer.warnings);
    &answer.warnings[0]
}

fn refused(answer: AdmissionAnswer) -> String {
    answer.refusal.expect("it is refused")
}

fn policy(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy", "metadata": {"name": name, "namespace": "baker"}, "spec": spec})
}

#[test]
fn a_warning_counts_what_a_change_affects() {
    let state = bakery("");
    let be_patient = stored(&state, "RetryPolicy", "be-patient");
    let command = "(attache plan --delete retrypolicy/be-patient -n baker)";
    let expected = format!(
        "deleting RetryPolicy baker/be-patient changes what is in force on 4 routes and 5 services in 1 namespace {command}"
    );
    assert_eq!(warned(&deleted(&state, be_patient.clone())), expected);

    let answer = changed(&state, be_patient.clone(), |it| it["spec"]["defaults"]["retry"]["attempts"] = json!(2));
    let expected = "changing RetryPolicy baker/be-patient changes what is in force on 3 routes and 4 services in 1 namespace (attache plan --apply FILE)";
    assert_eq!(warned(&answer), expected);

    let once = json!({"targetRef": {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "pies"}, "retry": {"attempts": 1}});
    let expected = "creating RetryPolicy baker/once changes what is in force on 1 route and 1 service in 1 namespace (attache plan --apply FILE)";
    assert_eq!(warned(&created(&state, policy("once", once))), expected);

    // Nothing that is in force depends on it.
    assert_eq!(
        changed(&state, be_patient, |it| it["metadata"]["labels"] = json!({"a": "b"})),
        AdmissionAnswer::default()
    );
    let cakes = stored(&state, "Service", "cakes");
    assert_eq!(changed(&state, cakes, |it| it["spec"]["type"] = json!("ClusterIP")), AdmissionAnswer::default());
}

#[test]
fn changes_of_gateways_routes_and_namespaces_are_counted() {
    let selecting = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: selecting, namespace: infra}
spec: {gatewayClassName: shop, listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}}]}
---
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: selecting, namespace: infra}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: selecting}, timeout: 3s}
---
{apiVersion: v1, kind: Namespace, metadata: {name: guests, labels: {team: a}}}
---
{apiVersion: v1, kind: Service, metadata: {name: tea, namespace: guests}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: tea, namespace: guests}
spec: {parentRefs: [{name: selecting, namespace: infra}], rules: [{backendRefs: [{name: tea, port: 80}]}]}
";
    let state = bakery(selecting);
    let gateway = warned(&deleted(&state, stored(&state, "Gateway", "main"))).to_owned();
    assert!(
        gateway.starts_with("deleting Gateway infra/main changes what is in force on 4 routes and 5 services"),
        "{gateway}"
    );
    let route = deleted(&state, stored(&state, "HTTPRoute", "pies"));
    assert!(
        warned(&route).starts_with("deleting HTTPRoute baker/pies changes what is in force on 1 route and 1 service")
    );
    let guests = edited(stored(&state, "Namespace", "guests"), |it| it["spec"] = json!({"finalizers": ["kubernetes"]}));
    let answer = changed(&state, guests.clone(), |it| it["metadata"]["labels"] = json!({"team": "b"}));
    let expected = "changing Namespace guests changes what is in force on 1 route and 1 service in 1 namespace (attache plan --apply FILE)";
    assert_eq!(warned(&answer), expected);
    assert_eq!(
        changed(&state, guests, |it| it["metadata"]["annotations"] = json!({"a": "b"})),
        AdmissionAnswer::default()
    );
    let namespace = deleted(&state, stored(&state, "Namespace", "guests"));
    assert!(warned(&namespace).ends_with("(attache plan --delete namespace/guests)"), "{namespace:?}");
}

#[test]
fn documents_and_policies_that_cannot_be_used_are_refused() {
    let state = bakery("");
    let kind = |name: &str, spec: Value| json!({"apiVersion": "attache.dev/v1alpha1", "kind": "PolicyKind", "metadata": {"name": name}, "spec": spec});
    let wrong = json!({"group": "a.io", "kind": "A", "strategies": ["merged"], "target": ["Gateway"], "validations": [{"rule": "1 +", "message": "no"}]});
    let refusal = refused(created(&state, kind("as.a.io", wrong)));
    for expected in [
        "PolicyKind as.a.io is not valid: ",
        "unknown value `merged`",
        "did you mean `targets`?",
        "spec.validations[0].rule: ",
    ] {
        assert!(refusal.contains(expected), "{refusal}");
    }
    let twice = json!({"group": "example.io", "kind": "RetryPolicy"});
    let expected = "PolicyKind another is not valid: PolicyKind retrypolicies.example.io describes `RetryPolicy.example.io` already";
    assert_eq!(refused(created(&state, kind("another", twice))), expected);
    let target = json!({"apiVersion": "attache.dev/v1alpha1", "kind": "TargetKind", "metadata": {"name": "a"}, "spec": {"kinds": 7}});
    assert!(refused(created(&state, target)).starts_with("TargetKind a is not valid: "));

    let pies = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "pies"});
    let strategy = policy("p", json!({"targetRef": pies, "defaults": {"strategy": "merge", "timeout": "1s"}}));
    let expected = "RetryPolicy baker/p is not valid: spec.defaults.strategy: RetryPolicy has no strategy `merge`, only atomic, patch";
    assert_eq!(refused(created(&state, strategy)), expected);
    let condition = policy("p", json!({"targetRef": pies, "overrides": {"when": "target.kind ==", "timeout": "1s"}}));
    let refusal = refused(created(&state, condition));
    assert!(refusal.starts_with("RetryPolicy baker/p is not valid: spec.overrides.when: "), "{refusal}");
}

#[test]
fn an_existing_invalid_policy_can_be_changed_and_deleted() {
    let invalid = "
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: wrong, namespace: baker}
spec: {targetRef: {kind: Namespace, name: baker}, defaults: {strategy: merge, timeout: 1s}}
";
    let state = bakery(invalid);
    let wrong = stored(&state, "RetryPolicy", "wrong");
    let labelled = changed(&state, wrong.clone(), |it| it["metadata"]["labels"] = json!({"a": "b"}));
    assert!(warned(&labelled).starts_with("RetryPolicy baker/wrong is not valid: "));
    assert_eq!(deleted(&state, wrong), AdmissionAnswer::default());
}

#[test]
fn a_policy_that_fails_a_validation_of_its_kind_is_refused() {
    let kind = "
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {name: quotapolicies.example.io}
spec:
  group: example.io
  kind: QuotaPolicy
  targets: [Gateway, HTTPRoute]
  strategies: [merge, atomic]
  validations:
  - {rule: '!(has(spec.defaults) && has(spec.overrides))', message: 'a QuotaPolicy has either defaults or overrides'}
";
    let target = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "main"});
    let quota = |spec: Value| json!({"apiVersion": "example.io/v1", "kind": "QuotaPolicy", "metadata": {"name": "q", "namespace": "infra"}, "spec": spec});
    let state = bakery(kind);
    let both = json!({"targetRef": target, "defaults": {"strategy": "merge", "a": 1}, "overrides": {"strategy": "atomic", "b": 1}});
    let expected = "QuotaPolicy infra/q is not valid: spec: a QuotaPolicy has either defaults or overrides";
    assert_eq!(refused(created(&state, quota(both))), expected);
    let one = json!({"targetRef": target, "defaults": {"strategy": "merge", "a": 1}});
    assert_eq!(created(&state, quota(one)).refusal, None);
}

#[test]
fn conflicts_are_warnings_or_refused_by_option() {
    let state = bakery("");
    let second = json!({
        "apiVersion": "example.io/v1", "kind": "CertificatePolicy",
        "metadata": {"name": "second", "namespace": "baker", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"targetRef": {"kind": "Service", "name": "cakes"}, "issuer": "b"},
    });
    let answer = created(&state, second.clone());
    let warning = warned(&answer);
    assert!(warning.starts_with("CertificatePolicy baker/second is in conflict: "), "{warning}");
    let strict = AdmissionOptions { reject_conflicts: true };
    assert_eq!(refused(ask(&state, strict, Value::Null, second.clone())), warning);
    // An older policy takes precedence over the existing one.
    let older = edited(second.clone(), |it| it["metadata"]["creationTimestamp"] = json!("2024-01-01T00:00:00Z"));
    assert!(
        refused(ask(&state, strict, Value::Null, older)).starts_with("CertificatePolicy baker/first is in conflict: ")
    );
    let elsewhere = edited(second, |it| it["spec"]["targetRef"]["name"] = json!("pies"));
    assert_eq!(ask(&state, strict, Value::Null, elsewhere).refusal, None);
}

#[test]
fn a_guarded_object_needs_confirmation() {
    let state = bakery("");
    let guarded = |guard: &str, confirm: Option<&str>| {
        edited(stored(&state, "RetryPolicy", "be-patient"), |it| {
            it["metadata"]["annotations"] = json!({"attache.dev/guard": guard, "attache.dev/confirm": confirm});
        })
    };
    assert_eq!(deleted(&state, guarded("4", None)).refusal, None);
    let expected = "this change affects 4 routes, and RetryPolicy/baker/be-patient is guarded: changes that affect more than 3 routes must be confirmed; to confirm, first annotate it with attache.dev/confirm=\"4\"";
    assert_eq!(refused(deleted(&state, guarded("3", None))), expected);
    assert!(refused(deleted(&state, guarded("3", Some("3")))).contains("4 routes"));
    assert_eq!(deleted(&state, guarded("3", Some("4"))).refusal, None);

    let fewer = |it: &mut Value| it["spec"]["defaults"]["retry"]["attempts"] = json!(2);
    let expected = "this change affects 3 routes, and RetryPolicy/baker/be-patient is guarded: changes that affect more than 0 routes must be confirmed; to confirm, annotate it with attache.dev/confirm=\"3\"";
    assert_eq!(refused(changed(&state, guarded("0", None), fewer)), expected);
    let confirmed = |it: &mut Value| {
        fewer(it);
        it["metadata"]["annotations"]["attache.dev/confirm"] = json!("3");
    };
    assert_eq!(changed(&state, guarded("0", None), confirmed).refusal, None);
    // A change that removes the guard is guarded by it.
    let unguarded = |it: &mut Value| {
        fewer(it);
        it["metadata"]["annotations"] = json!({});
    };
    assert!(changed(&state, guarded("0", None), unguarded).refusal.is_some());
    // To annotate affects nothing.
    assert_eq!(
        changed(&state, guarded("0", None), |it| it["metadata"]["annotations"] = json!({})),
        AdmissionAnswer::default()
    );

    let answer = deleted(&state, guarded("few", None));
    assert_eq!(answer.refusal, None);
    assert!(answer.warnings.iter().any(|it| it.contains("`few`, which is not a number of routes")), "{answer:?}");
}

#[test]
fn a_namespace_guards_what_is_in_it() {
    let state =
        bakery("{apiVersion: v1, kind: Namespace, metadata: {name: baker, annotations: {attache.dev/guard: '1'}}}");
    let refusal = refused(deleted(&state, stored(&state, "RetryPolicy", "be-patient")));
    assert!(refusal.contains("Namespace/baker is guarded"), "{refusal}");
    assert_eq!(deleted(&state, stored(&state, "RetryPolicy", "pay-once")).refusal, None);
    assert_eq!(deleted(&state, stored(&state, "RetryPolicy", "time-limit")).refusal, None);
}

#[test]
fn a_change_that_breaks_an_enforced_requirement_is_refused() {
    let requirement = |enforce: bool, require: &str| {
        format!(
            "{{apiVersion: attache.dev/v1alpha1, kind: PolicyRequirement, metadata: {{name: retries}}, \
             spec: {{require: '{require}', level: Route, enforce: {enforce}}}}}"
        )
    };
    let delete = |state: &State| deleted(state, stored(state, "RetryPolicy", "be-patient"));
    let refusal = refused(delete(&bakery(&requirement(true, "RetryPolicy:retry.attempts"))));
    let start = "PolicyRequirement retries is enforced, and 3 targets would no longer meet it: HTTPRoute/baker/";
    assert!(refusal.starts_with(start), "{refusal}");
    // It is only reported, or still met, or the rule was not in force before.
    for (enforce, require) in
        [(false, "RetryPolicy:retry.attempts"), (true, "RetryPolicy:timeout"), (true, "RetryPolicy:color")]
    {
        assert_eq!(delete(&bakery(&requirement(enforce, require))).refusal, None, "{require}");
    }
    // A new route that meets it.
    let state = bakery(&requirement(true, "RetryPolicy:retry.attempts"));
    let mut route = stored(&state, "HTTPRoute", "pies");
    route["metadata"] = json!({"name": "cookies", "namespace": "baker"});
    assert_eq!(created(&state, route).refusal, None);
}

#[test]
fn requirements_that_cannot_be_checked_are_refused() {
    let document = json!({"apiVersion": "attache.dev/v1alpha1", "kind": "PolicyRequirement", "metadata": {"name": "retries"},
        "spec": {"require": "RetryPolicy", "exceptions": [{"object": "HTTPRoute/baker/pies", "reason": "r", "until": "soon"}]}});
    let refusal = refused(created(&bakery(""), document));
    assert!(refusal.starts_with("PolicyRequirement retries is not valid: "), "{refusal}");
    assert!(refusal.contains("`soon` is not a date"), "{refusal}");
}

#[test]
fn of_several_controllers_the_responsible_one_answers() {
    let shop = || BTreeSet::from(["shop".to_owned()]);
    let whole = bakery("");
    let class = part_of_bakery("", &GatewayClasses::Only(shop()));
    let default = part_of_bakery("", &GatewayClasses::Except(shop()));
    let delete = |state: &State, name: &str| deleted(state, stored(&whole, "RetryPolicy", name));
    // A policy on a route of the class, and one on a Namespace, which is in no class.
    for (name, responsible, other) in [("pay-once", &class, &default), ("be-patient", &default, &class)] {
        let expected = delete(&whole, name);
        assert!(!expected.warnings.is_empty());
        assert_eq!(delete(responsible, name), expected, "{name}");
        assert_eq!(delete(other, name), AdmissionAnswer::default(), "{name}");
    }
    // A new route uses a Service that is not followed so far.
    let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "new", "namespace": "baker"},
        "spec": {"parentRefs": [{"name": "main", "namespace": "infra"}], "rules": [{"backendRefs": [{"name": "idle", "port": 80}]}]}});
    let idle = "{apiVersion: v1, kind: Service, metadata: {name: idle, namespace: baker}, spec: {ports: [{port: 80}]}}";
    let mesh = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: mesh, namespace: baker}, spec: {parentRefs: [{group: '', kind: Service, name: idle}]}}";
    let more = format!("{idle}\n---\n{mesh}");
    let expected = created(&bakery(&more), route.clone());
    assert_eq!(created(&part_of_bakery(&more, &GatewayClasses::Only(shop())), route), expected);
}

#[test]
fn an_unreadable_object_is_admitted() {
    let state = bakery("");
    assert_eq!(created(&state, json!({"kind": "RetryPolicy"})), AdmissionAnswer::default());
    assert_eq!(created(&state, json!([])), AdmissionAnswer::default());
    assert_eq!(ask(&state, AdmissionOptions::default(), Value::Null, Value::Null), AdmissionAnswer::default());
    let review = |body: &str| review(None, AdmissionOptions::default(), body.as_bytes()).map(|(answer, _)| answer);
    assert!(review("{}").is_err());
    let without_state = review(r#"{"request": {"uid": "u", "operation": "CONNECT", "object": {}}}"#);
    assert_eq!(without_state.ok(), Some(AdmissionAnswer::default()));
}
