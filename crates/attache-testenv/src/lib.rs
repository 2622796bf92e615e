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
//! [`TestCluster::start`] returns `None`, and prints why on standard error, if the programs are neither installed nor
//! can be built. With `CI=true` it panics instead: no test may be skipped there.
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
//! Every cluster has its own processes, ports, certificates and folder. They are removed when [`TestCluster`] is
//! dropped, and also when the test process is killed: a watchdog process waits for its end.

#![deny(missing_docs)]
// A test environment that does not work fails the test that needs it.
#![allow(clippy::panic)]

pub mod bakery;
mod certificates;
mod cluster;
mod crds;
mod go;
mod helm;
mod http;
mod install;
mod lag;
mod ports;
mod processes;
mod programs;
mod prometheus;
mod proxy;
mod served;
mod template;
mod users;

use std::fmt;
use std::io::Write;

pub use bakery::open_bakery;
pub use cluster::{ClusterOptions, Component, TestCluster};
pub use crds::Crds;
pub use helm::Helm;
pub use http::{HttpClient, HttpResponse};
pub use lag::eventually;
pub use programs::Programs;
pub use prometheus::Prometheus;
pub use proxy::{Fault, FaultProxy};
pub use users::TestUser;

/// Why there is no test environment.
#[derive(Debug)]
pub enum TestEnvError {
    /// The programs are missing and cannot be built on this machine. Tests may be skipped.
    Unavailable(String),
    /// An error that should not happen.
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

/// What was found or built. `None`, which is announced, if that is not possible on this machine, and this is not CI.
fn unless_left_out<T>(found: Result<T, TestEnvError>, test: &str) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(TestEnvError::Unavailable(why)) if std::env::var("CI").as_deref() != Ok("true") => {
            announce(format_args!("{test} is left out: {why}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Writes a line to standard error, also where the test runner captures what tests print: a build takes minutes, and
/// the user should see why.
pub(crate) fn announce(message: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "attache-testenv: {message}");
}
