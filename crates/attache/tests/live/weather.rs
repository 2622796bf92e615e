//! What users see when credentials, permissions or objects are not as they should be.

use std::fs;
use std::path::PathBuf;

use attache_testenv::{ClusterOptions, Fault, FaultProxy, TestCluster, eventually};
use serde_json::{Value, json};

use crate::{POLICIES, Watching, attache, open_bakery, run, shared};

/// A kubeconfig with the server of a cluster, and other credentials.
fn kubeconfig(cluster: &TestCluster, name: &str, user: &Value, context: &str) -> PathBuf {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": cluster.url(), "certificate-authority": cluster.authority()}}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": context,
    });
    let file = cluster.folder().join(format!("{name}.kubeconfig"));
    fs::write(&file, config.to_string()).unwrap();
    file
}

#[test]
fn a_kubeconfig_that_cannot_be_used_has_a_next_step() {
    let Some(cluster) = shared() else { return };
    let exec = |script: &str| {
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", script],
            "interactiveMode": "Never"}})
    };
    for (name, user, context, expected) in [
        ("no-context", json!({}), "", ["the kubeconfig has no current context", "choose one with `--context`: `test`"]),
        (
            "broken-plugin",
            exec("echo 'token expired, run login' >&2; exit 3"),
            "test",
            ["token expired, run login", "kubectl uses the same credentials"],
        ),
        ("silent-plugin", exec("true"), "test", ["there are no credentials", "kubectl uses the same credentials"]),
        ("wrong-token", json!({"token": "gone"}), "test", ["SERVER does not accept your credentials", "log in again"]),
    ] {
        let text = run(&kubeconfig(cluster, name, &user, context), "get policies -A");
        assert!(text.starts_with("--- stderr\nerror: ") && text.ends_with("--- exit 2\n"), "{name}: {text}");
        assert!(expected.iter().all(|it| text.contains(it)), "{name}: {text}");
    }
    let output = attache(&cluster.folder().join("nowhere")).args(["get", "policies"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("error: there is no kubeconfig") && text.contains("--kubeconfig"), "{text}");
}

#[test]
fn a_server_that_cannot_be_reached_has_a_next_step() {
    let Some(cluster) = shared() else { return };
    let text = fs::read_to_string(cluster.kubeconfig()).unwrap().replace(cluster.url(), "https://127.0.0.1:1");
    let file = cluster.folder().join("unreachable.kubeconfig");
    fs::write(&file, text).unwrap();
    let text = run(&file, "describe httproute/cakes -n baker");
    assert!(text.contains("error: the cluster at SERVER cannot be reached: nothing listens at this address"), "{text}");
    assert!(text.contains("is the cluster running") && text.ends_with("--- exit 2\n"), "{text}");
}

#[test]
fn a_cluster_without_the_gateway_api_is_answered_with_a_warning() {
    let Some(cluster) = ClusterOptions::new().without_gateway_api().start() else { return };
    let text = run(cluster.kubeconfig(), "get policies -A");
    assert!(text.contains("warning: the cluster at SERVER has no CRDs of the Gateway API"), "{text}");
    assert!(text.contains("--context"), "{text}");
}

#[test]
fn a_kind_that_may_be_listed_in_one_namespace_is_shown_for_it() {
    let Some(cluster) = shared() else { return };
    let user = cluster.user("baker-only", None);
    cluster.allow_reading(&user, Some("baker"), "gateway.networking.k8s.io", "httproutes");
    cluster.allow_reading(&user, None, "", "namespaces,services");
    let may = |path: &str| user.http().get(path).unwrap().status == 200;
    eventually("the user may list routes and Services", || {
        may("/apis/gateway.networking.k8s.io/v1/namespaces/baker/httproutes") && may("/api/v1/services")
    });
    let text = run(&user.kubeconfig, "describe httproute/cakes -n baker");
    assert!(text.starts_with("HTTPRoute/baker/cakes"), "{text}");
    assert!(text.contains("Gateway/infra/shop is not in the input"), "{text}");
    assert!(!text.contains("dangling-parent"), "{text}");
    // Text names some of the kinds, JSON all.
    let text = run(&user.kubeconfig, "describe httproute/cakes -n baker -o json");
    assert!(text.contains("you may list httproutes.gateway.networking.k8s.io only in `baker`"), "{text}");
    assert!(text.contains("you may not list gateways.gateway.networking.k8s.io"), "{text}");
    let mut watching = Watching::start_as(&user.kubeconfig, &["-A"]);
    assert!(watching.child.try_wait().unwrap().is_none());
    let seen = watching.notices.seen.join("\n");
    assert!(seen.contains("warning: you may not list networkpolicies.networking.k8s.io"), "{seen}");
}

