//! The controller as the chart installs it: with its arguments, and with the permissions of its ServiceAccount alone.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attache_engine::kinds::built_in;
use attache_testenv::{Prometheus, eventually};
use serde_json::{Value, json};

use crate::chart::repository;
use crate::harness::{Controller, NAMESPACE};
use crate::release::{Permission, Release, VALUES};

/// Policies whose kinds need more than their own group: settings of a controller, workloads, placements.
const POLICIES_OF_SYSTEMS: &str = r#"
{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {name: all, namespace: baker}, spec: {}}
---
{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: all, namespace: baker}, spec: {}}
---
{apiVersion: policy.open-cluster-management.io/v1, kind: Policy, metadata: {name: all, namespace: baker}, spec: {}}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XListenerSet
metadata: {name: more, namespace: baker}
spec: {parentRef: {name: main, namespace: infra}, listeners: [{name: more, port: 81, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: more, namespace: baker}
spec:
  parentRefs: [{group: gateway.networking.x-k8s.io, kind: XListenerSet, name: more}]
  rules: [{backendRefs: [{name: bread, port: 8080}]}]
---
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: more, namespace: baker}
spec: {targetRef: {group: gateway.networking.x-k8s.io, kind: XListenerSet, name: more}, defaults: {timeout: 1s}}
"#;

/// A requirement that some routes do not meet.
const REQUIREMENT: &str = r#"
apiVersion: attache.dev/v1alpha1
kind: PolicyRequirement
metadata: {name: retries}
spec: {require: RetryPolicy, level: Route}
"#;

/// A policy that comes while the controller runs.
const NEW_POLICY: &str = r#"
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: new, namespace: baker}
spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cakes}, defaults: {retry: {attempts: 1}}}
"#;

const POLICY: &str = "/apis/example.io/v1/namespaces/baker/retrypolicies/be-patient";
const ROUTE: &str = "/apis/gateway.networking.k8s.io/v1/namespaces/baker/httproutes/cakes";
pub const WEBHOOK: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/attache";
pub const API_SERVICE: &str = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.effective.attache.dev";

/// Puts the bakery of the examples into the cluster.
pub fn open_bakery(release: &Release) {
    let cluster = &release.cluster;
    cluster.apply(&fs::read_to_string(repository("examples/bakery-cluster/crd.yaml")).unwrap());
    cluster.wait_until_served();
    for file in ["kind.yaml", "gateway.yaml", "baker.yaml", "policies.yaml"] {
        cluster.apply(&fs::read_to_string(repository("examples/bakery").join(file)).unwrap());
    }
}

/// Installs every built-in policy kind, with a CRD that takes everything, and policies that need more than their group.
fn install_systems(release: &Release) {
    let (kinds, _) = built_in();
    // The others are there already.
    let is_missing = |group: &str| !group.starts_with("gateway.networking.") && group != "networking.k8s.io";
    let crds = kinds.iter().filter(|kind| is_missing(&kind.group)).map(|kind| {
        let (plural, _) = kind.name.split_once('.').unwrap();
        let version = kind.versions.first().map_or("v1", |version| version.as_str());
        crd(&kind.group, version, &kind.kind, plural)
    });
    let others = [
        ("cluster.open-cluster-management.io", "v1beta1", "Placement", "placements"),
        ("cluster.open-cluster-management.io", "v1beta1", "PlacementDecision", "placementdecisions"),
        ("gateway.networking.x-k8s.io", "v1alpha1", "XListenerSet", "xlistenersets"),
    ];
    let others = others.map(|(group, version, kind, plural)| crd(group, version, kind, plural));
    let crds: Vec<String> = crds.chain(others).collect();
    release.cluster.apply(&crds.join("\n---\n"));
    release.cluster.wait_until_served();
    let kind = fs::read_to_string(repository("examples/bakery/kind.yaml")).unwrap();
    release.cluster.apply(&kind.replace("targets: [", "targets: [XListenerSet, "));
    let gateway = "/apis/gateway.networking.k8s.io/v1/namespaces/infra/gateways/main";
    let allowed = json!({"spec": {"allowedListeners": {"namespaces": {"from": "All"}}}});
    release.cluster.http().patch(gateway, &allowed).unwrap().expect_success();
    release.cluster.apply(POLICIES_OF_SYSTEMS);
}

