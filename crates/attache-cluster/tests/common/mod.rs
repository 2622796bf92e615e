//! What the tests have in common: one cluster for those that leave it as it is, a bakery in it, and users.

#![allow(clippy::unwrap_used, dead_code)]

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use attache_cluster::{ClientOptions, Cluster, ClusterError, ClusterReading, Interest};
use attache_engine::kinds::{Settings, built_in};
use attache_testenv::{TestCluster, TestUser};

/// A Gateway in one namespace, a route and its policy in another, and the CRD of a policy kind of nobody's.
pub const BAKERY: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: infra, labels: {team: platform}}
---
apiVersion: v1
kind: Namespace
metadata: {name: baker, labels: {team: baker}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: retrypolicies.example.io
  labels: {gateway.networking.k8s.io/policy: Inherited}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: retrypolicies, singular: retrypolicy, kind: RetryPolicy, listKind: RetryPolicyList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

/// What needs the CRD to be established.
pub const OBJECTS: &str = r#"
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: oven}
spec: {controllerName: example.io/oven}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shop, namespace: infra}
spec:
  gatewayClassName: oven
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: baker}}}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cakes, namespace: baker}
spec:
  parentRefs: [{name: shop, namespace: infra}]
  rules: [{backendRefs: [{name: cakes, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cakes, namespace: baker}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: recipe, namespace: baker}
stringData: {flour: lots}
---
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: be-patient, namespace: baker}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cakes}
  retries: 3
"#;

/// The cluster that tests share. It ends with the test process.
pub fn shared() -> Option<&'static TestCluster> {
    static SHARED: OnceLock<Option<TestCluster>> = OnceLock::new();
    SHARED.get_or_init(|| TestCluster::start().inspect(open_bakery)).as_ref()
}

/// Puts the bakery into a cluster.
pub fn open_bakery(cluster: &TestCluster) {
    cluster.apply(BAKERY);
    cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd/retrypolicies.example.io"]);
    cluster.apply(OBJECTS);
}

pub fn options(kubeconfig: &Path) -> ClientOptions {
    ClientOptions { kubeconfig: Some(kubeconfig.to_owned()), ..ClientOptions::default() }
}

pub fn interest() -> Interest {
    Interest { kinds: built_in().0, settings: Settings::default(), namespace: None }
}

pub fn read_with(options: &ClientOptions) -> Result<ClusterReading, ClusterError> {
    Cluster::connect(options)?.read(&interest(), |_| ())
}

pub fn read_as(user: &TestUser) -> ClusterReading {
    read_with(&options(&user.kubeconfig)).unwrap()
}

/// The names of the objects of a kind, sorted.
pub fn names(reading: &ClusterReading, kind: &str) -> Vec<String> {
    let objects = reading.objects.iter().filter(|object| object.id.kind == kind);
    let mut names: Vec<String> = objects.map(|object| object.id.to_string()).collect();
    names.sort();
    names
}

/// What could not be read, as users are told.
pub fn unseen(reading: &ClusterReading) -> Vec<String> {
    reading.unseen.iter().map(ToString::to_string).collect()
}

/// Waits until something holds, which takes a moment because the server's own watches come later.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "after a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
