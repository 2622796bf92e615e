//! A real Kubernetes API server for tests: kube-apiserver and etcd on loopback, nothing mocked.
//!
//! ```no_run
//! use attache_testenv::TestCluster;
//!
//! #[test]
//! fn a_namespace_can_be_created() {
//!     let Some(cluster) = TestCluster::start() else { return };
//!     cluster.kubectl(&["create", "namespace", "baker"]);
//! }
//! ```
//!
//! [`TestCluster::start`] returns `None`, and says so on standard error, where the programs are neither installed nor
//! can be built. With `CI=true` it panics instead: nothing may be left out there.
//!
//! ```text
//! programs (KUBEBUILDER_ASSETS, PATH, the cache, or built by Go into the cache)
//!    └─→ template (an etcd folder that holds the CRDs of the Gateway API)
//!           └─→ cluster (etcd, kube-apiserver, controllers; certificates, ports, a watchdog)
//!                  └─→ users (kubeconfigs) · http (requests) · kubectl
//! ```
//!
//! | environment | meaning |
//! |---|---|
//! | `KUBEBUILDER_ASSETS` | a folder with `etcd`, `kube-apiserver` and `kubectl` |
//! | `ATTACHE_CACHE` | where built programs are kept; `$XDG_CACHE_HOME/attache` if not set |
//! | `CI=true` | a test environment that is not available is a failure |
//!
//! Every cluster has its own processes, ports, certificates and folder. They are gone when [`TestCluster`] is dropped, and
//! also when the test process is killed: a watchdog process waits for its end.

// A test environment that does not work fails the test that needs it.
#![allow(clippy::panic)]

mod certificates;
mod cluster;
mod http;
mod install;
mod ports;
mod processes;
mod programs;
mod proxy;
mod template;
mod users;

use std::fmt;
use std::io::Write;

pub use cluster::{ClusterOptions, Component, TestCluster};
pub use http::{HttpClient, HttpResponse};
pub use programs::Programs;
pub use proxy::{Fault, FaultProxy};
pub use users::TestUser;

/// Why there is no test environment.
#[derive(Debug)]
pub enum TestEnvError {
    /// The programs are not there and cannot be built on this machine. Tests may be left out.
    Unavailable(String),
    /// Something went wrong that should have worked.
    Failed(String),
}

impl fmt::Display for TestEnvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestEnvError::Unavailable(message) | TestEnvError::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for TestEnvError {}

impl TestEnvError {
    fn failed(what: &str, error: impl fmt::Display) -> TestEnvError {
        TestEnvError::Failed(format!("{what}: {error}"))
    }
}

/// Writes a line to standard error, also where the test runner captures what tests print: a build takes minutes, and
/// whoever waits for it should know why.
pub(crate) fn announce(message: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "attache-testenv: {message}");
}
