//! The certificate of the controller's servers, and the CA bundle for clients.
//!
//! ```text
//! Secret (written by the leader, when something is due) ─┐
//!                                                        ├─→ the certificate that servers present
//! mounted files (from cert-manager, for example) ────────┘   the bundle ─→ webhook configuration, APIService
//! ```
//!
//! All replicas use the same certificate. Each checks for a new one at intervals.

mod files;
mod issue;
mod secret;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use crate::context::Context;
use crate::error::ControllerError;
use crate::tls::ServerCertificate;
use issue::IssueOptions;

/// The longest interval between two checks for a new certificate.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// The CA bundle with which clients verify the controller's servers, in PEM. `None` until there is a certificate.
pub(crate) type TrustBundle = Option<Arc<str>>;

/// A certificate with its key and the CA bundle, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Current {
    certificate: String,
    key: String,
    bundle: String,
}

/// Keeps the certificate of the servers current, and sends its CA bundle to `trust`. Only the leader issues certificates.
pub(crate) async fn keep(
    context: Context,
    mut leader: watch::Receiver<bool>,
    server: ServerCertificate,
    trust: watch::Sender<TrustBundle>,
) -> Result<(), ControllerError> {
    let options = IssueOptions {
        names: server_names(&context.options.service, &context.options.namespace),
        lifetime: context.options.certificate_lifetime,
    };
    // Often enough to see each step of a renewal.
    let interval = (options.lifetime / 20).min(LONGEST_INTERVAL);
    let mut used: Option<Current> = None;
    loop {
        let is_leader = *leader.borrow_and_update();
        let found = match &context.options.certificates {
            Some(folder) => files::read(folder),
            None => secret::read_or_issue(&context, is_leader, &options).await,
        };
        match found {
            Ok(current) if current == used => {}
            Ok(Some(current)) => match server.replace(&current.certificate, &current.key) {
                Ok(()) => {
                    tracing::info!("using a new certificate");
                    trust.send_replace(Some(current.bundle.as_str().into()));
                    used = Some(current);
                }
                Err(error) => tracing::error!("{error}"),
            },
            Ok(None) => tracing::info!("there is no certificate yet"),
            Err(message) => tracing::warn!("{message}"),
        }
        tokio::select! {
            () = context.shutdown.requested() => return Ok(()),
            () = tokio::time::sleep(interval) => {}
            // The election has ended.
            Ok(()) = leader.changed() => {}
        }
    }
}

/// The names by which the API server, and others in the cluster, call a Service.
fn server_names(service: &str, namespace: &str) -> Vec<String> {
    let full = format!("{service}.{namespace}.svc");
    vec![full.clone(), format!("{full}.cluster.local"), format!("{service}.{namespace}"), service.to_owned()]
}

/// The time since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
