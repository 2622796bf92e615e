//! Requests that are sent before it is known which kinds a cluster serves: nearly every cluster serves these, and they
//! need not wait for discovery.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::ClusterError;
use crate::connection::Connection;
use crate::discovery::{ApiResource, Discovery};
use crate::list::{self, ListError, ListExtent, Listing, continue_panic};
use crate::wanted::{self, CRD_GROUP, CRD_KIND, Interest, Wanted};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// The longest lists of most clusters, and the CRDs, which name further kinds: group, version, kind and plural.
const KINDS: [(&str, &str, &str, &str); 6] = [
    (CRD_GROUP, "v1", CRD_KIND, "customresourcedefinitions"),
    (GATEWAY_API, "v1", "HTTPRoute", "httproutes"),
    ("", "v1", "Service", "services"),
    (GATEWAY_API, "v1", "Gateway", "gateways"),
    (GATEWAY_API, "v1", "GatewayClass", "gatewayclasses"),
    ("", "v1", "Namespace", "namespaces"),
];

/// Requests whose responses are awaited later.
pub(crate) struct EarlyRequests {
    discovery: Task<Result<Discovery, ClusterError>>,
    lists: Vec<(String, ListExtent, ListTask)>,
}

pub(crate) type ListTask = Task<Result<Listing, ListError>>;

impl EarlyRequests {
    /// Sends the requests. Of the interest, the policy kinds need not be known yet.
    pub(crate) fn start(connection: &Arc<Connection>, interest: &Interest) -> EarlyRequests {
        let discovery = Task::spawn({
            let connection = Arc::clone(connection);
            async move { Discovery::read(&connection).await }
        });
        let lists = KINDS.into_iter().map(|(group, version, kind, plural)| {
            let resource = ApiResource {
                group: group.into(),
                version: version.into(),
                kind: kind.into(),
                plural: plural.into(),
                namespaced: !matches!(kind, "Namespace" | "GatewayClass" | CRD_KIND),
                short_names: Vec::new(),
            };
            let (path, extent) = (resource.path(None), wanted::extent(group, kind, interest));
            let task = Task::spawn({
                let (connection, extent, form) =
                    (Arc::clone(connection), extent.clone(), interest.form(&resource, &extent));
                async move { list::list(&connection, &resource, None, &extent, form).await }
            });
            (path, extent, task)
        });
        EarlyRequests { discovery, lists: lists.collect() }
    }

    /// The kinds that the cluster serves, and the lists.
    pub(crate) async fn discovered(self) -> Result<(Discovery, EarlyLists), ClusterError> {
        Ok((self.discovery.join().await?, EarlyLists { lists: self.lists }))
    }
}

/// Lists that may have been read.
#[derive(Default)]
pub(crate) struct EarlyLists {
    lists: Vec<(String, ListExtent, ListTask)>,
}

impl EarlyLists {
    /// The list, if it has been requested in the same version and extent.
    pub(crate) fn take(&mut self, wanted: &Wanted) -> Option<ListTask> {
        let path = wanted.resource.path(None);
        let at = self.lists.iter().position(|(known, extent, _)| *known == path && *extent == wanted.extent)?;
        Some(self.lists.swap_remove(at).2)
    }
}

/// Work in the background that ends when this value is dropped.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    fn spawn(work: impl Future<Output = T> + Send + 'static) -> Task<T> {
        Task(tokio::spawn(work))
    }

    pub(crate) async fn join(mut self) -> T {
        (&mut self.0).await.unwrap_or_else(|error| continue_panic(error))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
