//! Everything that can matter, read once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_engine::kinds::{PolicyKind, Registry, Settings};
use attache_engine::text::described_kind;
use attache_engine::{Object, Objects, Problem};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Runtime;

use crate::configuration::ClientOptions;
use crate::connection::Connection;
use crate::list::{self, Extent, ListError, Listing};
use crate::permissions::Permissions;
use crate::unseen::{Unseen, UnseenReason};
use crate::wanted::{self, CRD_GROUP, CRD_KIND, Wanted, WantedKinds};
use crate::{ApiResource, ClusterError, Discovery};

/// How many namespaces are asked about at the same time.
const PARALLEL: usize = 16;

/// A cluster, as one user sees it.
pub struct Cluster {
    pub(crate) runtime: Runtime,
    pub(crate) connection: Arc<Connection>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("server", &self.connection.server).finish_non_exhaustive()
    }
}

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct Interest {
    /// The policy kinds that are known without the cluster's help.
    pub kinds: Vec<PolicyKind>,
    /// What counts as a policy.
    pub settings: Settings,
    /// A namespace to look into if not all of them may be read, beside those of the kubeconfig.
    pub namespace: Option<String>,
}

/// How far the reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress {
    /// Kinds that have been listed.
    pub kinds: usize,
    /// Kinds that are listed in all, as far as is known.
    pub of: usize,
    /// Bytes that have been read.
    pub bytes: usize,
}

/// What a cluster holds.
#[derive(Debug, Default)]
pub struct ClusterReading {
    /// The objects, each once.
    pub objects: Vec<Object>,
    /// What is wrong with them.
    pub problems: Vec<Problem>,
    /// What could not be read.
    pub unseen: Vec<Unseen>,
    /// What the cluster has.
    pub discovery: Discovery,
    /// How many requests it took.
    pub requests: usize,
    /// How many bytes were read.
    pub bytes: usize,
    /// What was listed, for those who follow it.
    pub(crate) lists: Vec<Listed>,
    pub(crate) wanted: WantedKinds,
}

/// A list that was read, and where a watch goes on.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) wanted: Wanted,
    pub(crate) namespace: Option<String>,
    pub(crate) resource_version: String,
}

impl Cluster {
    /// The cluster that kubectl would talk to with these options. Asks the server for nothing yet.
    pub fn connect(options: &ClientOptions) -> Result<Cluster, ClusterError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| ClusterError::Unexpected {
            path: "the start of a thread".into(),
            message: error.to_string(),
        })?;
        let configuration = runtime.block_on(options.load())?;
        // The client starts tasks of its own.
        let entered = runtime.enter();
        let connection = Arc::new(Connection::new(configuration, options.request_timeout)?);
        drop(entered);
        Ok(Cluster { runtime, connection })
    }

    /// The namespace of the context.
    pub fn namespace(&self) -> &str {
        &self.connection.namespace
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.connection.server
    }

    /// Reads every kind that can matter, and tells `progress` how far it is.
    pub fn read(
        &self,
        interest: &Interest,
        progress: impl Fn(ReadProgress) + Sync,
    ) -> Result<ClusterReading, ClusterError> {
        self.runtime.block_on(read(&self.connection, interest, &progress))
    }
}

/// What completes a command line: few requests, and none that takes long.
impl Cluster {
    /// Group and kind of what can be asked about: the Gateway API, Services, Namespaces and installed policy kinds.
    pub fn kinds(&self, known: &[PolicyKind]) -> Result<Vec<(String, String)>, ClusterError> {
        self.runtime.block_on(async {
            let discovery = Discovery::read(&self.connection).await?;
            let wanted = WantedKinds::default().first(&discovery, known, false);
            let mut kinds: Vec<(String, String)> = Vec::new();
            for Wanted { resource, extent, .. } in wanted {
                if resource.kind != CRD_KIND {
                    kinds.push((resource.group, resource.kind));
                    continue;
                }
                let crds = list::list(&self.connection, &resource, None, extent).await.unwrap_or_default();
                kinds.extend(
                    crds.objects.iter().filter_map(described_kind).map(|(group, kind)| (group.into(), kind.into())),
                );
            }
            Ok(kinds)
        })
    }

    /// The objects of the kinds that are wanted, in a namespace or in all, with nothing but their metadata.
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
                let listed = list::list(&self.connection, resource, namespace, Extent::Metadata).await;
                objects.extend(listed.unwrap_or_default().objects);
            }
            Ok(objects)
        })
    }
}

