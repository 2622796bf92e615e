//! Lists of objects, page by page.

use std::sync::{Arc, LazyLock};

use attache_engine::Value;
use attache_engine::text;
use attache_engine::{Object, Problem, Source};
use serde::Deserialize;

use crate::connection::{Connection, JSON, RequestError};
use crate::{ApiResource, ClusterError};

/// How many objects a page has. Pages are read one after the other, so that few are better; the server takes time for
/// each and keeps it in memory, so that they must not be too large.
const PAGE: usize = 1000;

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// What of objects is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// Only their metadata: their labels are all that counts.
    Metadata,
    /// Everything, of those that have a label.
    Labelled(&'static str),
}

/// All objects of a kind, or those in a namespace.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<Problem>,
    /// Where a watch can go on.
    pub(crate) resource_version: String,
}

/// Why a kind cannot be listed.
#[derive(Clone, Debug)]
pub(crate) enum ListError {
    Forbidden,
    /// The kind is not there any more.
    Gone,
    /// The server cannot list it, and says why.
    Failed(String),
    /// Nothing can be listed.
    Cluster(ClusterError),
}

impl From<RequestError> for ListError {
    fn from(error: RequestError) -> ListError {
        match error {
            RequestError::Cluster(error) => ListError::Cluster(error),
            RequestError::Refused { code: 403, .. } => ListError::Forbidden,
            RequestError::Refused { code: 404 | 405, .. } => ListError::Gone,
            RequestError::Refused { code, message } if message.is_empty() => {
                ListError::Failed(format!("status {code}"))
            }
            RequestError::Refused { message, .. } => ListError::Failed(message),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: ListMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    r#continue: String,
}

/// Lists all objects of a kind that there are, everywhere or in a namespace.
pub(crate) async fn list(
    connection: &Connection,
    resource: &ApiResource,
    namespace: Option<&str>,
    extent: Extent,
) -> Result<Listing, ListError> {
    match list_pages(connection, resource, namespace, extent, Some(PAGE)).await {
        // The rest of the pages is not available any more, because it took too long to get here: all at once.
        Err(RequestError::Refused { code: 410, .. }) => {
            Ok(list_pages(connection, resource, namespace, extent, None).await?)
        }
        listed => Ok(listed?),
    }
}

async fn list_pages(
    connection: &Connection,
    resource: &ApiResource,
    namespace: Option<&str>,
    extent: Extent,
    page: Option<usize>,
) -> Result<Listing, RequestError> {
    let accept = if extent == Extent::Metadata { METADATA_LIST } else { JSON };
    let path = resource.path(namespace);
    let mut parsing = Vec::new();
    let mut token = String::new();
    let resource_version = loop {
        let mut query: Vec<String> = page.map(|limit| format!("limit={limit}")).into_iter().collect();
        if !token.is_empty() {
            query.push(format!("continue={token}"));
        }
        if let Extent::Labelled(label) = extent {
            query.push(format!("labelSelector={}", label.replace('/', "%2F")));
        }
        let body = connection.get(&format!("{path}?{}", query.join("&")), accept).await?;
        let head: Head = serde_json::from_slice(&body).map_err(|error| connection.unexpected(&path, &error))?;
        // The next page is read while this one is parsed.
        let resource = resource.clone();
        parsing.push(tokio::task::spawn_blocking(move || read_objects(&body, &resource, extent)));
        token = head.metadata.r#continue;
        if token.is_empty() {
            break head.metadata.resource_version;
        }
    };
    let mut listing = Listing { resource_version, ..Listing::default() };
    for page in parsing {
        let Parsed { mut objects, mut problems } = page.await.unwrap_or_default();
        listing.objects.append(&mut objects);
        listing.problems.append(&mut problems);
    }
    Ok(listing)
}

/// One object by its name.
pub(crate) async fn get(
    connection: &Connection,
    resource: &ApiResource,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Object>, ListError> {
    let body = connection.get(&format!("{}/{name}", resource.path(namespace)), JSON).await?;
    Ok(read_objects(&body, resource, Extent::Whole).objects.into_iter().next())
}

#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<Problem>,
}

/// The objects of an answer: one, or those of a list.
pub(crate) fn read_objects(body: &[u8], resource: &ApiResource, extent: Extent) -> Parsed {
    static NOWHERE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));
    let text = String::from_utf8_lossy(body);
    let reading = text::read(&NOWHERE, &text);
    let mut objects = reading.objects;
    for object in &mut objects {
        // Lines and columns of an answer of the server say nothing to anybody.
        object.source = Source::default();
        // A list does not say of each item what it is, a watch does: the same object must be the same.
        if let Value::Map(body) = &object.body {
            object.body = Value::Map(body.without(|key| matches!(key, "apiVersion" | "kind")));
        }
        if extent == Extent::Metadata {
            object.id.group = (&*resource.group).into();
            object.id.kind = (&*resource.kind).into();
            object.version = (&*resource.version).into();
        }
    }
    if is_made_by_workloads(resource) {
        objects.retain(|object| !has_controller(object));
    }
    let problems =
        reading.problems.into_iter().map(|problem| Problem { file: None, location: None, document: None, ..problem });
    Parsed { objects, problems: problems.collect() }
}

/// Pods and Jobs that others make are not shown beside those who make them: policies select both by the same labels.
fn is_made_by_workloads(resource: &ApiResource) -> bool {
    matches!((&*resource.group, &*resource.kind), ("", "Pod") | ("batch", "Job"))
}

fn has_controller(object: &Object) -> bool {
    let owners = object.body.at(&["metadata", "ownerReferences"]);
    owners.is_some_and(|owners| owners.items().iter().any(|owner| owner.get("controller").is_some()))
}
