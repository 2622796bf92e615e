//! Compares each new state with the statuses in the cluster, and queues the statuses that must be written.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::kinds::GROUP;
use attache_engine::{Engine, GroupKind, Object, ObjectRef, Report, StatusCondition, TargetReport, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::desired::{
    DEFAULT_CONTROLLER, DesiredStatus, WrittenKinds, controller_name, desired_policies, desired_targets,
};
use super::documents::{desired_policy_kinds, desired_requirements};
use super::plan::{Owned, plan, relevant};
use super::queue::Pending;
use super::shape::{PolicyForm, Shape, Shapes};
use super::writer::{QueueChange, write};
use crate::context::{Context, today};
use crate::error::ControllerError;
use crate::leader::Leadership;
use crate::options::ControllerOptions;
use crate::state::State;

/// The pause before statuses of kinds whose shape could not be read are planned again.
const PLAN_AGAIN: Duration = Duration::from_secs(1);

/// Writes statuses while this process is the leader, until the shutdown.
pub async fn run(
    context: Context,
    states: UnboundedReceiver<Arc<State>>,
    leadership: Leadership,
) -> Result<(), ControllerError> {
    let shapes = Arc::new(Shapes::new(context.client.clone()));
    let (sender, changes) = unbounded_channel();
    let writing = tokio::spawn(write(context.clone(), Arc::clone(&shapes), changes));
    track(&context, states, leadership, &shapes, &sender).await;
    drop(sender);
    writing.await.map_err(|error| ControllerError::Failed { part: "the status writer", message: error.to_string() })
}

/// Removes everything that this controller has written to statuses, in the latest state. Returns the number of changed
/// objects.
pub async fn withdraw(context: Context) -> Result<usize, ControllerError> {
    let Some(state) = context.state.latest() else { return Ok(0) };
    let shapes = Arc::new(Shapes::new(context.client.clone()));
    let (sender, changes) = unbounded_channel();
    let mut tracker = Tracker::new(&context.options);
    let mut candidates = tracker.update(&[Arc::clone(&state)], true);
    for (id, (previous, _)) in &mut candidates {
        *previous = tracker.desired.remove(id);
    }
    let found = find_shapes(&shapes, &state.snapshot.engine, &candidates).await;
    let changes_to_make = tracker.plan(&state, candidates, &found);
    let count = changes_to_make.iter().filter(|change| matches!(change, QueueChange::Push(..))).count();
    for change in changes_to_make.into_iter().chain([QueueChange::Finish]) {
        let _ = sender.send(change);
    }
    write(context, shapes, changes).await;
    Ok(count)
}

async fn track(
    context: &Context,
    mut states: UnboundedReceiver<Arc<State>>,
    mut leadership: Leadership,
    shapes: &Arc<Shapes>,
    sender: &UnboundedSender<QueueChange>,
) {
    let mut tracker = Tracker::new(&context.options);
    let (mut latest, mut is_leader): (Option<Arc<State>>, bool) = (None, false);
    loop {
        let mut new = Vec::new();
        let again = tokio::time::sleep(PLAN_AGAIN);
        let (mut is_first, mut is_retry) = (false, false);
        tokio::select! {
            () = context.shutdown.requested() => return,
            leads = leadership.changed() => {
                is_first = leads && !is_leader;
                is_leader = leads;
                if !leads {
                    let _ = sender.send(QueueChange::Clear);
                    tracker = Tracker::new(&context.options);
                }
                new.extend(latest.clone());
            }
            state = states.recv() => match state {
                None => return,
                Some(state) => {
                    is_first = latest.is_none();
                    new.push(state);
                }
            },
            () = again, if !tracker.unplanned.is_empty() => {
                is_retry = true;
                new.extend(latest.clone());
            }
        }
        while let Ok(state) = states.try_recv() {
            is_retry = false;
            new.push(state);
        }
        let Some(last) = new.last().cloned() else { continue };
        latest = Some(Arc::clone(&last));
        if !is_leader {
            continue;
        }
        for crd in new.iter().flat_map(|state| state.edited.iter()).filter(|id| id.kind == "CustomResourceDefinition") {
            let group = crd.name.split_once('.').map_or("", |(_, group)| group);
            shapes.forget(group).await;
        }
        let updated = tokio::task::spawn_blocking(move || {
            let candidates = match is_retry {
                true => std::mem::take(&mut tracker.unplanned),
                false => tracker.update(&new, is_first),
            };
            (tracker, candidates)
        });
        let Ok((updated, candidates)) = updated.await else { return };
        tracker = updated;
        let found = find_shapes(shapes, &last.snapshot.engine, &candidates).await;
        let planned = tokio::task::spawn_blocking(move || {
            let changes = tracker.plan(&last, candidates, &found);
            (tracker, changes)
        });
        let Ok((planned, changes)) = planned.await else { return };
        tracker = planned;
        for change in changes {
            let _ = sender.send(change);
        }
    }
}

/// The shapes of the kinds of objects, as far as they can be read.
async fn find_shapes(
    shapes: &Shapes,
    engine: &Engine,
    candidates: &StatusCandidates,
) -> HashMap<GroupKind, Arc<Shape>> {
    let mut found = HashMap::new();
    let mut failed: HashSet<GroupKind> = HashSet::new();
    for id in candidates.keys() {
        let kind = id.group_kind();
        if found.contains_key(&kind) || failed.contains(&kind) {
            continue;
        }
        let Some(object) = engine.objects().find(id) else { continue };
        match shapes.get(&engine.objects()[object]).await {
            Ok(shape) => _ = found.insert(kind, shape),
            Err(_) => _ = failed.insert(kind),
        }
    }
    found
}

/// Objects whose status may have to be written, each with the status desired before and the time of the event.
type StatusCandidates = BTreeMap<ObjectRef, (Option<Arc<DesiredStatus>>, Instant)>;

/// The desired statuses of the last state.
struct Tracker {
    options: ControllerOptions,
    desired: HashMap<ObjectRef, Arc<DesiredStatus>>,
    owned: Owned,
    /// The kinds whose status is written, by name.
    kinds: BTreeSet<(bool, String)>,
    /// Kinds without a status that have been logged.
    warned: HashSet<GroupKind>,
    unplanned: StatusCandidates,
    /// The day for which exceptions of requirements were evaluated.
    day: String,
}

impl Tracker {
    fn new(options: &ControllerOptions) -> Tracker {
        let route_controller = smol_str::SmolStr::from(DEFAULT_CONTROLLER);
        let controllers = BTreeSet::from([route_controller.clone()]);
        Tracker {
            options: options.clone(),
            desired: HashMap::new(),
            owned: Owned { route_controller, controllers, types: BTreeSet::new() },
            kinds: BTreeSet::new(),
            warned: HashSet::new(),
            unplanned: BTreeMap::new(),
            day: String::new(),
        }
    }

    /// Takes the last of some new states, and returns the objects whose status may have to be written.
    fn update(&mut self, states: &[Arc<State>], is_first: bool) -> StatusCandidates {
        let mut candidates = std::mem::take(&mut self.unplanned);
        let Some(state) = states.last() else { return candidates };
        let since = states.iter().map(|state| state.event_time).min().unwrap_or_else(Instant::now);
        let engine = &*state.snapshot.engine;
        let kinds = WrittenKinds::new(engine, &self.options);
        let are_other_kinds = self.take_kinds(engine, &kinds);
        let edited: HashSet<&ObjectRef> = states.iter().flat_map(|state| state.edited.iter()).collect();
        let reports: Vec<&Report> = states.iter().filter_map(|state| state.report.as_deref()).collect();
        // To find out what differs after a rebuild takes longer than to compute all statuses, and more memory.
        let is_rebuilt = reports.iter().any(|report| report.rebuild_reason().is_some());
        let is_whole = is_first || are_other_kinds || is_rebuilt;
        // A Namespace that policies affect can be added: before, it was only named by other objects.
        let is_new = |id: &ObjectRef| reports.iter().any(|report| report.before.objects().find(id).is_none());
        let is_stale = |id: &&ObjectRef| is_new(id) || self.is_stale(engine, id);
        let stale: Vec<&ObjectRef> = edited.iter().copied().filter(is_stale).collect();
        let changed: Vec<&Report> = reports.iter().copied().filter(|report| is_whole || !report.is_empty()).collect();
        let moved: BTreeSet<&ObjectRef> = states.iter().flat_map(|state| state.moved.iter()).collect();
        self.hand_over(state, since, &mut candidates);
        let reported: Option<Vec<_>> = match is_whole {
            true => None,
            false => reports.iter().map(|report| report.reported_policies()).collect(),
        };
        let wanted: Option<BTreeSet<ObjectRef>> = reported.map(|reported| {
            let others = stale.iter().chain(&moved).map(|id| (*id).clone());
            reported.into_iter().flatten().chain(others).collect()
        });
        let mut policies = desired_policies(engine, &kinds.policies, wanted.as_ref());
        policies.retain(|id, _| state.is_responsible(id));
        // Policies that are deleted, or of a kind whose status is no longer written.
        let gone: Vec<ObjectRef> = match &wanted {
            Some(wanted) => wanted.iter().filter(|id| !policies.contains_key(*id)).cloned().collect(),
            None => self.desired.keys().filter(|id| !policies.contains_key(*id)).cloned().collect(),
        };
        for id in gone {
            self.set(id, |desired| desired.policy = None, since, &mut candidates);
        }
        for (id, policy) in policies {
            self.set(id, |desired| desired.policy = Some(policy), since, &mut candidates);
        }
        let wanted: Option<HashSet<ObjectRef>> = (!is_whole).then(|| {
            let targets = changed.iter().flat_map(|report| report.targets()).map(|change| change.target.object);
            let targets = targets.chain(stale.iter().chain(&moved).map(|id| (*id).clone()));
            targets.filter(|id| state.is_responsible(id)).collect()
        });
        if wanted.as_ref().is_none_or(|wanted| !wanted.is_empty()) {
            let mut targets = desired_targets(engine, &kinds.targets, wanted.as_ref());
            targets.retain(|id, _| state.is_responsible(id));
            let ids: Vec<ObjectRef> = match wanted {
                Some(wanted) => wanted.into_iter().collect(),
                None => {
                    self.desired.keys().chain(targets.keys()).cloned().collect::<HashSet<_>>().into_iter().collect()
                }
            };
            for id in ids {
                let report = targets.remove(&id).unwrap_or_default();
                self.set(id, |desired| desired.affected = report, since, &mut candidates);
            }
        }
        let are_other_documents = is_whole || edited.iter().any(|id| is_document(id));
        if are_other_documents || !changed.is_empty() || self.day != today() {
            self.day = today();
            let has_kinds = are_other_documents && state.is_default();
            let kinds = if has_kinds { desired_policy_kinds(engine) } else { BTreeMap::new() };
            let requirements =
                desired_requirements(state, &self.day).into_iter().map(|(id, (document, _))| (id, document));
            for (id, mut document) in kinds.into_iter().chain(requirements) {
                if !state.is_default() {
                    document = document.within_classes(&self.options.lease_name);
                }
                self.set(id, |desired| desired.document = document, since, &mut candidates);
            }
        }
        for id in edited {
            if self.desired.contains_key(id) {
                candidates.entry(id.clone()).or_insert((None, since));
            }
        }
        if is_first {
            let is_ours = |object: &&Object| {
                self.desired.contains_key(&object.id)
                    || (has_ours(object, &self.owned) && state.is_responsible(&object.id))
            };
            let objects = engine.objects().iter().map(|(_, object)| object);
            candidates.extend(objects.filter(is_ours).map(|object| (object.id.clone(), (None, since))));
        }
        candidates
    }

    /// Forgets the objects that another controller is responsible for now. What was written to them stays, and is that
    /// controller's.
    fn hand_over(&mut self, state: &State, since: Instant, candidates: &mut StatusCandidates) {
        let Some(partition) = &state.partition else { return };
        let partition = partition.read();
        let is_handed_over = |id: &ObjectRef, it: &DesiredStatus| !it.is_document() && !partition.is_responsible(id);
        let handed_over = self.desired.extract_if(|id, it| is_handed_over(id, it));
        candidates.extend(handed_over.map(|(id, _)| (id, (None, since))));
    }

    /// Takes the kinds whose status is written, and returns whether they have changed.
    fn take_kinds(&mut self, engine: &Engine, written: &WrittenKinds) -> bool {
        let mut kinds = BTreeSet::new();
        for id in &written.policies {
            let kind = engine.kinds().get(*id);
            kinds.insert((true, kind.full_name()));
            self.owned.controllers.insert(controller_name(kind));
        }
        kinds.extend(written.targets.iter().map(|id| (false, engine.kinds().get(*id).full_name())));
        std::mem::replace(&mut self.kinds, kinds.clone()) != kinds
    }

    /// Whether the desired status of an object is of an older generation.
    fn is_stale(&self, engine: &Engine, id: &ObjectRef) -> bool {
        let Some(desired) = self.desired.get(id) else {
            return engine.find_policy(id).is_some();
        };
        let mut conditions = desired.conditions();
        let object = engine.objects().find(id).map(|object| &engine.objects()[object]);
        let generation = object.and_then(Object::generation);
        conditions.any(|condition: &StatusCondition| condition.observed_generation != generation)
    }

    /// Changes the desired status of an object.
    fn set(
        &mut self,
        id: ObjectRef,
        change: impl FnOnce(&mut DesiredStatus),
        since: Instant,
        candidates: &mut StatusCandidates,
    ) {
        let before = self.desired.get(&id).cloned();
        let mut desired = before.as_deref().cloned().unwrap_or_default();
        change(&mut desired);
        if before.as_deref().unwrap_or(&DesiredStatus::default()) == &desired {
            return;
        }
        self.owned.types.extend(types(&desired.affected));
        match desired.is_empty() {
            true => _ = self.desired.remove(&id),
            false => _ = self.desired.insert(id.clone(), Arc::new(desired)),
        }
        let known = candidates.entry(id).or_insert((None, since));
        known.0 = known.0.take().or(before);
    }

    /// The changes of the queue for the candidates.
    fn plan(
        &mut self,
        state: &State,
        candidates: StatusCandidates,
        shapes: &HashMap<GroupKind, Arc<Shape>>,
    ) -> Vec<QueueChange> {
        let engine = &*state.snapshot.engine;
        let mut changes = vec![QueueChange::Owned(Arc::new(self.owned.clone()))];
        for (id, (previous, since)) in candidates {
            let Some(object) = engine.objects().find(&id).map(|object| &engine.objects()[object]) else {
                self.desired.remove(&id);
                changes.push(QueueChange::Remove(id));
                continue;
            };
            if previous.is_none() && !self.desired.contains_key(&id) && !state.is_responsible(&id) {
                changes.push(QueueChange::Remove(id));
                continue;
            }
            let Some(shape) = shapes.get(&id.group_kind()) else {
                self.unplanned.insert(id, (previous, since));
                continue;
            };
            let desired = self.desired.get(&id).cloned().unwrap_or_default();
            if desired.policy.is_some() && shape.policy == PolicyForm::None && self.warned.insert(id.group_kind()) {
                tracing::warn!(kind = %id.kind, "its CRD has no `status.ancestors` or `status.conditions`, or no \
                    subresource `status`: the status of its policies is not written");
            }
            let writes = plan(&relevant(object), shape, &desired, previous.as_deref(), &self.owned, "");
            changes.push(match writes.is_empty() {
                true => QueueChange::Remove(id),
                false => QueueChange::Push(id, Pending { desired, previous, since, attempts: 0 }),
            });
        }
        changes
    }
}

/// Whether an object is a document with a status, or a CRD that decides about it.
fn is_document(id: &ObjectRef) -> bool {
    id.group == GROUP || id.kind == "CustomResourceDefinition"
}
fn types(report: &TargetReport) -> impl Iterator<Item = String> {
    report.conditions.iter().map(|it| it.r#type.clone()).chain(report.annotations.keys().cloned())
}

/// Whether an object has a part of a status that this controller owns.
fn has_ours(object: &Object, owned: &Owned) -> bool {
    let list = |name: &str| object.body.at(&["status", name]).map_or(&[][..], Value::items);
    let is_controller = |it: &Value| it.get_str("controllerName").is_some_and(|name| owned.controllers.contains(name));
    let is_condition = |it: &Value| it.get_str("type").is_some_and(|name| owned.has_type(name));
    let annotations = object.body.at(&["metadata", "annotations"]).map_or(&[][..], Value::entries);
    list("parents").iter().any(is_controller)
        || list("ancestors").iter().any(is_controller)
        || list("conditions").iter().any(is_condition)
        || annotations.iter().any(|(name, _)| owned.has_type(name))
}