fn crd(group: &str, version: &str, kind: &str, plural: &str) -> String {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "status": {"type": "object", "properties": {"conditions": {
                            "type": "array",
                            "items": {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}},
                                      "x-kubernetes-preserve-unknown-fields": true},
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["type"],
                        }}},
                    },
                }},
            }],
        },
    })
    .to_string()
}

/// Something that the controller must react to: a policy comes or goes, and another controller replaces the status of a
/// policy and a route.
fn disturb(release: &Release) {
    let http = release.cluster.http();
    let policies = "/apis/example.io/v1/namespaces/baker/retrypolicies";
    if http.delete(&format!("{policies}/now-and-then")).unwrap().status == 404 {
        let target = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cakes"});
        let policy = json!({
            "apiVersion": "example.io/v1",
            "kind": "RetryPolicy",
            "metadata": {"name": "now-and-then"},
            "spec": {"targetRef": target, "defaults": {"timeout": "1s"}},
        });
        http.post(policies, &policy).unwrap().expect_success();
    }
    let parent = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "main", "namespace": "infra"});
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    for _ in 0..20 {
        // Another value each time: a patch that changes nothing is not a change.
        let condition = json!({
            "type": "Accepted",
            "status": "True",
            "reason": "Accepted",
            "message": format!("{} times", COUNT.fetch_add(1, Ordering::Relaxed)),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let other = |reference: &str| json!({"controllerName": "example.io/gateway", reference: parent, "conditions": [condition]});
        let route = json!({"status": {"parents": [other("parentRef")]}});
        http.patch(&format!("{ROUTE}/status"), &route).unwrap().expect_success();
        let policy = json!({"status": {"ancestors": [other("ancestorRef")]}});
        http.patch(&format!("{POLICY}/status"), &policy).unwrap().expect_success();
    }
}

#[test]
fn the_controller_works_with_the_permissions_of_its_service_account() {
    let Some(release) = Release::install() else { return };
    open_bakery(&release);
    let controller = release.run("attache");
    controller.wait_until_ready();
    eventually("it leads", || controller.metric("attache_leader") == 1.0);
    eventually("the status of a policy is written", || policy_is_accepted(&release));
    eventually("the condition of a route is written", || route_is_affected(&release));
    release.cluster.apply(NEW_POLICY);
    eventually("an event is on the new policy", || has_event(&release));
    eventually("the webhook is registered", || {
        release.get(WEBHOOK)["webhooks"][0]["clientConfig"]["caBundle"].is_string()
    });
    eventually("effective policies are served", || is_served(&release));
    let deleting = ["delete", "retrypolicy", "be-patient", "-n", "baker", "--dry-run=server"];
    eventually("kubectl shows what a deletion changes", || kubectl_warnings(&release, &deleting).contains("Warning"));
    let (_, refused) = release.requests();
    assert_eq!(refused, BTreeSet::new(), "{}", controller.log());
    release.cluster.apply(REQUIREMENT);
    eventually("the requirement is counted", || {
        controller.get("/metrics").is_some_and(|(_, text)| text.contains("attache_requirement_missing{"))
    });
    metrics_are_those_of_alerts_and_dashboards(&controller);
    a_deleted_webhook_is_noticed(&release, &controller);
}

/// The controller may not create the ValidatingWebhookConfiguration. It says that it is missing.
fn a_deleted_webhook_is_noticed(release: &Release, controller: &Controller) {
    let failed = || controller.metric("attache_registration_failed{object=\"ValidatingWebhookConfiguration/attache\"");
    assert_eq!(failed(), 0.0);
    release.cluster.http().delete(WEBHOOK).unwrap().expect_success();
    eventually("a metric says so", || failed() == 1.0);
    let message = "If it was deleted, `helm upgrade` or `kubectl apply` creates it again";
    eventually("the log says so", || controller.log().contains(message));
    release.helm(&["upgrade"], VALUES);
    eventually("the webhook is registered again", || release.get(WEBHOOK)["webhooks"][0].is_object());
    eventually("the metric says so", || failed() == 0.0);
}

pub fn policy_is_accepted(release: &Release) -> bool {
    let ancestors = release.get(POLICY)["status"]["ancestors"].take();
    let is_ours = |it: &&Value| it["controllerName"].as_str().is_some_and(|name| name.starts_with("attache.dev/"));
    ancestors.as_array().into_iter().flatten().any(|it| is_ours(&it))
}

fn route_is_affected(release: &Release) -> bool {
    release.get(ROUTE)["status"].to_string().contains("RetryPolicyAffected")
}

fn has_event(release: &Release) -> bool {
    let events = release.get("/apis/events.k8s.io/v1/namespaces/baker/events");
    events["items"].as_array().into_iter().flatten().any(|event| event["regarding"]["name"] == "new")
}

pub fn is_served(release: &Release) -> bool {
    let conditions = release.get(API_SERVICE)["status"]["conditions"].take();
    let is_available = |it: &Value| it["type"] == "Available" && it["status"] == "True";
    conditions.as_array().into_iter().flatten().any(is_available)
        && release.cluster.try_kubectl(&["get", "effectivepolicies", "-n", "baker"]).is_ok()
}

/// What kubectl prints to standard error.
pub fn kubectl_warnings(release: &Release, arguments: &[&str]) -> String {
    let mut kubectl = std::process::Command::new(&release.cluster.programs().kubectl);
    kubectl.arg("--kubeconfig").arg(release.cluster.kubeconfig()).args(arguments);
    let output = kubectl.arg("--cache-dir").arg(release.cluster.folder().join("kubectl-cache")).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

/// Every metric that an alert or a dashboard uses is one that the controller has.
fn metrics_are_those_of_alerts_and_dashboards(controller: &Controller) {
    let Some(prometheus) = Prometheus::find() else { return };
    let mut used = prometheus.metrics_of_rules(&repository("deploy/chart/files/alerts.yaml")).unwrap();
    for file in fs::read_dir(repository("deploy/chart/files/dashboards")).unwrap() {
        let dashboard: Value = serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        let queries = targets.map(|target| target["expr"].as_str().unwrap().replace("$__rate_interval", "5m"));
        used.extend(prometheus.metrics_of_queries(&queries.collect::<Vec<_>>()).unwrap());
    }
    let (_, text) = controller.get("/metrics").unwrap();
    // Metrics without a value yet have no sample: what is declared counts.
    let declared = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).flat_map(|line| {
        let (name, kind) = line.split_once(' ').unwrap();
        let suffixes: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        suffixes.iter().map(move |suffix| format!("{name}{suffix}"))
    });
    let declared: BTreeSet<String> = declared.collect();
    assert_eq!(used.difference(&declared).collect::<Vec<_>>(), Vec::<&String>::new(), "{declared:#?}");
}

/// Permissions that are removed at once, and what then does not work.
struct Removal {
    /// Verbs, and what they are removed from: resources, or groups with a dot. Everything if empty.
    verbs: &'static [&'static str],
    from: &'static [&'static str],
    then: &'static str,
    fails: fn(&Release, &Controller) -> bool,
}

