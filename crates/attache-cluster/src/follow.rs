//! Keeps up with a cluster: watches of every kind that matters, turned into batches of edits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::Edit;
use attache_engine::kinds::Registry;
use attache_engine::{Object, ObjectRef, Objects, Problem};
use futures_util::future::{Either, select};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::AbortHandle;

use crate::list::{self, Extent, ListError};
use crate::read::{self, Counter, Listed};
use crate::unseen::Unseen;
use crate::wanted::{CRD_GROUP, CRD_KIND, POLICY_LABEL, Wanted, WantedKinds};
use crate::watch::{self, WatchEvent, WatchId};
use crate::{ApiResource, Cluster, ClusterReading, Discovery, Interest};

/// How many events wait to be taken. When there are more, the server waits too, and memory stays as it is.
const WAITING: usize = 1024;

/// How long to wait for more of what happens at the same time, such as the objects of one `kubectl apply`.
const PAUSE: Duration = Duration::from_millis(10);

/// The longest batch, in time and in edits.
const LONGEST: Duration = Duration::from_millis(60);
const LARGEST: usize = 5000;

/// When to look for kinds that come and go: a CRD takes a moment until its kind is served.
const LOOK_AGAIN: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// How often to look for kinds if CRDs may not be watched.
const POLL: Duration = Duration::from_secs(30);

/// What happened in a cluster.
#[derive(Debug, Default)]
pub struct ClusterNews {
    /// What became of objects, in order. The last edit of an object counts.
    pub edits: Vec<Edit>,
    /// What is wrong with objects that came.
    pub problems: Vec<Problem>,
    /// What could not be read of kinds that came.
    pub unseen: Vec<Unseen>,
    /// From now on nothing is heard from the server, and this is why.
    pub out_of_touch: Option<String>,
    /// The server is heard again, after so long. What happened meanwhile is among the edits, now or soon.
    pub back_in_touch: Option<Duration>,
    /// Kinds that have come, and kinds that have gone, as `plural.group`.
    pub kinds: Vec<KindChange>,
}

/// A kind that is or is not installed any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindChange {
    /// It is there, and followed from now on.
    Came(String),
    /// It is gone, with all its objects.
    Went(String),
}

/// Follows a cluster from where it was read.
pub struct ClusterFollower {
    cluster: Cluster,
    interest: Interest,
    discovery: Discovery,
    wanted: WantedKinds,
    registry: Registry,
    watches: BTreeMap<WatchId, Followed>,
    next_id: WatchId,
    sender: Sender<(WatchId, WatchEvent)>,
    receiver: Receiver<(WatchId, WatchEvent)>,
    stop: Arc<Notify>,
    /// Watches that hear nothing.
    silent: HashSet<WatchId>,
    silent_since: Option<Instant>,
    /// When to look for kinds, and how often it was done since something happened to CRDs.
    look: Option<(Instant, usize)>,
    /// Whether CRDs are watched.
    crds_watched: bool,
    /// CRDs to which something happened.
    crds: HashSet<String>,
}

struct Followed {
    listed: Listed,
    task: AbortHandle,
}

