//! Shared by the tests: one cluster for tests that do not change it, and readings of it.

#![allow(clippy::unwrap_used, dead_code)]

use std::path::Path;
use std::sync::OnceLock;

use attache_cluster::{ClientOptions, Cluster, ClusterError, ClusterReading, Interest};
use attache_engine::kinds::built_in;
use attache_testenv::{TestCluster, TestUser};

/// A policy of the baker.
pub const POLICY: &str = r#"
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

/// Creates the bakery in a cluster.
pub fn open_bakery(cluster: &TestCluster) {
    attache_testenv::open_bakery(cluster, POLICY);
}

pub fn options(kubeconfig: &Path) -> ClientOptions {
    ClientOptions { kubeconfig: Some(kubeconfig.to_owned()), ..ClientOptions::default() }
}

pub fn interest() -> Interest {
    Interest { kinds: built_in().0, ..Interest::default() }
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

/// The kinds that could not be read, as shown to users.
pub fn unseen(reading: &ClusterReading) -> Vec<String> {
    reading.unseen.iter().map(ToString::to_string).collect()
}
