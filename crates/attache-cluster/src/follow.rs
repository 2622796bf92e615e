//! Follows a cluster: watches every kind that matters, and turns events into batches of edits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::Edit;
use attache_engine::kinds::Registry;
use attache_engine::text::described_kind;
use attache_engine::{Object, ObjectRef, Objects, Problem};
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::AbortHandle;

use crate::early::EarlyLists;
use crate::list::{self, ListError, ListExtent};
use crate::mentions::Mentions;
use crate::read::{self, Counter, KindsToRead, ListedKind};
use crate::unseen::{ObjectRole, Unseen};
use crate::wanted::{CRD_GROUP, CRD_KIND, POLICY_LABEL, Wanted, WantedKinds, describes_kind};
use crate::watch::{self, WatchEvent, WatchId};
use crate::{ApiResource, Cluster, ClusterReading, Discovery, Interest};

/// The maximum number of buffered events. If there are more, the server has to wait, and memory stays bounded.
const WAITING: usize = 1024;

/// The time to wait for further simultaneous events, such as the objects of one `kubectl apply`.
const PAUSE: Duration = Duration::from_millis(10);

/// The longest batch, in time and in edits.
const LONGEST: Duration = Duration::from_millis(25);
const LARGEST: usize = 5000;

/// The delays after which to look for new and removed kinds: the kind of a new CRD is not served at once.
const LOOK_AGAIN: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// The interval at which to look for kinds if CRDs may not be watched.
const POLL: Duration = Duration::from_secs(30);

/// Changes of a cluster.
#[derive(Debug)]
pub struct ClusterNews {
    /// When the first event arrived.
    pub first_event: Instant,
    /// The edits of objects, in order. The last edit of an object counts.
    pub edits: Vec<Edit>,
    /// Problems of new objects.
    pub problems: Vec<Problem>,
    /// Kinds that are new, and of which not all objects could be read.
    pub unseen: Vec<Unseen>,
    /// Why the connection to the server is lost, if it was just lost.
    pub disconnected: Option<String>,
    /// How long the connection was lost, if it was just restored. Changes in between are among the edits, now or soon.
    pub reconnected: Option<Duration>,
    /// Kinds that were installed or removed, as `plural.group`.
    pub kinds: Vec<KindChange>,
}

/// A kind that was installed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindChange {
    /// It is installed, and followed from now on.
    Installed(String),
    /// It was removed, with all its objects.
    Removed(String),
}

/// Follows a cluster, starting from a reading.
pub struct ClusterFollower {
    cluster: Cluster,
    interest: Interest,
    discovery: Discovery,
    wanted: WantedKinds,
    registry: Registry,
    watches: BTreeMap<WatchId, FollowedKind>,
    next_id: WatchId,
    sender: Sender<(WatchId, WatchEvent)>,
    receiver: Receiver<(WatchId, WatchEvent)>,
    stop: Arc<Notify>,
    /// Watches without a connection.
    silent: HashSet<WatchId>,
    silent_since: Option<Instant>,
    /// When to look for kinds, and how often it was done since the last event about a CRD.
    look: Option<(Instant, usize)>,
    /// Whether CRDs are watched.
    crds_watched: bool,
    /// CRDs with unprocessed events.
    crds: HashSet<String>,
    /// Lists of kinds that are installed, but not served yet because the server has just started.
    not_served: Vec<ListedKind>,
}

/// The objects that the edits of a follower have led to.
pub trait KnownObjects {
    /// The objects.
    fn objects(&self) -> &Objects;

    /// Further objects of a kind, which are known but not kept.
    fn left_out(&self, group: &str, kind: &str) -> Vec<ObjectRef>;
}

impl KnownObjects for Objects {
    fn objects(&self) -> &Objects {
        self
    }

    fn left_out(&self, _: &str, _: &str) -> Vec<ObjectRef> {
        Vec::new()
    }
}

struct FollowedKind {
    listed: ListedKind,
    task: AbortHandle,
}

