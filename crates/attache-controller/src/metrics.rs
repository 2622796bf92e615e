//! Metrics for Prometheus.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// The metrics of the controller.
pub struct Metrics {
    registry: Registry,
    /// Watched objects.
    pub objects: Gauge,
    /// Applied batches of changes.
    pub batches: Counter,
    /// The time from the first event of a batch to the new state.
    pub event_to_state: Histogram,
    /// The time that the admission webhook takes.
    pub webhook: Histogram,
    /// Requests that the admission webhook refused.
    pub webhook_refusals: Counter,
    /// Whether the controller is connected to the API server.
    pub connected: Gauge,
    /// Whether this process is the leader.
    pub leader: Gauge,
    /// Writes of statuses, by result.
    pub status_writes: Family<WriteLabels, Counter>,
    /// Pending statuses.
    pub status_queue: Gauge,
    /// The time from the event of a change to the written status.
    pub event_to_status: Histogram,
    /// Events that were dropped because of the limit.
    pub events_dropped: Counter,
    /// Policies by kind and enforcement.
    pub policies: Family<EnforcementLabels, Gauge>,
    /// Rules of policies that are not in force somewhere, by kind.
    pub rules_overridden: Family<KindLabels, Gauge>,
    /// Effective targets with a policy in force, by kind.
    pub effective_targets: Family<KindLabels, Gauge>,
    /// Targets that lack a required policy, by requirement.
    pub requirement_missing: Family<RequirementLabels, Gauge>,
    /// Whether the leader cannot write an object by which the API server finds it.
    pub registration_failed: Family<RegistrationLabels, Gauge>,
}

/// A policy kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub struct KindLabels {
    /// The kind with its group.
    pub kind: String,
}

/// A policy kind, and how much of its policies is in force.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub struct EnforcementLabels {
    /// The kind with its group.
    pub kind: String,
    /// The enforcement, or the reason why the policy is not accepted.
    pub enforcement: String,
}

/// A PolicyRequirement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub struct RequirementLabels {
    /// Its name.
    pub requirement: String,
}

/// An object by which the API server finds the controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RegistrationLabels {
    /// `KIND/NAME`.
    pub object: String,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum WriteResult {
    /// It was written.
    Written,
    /// Another controller changed the object; the write is retried.
    Conflict,
    /// The object does not exist any more.
    Gone,
    /// It failed, and is retried.
    Failed,
}

/// The labels of the writes of statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WriteLabels {
    result: WriteResult,
}

impl From<WriteResult> for WriteLabels {
    fn from(result: WriteResult) -> WriteLabels {
        WriteLabels { result }
    }
}

impl Metrics {
    /// Metrics without values.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("attache");
        let metrics = Metrics {
            objects: Gauge::default(),
            batches: Counter::default(),
            event_to_state: Histogram::new(exponential_buckets(0.001, 2.0, 14)),
            webhook: Histogram::new(exponential_buckets(0.000_1, 2.0, 15)),
            webhook_refusals: Counter::default(),
            connected: Gauge::default(),
            leader: Gauge::default(),
            status_writes: Family::default(),
            status_queue: Gauge::default(),
            event_to_status: Histogram::new(exponential_buckets(0.005, 2.0, 14)),
            events_dropped: Counter::default(),
            policies: Family::default(),
            rules_overridden: Family::default(),
            effective_targets: Family::default(),
            requirement_missing: Family::default(),
            registration_failed: Family::default(),
            registry: Registry::default(),
        };
        registry.register("objects", "Watched objects", metrics.objects.clone());
        registry.register("batches", "Applied batches of changes", metrics.batches.clone());
        registry.register_with_unit(
            "event_to_snapshot",
            "Time from the first event of a batch of changes to the new state",
            Unit::Seconds,
            metrics.event_to_state.clone(),
        );
        registry.register_with_unit(
            "webhook",
            "Time that the admission webhook takes to answer",
            Unit::Seconds,
            metrics.webhook.clone(),
        );
        registry.register(
            "webhook_refusals",
            "Requests that the admission webhook refused",
            metrics.webhook_refusals.clone(),
        );
        registry.register(
            "connected",
            "Whether the controller is connected to the API server",
            metrics.connected.clone(),
        );
        registry.register("leader", "Whether this process holds the Lease and writes statuses", metrics.leader.clone());
        registry.register("status_writes", "Writes of statuses, by result", metrics.status_writes.clone());
        registry.register("status_queue", "Pending statuses", metrics.status_queue.clone());
        registry.register_with_unit(
            "event_to_status",
            "Time from the event of a change to the written status",
            Unit::Seconds,
            metrics.event_to_status.clone(),
        );
        registry.register("events_dropped", "Events dropped because of the limit", metrics.events_dropped.clone());
        registry.register("policies", "Policies, by kind and enforcement", metrics.policies.clone());
        registry.register(
            "rules_overridden",
            "Rules of policies that are not in force somewhere, by kind",
            metrics.rules_overridden.clone(),
        );
        registry.register(
            "effective_targets",
            "Effective targets with a policy in force, by kind",
            metrics.effective_targets.clone(),
        );
        registry.register(
            "requirement_missing",
            "Targets that lack a required policy, by requirement",
            metrics.requirement_missing.clone(),
        );
        registry.register(
            "registration_failed",
            "Whether the leader cannot write the object by which the API server finds its webhook or its API",
            metrics.registration_failed.clone(),
        );
        Metrics { registry, ..metrics }
    }

    /// Everything in the text format of OpenMetrics.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
