//! Events on policies whose enforcement changes.

use std::sync::Arc;
use std::time::Instant;

use attache_engine::{Enforcement, Engine, Level, Object, ObjectRef, PolicyStatus, StatusChange};
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::context::Context;
use crate::error::ControllerError;
use crate::leader::Leadership;
use crate::rate::RateLimit;
use crate::requests;
use crate::state::State;

/// The average number of events per second, and the number that can be sent at once. Further events are dropped: the status
/// has the same information.
const PER_SECOND: f64 = 1.0;
const BURST: u32 = 25;

/// Sends events while this process is the leader, until the shutdown.
pub async fn run(
    context: Context,
    mut states: UnboundedReceiver<Arc<State>>,
    leadership: Leadership,
) -> Result<(), ControllerError> {
    let mut limit = RateLimit::new(PER_SECOND, BURST, Instant::now());
    loop {
        let state = tokio::select! {
            () = context.shutdown.requested() => return Ok(()),
            state = states.recv() => state,
        };
        let Some(state) = state else { return Ok(()) };
        if !leadership.is_leader() {
            continue;
        }
        let found = tokio::task::spawn_blocking(move || events(&state)).await;
        for event in found.unwrap_or_default() {
            if limit.take(Instant::now()).is_err() {
                context.metrics.events_dropped.inc();
                continue;
            }
            let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
            let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            let mut event = event.clone();
            event["reportingInstance"] = json!(context.options.identity);
            if let Err(error) = requests::post(&context.client, &path, &event).await {
                tracing::warn!("cannot create an event: {error}");
            }
        }
    }
}

/// The events of a batch of changes.
fn events(state: &State) -> Vec<Json> {
    let Some(report) = &state.report else { return Vec::new() };
    let changes = report.policies();
    let ours = changes.iter().filter(|change| state.is_responsible(&change.policy));
    ours.filter_map(|change| event(&state.snapshot.engine, change)).collect()
}

/// The event of a policy, if its enforcement changed.
fn event(engine: &Engine, change: &StatusChange) -> Option<Json> {
    let word = |status: &PolicyStatus| status.refused.map_or(status.enforcement.name(), |reason| reason.name());
    let after = change.after.as_ref()?;
    let was = change.before.as_ref().map(word);
    let is = word(after);
    if was == Some(is) {
        return None;
    }
    let object = engine.objects().find(&change.policy).map(|id| &engine.objects()[id])?;
    let was = was.map_or_else(String::new, |was| format!(", was {was}"));
    let by: Vec<String> = after.by.iter().map(|policy| engine.policy_id(*policy).to_string()).collect();
    let by = if by.is_empty() { String::new() } else { format!(", by {}", by.join(" ")) };
    let (all, routes) = (after.scopes.total, affected_routes(engine, after));
    let note = match after.refused {
        Some(_) => format!("{is}{was}: {}", after.message()),
        None => {
            format!("{is}{was}{by}: in force on {routes} routes, in {} of {all} scopes", all - after.scopes.overridden)
        }
    };
    let is_good = after.refused.is_none() && after.enforcement != Enforcement::Overridden;
    Some(document(object, &change.policy, is, &note, if is_good { "Normal" } else { "Warning" }))
}

/// The number of routes on which some of a policy is in force.
fn affected_routes(engine: &Engine, status: &PolicyStatus) -> usize {
    let affected = engine.reach(status.policy, None).affected;
    affected.into_iter().filter(|node| engine.topology()[*node].level == Level::Route).count()
}

fn document(object: &Object, policy: &ObjectRef, reason: &str, note: &str, kind: &str) -> Json {
    let namespace = if policy.namespace.is_empty() { "default" } else { policy.namespace.as_str() };
    let note: String = note.chars().take(1000).collect();
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": format!("{}-", policy.name), "namespace": namespace},
        "eventTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
        "reportingController": "attache.dev/controller",
        "action": "Enforce",
        "reason": reason,
        "type": kind,
        "note": note,
        "regarding": {
            "apiVersion": requests::api_version(object),
            "kind": policy.kind,
            "name": policy.name,
            "namespace": policy.namespace,
            "uid": object.body.at(&["metadata", "uid"]).and_then(|uid| uid.as_str()).unwrap_or_default(),
            "resourceVersion": object.body.at(&["metadata", "resourceVersion"]).and_then(|it| it.as_str()).unwrap_or_default(),
        },
    })
}
