//! Options of the controller.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use attache_cluster::ClientOptions;
use attache_engine::kinds::Settings;

/// The GatewayClasses that a controller is for, if several share the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayClasses {
    /// These: what belongs to one of them, and to no other.
    Only(BTreeSet<String>),
    /// All but these, and everything that belongs to no class, or to several.
    Except(BTreeSet<String>),
}

impl Default for GatewayClasses {
    fn default() -> GatewayClasses {
        GatewayClasses::Except(BTreeSet::new())
    }
}

/// Options of the controller.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// The cluster.
    pub client: ClientOptions,
    /// What counts as a policy.
    pub settings: Settings,
    /// The namespace of the controller: of its Lease, Secret and Service.
    pub namespace: String,
    /// The name of this process, as it is in the Lease.
    pub identity: String,
    /// The name of the Lease.
    pub lease_name: String,
    /// The GatewayClasses that the controller is for.
    pub gateway_classes: GatewayClasses,
    /// The average number of statuses written per second.
    pub status_qps: f64,
    /// The number of statuses that can be written at once.
    pub status_burst: u32,
    /// Built-in policy kinds, by `kind` or `kind.group`, for which affected objects get a condition.
    pub write_targets: Vec<String>,
    /// The address of metrics and health checks.
    pub listen: SocketAddr,
    /// The address of the admission webhook. `None` switches it off.
    pub webhook_listen: Option<SocketAddr>,
    /// The address of the effective-policy API. `None` switches it off.
    pub api_listen: Option<SocketAddr>,
    /// The name of the Service through which the API server reaches the controller.
    pub service: String,
    /// The port of that Service for the admission webhook.
    pub webhook_port: u16,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt`. With `None` the controller issues its own certificates.
    pub certificates: Option<PathBuf>,
    /// The lifetime of certificates that the controller issues.
    pub certificate_lifetime: Duration,
    /// Whether policies that conflict with another one are refused at admission.
    pub reject_conflicts: bool,
}
