use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use attache_controller::{ControllerOptions, GatewayClasses};
use clap::Args;
use tracing::level_filters::LevelFilter;

use crate::arguments::{Global, duration};
use crate::failure::Failure;
use crate::verdict::Verdict;

/// Run in the cluster: write statuses, warn about the effects of changes, serve effective policies as an API
///
/// Runs until SIGTERM or Ctrl-C. With several replicas, all of them serve the admission webhook and the API, and the one that
/// holds the Lease writes statuses.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  attache controller -n attache-system
  attache controller -n attache-system --gateway-class edge
  attache controller -n attache-system --except-gateway-class edge
  attache controller --cleanup")]
pub struct ControllerCommand {
    /// The name of this process in the Lease; by default the host name and the process id
    #[arg(long, value_name = "NAME", env = "POD_NAME")]
    identity: Option<String>,
    /// The name of the Lease; if not given `attache`, followed by the names of --gateway-class
    #[arg(long, value_name = "NAME")]
    lease_name: Option<String>,
    /// Only what belongs to these GatewayClasses; can be given many times
    #[arg(long = "gateway-class", value_name = "NAME", value_delimiter = ',', conflicts_with = "except_gateway_class")]
    gateway_class: Vec<String>,
    /// Not what belongs to these GatewayClasses: other controllers are for them; can be given many times
    #[arg(long = "except-gateway-class", value_name = "NAME", value_delimiter = ',')]
    except_gateway_class: Vec<String>,
    /// The average number of statuses written per second
    #[arg(long, value_name = "NUMBER", default_value_t = 20.0)]
    status_qps: f64,
    /// The number of statuses that can be written at once
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    status_burst: u32,
    /// A built-in policy kind for which affected objects get a condition; can be repeated
    #[arg(long = "write-targets", value_name = "KIND")]
    write_targets: Vec<String>,
    /// The address of metrics and health checks
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// The address of the admission webhook, or `off`
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9443")]
    webhook_listen: Listen,
    /// The address of the effective-policy API, or `off`
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:9444")]
    api_listen: Listen,
    /// The Service through which the API server reaches the controller
    #[arg(long, value_name = "NAME", default_value = "attache")]
    service: String,
    /// The port of that Service for the admission webhook
    #[arg(long, value_name = "PORT", default_value_t = 443)]
    webhook_port: u16,
    /// A folder with tls.crt, tls.key and ca.crt, instead of certificates that the controller issues
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
    /// The lifetime of certificates that the controller issues; they are renewed after two thirds of it
    #[arg(long, value_name = "DURATION", default_value = "2160h", value_parser = lifetime)]
    certificate_lifetime: Duration,
    /// Refuse policies that conflict with another policy on the same target
    #[arg(long)]
    reject_conflicts: bool,
    /// Remove everything that the controller has written to statuses, then exit
    #[arg(long)]
    cleanup: bool,
}

/// A duration for which certificates can be valid.
fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = duration(text)?;
    match lifetime < Duration::from_secs(20) {
        true => Err("a certificate must be valid for at least 20s".to_owned()),
        false => Ok(lifetime),
    }
}

/// Where to listen, if at all.
#[derive(Clone, Copy, Debug)]
struct Listen(Option<SocketAddr>);

impl std::str::FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        match text {
            "off" => Ok(Listen(None)),
            _ => text
                .parse()
                .map(|address| Listen(Some(address)))
                .map_err(|_| "write an address and a port, as in `0.0.0.0:9443`, or `off`".to_owned()),
        }
    }
}

impl ControllerCommand {
    pub fn run(&self, global: &Global) -> Result<Verdict, Failure> {
        let level = if global.quiet { LevelFilter::WARN } else { LevelFilter::INFO };
        tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_writer(std::io::stderr).init();
        let options = self.options(global)?;
        if self.cleanup {
            let objects = attache_controller::cleanup(options).map_err(|error| error.problem())?;
            tracing::info!(objects, "removed everything that the controller wrote to statuses");
        } else {
            attache_controller::run(options).map_err(|error| error.problem())?;
        }
        Ok(Verdict::Fine)
    }

    fn gateway_classes(&self) -> GatewayClasses {
        let names = |names: &[String]| names.iter().cloned().collect();
        match self.gateway_class.as_slice() {
            [] => GatewayClasses::Except(names(&self.except_gateway_class)),
            classes => GatewayClasses::Only(names(classes)),
        }
    }

    /// Controllers for different classes must not have one Lease.
    fn default_lease_name(&self) -> String {
        let mut classes = self.gateway_class.clone();
        classes.sort();
        std::iter::once("attache").chain(classes.iter().map(String::as_str)).collect::<Vec<_>>().join("-")
    }

    fn options(&self, global: &Global) -> Result<ControllerOptions, Failure> {
        Ok(ControllerOptions {
            client: global.cluster.options(),
            settings: global.settings(),
            namespace: namespace(global)?,
            identity: self.identity.clone().unwrap_or_else(identity),
            lease_name: self.lease_name.clone().unwrap_or_else(|| self.default_lease_name()),
            gateway_classes: self.gateway_classes(),
            status_qps: self.status_qps,
            status_burst: self.status_burst,
            write_targets: self.write_targets.clone(),
            listen: self.listen,
            webhook_listen: self.webhook_listen.0,
            api_listen: self.api_listen.0,
            service: self.service.clone(),
            webhook_port: self.webhook_port,
            certificates: self.certificates.clone(),
            certificate_lifetime: self.certificate_lifetime,
            reject_conflicts: self.reject_conflicts,
        })
    }
}

/// The namespace that is given, that of the Pod, or that of the context.
fn namespace(global: &Global) -> Result<String, Failure> {
    let given = global.namespace.clone().or_else(|| env::var("POD_NAMESPACE").ok());
    match given.filter(|name| !name.is_empty()) {
        Some(namespace) => Ok(namespace),
        None => Ok(global.cluster.options().default_namespace()?),
    }
}

fn identity() -> String {
    let host = env::var("HOSTNAME").or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let host = host.map_or_else(|_| "attache".to_owned(), |host| host.trim().to_owned());
    format!("{host}-{}", process::id())
}
