//! Writes pending statuses, within the rate limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::ObjectRef;
use jiff::Timestamp;
use serde_json::Value as Json;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::plan::{Owned, plan, relevant};
use super::queue::{Pending, Queue};
use super::shape::Shapes;
use crate::context::Context;
use crate::metrics::WriteResult;
use crate::options::GatewayClasses;
use crate::rate::RateLimit;
use crate::requests::{self, ApiServerError};

/// The number of concurrent writes.
const PARALLEL: usize = 8;

/// The number of immediate retries after conflicts with other controllers.
const CONFLICTS: u32 = 20;

/// The field manager of what one controller writes.
const FIELD_MANAGER: &str = "attache";

/// How long a response of the API server may be newer than the watched state.
const REMEMBERED: Duration = Duration::from_secs(10);

/// A change of the queue.
#[derive(Debug)]
pub enum QueueChange {
    /// A status must be written.
    Push(ObjectRef, Pending),
    /// A status is as desired, or its object is deleted.
    Remove(ObjectRef),
    /// The parts of statuses that this controller owns.
    Owned(Arc<Owned>),
    /// This process is no longer the leader.
    Clear,
    /// No more changes follow: the writer ends when the queue is empty.
    Finish,
}

/// The outcome of a write.
enum WriteOutcome {
    /// The object after the write.
    Written(Json),
    /// There was nothing to write.
    Unchanged,
    /// The object does not exist any more.
    Gone,
    Failed(ApiServerError),
}

/// Writes until the sender of changes is dropped.
pub async fn write(context: Context, shapes: Arc<Shapes>, mut changes: UnboundedReceiver<QueueChange>) {
    let options = &context.options;
    let mut queue = Queue::default();
    let mut limit = RateLimit::new(options.status_qps, options.status_burst, Instant::now());
    let mut writes: JoinSet<(ObjectRef, Pending, WriteOutcome)> = JoinSet::new();
    let mut owned: Arc<Owned> = Arc::default();
    // Written objects, until the watch delivers them: a newer status must be based on them.
    let mut written: HashMap<ObjectRef, (Instant, Arc<Json>)> = HashMap::new();
    let (mut wait, mut is_last): (Option<Instant>, bool) = (None, false);
    loop {
        let timer = tokio::time::sleep_until(wait.unwrap_or_else(Instant::now).into());
        tokio::select! {
            change = changes.recv() => match change {
                None => break,
                Some(change) => is_last |= take(change, &mut queue, &mut owned),
            },
            Some(ended) = writes.join_next(), if !writes.is_empty() => {
                if let Ok((id, pending, outcome)) = ended {
                    finish(&context, &mut queue, &mut written, id, pending, outcome);
                }
            }
            () = timer, if wait.is_some() => {}
        }
        while let Ok(change) = changes.try_recv() {
            is_last |= take(change, &mut queue, &mut owned);
        }
        wait = start(&context, &shapes, &owned, &written, &mut queue, &mut limit, &mut writes);
        context.metrics.status_queue.set(queue.len() as i64);
        if is_last && queue.len() == 0 && writes.is_empty() {
            break;
        }
    }
    // Finish running writes before another process can become the leader.
    writes.join_all().await;
}

/// Applies a change to the queue, and returns whether it was the last one.
fn take(change: QueueChange, queue: &mut Queue, owned: &mut Arc<Owned>) -> bool {
    match change {
        QueueChange::Push(id, pending) => queue.push(id, pending),
        QueueChange::Remove(id) => _ = queue.remove(&id),
        QueueChange::Owned(new) => *owned = new,
        QueueChange::Clear => queue.clear(),
        QueueChange::Finish => return true,
    }
    false
}

/// Starts as many writes as allowed, and returns when to try again.
fn start(
    context: &Context,
    shapes: &Arc<Shapes>,
    owned: &Arc<Owned>,
    written: &HashMap<ObjectRef, (Instant, Arc<Json>)>,
    queue: &mut Queue,
    limit: &mut RateLimit,
    writes: &mut JoinSet<(ObjectRef, Pending, WriteOutcome)>,
) -> Option<Instant> {
    while writes.len() < PARALLEL {
        let now = Instant::now();
        if !queue.is_ready(now) {
            return queue.next_time();
        }
        if let Err(wait) = limit.take(now) {
            return Some(now + wait);
        }
        let Some((id, pending)) = queue.pop(now) else { return queue.next_time() };
        let (context, shapes, owned) = (context.clone(), Arc::clone(shapes), Arc::clone(owned));
        let known = written.get(&id).map(|(_, object)| Arc::clone(object));
        writes.spawn(async move {
            let outcome = write_one(&context, &shapes, &owned, &id, &pending, known).await;
            (id, pending, outcome)
        });
    }
    None
}

