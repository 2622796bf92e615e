//! Reads everything that can matter, once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use attache_engine::kinds::{PolicyKind, Registry};
use attache_engine::text::described_kind;
use attache_engine::{Object, Objects, Problem};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::configuration::ClientOptions;
use crate::connection::{Connection, PARALLEL};
use crate::early::{EarlyLists, EarlyRequests, ListTask};
use crate::list::{self, ListError, ListExtent, ListForm, Listing, continue_panic};
use crate::mentions::Mentions;
use crate::permissions::Permissions;
use crate::raw::RawPage;
use crate::region::{self, Frame, Region};
use crate::unseen::{ObjectRole, Unseen, UnseenReason};
use crate::wanted::{self, CRD_GROUP, CRD_KIND, Interest, Wanted, WantedKinds};
use crate::{ApiResource, ClusterError, Discovery};

/// A cluster, as one user sees it.
pub struct Cluster {
    pub(crate) runtime: Runtime,
    pub(crate) connection: Arc<Connection>,
    early: Mutex<Option<EarlyRequests>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("server", &self.connection.server).finish_non_exhaustive()
    }
}

/// The progress of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress {
    /// Kinds that have been listed.
    pub kinds: usize,
    /// Kinds to list in total, as far as known.
    pub of: usize,
    /// Bytes that have been read.
    pub bytes: usize,
}

/// The content of a cluster.
#[derive(Debug, Default)]
pub struct ClusterReading {
    /// The objects, each once.
    pub objects: Vec<Object>,
    /// The problems of the objects.
    pub problems: Vec<Problem>,
    /// Kinds of which not all objects could be read.
    pub unseen: Vec<Unseen>,
    /// The kinds that the cluster serves.
    pub discovery: Discovery,
    /// The number of policies that cannot matter to the object of the question, and are not among the objects.
    pub policies_left_out: usize,
    /// The number of requests.
    pub requests: usize,
    /// The number of bytes.
    pub bytes: usize,
    /// The lists, for followers.
    pub(crate) lists: Vec<ListedKind>,
    pub(crate) wanted: WantedKinds,
    mentions: Mentions,
    /// Objects that are kept as text until it is known which of them matter.
    pages: Vec<RawPage>,
}

/// A list that was read, and the version from which a watch continues.
#[derive(Clone, Debug)]
pub(crate) struct ListedKind {
    pub(crate) wanted: Wanted,
    pub(crate) namespace: Option<String>,
    pub(crate) resource_version: String,
}

impl Cluster {
    /// The cluster that kubectl would use with these options. No request is sent yet.
    pub fn connect(options: &ClientOptions) -> Result<Cluster, ClusterError> {
        // Few threads: each keeps memory that it has freed.
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).max_blocking_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| ClusterError::Unexpected {
            path: "the start of a thread".into(),
            message: error.to_string(),
        })?;
        let configuration = runtime.block_on(options.load())?;
        // The client starts tasks of its own.
        let entered = runtime.enter();
        let connection = Arc::new(Connection::new(configuration, options.request_timeout)?);
        drop(entered);
        Ok(Cluster { runtime, connection, early: Mutex::new(None) })
    }

    /// The namespace of the context.
    pub fn namespace(&self) -> &str {
        &self.connection.namespace
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.connection.server
    }

    /// Sends the requests that every reading needs, and does not wait for the responses. The policy kinds of the interest
    /// need not be known yet: they can be prepared in the meantime.
    pub fn start_reading(&self, interest: &Interest) {
        let _entered = self.runtime.enter();
        let started = EarlyRequests::start(&self.connection, interest);
        if let Ok(mut early) = self.early.lock() {
            *early = Some(started);
        }
    }

    /// Reads every kind that can matter, and reports the progress.
    pub fn read(
        &self,
        interest: &Interest,
        progress: impl Fn(ReadProgress) + Sync,
    ) -> Result<ClusterReading, ClusterError> {
        let started = self.early.lock().ok().and_then(|mut early| early.take());
        self.runtime.block_on(async {
            let early = started.unwrap_or_else(|| EarlyRequests::start(&self.connection, interest));
            read(&self.connection, interest, early, &progress).await
        })
    }
}

