//! Metrics about policies: counts of policies, effective targets and missing policies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use attache_answers::status::policy_statuses;
use attache_engine::{NodeId, ObjectRef};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::context::{Context, today};
use crate::error::ControllerError;
use crate::metrics::{EnforcementLabels, KindLabels, Metrics, RequirementLabels};
use crate::state::State;
use crate::status::desired_requirements;

/// The pause between two counts: Prometheus scrapes less often.
const PAUSE: Duration = Duration::from_secs(5);

/// Counts after changes, until the shutdown.
pub async fn run(context: Context, mut states: UnboundedReceiver<Arc<State>>) -> Result<(), ControllerError> {
    loop {
        let first = tokio::select! {
            () = context.shutdown.requested() => return Ok(()),
            state = states.recv() => state,
        };
        let Some(mut latest) = first else { return Ok(()) };
        let mut is_changed = is_change(&latest);
        while let Ok(state) = states.try_recv() {
            is_changed |= is_change(&state);
            latest = state;
        }
        if !is_changed {
            continue;
        }
        let metrics = Arc::clone(&context.metrics);
        let counted = tokio::task::spawn_blocking(move || count(&latest, &metrics)).await;
        if let Err(error) = counted {
            tracing::error!("cannot update the metrics: {error}");
        }
        tokio::select! {
            () = context.shutdown.requested() => return Ok(()),
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

fn is_change(state: &State) -> bool {
    let is_document = |kind: &str| matches!(kind, "PolicyRequirement" | "PolicyKind");
    state.edited.iter().any(|id| is_document(&id.kind))
        // To compare two engines as a whole takes longer than to count.
        || state.report.as_ref().is_none_or(|report| report.rebuild_reason().is_some() || !report.is_empty())
}

fn count(state: &State, metrics: &Metrics) {
    let snapshot = &state.snapshot;
    let mut policies: BTreeMap<EnforcementLabels, i64> = BTreeMap::new();
    let mut overridden: BTreeMap<KindLabels, i64> = BTreeMap::new();
    let is_ours = |id: &ObjectRef| state.is_responsible(id);
    for status in policy_statuses(snapshot, None).into_iter().filter(|status| is_ours(&status.policy)) {
        let kind = snapshot.engine.kinds().find(&status.policy.group, &status.policy.kind);
        let kind = kind.map_or_else(String::new, |kind| snapshot.engine.kinds().get(kind).full_name());
        let enforcement = status.accepted.refused.map_or(status.enforcement.name(), |reason| reason.name());
        *policies.entry(EnforcementLabels { kind: kind.clone(), enforcement: enforcement.to_owned() }).or_default() +=
            1;
        let lost = status.rules.map_or(0, |rules| rules.total - rules.in_force) as i64;
        *overridden.entry(KindLabels { kind }).or_default() += lost;
    }
    let view = snapshot.engine.view();
    let targets = snapshot.engine.models().iter().map(|model| {
        let labels = KindLabels { kind: snapshot.engine.kinds().get(model.id).full_name() };
        let in_force = |node| {
            model.chains_at(view, node).iter().any(|(chain, _)| {
                let effective = model.effective(view, *chain);
                effective.spec.is_some() || !effective.applied.is_empty()
            })
        };
        let topology = snapshot.engine.topology();
        let is_ours = |node: &NodeId| match topology[*node].owner.object() {
            Some(object) => is_ours(&snapshot.engine.objects()[object].id),
            None => state.is_default(),
        };
        (labels, model.effective_targets(view).filter(is_ours).filter(|node| in_force(*node)).count() as i64)
    });
    let requirements = desired_requirements(state, &today()).into_iter();
    let missing =
        requirements.map(|(id, (_, missing))| (RequirementLabels { requirement: id.name.to_string() }, missing as i64));
    set(&metrics.policies, policies);
    set(&metrics.rules_overridden, overridden);
    set(&metrics.effective_targets, targets);
    set(&metrics.requirement_missing, missing);
}

/// Replaces all values of a family.
fn set<L>(family: &Family<L, Gauge>, values: impl IntoIterator<Item = (L, i64)>)
where
    L: Clone + std::hash::Hash + Eq,
{
    family.clear();
    for (labels, value) in values {
        family.get_or_create(&labels).set(value);
    }
}
