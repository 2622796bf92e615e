//! Lists of objects, page by page.

use std::sync::{Arc, LazyLock};

use attache_engine::Value;
use attache_engine::kinds::SettingObject;
use attache_engine::text;
use attache_engine::{Object, Problem, Source};
use serde::Deserialize;

use crate::connection::{Connection, JSON, RequestError};
use crate::{ApiResource, ClusterError};

/// The number of objects in a page. Pages are read one after the other, so few are better; but the server needs time
/// and memory for each, so they must not be too large.
const PAGE: usize = 1000;

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

pub(crate) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// The part of the objects that is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListExtent {
    /// Everything.
    Whole,
    /// Only their metadata, because only their labels matter.
    Metadata,
    /// All objects with a label.
    Labelled(&'static str),
    /// The objects that have settings of a controller.
    Settings(Arc<SettingObject>),
}

impl ListExtent {
    /// The parameters of a request, without those for pages.
    pub(crate) fn query(&self) -> Option<String> {
        match self {
            ListExtent::Whole | ListExtent::Metadata => None,
            ListExtent::Labelled(label) => Some(format!("labelSelector={}", encoded(label))),
            ListExtent::Settings(object) => {
                let labels = object.labels.iter().map(|(key, value)| encoded(&format!("{key}={value}")));
                let labels = labels.collect::<Vec<_>>().join(",");
                let name = object.name.as_ref().map(|name| format!("fieldSelector=metadata.name%3D{}", encoded(name)));
                let labels = (!labels.is_empty()).then(|| format!("labelSelector={labels}"));
                Some([name, labels].into_iter().flatten().collect::<Vec<_>>().join("&"))
            }
        }
    }

    /// The only namespace in which objects are read, if there is one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        match self {
            ListExtent::Settings(object) => object.namespace.as_deref(),
            ListExtent::Whole | ListExtent::Metadata | ListExtent::Labelled(_) => None,
        }
    }

    /// Whether an object is one of those that are read.
    pub(crate) fn holds(&self, object: &Object) -> bool {
        match self {
            ListExtent::Settings(wanted) => wanted.is(object),
            ListExtent::Whole | ListExtent::Metadata | ListExtent::Labelled(_) => true,
        }
    }
}

/// A selector, encoded for a query.
fn encoded(selector: &str) -> String {
    selector.replace('/', "%2F").replace('=', "%3D")
}

/// All objects of a kind, or those in a namespace.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<Problem>,
    /// The version from which a watch can continue.
    pub(crate) resource_version: String,
}

/// Why a kind cannot be listed.
#[derive(Clone, Debug)]
pub(crate) enum ListError {
    Forbidden,
    /// The kind no longer exists.
    Gone,
    /// The server cannot list it, with its message.
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

/// Lists all objects of a kind, everywhere or in a namespace.
pub(crate) async fn list(
    connection: &Connection,
    resource: &ApiResource,
    namespace: Option<&str>,
    extent: &ListExtent,
) -> Result<Listing, ListError> {
    match list_pages(connection, resource, namespace, extent, Some(PAGE)).await {
        // The remaining pages have expired, because reading took too long: list everything at once.
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
    extent: &ListExtent,
    page: Option<usize>,
) -> Result<Listing, RequestError> {
    let accept = if *extent == ListExtent::Metadata { METADATA_LIST } else { JSON };
    let path = resource.path(namespace);
    let mut parsing = Vec::new();
    let mut token = String::new();
    let resource_version = loop {
        let mut query: Vec<String> = page.map(|limit| format!("limit={limit}")).into_iter().collect();
        if !token.is_empty() {
            query.push(format!("continue={token}"));
        }
        query.extend(extent.query());
        let body = connection.get(&format!("{path}?{}", query.join("&")), accept).await?;
        let head: Head = serde_json::from_slice(&body).map_err(|error| connection.unexpected(&path, &error))?;
        // The next page is read while this one is parsed.
        let (resource, extent) = (resource.clone(), extent.clone());
        parsing.push(tokio::task::spawn_blocking(move || read_objects(&body, &resource, &extent)));
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
    Ok(read_objects(&body, resource, &ListExtent::Whole).objects.into_iter().next())
}

#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<Problem>,
}

/// The objects of a response: one, or the items of a list.
pub(crate) fn read_objects(body: &[u8], resource: &ApiResource, extent: &ListExtent) -> Parsed {
    static NOWHERE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from(""));
    let text = String::from_utf8_lossy(body);
    let reading = text::read(&NOWHERE, &text);
    let mut objects = reading.objects;
    for object in &mut objects {
        // Lines and columns of a response mean nothing to users.
        object.source = Source::default();
        // The items of a list have no type, those of a watch do: make them equal.
        if let Value::Map(body) = &object.body {
            object.body = Value::Map(body.without(|key| matches!(key, "apiVersion" | "kind")));
        }
        if *extent == ListExtent::Metadata {
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

/// Pods and Jobs that workloads create are left out: policies select both by the same labels.
fn is_made_by_workloads(resource: &ApiResource) -> bool {
    matches!((&*resource.group, &*resource.kind), ("", "Pod") | ("batch", "Job"))
}

fn has_controller(object: &Object) -> bool {
    let owners = object.body.at(&["metadata", "ownerReferences"]);
    owners.is_some_and(|owners| owners.items().iter().any(|owner| owner.get("controller").is_some()))
}