impl Removal {
    fn removes(&self, permission: &Permission) -> bool {
        let is_meant = |name: &&str| **name == permission.resource || **name == permission.group;
        self.verbs.contains(&&*permission.verb) && (self.from.is_empty() || self.from.iter().any(is_meant))
    }
}

/// The group of placements, which are listed only if policies are placed by them.
const PLACEMENTS: &str = "cluster.open-cluster-management.io";

/// Every permission is in one of these: together only if one does not keep the controller from using another.
const REMOVALS: [Removal; 13] = [
    Removal { verbs: &["get"], from: &["leases"], then: "nobody leads", fails: has_no_leader },
    Removal { verbs: &["update"], from: &["leases"], then: "nobody leads", fails: has_no_leader },
    Removal { verbs: &["create"], from: &["leases"], then: "nobody leads", fails: has_no_leader },
    Removal {
        verbs: &["create"],
        from: &["secrets", "events"],
        then: "there are no certificates and no events",
        fails: |release, _| release.get(WEBHOOK)["webhooks"].is_null(),
    },
    Removal {
        verbs: &["get"],
        from: &["secrets", "gateway.networking.k8s.io", "example.io"],
        then: "there are no certificates",
        fails: |release, _| release.get(WEBHOOK)["webhooks"].is_null(),
    },
    Removal {
        verbs: &["get"],
        from: &["customresourcedefinitions"],
        then: "it is not known where the status of a policy is",
        fails: |release, _| !policy_is_accepted(release),
    },
    Removal {
        verbs: &["update"],
        from: &["secrets"],
        then: "a certificate that is of no use is not replaced",
        fails: |release, _| secret(release)["data"]["certificates.json"] == GARBAGE,
    },
    Removal {
        verbs: &["patch"],
        from: &[
            "*/status",
            "namespaces/status",
            "services/status",
            "retrypolicies/status",
            "validatingwebhookconfigurations",
        ],
        then: "no status is written",
        fails: |release, _| !policy_is_accepted(release) && !route_is_affected(release),
    },
    Removal {
        verbs: &["patch"],
        from: &["apiservices"],
        then: "the API server does not trust the API",
        fails: |release, _| release.get(API_SERVICE)["spec"]["caBundle"].is_null(),
    },
    Removal {
        verbs: &["watch"],
        from: &[],
        then: "changes are not heard",
        fails: |_, controller| controller.metric("attache_connected") == 0.0,
    },
    Removal {
        verbs: &["list"],
        from: &["customresourcedefinitions", "attache.dev"],
        then: "it is not known which kinds are policies",
        fails: |release, _| !policy_is_accepted(release),
    },
    Removal {
        verbs: &["list"],
        from: &["pods", "deployments", "statefulsets", "daemonsets", "jobs", "configmaps", PLACEMENTS],
        then: "it is logged that workloads are not known",
        fails: |_, controller| controller.log().contains("pods"),
    },
    Removal {
        verbs: &["list"],
        from: &[
            "namespaces",
            "services",
            "networkpolicies",
            "example.io",
            "policy.networking.k8s.io",
            "gateway.networking.k8s.io",
            "gateway.networking.x-k8s.io",
            "gateway.envoyproxy.io",
            "gateway.kgateway.dev",
            "gateway.nginx.org",
            "gateway.solo.io",
            "kuadrant.io",
            "policy.open-cluster-management.io",
            "extensions.istio.io",
            "networking.istio.io",
            "security.istio.io",
            "telemetry.istio.io",
        ],
        then: "nothing is known of policies",
        fails: |release, _| !policy_is_accepted(release),
    },
];