#[test]
fn what_cannot_be_found_is_said_before_watching() {
    let Some(cluster) = shared() else { return };
    let mut watching = Watching::start(cluster, &["-n", "bakr"]);
    assert!(watching.child.try_wait().unwrap().is_none());
    let seen = watching.notices.seen.join("\n");
    assert!(seen.contains("no objects in namespace `bakr`") && seen.contains("did you mean `baker`?"), "{seen}");
    let text = run(&cluster.user("no-watcher", None).kubeconfig, "watch -A");
    assert!(text.contains("there is nothing in the cluster at SERVER that you may read"), "{text}");
    assert!(text.contains("name a namespace that you may read with `-n`"), "{text}");
    let text = run(cluster.kubeconfig(), "get policies --kubeconfig /nowhere/config");
    assert!(text.contains("error: the kubeconfig cannot be used: there is no file `/nowhere/config`"), "{text}");
}

#[test]
fn a_stored_object_that_does_not_fit_its_schema_is_shown_as_invalid() {
    let Some(cluster) = TestCluster::start() else { return };
    open_bakery(&cluster);
    let odd = json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy", "metadata": {"name": "odd"},
        "spec": {"retries": "many"}});
    cluster.http().post(POLICIES, &odd).unwrap().expect_success();
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "required": ["targetRef"], "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"retries": {"type": "integer"}}}}}});
    let versions = json!({"spec": {"versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/retrypolicies.example.io";
    cluster.http().patch(crd, &versions).unwrap().expect_success();
    eventually("the new schema counts", || {
        cluster.http().post(&format!("{POLICIES}?dryRun=All"), &odd).unwrap().status == 422
    });
    let text = run(cluster.kubeconfig(), "describe retrypolicy/odd -n baker");
    assert!(text.contains("Invalid   it names no target"), "{text}");
    let text = run(cluster.kubeconfig(), "effective httproute/cakes -n baker");
    assert!(text.contains("retries: 5") && !text.contains("--- exit"), "{text}");
}

#[test]
fn a_creation_time_in_the_future_counts_like_any_other() {
    let Some(cluster) = shared() else { return };
    let policy = |name: &str, created: &str, retries: u32| {
        let mut policy = crate::policy(name, retries);
        policy["metadata"]["namespace"] = json!("baker");
        policy["metadata"]["creationTimestamp"] = json!(created);
        policy
    };
    let items = [policy("future", "2999-01-01T00:00:00Z", 9), policy("old", "2020-01-01T00:00:00Z", 2)];
    let list = json!({"apiVersion": "example.io/v1", "kind": "RetryPolicyList", "metadata": {"resourceVersion": "1"},
        "items": items});
    let proxy = FaultProxy::start(cluster, move |path| match path.contains("/example.io/v1/retrypolicies") {
        true => Fault::Answer { status: 200, header: None, body: list.to_string() },
        false => Fault::None,
    });
    let text = run(proxy.kubeconfig(), "effective httproute/cakes -n baker");
    assert!(text.contains("RetryPolicy/baker/future is newer"), "{text}");
    let text = run(proxy.kubeconfig(), "describe retrypolicy/future -n baker");
    assert!(text.contains("created 2999-01-01T00:00:00Z"), "{text}");
}