impl std::fmt::Debug for ClusterFollower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterFollower").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl ClusterFollower {
    /// Follows what `reading` has read.
    pub fn new(cluster: Cluster, interest: Interest, reading: &mut ClusterReading) -> ClusterFollower {
        let (sender, receiver) = mpsc::channel(WAITING);
        let registry = read::registry(&interest, &reading.objects);
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
        };
        for listed in std::mem::take(&mut reading.lists) {
            follower.start(listed);
        }
        follower.look_later();
        follower.look = follower.look.filter(|_| !follower.crds_watched);
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

    /// How many lists are followed.
    pub fn watches(&self) -> usize {
        self.watches.len()
    }

    /// Waits until something happens that makes a difference to `now`, or somebody must know. None at the end.
    pub fn wait(&mut self, now: &Objects) -> Option<ClusterNews> {
        loop {
            let events = self.next_events()?;
            let mut news = ClusterNews::default();
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

    /// What happened, as far as it happened together; nothing if it is time to look for kinds. None at the end.
    fn next_events(&mut self) -> Option<Vec<(WatchId, WatchEvent)>> {
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
            Some(events)
        })
    }

    fn take(&mut self, id: WatchId, event: WatchEvent, now: &Objects, news: &mut ClusterNews) {
        // Of a watch that was ended, events may still be on their way.
        let Some(Followed { listed, .. }) = self.watches.get(&id) else { return };
        let is_crds = listed.wanted.resource.kind == CRD_KIND && listed.wanted.resource.group == CRD_GROUP;
        match event {
            WatchEvent::Edit(edit) if is_crds => self.look_at_crd(edit.id().name.to_string()),
            WatchEvent::Relisted(listing) if is_crds => {
                for object in listing.objects {
                    self.look_at_crd(object.id.name.to_string());
                }
                for (_, object) in now.each_of_kind(CRD_GROUP, CRD_KIND) {
                    self.look_at_crd(object.id.name.to_string());
                }
            }
            WatchEvent::Edit(edit) => news.edits.push(edit),
            WatchEvent::Relisted(listing) => {
                let there: HashSet<&ObjectRef> = listing.objects.iter().map(|object| &object.id).collect();
                let before = existing(&listed.wanted.resource, listed.namespace.as_deref(), now, &news.edits);
                let gone: Vec<Edit> = before.into_iter().filter(|id| !there.contains(id)).map(Edit::Delete).collect();
                news.edits.extend(gone);
                news.edits.extend(listing.objects.into_iter().map(Edit::Put));
                news.problems.extend(listing.problems);
            }
            WatchEvent::OutOfTouch(message) => {
                if self.silent.is_empty() {
                    self.silent_since = Some(Instant::now());
                    news.out_of_touch = Some(message);
                }
                self.silent.insert(id);
            }
            WatchEvent::BackInTouch => {
                self.silent.remove(&id);
                self.end_silence(news);
            }
            WatchEvent::Gone => {
                let listed = listed.clone();
                self.remove(id, &listed, now, news);
                self.look_later();
            }
        }
    }

    fn end_silence(&mut self, news: &mut ClusterNews) {
        if self.silent.is_empty()
            && let Some(since) = self.silent_since.take()
        {
            news.back_in_touch = Some(since.elapsed());
        }
    }

    fn remove(&mut self, id: WatchId, listed: &Listed, now: &Objects, news: &mut ClusterNews) {
        if let Some(followed) = self.watches.remove(&id) {
            followed.task.abort();
        }
        let resource = &listed.wanted.resource;
        self.wanted.forget(resource);
        let gone = existing(resource, listed.namespace.as_deref(), now, &news.edits);
        news.edits.extend(gone.into_iter().map(Edit::Delete));
        news.kinds.push(KindChange::Went(resource.full_name()));
        self.silent.remove(&id);
        self.end_silence(news);
    }

    fn start(&mut self, mut listed: Listed) {
        if listed.wanted.resource.group == CRD_GROUP && listed.wanted.resource.kind == CRD_KIND {
            // Any CRD may become one that matters: all are watched, and those that matter are read.
            listed.wanted.extent = Extent::Metadata;
            self.crds_watched = true;
        }
        let id = self.next_id;
        self.next_id += 1;
        let (connection, sender) = (Arc::clone(&self.cluster.connection), self.sender.clone());
        let task = self.cluster.runtime.spawn(watch::watch(connection, listed.clone(), id, sender)).abort_handle();
        self.watches.insert(id, Followed { listed, task });
    }

    fn look_at_crd(&mut self, name: String) {
        self.crds.insert(name);
        self.look = Some((Instant::now() + LOOK_AGAIN[0], 0));
    }

    fn look_later(&mut self) {
        self.look = Some((Instant::now() + if self.crds_watched { LOOK_AGAIN[0] } else { POLL }, 0));
    }

    /// Follows kinds that the objects of a batch describe or refer to.
    fn follow_new_kinds(&mut self, now: &Objects, news: &mut ClusterNews) {
        let described = |edit: &Edit| matches!(&*edit.id().kind, CRD_KIND | "PolicyKind");
        if news.edits.iter().any(described) {
            self.registry = read::registry(&self.interest, &objects_after(now, &news.edits));
        }
        let objects = news.edits.iter().filter_map(|edit| match edit {
            Edit::Put(object) => Some(object),
            Edit::Delete(_) => None,
        });
        let wanted = self.wanted.more(&self.discovery, &self.registry, objects);
        self.add(wanted, news);
    }

    /// Lists and follows more kinds. Those that cannot be listed now are tried again.
    fn add(&mut self, wanted: Vec<Wanted>, news: &mut ClusterNews) {
        if wanted.is_empty() {
            return;
        }
        let mut reading = ClusterReading::default();
        let counter = Counter::new(&|_| ());
        let read = read::read_kinds(&self.cluster.connection, &self.interest, &wanted, &counter, &mut reading);
        if self.cluster.runtime.block_on(read).is_err() {
            wanted.iter().for_each(|it| self.wanted.forget(&it.resource));
            self.look = Some((Instant::now() + LOOK_AGAIN[2], 2));
            return;
        }
        news.kinds.extend(wanted.iter().map(|it| KindChange::Came(it.resource.full_name())));
        news.edits.extend(reading.objects.into_iter().map(Edit::Put));
        news.problems.extend(reading.problems);
        news.unseen.extend(reading.unseen);
        for listed in reading.lists {
            self.start(listed);
        }
    }

    /// Finds out which kinds have come and gone.
    fn look_for_kinds(&mut self, now: &Objects, news: &mut ClusterNews) {
        let looked = self.look.take().map_or(0, |(_, times)| times + 1);
        let again = if self.crds_watched { LOOK_AGAIN.get(looked).copied() } else { Some(POLL) };
        self.look = again.map(|again| (Instant::now() + again, looked));
        let connection = Arc::clone(&self.cluster.connection);
        let Ok(discovery) = self.cluster.runtime.block_on(Discovery::read(&connection)) else { return };
        let is_there = |it: &ApiResource| {
            // A group whose server does not answer is not gone.
            discovery.find(&it.group, &it.kind, &[""; 0]).is_some() || discovery.stale_groups.contains(&it.group)
        };
        let gone = self.watches.iter().filter(|(_, it)| !is_there(&it.listed.wanted.resource));
        let gone: Vec<(WatchId, Listed)> = gone.map(|(id, it)| (*id, it.listed.clone())).collect();
        for (id, listed) in gone {
            self.remove(id, &listed, now, news);
        }
        self.discovery = discovery;
        self.read_crds(now, news);
        let first = self.wanted.first(&self.discovery, &self.interest.kinds, self.interest.settings.infer_unlabelled);
        self.add(first, news);
        self.follow_new_kinds(now, news);
        if self.look.is_none() {
            self.crds.clear();
        }
    }

    /// Reads the CRDs to which something happened, as far as they matter.
    fn read_crds(&mut self, now: &Objects, news: &mut ClusterNews) {
        let Some(resource) = self.discovery.find(CRD_GROUP, CRD_KIND, &[""; 0]).cloned() else { return };
        for name in &self.crds {
            let id = ObjectRef::new(CRD_GROUP, CRD_KIND, "", name);
            let is_known = now.find(&id).is_some();
            let get = list::get(&self.cluster.connection, &resource, None, name);
            match self.cluster.runtime.block_on(get) {
                Ok(Some(crd)) if self.matters(&crd) => news.edits.push(Edit::Put(crd)),
                Ok(_) | Err(ListError::Gone) if is_known => news.edits.push(Edit::Delete(id)),
                _ => {}
            }
        }
    }

    /// Whether a CRD says that it is one of policies, or describes a kind that is known.
    fn matters(&self, crd: &Object) -> bool {
        let described = attache_engine::text::described_kind(crd);
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
    fn is_empty(&self) -> bool {
        self.edits.is_empty()
            && self.problems.is_empty()
            && self.unseen.is_empty()
            && self.out_of_touch.is_none()
            && self.back_in_touch.is_none()
            && self.kinds.is_empty()
    }
}

/// The objects of a kind that are there after some edits, everywhere or in a namespace.
fn existing(resource: &ApiResource, namespace: Option<&str>, now: &Objects, edits: &[Edit]) -> HashSet<ObjectRef> {
    let is_meant = |id: &ObjectRef| {
        id.group == resource.group && id.kind == resource.kind && namespace.is_none_or(|it| id.namespace == it)
    };
    let before = now.each_of_kind(&resource.group, &resource.kind).map(|(_, object)| object.id.clone());
    let mut ids: HashSet<ObjectRef> = before.filter(is_meant).collect();
    for edit in edits.iter().filter(|edit| is_meant(edit.id())) {
        match edit {
            Edit::Put(object) => _ = ids.insert(object.id.clone()),
            Edit::Delete(id) => _ = ids.remove(id),
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
