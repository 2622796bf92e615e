//! Leader election: the process that holds the Lease writes.
//!
//! As in client-go, a Lease has expired if it did not change for its duration, measured by the clock of the process that
//! waits for it: clocks of different machines are never compared.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tokio::sync::{oneshot, watch};

use crate::complaints::Complaints;
use crate::context::Context;
use crate::error::ControllerError;
use crate::requests::{self, ApiServerError};

/// The duration of the Lease.
const DURATION: Duration = Duration::from_secs(10);

/// The interval of renewals, and of attempts to acquire it.
const PERIOD: Duration = Duration::from_secs(2);

/// Without a renewal for this long, no request is started. Requests that were started end before the Lease expires.
const DEADLINE: Duration = Duration::from_secs(6);

/// Whether this process holds the Lease.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<bool>);

impl Leadership {
    /// A sender, and the leadership that it controls.
    pub fn new() -> (watch::Sender<bool>, Leadership) {
        let (sender, receiver) = watch::channel(false);
        (sender, Leadership(receiver))
    }

    /// Whether this process holds the Lease.
    pub fn is_leader(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until that changes. Waits forever after the end of the election.
    pub async fn changed(&mut self) -> bool {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => std::future::pending().await,
        }
    }
}

/// Takes part in the election until the shutdown, then releases the Lease when the writer has ended (`ended`).
pub async fn run(
    context: Context,
    leads: watch::Sender<bool>,
    ended: oneshot::Receiver<()>,
) -> Result<(), ControllerError> {
    let mut election = Election::new(&context);
    let mut complaints = Complaints::default();
    while !context.shutdown.is_requested() {
        match election.try_once().await {
            Ok(()) => complaints.clear(),
            Err(error) => complaints.add(format!("cannot renew the Lease {}: {error}", context.options.lease_name)),
        }
        let is_leader = election.renewed.is_some_and(|renewed| renewed.elapsed() < DEADLINE);
        if is_leader != *leads.borrow() {
            tracing::info!(lease = context.options.lease_name, is_leader, "the leader has changed");
            context.metrics.leader.set(i64::from(is_leader));
            leads.send_replace(is_leader);
        }
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = context.shutdown.requested() => {}
        }
    }
    // An error means that the writer is gone, too.
    let _ = ended.await;
    if election.renewed.is_some() {
        let _ = election.give_back().await;
    }
    Ok(())
}

struct Election<'c> {
    context: &'c Context,
    path: String,
    /// The record of the Lease that was seen last, and since when.
    seen: Option<(Json, Instant)>,
    /// When this process last renewed the Lease.
    renewed: Option<Instant>,
}

impl<'c> Election<'c> {
    fn new(context: &'c Context) -> Election<'c> {
        let namespace = &context.options.namespace;
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        Election { context, path, seen: None, renewed: None }
    }

    fn name(&self) -> &str {
        &self.context.options.lease_name
    }

    /// Renews the Lease, or acquires it if no process holds it.
    async fn try_once(&mut self) -> Result<(), ApiServerError> {
        let start = Instant::now();
        let path = format!("{}/{}", self.path, self.name());
        let lease = match requests::get(&self.context.client, &path).await {
            Ok(lease) => lease,
            Err(ApiServerError { code: Some(404), .. }) => {
                let lease = json!({
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"name": self.name()},
                    "spec": self.record(&Json::Null),
                });
                return self.hold(requests::post(&self.context.client, &self.path, &lease).await, start);
            }
            Err(error) => return Err(error),
        };
        let record = &lease["spec"];
        if self.seen.as_ref().is_none_or(|(seen, _)| seen != record) {
            self.seen = Some((record.clone(), start));
        }
        let holder = record["holderIdentity"].as_str().unwrap_or_default();
        let duration = Duration::from_secs(record["leaseDurationSeconds"].as_u64().unwrap_or(DURATION.as_secs()));
        let has_expired = self.seen.as_ref().is_some_and(|(_, since)| since.elapsed() > duration);
        if holder != self.context.options.identity && !holder.is_empty() && !has_expired {
            self.renewed = None;
            return Ok(());
        }
        let mut taken = lease.clone();
        taken["spec"] = self.record(record);
        self.hold(requests::put(&self.context.client, &path, &taken).await, start)
    }

    /// The record of this process as the holder.
    fn record(&self, before: &Json) -> Json {
        let identity = &self.context.options.identity;
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let is_same = before["holderIdentity"] == identity.as_str();
        let transitions = before["leaseTransitions"].as_u64().unwrap_or_default();
        json!({
            "holderIdentity": identity,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": if is_same { before["acquireTime"].clone() } else { json!(now) },
            "renewTime": now,
            "leaseTransitions": transitions + u64::from(!is_same && !before.is_null()),
        })
    }

    /// The Lease is held from the time at which the request was sent.
    fn hold(&mut self, answer: Result<Json, ApiServerError>, start: Instant) -> Result<(), ApiServerError> {
        match answer {
            Ok(lease) => {
                self.seen = Some((lease["spec"].clone(), start));
                self.renewed = Some(start);
                Ok(())
            }
            // Another process has acquired it.
            Err(ApiServerError { code: Some(409), .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Releases the Lease, so that another process can acquire it at once.
    async fn give_back(&self) -> Result<(), ApiServerError> {
        let path = format!("{}/{}", self.path, self.name());
        let mut lease = requests::get(&self.context.client, &path).await?;
        if lease["spec"]["holderIdentity"] != self.context.options.identity.as_str() {
            return Ok(());
        }
        lease["spec"]["holderIdentity"] = json!("");
        lease["spec"]["leaseDurationSeconds"] = json!(1);
        requests::put(&self.context.client, &path, &lease).await.map(|_| ())
    }
}