/// Completion of command lines: few requests, and no slow ones.
impl Cluster {
    /// Group and kind of the objects that commands accept: the Gateway API, Services, Namespaces and installed policy
    /// kinds.
    pub fn kinds(&self, known: &[PolicyKind]) -> Result<Vec<(String, String)>, ClusterError> {
        self.runtime.block_on(async {
            let discovery = Discovery::read(&self.connection).await?;
            let interest = Interest { kinds: known.to_vec(), ..Interest::default() };
            let wanted = WantedKinds::default().first(&discovery, &interest);
            let mut kinds: Vec<(String, String)> = Vec::new();
            for Wanted { resource, extent, .. } in wanted {
                if resource.kind != CRD_KIND {
                    kinds.push((resource.group, resource.kind));
                    continue;
                }
                let crds =
                    list::list(&self.connection, &resource, None, &extent, ListForm::Objects).await.unwrap_or_default();
                kinds.extend(
                    crds.objects.iter().filter_map(described_kind).map(|(group, kind)| (group.into(), kind.into())),
                );
            }
            Ok(kinds)
        })
    }

    /// The metadata of the objects of some kinds, in a namespace or in all.
    pub fn names(
        &self,
        is_wanted: impl Fn(&ApiResource) -> bool,
        namespace: Option<&str>,
    ) -> Result<Vec<Object>, ClusterError> {
        self.runtime.block_on(async {
            let discovery = Discovery::read(&self.connection).await?;
            let mut objects = Vec::new();
            for resource in discovery.each().filter(|it| is_wanted(it)) {
                let namespace = namespace.filter(|_| resource.namespaced);
                let extent = &ListExtent::Metadata;
                let listed = list::list(&self.connection, resource, namespace, extent, ListForm::Objects).await;
                objects.extend(listed.unwrap_or_default().objects);
            }
            Ok(objects)
        })
    }
}

async fn read(
    connection: &Arc<Connection>,
    interest: &Interest,
    early: EarlyRequests,
    progress: &(dyn Fn(ReadProgress) + Sync),
) -> Result<ClusterReading, ClusterError> {
    let (discovery, mut early) = early.discovered().await?;
    let mut reading = ClusterReading { discovery, ..ClusterReading::default() };
    let mut wanted = reading.wanted.first(&reading.discovery, interest);
    let counter = Counter::new(progress);
    let more = |reading: &mut ClusterReading| {
        let registry = registry(interest, &reading.objects);
        reading.wanted.more(&reading.discovery, &registry, &reading.mentions)
    };
    while !wanted.is_empty() {
        let kinds = KindsToRead { wanted, early: &mut early, counter: &counter };
        let listed = read_kinds(connection, interest, kinds, &mut reading, more).await?;
        read_crds(connection, &listed, &mut reading).await?;
        wanted = more(&mut reading);
    }
    reading.parse_pages(interest);
    reading.unseen.sort();
    reading.requests = connection.requests();
    reading.bytes = connection.bytes();
    if reading.discovery.find("gateway.networking.k8s.io", "Gateway", &[""; 0]).is_none() {
        reading.problems.push(
            Problem::warning(format!("the cluster at {} has no CRDs of the Gateway API", connection.server))
                .help("install them, choose another cluster with `--context`, or read manifests with `-f`"),
        );
    }
    Ok(reading)
}

pub(crate) struct Counter<'p> {
    progress: &'p (dyn Fn(ReadProgress) + Sync),
    kinds: AtomicUsize,
    of: AtomicUsize,
}

impl<'p> Counter<'p> {
    pub(crate) fn new(progress: &'p (dyn Fn(ReadProgress) + Sync)) -> Counter<'p> {
        Counter { progress, kinds: AtomicUsize::new(0), of: AtomicUsize::new(0) }
    }

    fn expect(&self, more: usize) {
        self.of.fetch_add(more, Ordering::Relaxed);
    }

    fn done(&self, connection: &Connection) {
        let kinds = self.kinds.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(ReadProgress { kinds, of: self.of.load(Ordering::Relaxed), bytes: connection.bytes() });
    }
}

/// The known kinds, and those that the objects read so far describe.
pub(crate) fn registry(interest: &Interest, objects: &[Object]) -> Registry {
    let descriptions = objects.iter().filter(|object| wanted::describes_kind(&object.id.group, &object.id.kind));
    Registry::new(&interest.kinds, &Objects::new(descriptions.cloned().collect()), &interest.settings).0
}

/// What [`read_kinds`] reads.
pub(crate) struct KindsToRead<'r, 'p> {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) early: &'r mut EarlyLists,
    pub(crate) counter: &'r Counter<'p>,
}