pub(crate) async fn read(
    connection: &Connection,
    interest: &Interest,
    progress: &(dyn Fn(ReadProgress) + Sync),
) -> Result<ClusterReading, ClusterError> {
    let discovery = Discovery::read(connection).await?;
    let mut reading = ClusterReading { discovery, ..ClusterReading::default() };
    let all_crds = interest.settings.infer_unlabelled;
    let mut wanted = reading.wanted.first(&reading.discovery, &interest.kinds, all_crds);
    let counter = Counter::new(progress);
    while !wanted.is_empty() {
        read_kinds(connection, interest, &wanted, &counter, &mut reading).await?;
        read_crds(connection, &wanted, &mut reading).await?;
        let registry = registry(interest, &reading.objects);
        wanted = reading.wanted.more(&reading.discovery, &registry, reading.objects.iter());
    }
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

/// The kinds that the objects that have been read describe, beside those that are known.
pub(crate) fn registry(interest: &Interest, objects: &[Object]) -> Registry {
    let descriptions = objects.iter().filter(|object| matches!(&*object.id.kind, CRD_KIND | "PolicyKind"));
    Registry::new(&interest.kinds, &Objects::new(descriptions.cloned().collect()), &interest.settings).0
}

/// Lists kinds, those that may not be listed everywhere in the namespaces where they may.
pub(crate) async fn read_kinds(
    connection: &Connection,
    interest: &Interest,
    wanted: &[Wanted],
    counter: &Counter<'_>,
    reading: &mut ClusterReading,
) -> Result<(), ClusterError> {
    counter.expect(wanted.len());
    let mut lists: FuturesUnordered<_> = wanted
        .iter()
        .map(async |wanted| {
            let listed = list::list(connection, &wanted.resource, None, wanted.extent).await;
            counter.done(connection);
            (wanted, listed)
        })
        .collect();
    let mut forbidden: Vec<&Wanted> = Vec::new();
    while let Some((wanted, listed)) = lists.next().await {
        match listed {
            Ok(listing) => reading.add(wanted, None, listing),
            Err(ListError::Forbidden) if wanted.resource.namespaced => forbidden.push(wanted),
            Err(error) => reading.miss(wanted, error, Vec::new())?,
        }
    }
    if forbidden.is_empty() {
        return Ok(());
    }
    forbidden.sort_by(|a, b| a.resource.cmp(&b.resource));
    read_in_namespaces(connection, interest, &forbidden, reading).await
}

async fn read_in_namespaces(
    connection: &Connection,
    interest: &Interest,
    wanted: &[&Wanted],
    reading: &mut ClusterReading,
) -> Result<(), ClusterError> {
    let namespaces = namespaces_to_try(connection, interest, reading);
    let permissions =
        namespaces.iter().map(async |namespace| (namespace, Permissions::read(connection, namespace).await));
    let mut permissions = futures_util::stream::iter(permissions).buffered(PARALLEL);
    let mut requests = Vec::new();
    while let Some((namespace, permissions)) = permissions.next().await {
        let permissions = permissions?;
        requests.extend(wanted.iter().filter(|it| permissions.may_list(&it.resource)).map(|it| (*it, namespace)));
    }
    let lists = requests.into_iter().map(async |(wanted, namespace)| {
        (wanted, namespace, list::list(connection, &wanted.resource, Some(namespace), wanted.extent).await)
    });
    let mut lists = futures_util::stream::iter(lists).buffered(PARALLEL);
    let mut seen: Vec<(&Wanted, String)> = Vec::new();
    while let Some((wanted, namespace, listed)) = lists.next().await {
        match listed {
            Ok(listing) => {
                reading.add(wanted, Some(namespace), listing);
                seen.push((wanted, namespace.clone()));
            }
            Err(ListError::Cluster(error)) => return Err(error),
            Err(ListError::Forbidden | ListError::Gone | ListError::Failed(_)) => {}
        }
    }
    for wanted in wanted {
        let seen_in = seen.iter().filter(|(it, _)| it == wanted).map(|(_, namespace)| namespace.clone()).collect();
        reading.miss(wanted, ListError::Forbidden, seen_in)?;
    }
    Ok(())
}

/// All namespaces, if they may be listed; else those that are known by name.
fn namespaces_to_try(connection: &Connection, interest: &Interest, reading: &ClusterReading) -> BTreeSet<String> {
    let objects = reading.objects.iter();
    let known = objects.filter_map(|object| match (&*object.id.group, &*object.id.kind) {
        ("", "Namespace") => Some(object.id.name.to_string()),
        _ => Some(object.id.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
    });
    let named = connection.named_namespaces.iter().cloned().chain(interest.namespace.clone());
    known.chain(named).chain([connection.namespace.clone()]).collect()
}

/// Reads the CRDs of policy kinds, which say which fields have defaults. Most have a label, by which they have been
/// listed already.
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
                let wanted = Wanted { resource: crds.clone(), extent: Extent::Whole, is_policy: false };
                return reading.miss(&wanted, error, Vec::new());
            }
        }
    }
    Ok(())
}

impl ClusterReading {
    fn add(&mut self, wanted: &Wanted, namespace: Option<&String>, mut listing: Listing) {
        self.objects.append(&mut listing.objects);
        self.problems.append(&mut listing.problems);
        self.lists.push(Listed {
            wanted: wanted.clone(),
            namespace: namespace.cloned(),
            resource_version: listing.resource_version,
        });
    }

    fn miss(&mut self, wanted: &Wanted, error: ListError, seen_in: Vec<String>) -> Result<(), ClusterError> {
        let reason = match error {
            ListError::Cluster(error) => return Err(error),
            // Removed since discovery: as if it had never been there.
            ListError::Gone => return Ok(()),
            ListError::Forbidden => UnseenReason::Forbidden,
            ListError::Failed(message) => UnseenReason::Failed(message),
        };
        self.unseen.push(Unseen {
            resource: wanted.resource.full_name(),
            kind: wanted.resource.kind.clone(),
            reason,
            seen_in,
            is_policy: wanted.is_policy,
        });
        Ok(())
    }
}