fn finish(
    context: &Context,
    queue: &mut Queue,
    written: &mut HashMap<ObjectRef, (Instant, Arc<Json>)>,
    id: ObjectRef,
    pending: Pending,
    outcome: WriteOutcome,
) {
    let now = Instant::now();
    let (result, failed) = match outcome {
        WriteOutcome::Written(object) => {
            context.metrics.event_to_status.observe(pending.since.elapsed().as_secs_f64());
            written.retain(|_, (since, _)| since.elapsed() < REMEMBERED);
            written.insert(id.clone(), (now, Arc::new(object)));
            (Some(WriteResult::Written), None)
        }
        WriteOutcome::Unchanged => (None, None),
        WriteOutcome::Gone => (Some(WriteResult::Gone), None),
        WriteOutcome::Failed(error) => {
            if pending.attempts == 0 {
                tracing::warn!(object = %id, "cannot write the status: {error}; retrying");
            }
            (Some(WriteResult::Failed), Some(pending))
        }
    };
    if let Some(result) = result {
        context.metrics.status_writes.get_or_create(&result.into()).inc();
    }
    queue.done(&id, failed, now);
}

async fn write_one(
    context: &Context,
    shapes: &Shapes,
    owned: &Owned,
    id: &ObjectRef,
    pending: &Pending,
    known: Option<Arc<Json>>,
) -> WriteOutcome {
    let Some(state) = context.state.latest() else { return WriteOutcome::Unchanged };
    let objects = state.snapshot.engine.objects();
    let Some(object) = objects.find(id).map(|object| &objects[object]) else { return WriteOutcome::Gone };
    let shape = match shapes.get(object).await {
        Ok(shape) => shape,
        Err(error) => return WriteOutcome::Failed(error),
    };
    let mut current = Arc::new(relevant(object));
    if let Some(known) = known.filter(|known| version(known) > version(&current)) {
        current = known;
    }
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let path = shape.path(id);
    let manager = field_manager(context, pending);
    for _ in 0..CONFLICTS {
        let writes = plan(&current, &shape, &pending.desired, pending.previous.as_deref(), owned, &now);
        let Some(write) = writes.first() else { return WriteOutcome::Unchanged };
        let path = if write.is_status { format!("{path}/status") } else { path.clone() };
        match requests::patch(&context.client, &path, manager, write.patch_type, &write.body).await {
            Ok(answer) if writes.len() == 1 => return WriteOutcome::Written(answer),
            // The next write is based on the response.
            Ok(answer) => current = Arc::new(answer),
            Err(ApiServerError { code: Some(404), .. }) => return WriteOutcome::Gone,
            Err(ApiServerError { code: Some(409), .. }) => {
                context.metrics.status_writes.get_or_create(&WriteResult::Conflict.into()).inc();
                match requests::get(&context.client, shape.path(id).as_str()).await {
                    Ok(answer) => current = Arc::new(answer),
                    Err(ApiServerError { code: Some(404), .. }) => return WriteOutcome::Gone,
                    Err(error) => return WriteOutcome::Failed(error),
                }
            }
            Err(error) => return WriteOutcome::Failed(error),
        }
    }
    WriteOutcome::Failed(ApiServerError { code: Some(409), message: "conflicts with other controllers".into() })
}

/// Who writes. Several controllers have conditions of their own in one document: each is a manager for itself.
fn field_manager<'c>(context: &'c Context, pending: &Pending) -> &'c str {
    let is_document = pending.desired.is_document() || pending.previous.as_ref().is_some_and(|it| it.is_document());
    match context.options.gateway_classes {
        GatewayClasses::Only(_) if is_document => &context.options.lease_name,
        _ => FIELD_MANAGER,
    }
}

/// The resource version of an object, as a number.
fn version(object: &Json) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse().ok()).unwrap_or_default()
}