/// Lists kinds, and returns them. Those that `more` adds once all descriptions of kinds are read are listed at the same time.
/// A kind that may not be listed everywhere is listed in the namespaces where it may be.
pub(crate) async fn read_kinds(
    connection: &Arc<Connection>,
    interest: &Interest,
    kinds: KindsToRead<'_, '_>,
    reading: &mut ClusterReading,
    more: impl Fn(&mut ClusterReading) -> Vec<Wanted>,
) -> Result<Vec<Wanted>, ClusterError> {
    let KindsToRead { wanted, early, counter } = kinds;
    counter.expect(wanted.len());
    let mut descriptions = wanted.iter().filter(|it| it.describes_kinds()).count();
    let mut lists = JoinSet::new();
    let mut start = |lists: &mut JoinSet<_>, wanted: Vec<Wanted>| {
        for wanted in wanted {
            let form = interest.form(&wanted.resource, &wanted.extent);
            lists.spawn(list(Arc::clone(connection), early.take(&wanted), wanted, form));
        }
    };
    start(&mut lists, wanted);
    let (mut read, mut forbidden) = (Vec::new(), Vec::new());
    while let Some(joined) = lists.join_next().await {
        let (wanted, listed) = joined.unwrap_or_else(|error| continue_panic(error));
        counter.done(connection);
        match listed {
            Ok(listing) => reading.add(&wanted, wanted.extent.namespace(), listing),
            Err(ListError::Forbidden) if wanted.resource.namespaced && wanted.extent.namespace().is_none() => {
                forbidden.push(wanted.clone())
            }
            Err(error) => reading.miss(&wanted, error, Vec::new())?,
        }
        if wanted.describes_kinds() {
            descriptions -= 1;
            let more = if descriptions == 0 { more(reading) } else { Vec::new() };
            counter.expect(more.len());
            start(&mut lists, more);
        }
        read.push(wanted);
    }
    if !forbidden.is_empty() {
        forbidden.sort_by(|a, b| a.resource.cmp(&b.resource));
        read_in_namespaces(connection, interest, &forbidden, reading).await?;
    }
    Ok(read)
}

async fn list(
    connection: Arc<Connection>,
    early: Option<ListTask>,
    wanted: Wanted,
    form: ListForm,
) -> (Wanted, Result<Listing, ListError>) {
    let early = match early {
        Some(task) => Some(task.join().await),
        None => None,
    };
    let listed = match early {
        // A kind that was not served before discovery may be served now.
        None | Some(Err(ListError::Gone)) => {
            list::list(&connection, &wanted.resource, wanted.extent.namespace(), &wanted.extent, form).await
        }
        Some(listed) => listed,
    };
    (wanted, listed)
}

async fn read_in_namespaces(
    connection: &Connection,
    interest: &Interest,
    wanted: &[Wanted],
    reading: &mut ClusterReading,
) -> Result<(), ClusterError> {
    let namespaces = namespaces_to_try(connection, interest, reading);
    let permissions =
        namespaces.iter().map(async |namespace| (namespace, Permissions::read(connection, namespace).await));
    let mut permissions = futures_util::stream::iter(permissions).buffered(PARALLEL);
    let mut requests = Vec::new();
    while let Some((namespace, permissions)) = permissions.next().await {
        let permissions = permissions?;
        requests.extend(wanted.iter().filter(|it| permissions.may_list(&it.resource)).map(|it| (it, namespace)));
    }
    let lists = requests.into_iter().map(async |(wanted, namespace)| {
        let form = interest.form(&wanted.resource, &wanted.extent);
        (wanted, namespace, list::list(connection, &wanted.resource, Some(namespace), &wanted.extent, form).await)
    });
    let mut lists = futures_util::stream::iter(lists).buffered(PARALLEL);
    let mut seen: Vec<(&Wanted, String)> = Vec::new();
    while let Some((wanted, namespace, listed)) = lists.next().await {
        match listed {
            Ok(listing) => {
                reading.add(wanted, Some(namespace.as_str()), listing);
                seen.push((wanted, namespace.clone()));
            }
            Err(ListError::Cluster(error)) => return Err(error),
            Err(ListError::Forbidden | ListError::Gone | ListError::Failed(_)) => {}
        }
    }
    for wanted in wanted {
        let seen_in = seen.iter().filter(|(it, _)| *it == wanted).map(|(_, namespace)| namespace.clone()).collect();
        reading.miss(wanted, ListError::Forbidden, seen_in)?;
    }
    Ok(())
}

