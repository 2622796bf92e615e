//! Watches the cluster, and publishes a state after each batch of changes.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use attache_cluster::{
    ClientOptions, Cluster, ClusterError, ClusterFollower, ClusterNews, ClusterReading, Interest, KindChange, Unseen,
};
use attache_engine::kinds::{Settings, built_in};
use attache_engine::{Edit, IncrementalEngine, Object, ObjectRef, Objects, Problem, Report, SharedValues};

use crate::metrics::Metrics;
use crate::options::{ControllerOptions, GatewayClasses};
use crate::partition::{Known, SharedPartition};
use crate::shutdown::Shutdown;
use crate::state::{State, StatePublisher};

/// The longest pause before reading the cluster is retried.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Which cluster is watched, and what counts as a policy.
#[derive(Clone, Debug, Default)]
pub struct FollowOptions {
    /// The cluster.
    pub client: ClientOptions,
    /// What counts as a policy.
    pub settings: Settings,
    /// The GatewayClasses whose objects are followed.
    pub gateway_classes: GatewayClasses,
}

impl FollowOptions {
    /// The options of a controller.
    pub fn new(options: &ControllerOptions) -> FollowOptions {
        FollowOptions {
            client: options.client.clone(),
            settings: options.settings.clone(),
            gateway_classes: options.gateway_classes.clone(),
        }
    }
}

/// Reads the cluster, then watches it until the shutdown. Blocks the calling thread. If the cluster cannot be read, that is
/// retried; later failures are published as [`State::disconnected`].
///
/// # Errors
///
/// If there is no usable kubeconfig.
pub fn follow(
    options: &FollowOptions,
    publisher: &StatePublisher,
    metrics: &Metrics,
    shutdown: &Shutdown,
) -> Result<(), ClusterError> {
    let (kinds, _) = built_in();
    let interest =
        Interest { kinds: kinds.clone(), settings: options.settings.clone(), statuses: true, ..Interest::default() };
    let cluster = Cluster::connect(&options.client)?;
    let Some(mut reading) = read(&cluster, &interest, shutdown) else { return Ok(()) };
    let partition = SharedPartition::new(&options.gateway_classes);
    let mut shared = SharedValues::default();
    reading.objects.iter_mut().for_each(|object| compact(object, &mut shared));
    let objects = followed(partition.as_ref(), std::mem::take(&mut reading.objects));
    tracing::info!(server = cluster.server(), objects = objects.len(), "read the cluster");
    log_unseen(&reading.unseen);
    let mut following = Following {
        engine: IncrementalEngine::new(objects, &kinds, options.settings.clone()),
        problems: std::mem::take(&mut reading.problems),
        revision: 0,
        content: 1,
        disconnected: None,
        partition,
        shared,
        publisher,
        metrics,
    };
    following.publish(None, Arc::default(), Arc::default(), Instant::now());
    let mut follower = ClusterFollower::new(cluster, interest, &mut reading, following.engine.now().objects());
    shutdown.on_request(follower.stopper());
    while let Some(news) = follower.wait(&following.known()) {
        following.take(news);
    }
    Ok(())
}

/// Reads the cluster once.
///
/// # Errors
///
/// If it cannot be read.
pub fn read_once(options: &FollowOptions) -> Result<State, ClusterError> {
    let (kinds, _) = built_in();
    let interest =
        Interest { kinds: kinds.clone(), settings: options.settings.clone(), statuses: true, ..Interest::default() };
    let reading = Cluster::connect(&options.client)?.read(&interest, |_| ())?;
    let partition = SharedPartition::new(&options.gateway_classes);
    let objects = followed(partition.as_ref(), reading.objects);
    let engine = IncrementalEngine::one_shot(objects, &kinds, options.settings.clone());
    Ok(State { partition, ..State::first(engine, reading.problems) })
}

/// Makes an object smaller: what it has in common with others is kept once, and who changed it last is not kept.
fn compact(object: &mut Object, shared: &mut SharedValues) {
    object.last_change = None;
    object.share(shared);
}

/// Those of the first objects that are followed.
pub(crate) fn followed(partition: Option<&SharedPartition>, objects: Vec<Object>) -> Objects {
    let Some(partition) = partition else { return Objects::new(objects) };
    let puts = objects.into_iter().map(Edit::Put).collect();
    let edits = partition.write().take(puts, &Objects::new(Vec::new())).edits.into_iter();
    Objects::new(
        edits
            .filter_map(|edit| match edit {
                Edit::Put(object) => Some(object),
                Edit::Delete(_) => None,
            })
            .collect(),
    )
}