impl std::fmt::Debug for ClusterFollower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterFollower").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl ClusterFollower {
    /// Follows the lists of a reading. `objects` are its objects, which may have been moved out of it.
    pub fn new(
        cluster: Cluster,
        interest: Interest,
        reading: &mut ClusterReading,
        objects: &Objects,
    ) -> ClusterFollower {
        let (sender, receiver) = mpsc::channel(WAITING);
        let registry = read::registry(&interest, &objects_after(objects, &[]));
        let mut follower = ClusterFollower {
            cluster,
            interest,
            registry,
            discovery: std::mem::take(&mut reading.discovery),
            wanted: std::mem::take(&mut reading.wanted),
            watches: BTreeMap::new(),
            next_id: 0,
            sender,
            receiver,
            stop: Arc::new(Notify::new()),
            silent: HashSet::new(),
            silent_since: None,
            look: None,
            crds_watched: false,
            crds: HashSet::new(),
            not_served: Vec::new(),
        };
        for listed in std::mem::take(&mut reading.lists) {
            follower.start(listed);
        }
        // A server that has just started does not tell of all kinds yet.
        follower.look_later();
        follower
    }

    /// A function that ends [`ClusterFollower::wait`], from any thread.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let stop = Arc::clone(&self.stop);
        move || stop.notify_one()
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        self.cluster.server()
    }

    /// The number of watches.
    pub fn watches(&self) -> usize {
        self.watches.len()
    }

    /// Waits for a change that makes a difference to `now`, or that the user must know. `None` at the end.
    pub fn wait(&mut self, now: &impl KnownObjects) -> Option<ClusterNews> {
        loop {
            let (first_event, events) = self.next_events()?;
            let mut news = ClusterNews::new(first_event);
            for (id, event) in events {
                self.take(id, event, now, &mut news);
            }
            self.follow_new_kinds(now, &mut news);
            if self.look.is_some_and(|(when, _)| when <= Instant::now()) {
                self.look_for_kinds(now, &mut news);
            }
            if !news.is_empty() {
                return Some(news);
            }
        }
    }

    /// The time of the first event, and the next events that belong together; none if it is time to look for kinds.
    /// `None` at the end.
    fn next_events(&mut self) -> Option<(Instant, Vec<(WatchId, WatchEvent)>)> {
        let until = self.look.map(|(when, _)| when);
        let (receiver, stop) = (&mut self.receiver, &self.stop);
        self.cluster.runtime.block_on(async move {
            let mut events = Vec::new();
            let stopped = std::pin::pin!(stop.notified());
            let first = async {
                match until {
                    None => receiver.recv().await,
                    Some(until) => tokio::time::timeout_at(until.into(), receiver.recv()).await.ok().flatten(),
                }
            };
            match select(stopped, std::pin::pin!(first)).await {
                Either::Left(_) => return None,
                Either::Right((first, _)) => events.extend(first),
            }
            let start = Instant::now();
            while !events.is_empty() && start.elapsed() < LONGEST && events.len() < LARGEST {
                match tokio::time::timeout(PAUSE, receiver.recv()).await {
                    Ok(Some(event)) => events.push(event),
                    _ => break,
                }
            }
            Some((start, events))
        })
    }

    fn take(&mut self, id: WatchId, event: WatchEvent, now: &impl KnownObjects, news: &mut ClusterNews) {
        // Events of a watch that was ended may still arrive.
        let Some(FollowedKind { listed, .. }) = self.watches.get(&id) else { return };
        let is_crds = listed.wanted.resource.kind == CRD_KIND && listed.wanted.resource.group == CRD_GROUP;
        match event {
            WatchEvent::Edit(edit) if is_crds => self.look_at_crd(edit.id().name.to_string()),
            WatchEvent::Relisted(listing) if is_crds => {
                for object in listing.objects {
                    self.look_at_crd(object.id.name.to_string());
                }
                for (_, object) in now.objects().each_of_kind(CRD_GROUP, CRD_KIND) {
                    self.look_at_crd(object.id.name.to_string());
                }
            }
            WatchEvent::Edit(edit) => news.edits.push(edit),
            WatchEvent::Relisted(listing) => {
                let there: HashSet<&ObjectRef> = listing.objects.iter().map(|object| &object.id).collect();
                let before = existing(listed, now, &news.edits);
                let gone: Vec<Edit> = before.into_iter().filter(|id| !there.contains(id)).map(Edit::Delete).collect();
                news.edits.extend(gone);
                news.edits.extend(listing.objects.into_iter().map(Edit::Put));
                news.problems.extend(listing.problems);
            }
            WatchEvent::Disconnected(message) => {
                if self.silent.is_empty() {
                    self.silent_since = Some(Instant::now());
                    news.disconnected = Some(message);
                }
                self.silent.insert(id);
            }
            WatchEvent::BackInTouch => {
                self.silent.remove(&id);
                self.end_silence(news);
            }
            WatchEvent::Gone => {
                let listed = listed.clone();
                self.end_watch(id, news);
                match self.is_uninstalled(&listed.wanted.resource) {
                    true => self.forget(&listed, now, news),
                    false => self.not_served.push(listed),
                }
                self.look_later();
            }
        }
    }

    fn end_silence(&mut self, news: &mut ClusterNews) {
        if self.silent.is_empty()
            && let Some(since) = self.silent_since.take()
        {
            news.reconnected = Some(since.elapsed());
        }
    }

    fn end_watch(&mut self, id: WatchId, news: &mut ClusterNews) {
        if let Some(followed) = self.watches.remove(&id) {
            followed.task.abort();
        }
        self.silent.remove(&id);
        self.end_silence(news);
    }

    /// Removes a list with all its objects.
    fn forget(&mut self, listed: &ListedKind, now: &impl KnownObjects, news: &mut ClusterNews) {
        self.wanted.forget(&listed.wanted);
        let gone = existing(listed, now, &news.edits);
        news.edits.extend(gone.into_iter().map(Edit::Delete));
        news.kinds.push(KindChange::Removed(listed.wanted.resource.full_name()));
    }

    /// Whether a kind that is not served was removed. A server that has just started does not yet serve all kinds whose
    /// CRDs exist, so the kind was removed only if its CRD was too, or may not be read.
    fn is_uninstalled(&self, resource: &ApiResource) -> bool {
        let Some(crds) = self.discovery.find(CRD_GROUP, CRD_KIND, &[""; 0]) else { return true };
        let name = resource.full_name();
        let get = list::get(&self.cluster.connection, crds, None, &name);
        match self.cluster.runtime.block_on(get) {
            Ok(Some(crd)) => crd.deletion_timestamp().is_some(),
            Ok(None) | Err(ListError::Gone | ListError::Forbidden) => true,
            Err(ListError::Failed(_) | ListError::Cluster(_)) => false,
        }
    }

    fn start(&mut self, mut listed: ListedKind) {
        if listed.wanted.resource.group == CRD_GROUP && listed.wanted.resource.kind == CRD_KIND {
            // Any CRD may start to matter: all are watched, and those that matter are read.
            listed.wanted.extent = ListExtent::Metadata;
            self.crds_watched = true;
        }
        if listed.wanted.role == ObjectRole::Others {
            // All objects of the kind are followed from now on, those with settings among them.
            let resource = &listed.wanted.resource;
            self.watches.retain(|_, it| {
                let is_part =
                    matches!(it.listed.wanted.role, ObjectRole::Settings(_)) && it.listed.wanted.resource == *resource;
                if is_part {
                    it.task.abort();
                }
                !is_part
            });
        }
        let id = self.next_id;
        self.next_id += 1;
        let (connection, sender) = (Arc::clone(&self.cluster.connection), self.sender.clone());
        let task = self.cluster.runtime.spawn(watch::watch(connection, listed.clone(), id, sender)).abort_handle();
        self.watches.insert(id, FollowedKind { listed, task });
    }

    fn look_at_crd(&mut self, name: String) {
        self.crds.insert(name);
        self.look = Some((Instant::now() + LOOK_AGAIN[0], 0));
    }

    fn look_later(&mut self) {
        self.look = Some((Instant::now() + if self.crds_watched { LOOK_AGAIN[0] } else { POLL }, 0));
    }

    /// Follows kinds that the objects of a batch describe or refer to.
    fn follow_new_kinds(&mut self, now: &impl KnownObjects, news: &mut ClusterNews) {
        if news.edits.iter().any(|edit| describes_kind(&edit.id().group, &edit.id().kind)) {
            self.registry = read::registry(&self.interest, &objects_after(now.objects(), &news.edits));
        }
        let objects = news.edits.iter().filter_map(|edit| match edit {
            Edit::Put(object) => Some(object),
            Edit::Delete(_) => None,
        });
        let wanted = self.wanted.more(&self.discovery, &self.registry, &Mentions::new(objects));
        self.add(wanted, news);
    }

    /// Lists and follows more kinds. Kinds that cannot be listed now are tried again.
    fn add(&mut self, wanted: Vec<Wanted>, news: &mut ClusterNews) {
        if wanted.is_empty() {
            return;
        }
        let mut reading = ClusterReading::default();
        let counter = Counter::new(&|_| ());
        let (connection, interest) = (&self.cluster.connection, &self.interest);
        let mut early = EarlyLists::default();
        let kinds = KindsToRead { wanted: wanted.clone(), early: &mut early, counter: &counter };
        // The kinds that new objects describe or refer to are added by the next batch.
        let nothing = |_: &mut ClusterReading| Vec::new();
        let read = read::read_kinds(connection, interest, kinds, &mut reading, nothing);
        if self.cluster.runtime.block_on(read).is_err() {
            wanted.iter().for_each(|it| self.wanted.forget(it));
            self.look = Some((Instant::now() + LOOK_AGAIN[2], 2));
            return;
        }
        let kinds = wanted.iter().filter(|it| !matches!(it.role, ObjectRole::Settings(_)));
        news.kinds.extend(kinds.map(|it| KindChange::Installed(it.resource.full_name())));
        news.edits.extend(reading.objects.into_iter().map(Edit::Put));
        news.problems.extend(reading.problems);
        news.unseen.extend(reading.unseen);
        for listed in reading.lists {
            self.start(listed);
        }
    }

    /// Finds installed and removed kinds.
    fn look_for_kinds(&mut self, now: &impl KnownObjects, news: &mut ClusterNews) {
        let looked = self.look.take().map_or(0, |(_, times)| times + 1);
        let again = match self.crds_watched {
            true if self.not_served.is_empty() => LOOK_AGAIN.get(looked).copied(),
            true => LOOK_AGAIN.get(looked).or(LOOK_AGAIN.last()).copied(),
            false => Some(POLL),
        };
        self.look = again.map(|again| (Instant::now() + again, looked));
        let connection = Arc::clone(&self.cluster.connection);
        let Ok(discovery) = self.cluster.runtime.block_on(Discovery::read(&connection)) else { return };
        let is_there = |it: &ApiResource| {
            // A group whose server does not respond was not removed.
            discovery.find(&it.group, &it.kind, &[""; 0]).is_some() || discovery.stale_groups.contains(&it.group)
        };
        let gone = self.watches.iter().filter(|(_, it)| !is_there(&it.listed.wanted.resource));
        let gone: Vec<(WatchId, ListedKind)> = gone.map(|(id, it)| (*id, it.listed.clone())).collect();
        for (id, listed) in gone {
            if self.is_uninstalled(&listed.wanted.resource) {
                self.end_watch(id, news);
                self.forget(&listed, now, news);
            }
        }
        for listed in std::mem::take(&mut self.not_served) {
            match is_there(&listed.wanted.resource) {
                true => self.start(listed),
                false if self.is_uninstalled(&listed.wanted.resource) => self.forget(&listed, now, news),
                false => self.not_served.push(listed),
            }
        }
        self.discovery = discovery;
        self.read_crds(now, news);
        let first = self.wanted.first(&self.discovery, &self.interest);
        self.add(first, news);
        self.follow_new_kinds(now, news);
        if self.look.is_none() {
            self.crds.clear();
            let again = LOOK_AGAIN.len() - 1;
            self.look = self.is_unserved(now).then(|| (Instant::now() + LOOK_AGAIN[again], again));
        }
    }

    /// Whether there is a CRD whose kind is not served.
    fn is_unserved(&self, now: &impl KnownObjects) -> bool {
        let mut crds = now.objects().each_of_kind(CRD_GROUP, CRD_KIND).filter_map(|(_, crd)| described_kind(crd));
        crds.any(|(group, kind)| self.discovery.find(group, kind, &[""; 0]).is_none())
    }

    /// Reads the CRDs with unprocessed events, if they matter.
    fn read_crds(&mut self, now: &impl KnownObjects, news: &mut ClusterNews) {
        let Some(resource) = self.discovery.find(CRD_GROUP, CRD_KIND, &[""; 0]).cloned() else { return };
        for name in &self.crds {
            let id = ObjectRef::new(CRD_GROUP, CRD_KIND, "", name);
            let is_known = now.objects().find(&id).is_some();
            let get = list::get(&self.cluster.connection, &resource, None, name);
            match self.cluster.runtime.block_on(get) {
                Ok(Some(crd)) if self.matters(&crd) => news.edits.push(Edit::Put(crd)),
                Ok(_) | Err(ListError::Gone) if is_known => news.edits.push(Edit::Delete(id)),
                _ => {}
            }
        }
    }

    /// Whether a CRD has the policy label, or describes a known kind.
    fn matters(&self, crd: &Object) -> bool {
        let described = described_kind(crd);
        self.interest.settings.infer_unlabelled
            || crd.labels().get(POLICY_LABEL).is_some()
            || described.is_some_and(|(group, kind)| self.registry.find(group, kind).is_some())
    }
}