/// How long to wait for what takes some seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// What the Secret has in it that the controller cannot use: `garbage` in Base64.
const GARBAGE: &str = "Z2FyYmFnZQ==";

fn secret(release: &Release) -> Value {
    release.get(&format!("/api/v1/namespaces/{NAMESPACE}/secrets/attache-certificates"))
}

fn has_no_leader(_: &Release, controller: &Controller) -> bool {
    controller.get("/metrics").is_some() && controller.metric("attache_leader") == 0.0
}

/// Objects with conditions of the controller.
const WITH_CONDITIONS: [&str; 5] = [
    "/api/v1/namespaces/baker",
    "/api/v1/namespaces/baker/services/bread",
    "/apis/attache.dev/v1alpha1/policykinds/retrypolicies.example.io",
    "/apis/gateway.networking.k8s.io/v1/namespaces/infra/gateways/main",
    "/apis/gateway.networking.x-k8s.io/v1alpha1/namespaces/baker/xlistenersets/more",
];

/// As before the first start, but for a Secret that is there and of no use, if wanted.
fn reset(release: &Release, has_secret: bool) {
    let http = release.cluster.http();
    http.delete(&format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/attache")).unwrap();
    let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
    http.delete(&format!("{secrets}/attache-certificates")).unwrap();
    if has_secret {
        let garbage = json!({"metadata": {"name": "attache-certificates"}, "data": {"certificates.json": GARBAGE}});
        http.post(&secrets, &garbage).unwrap().expect_success();
    }
    http.patch(WEBHOOK, &json!({"webhooks": null})).unwrap().expect_success();
    http.patch(API_SERVICE, &json!({"spec": {"caBundle": null}})).unwrap().expect_success();
    for object in WITH_CONDITIONS {
        http.patch(&format!("{object}/status"), &json!({"status": {"conditions": null}})).unwrap().expect_success();
    }
    release.forget_requests();
}

#[test]
fn every_permission_is_needed() {
    let Some(release) = Release::install() else { return };
    open_bakery(&release);
    install_systems(&release);
    let roles = release.roles();
    let all: BTreeSet<Permission> = roles.iter().flat_map(|(_, rules)| Permission::of_rules(rules)).collect();
    let in_no_removal: Vec<_> = all.iter().filter(|it| !REMOVALS.iter().any(|removal| removal.removes(it))).collect();
    assert!(in_no_removal.is_empty(), "{in_no_removal:#?}");

    // With all permissions each is used, and none is missing.
    let mut unused = all.clone();
    for has_secret in [false, true] {
        reset(&release, has_secret);
        let controller = release.run("attache");
        // A Secret that is created is not updated at once.
        let is_for_later = |it: &Permission| !has_secret && it.verb == "update" && it.resource == "secrets";
        eventually_none("every permission is used", &controller, || {
            disturb(&release);
            let (granted, refused) = release.requests();
            assert_eq!(refused, BTreeSet::new(), "{}", controller.log());
            unused.retain(|permission| !granted.iter().any(|request| permission.allows(request)));
            unused.iter().filter(|it| !is_for_later(it)).cloned().collect()
        });
        controller.stop();
    }

    for removal in &REMOVALS {
        reset(&release, removal.from == ["secrets"]);
        let removed: Vec<&Permission> = all.iter().filter(|it| removal.removes(it)).collect();
        release.remove_permissions(&roles, |permission| removal.removes(permission));
        let controller = release.run("attache");
        eventually_none("every request without a permission is refused", &controller, || {
            if controller.get("/readyz").is_some_and(|(status, _)| status == 200) {
                disturb(&release);
            }
            let (_, refused) = release.requests();
            removed.iter().filter(|it| !refused.iter().any(|request| it.allows(request))).cloned().cloned().collect()
        });
        eventually(removal.then, || {
            disturb(&release);
            (removal.fails)(&release, &controller)
        });
        // Not killed: no request of it is on its way when the next one starts.
        controller.stop();
        release.remove_permissions(&roles, |_| false);
    }
}

/// Waits until nothing is left of permissions.
#[track_caller]
fn eventually_none(what: &str, controller: &Controller, mut left: impl FnMut() -> Vec<Permission>) {
    let start = Instant::now();
    loop {
        let left = left();
        if left.is_empty() {
            return;
        }
        if start.elapsed() > PATIENCE {
            let log = controller.log();
            let end: Vec<&str> = log.lines().rev().take(20).collect();
            assert!(left.is_empty(), "{what}, but {left:#?}\n{}", end.join("\n"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