/// Reads the cluster, with retries. `None` at a shutdown.
fn read(cluster: &Cluster, interest: &Interest, shutdown: &Shutdown) -> Option<ClusterReading> {
    let mut pause = Duration::from_millis(100);
    while !shutdown.is_requested() {
        match cluster.read(interest, |_| ()) {
            Ok(reading) => return Some(reading),
            Err(error) => tracing::warn!("{error}; retrying"),
        }
        let until = Instant::now() + pause;
        while Instant::now() < until && !shutdown.is_requested() {
            thread::sleep(Duration::from_millis(50));
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    None
}

/// The engine, and how its states are published.
struct Following<'f> {
    engine: IncrementalEngine,
    problems: Vec<Problem>,
    revision: u64,
    content: u64,
    disconnected: Option<Arc<str>>,
    partition: Option<SharedPartition>,
    shared: SharedValues,
    publisher: &'f StatePublisher,
    metrics: &'f Metrics,
}

impl Following<'_> {
    fn known(&self) -> Known<'_> {
        Known { followed: self.engine.now().objects(), partition: self.partition.as_ref() }
    }

    fn take(&mut self, mut news: ClusterNews) {
        log(&news);
        for edit in &mut news.edits {
            if let Edit::Put(object) = edit {
                compact(object, &mut self.shared);
            }
        }
        let mut moved = Vec::new();
        if let Some(partition) = &self.partition {
            let taken = partition.write().take(news.edits, self.engine.now().objects());
            (news.edits, moved) = (taken.edits, taken.moved);
        }
        if news.disconnected.is_some() || news.reconnected.is_some() {
            self.disconnected = news.disconnected.map(Arc::from);
        }
        self.problems.extend(news.problems);
        let edited = news.edits.iter().map(|edit| edit.id().clone()).collect();
        let objects = self.engine.now().objects();
        let is_content = self.partition.is_some() || news.edits.iter().any(|edit| changes_content(objects, edit));
        let report = self.engine.apply(news.edits);
        // To compare two engines as a whole takes long, and a rebuild has a reason.
        if is_content || report.rebuild_reason().is_some() || !report.is_empty() {
            self.content = self.revision + 1;
        }
        if let Some(reason) = report.rebuild_reason() {
            tracing::debug!(?reason, "rebuilt the engine");
        }
        self.metrics.batches.inc();
        self.publish(Some(Arc::new(report)), edited, moved.into(), news.first_event);
    }

    fn publish(
        &mut self,
        report: Option<Arc<Report>>,
        edited: Arc<[ObjectRef]>,
        moved: Arc<[ObjectRef]>,
        event_time: Instant,
    ) {
        self.revision += 1;
        self.publisher.publish(State {
            revision: self.revision,
            content: self.content,
            report,
            edited,
            moved,
            partition: self.partition.clone(),
            event_time,
            disconnected: self.disconnected.clone(),
            ..State::first(self.engine.clone(), self.problems.clone())
        });
        self.metrics.objects.set(self.engine.now().objects().len() as i64);
        self.metrics.connected.set(i64::from(self.disconnected.is_none()));
        if self.revision > 1 {
            self.metrics.event_to_state.observe(event_time.elapsed().as_secs_f64());
        }
    }
}

/// Whether an edit changes more than the status and the annotations of an object.
fn changes_content(objects: &Objects, edit: &Edit) -> bool {
    let before = objects.find(edit.id()).and_then(|id| objects.get(id));
    match (before, edit) {
        (Some(before), Edit::Put(after)) => {
            let fields =
                |object: &Object| (object.spec().clone(), object.labels().clone(), object.deletion_timestamp());
            fields(before) != fields(after)
        }
        (before, _) => before.is_some() || matches!(edit, Edit::Put(_)),
    }
}

fn log(news: &ClusterNews) {
    if let Some(message) = &news.disconnected {
        tracing::warn!("disconnected from the API server: {message}");
    }
    if let Some(after) = news.reconnected {
        tracing::info!(seconds = after.as_secs_f64(), "reconnected to the API server");
    }
    for kind in &news.kinds {
        match kind {
            KindChange::Installed(kind) => tracing::info!(kind, "watching a new kind"),
            KindChange::Removed(kind) => tracing::info!(kind, "a kind was removed"),
        }
    }
    log_unseen(&news.unseen);
}

fn log_unseen(unseen: &[Unseen]) {
    for unseen in unseen {
        tracing::warn!("{unseen}");
    }
}