/// All namespaces, if they may be listed; otherwise those that are known by name.
fn namespaces_to_try(connection: &Connection, interest: &Interest, reading: &ClusterReading) -> BTreeSet<String> {
    let of_objects = reading.objects.iter().map(|object| match (&*object.id.group, &*object.id.kind) {
        ("", "Namespace") => object.id.name.as_str(),
        _ => object.id.namespace.as_str(),
    });
    let of_pages = reading.pages.iter().flat_map(|page| (0..page.len()).map(|item| page.namespace(item)));
    let known = of_objects.chain(of_pages).filter(|namespace| !namespace.is_empty()).map(str::to_owned);
    let named = connection.named_namespaces.iter().cloned().chain(interest.namespace.clone());
    known.chain(named).chain([connection.namespace.clone()]).collect()
}

/// Reads the CRDs of policy kinds, which contain defaults of fields. Most have a label, and have already been listed.
async fn read_crds(
    connection: &Connection,
    wanted: &[Wanted],
    reading: &mut ClusterReading,
) -> Result<(), ClusterError> {
    let Some(crds) = reading.discovery.find(CRD_GROUP, CRD_KIND, &[""; 0]).cloned() else { return Ok(()) };
    if reading.unseen.iter().any(|unseen| unseen.kind == CRD_KIND) {
        return Ok(());
    }
    let names = wanted::crds_of_policies(wanted, &reading.objects);
    let requests = names.iter().map(async |it| list::get(connection, &crds, None, &it.full_name()).await);
    let requests: FuturesUnordered<_> = requests.collect();
    let answers: Vec<Result<Option<Object>, ListError>> = requests.collect().await;
    for answer in answers {
        match answer {
            Ok(crd) => reading.objects.extend(crd),
            Err(ListError::Cluster(error)) => return Err(error),
            // A kind of an aggregated API has no CRD.
            Err(ListError::Gone) => {}
            Err(error @ (ListError::Forbidden | ListError::Failed(_))) => {
                let wanted = Wanted { resource: crds.clone(), extent: ListExtent::Whole, role: ObjectRole::Others };
                return reading.miss(&wanted, error, Vec::new());
            }
        }
    }
    Ok(())
}

impl ClusterReading {
    /// Parses the objects that are kept as text, if they can matter to the object of the question.
    fn parse_pages(&mut self, interest: &Interest) {
        let pages = std::mem::take(&mut self.pages);
        if pages.is_empty() {
            return;
        }
        let frame = Frame {
            objects: &self.objects,
            kinds: &registry(interest, &self.objects),
            mentions: &self.mentions,
            discovery: &self.discovery,
            is_complete: self.unseen.is_empty(),
        };
        let Region { mut objects, mut problems, policies_left_out } =
            region::parse(&pages, interest.about.as_ref(), frame);
        self.objects.append(&mut objects);
        self.problems.append(&mut problems);
        self.policies_left_out = policies_left_out;
    }

    fn add(&mut self, wanted: &Wanted, namespace: Option<&str>, mut listing: Listing) {
        let is_part = |it: &ListedKind| {
            matches!(it.wanted.extent, ListExtent::Settings(_)) && it.wanted.resource == wanted.resource
        };
        // All objects of the kind, including those with settings.
        if wanted.role == ObjectRole::Others && self.lists.iter().any(is_part) {
            self.lists.retain(|it| !is_part(it));
            let ApiResource { group, kind, .. } = &wanted.resource;
            self.objects.retain(|object| object.id.group != *group || object.id.kind != *kind);
        }
        self.objects.append(&mut listing.objects);
        listing.pages.iter_mut().for_each(|page| page.is_policies = wanted.role == ObjectRole::Policies);
        self.pages.append(&mut listing.pages);
        self.problems.append(&mut listing.problems);
        self.mentions.add(listing.mentions);
        self.lists.push(ListedKind {
            wanted: wanted.clone(),
            namespace: namespace.map(str::to_owned),
            resource_version: listing.resource_version,
        });
    }

    fn miss(&mut self, wanted: &Wanted, error: ListError, seen_in: Vec<String>) -> Result<(), ClusterError> {
        let reason = match error {
            ListError::Cluster(error) => return Err(error),
            // Removed since discovery.
            ListError::Gone => return Ok(()),
            ListError::Forbidden => UnseenReason::Forbidden,
            ListError::Failed(message) => UnseenReason::Failed(message),
        };
        self.unseen.push(Unseen {
            resource: wanted.resource.full_name(),
            group: wanted.resource.group.clone(),
            kind: wanted.resource.kind.clone(),
            reason,
            seen_in,
            role: wanted.role.clone(),
        });
        Ok(())
    }
}