impl Drop for ClusterFollower {
    fn drop(&mut self) {
        self.watches.values().for_each(|followed| followed.task.abort());
    }
}

impl ClusterNews {
    fn new(first_event: Instant) -> ClusterNews {
        ClusterNews {
            first_event,
            edits: Vec::new(),
            problems: Vec::new(),
            unseen: Vec::new(),
            disconnected: None,
            reconnected: None,
            kinds: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.edits.is_empty()
            && self.problems.is_empty()
            && self.unseen.is_empty()
            && self.disconnected.is_none()
            && self.reconnected.is_none()
            && self.kinds.is_empty()
    }
}

/// The objects of a list that exist after some edits.
fn existing(listed: &ListedKind, now: &impl KnownObjects, edits: &[Edit]) -> HashSet<ObjectRef> {
    let Wanted { resource, extent, .. } = &listed.wanted;
    let is_meant = |id: &ObjectRef| {
        let namespace = listed.namespace.as_ref();
        id.group == resource.group && id.kind == resource.kind && namespace.is_none_or(|it| id.namespace == it.as_str())
    };
    let (group, kind) = (&resource.group, &resource.kind);
    let before = now.objects().each_of_kind(group, kind).filter(|(_, object)| extent.holds(object));
    let before = before.map(|(_, object)| object.id.clone()).chain(now.left_out(group, kind));
    let mut ids: HashSet<ObjectRef> = before.filter(is_meant).collect();
    for edit in edits.iter().filter(|edit| is_meant(edit.id())) {
        match edit {
            Edit::Put(object) if extent.holds(object) => _ = ids.insert(object.id.clone()),
            Edit::Put(Object { id, .. }) | Edit::Delete(id) => _ = ids.remove(id),
        }
    }
    ids
}

/// The objects that describe kinds, after some edits.
fn objects_after(now: &Objects, edits: &[Edit]) -> Vec<Object> {
    let described = [(CRD_GROUP, CRD_KIND), ("attache.dev", "PolicyKind")];
    let mut objects: BTreeMap<ObjectRef, Object> = described
        .iter()
        .flat_map(|(group, kind)| now.each_of_kind(group, kind))
        .map(|(_, object)| (object.id.clone(), object.clone()))
        .collect();
    for edit in edits {
        match edit {
            Edit::Put(object) => _ = objects.insert(object.id.clone(), object.clone()),
            Edit::Delete(id) => _ = objects.remove(id),
        }
    }
    objects.into_values().collect()
}
