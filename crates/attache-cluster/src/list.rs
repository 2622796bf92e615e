//! Lists of objects, page by page.

use std::sync::{Arc, LazyLock};

use attache_engine::Value;
use attache_engine::kinds::SettingObject;
use attache_engine::text;
use attache_engine::{Object, Problem, Source};
use serde::Deserialize;
use tokio::task::{JoinError, JoinHandle};

use crate::connection::{Connection, JSON, RequestError};
use crate::mentions::Mentions;
use crate::raw::RawPage;
use crate::{ApiResource, ClusterError};

/// The number of objects in a page. Pages are read one after the other, so few are better; but the server needs time
/// and memory for each, so they must not be too large.
const PAGE: usize = 500;

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

/// The form in which objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListForm {
    /// Parsed.
    Objects,
    /// As text, because only a few of them will be needed.
    Text,
}

/// All objects of a kind, or those in a namespace.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) objects: Vec<Object>,
    /// The objects that are kept as text.
    pub(crate) pages: Vec<RawPage>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) mentions: Mentions,
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

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    r#continue: String,
}

impl ListMetadata {
    /// The metadata of a list. The next page is requested only when it is known, so the items are not parsed for it.
    fn read(body: &[u8]) -> serde_json::Result<ListMetadata> {
        if let Some(metadata) = ListMetadata::at_start(body).or_else(|| ListMetadata::at_end(body)) {
            return Ok(metadata);
        }
        serde_json::from_slice(body).map(|head: Head| head.metadata)
    }

    /// Built-in kinds have it before the items.
    fn at_start(body: &[u8]) -> Option<ListMetadata> {
        let head = &body[..body.len().min(NEAR)];
        let at = find(head, METADATA_KEY)?;
        // Nothing has been opened before it, except for the document.
        let is_outermost = !head.get(1..at)?.iter().any(|byte| matches!(byte, b'{' | b'['));
        let value = body.get(at + METADATA_KEY.len() - 1..).filter(|_| is_outermost && head.starts_with(b"{"))?;
        serde_json::Deserializer::from_slice(value).into_iter().next()?.ok()
    }

    /// Custom resources have it after the items.
    fn at_end(body: &[u8]) -> Option<ListMetadata> {
        let document = body.trim_ascii_end().strip_suffix(b"}")?;
        let tail = &document[document.len().saturating_sub(NEAR)..];
        let at = tail.windows(METADATA_KEY.len()).rposition(|window| window == METADATA_KEY)?;
        // A value that ends where the document ends is one of its own fields, and not one of an item.
        serde_json::from_slice(&tail[at + METADATA_KEY.len() - 1..]).ok()
    }
}

const METADATA_KEY: &[u8] = b"\"metadata\":{";

/// The number of bytes in which the metadata of a list is searched, at its start and at its end.
const NEAR: usize = 4096;

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Lists all objects of a kind, everywhere or in a namespace.
pub(crate) async fn list(
    connection: &Connection,
    resource: &ApiResource,
    namespace: Option<&str>,
    extent: &ListExtent,
    form: ListForm,
) -> Result<Listing, ListError> {
    match list_pages(connection, resource, namespace, (extent, form), Some(PAGE)).await {
        // The remaining pages have expired, because reading took too long: list everything at once.
        Err(RequestError::Refused { code: 410, .. }) => {
            Ok(list_pages(connection, resource, namespace, (extent, form), None).await?)
        }
        listed => Ok(listed?),
    }
}

async fn list_pages(
    connection: &Connection,
    resource: &ApiResource,
    namespace: Option<&str>,
    (extent, form): (&ListExtent, ListForm),
    page: Option<usize>,
) -> Result<Listing, RequestError> {
    let accept = if *extent == ListExtent::Metadata { METADATA_LIST } else { JSON };
    let path = resource.path(namespace);
    let mut listing = Listing::default();
    let mut parsing = None;
    let mut token = String::new();
    listing.resource_version = loop {
        let mut query: Vec<String> = page.map(|limit| format!("limit={limit}")).into_iter().collect();
        if !token.is_empty() {
            query.push(format!("continue={token}"));
        }
        query.extend(extent.query());
        let body = connection.get(&format!("{path}?{}", query.join("&")), accept).await?;
        let metadata = ListMetadata::read(&body).map_err(|error| connection.unexpected(&path, &error))?;
        // The next page is read while this one is parsed. No more than that, because pages are large.
        if let Some(page) = parsing.take() {
            listing.add(page).await;
        }
        let (resource, extent) = (resource.clone(), extent.clone());
        parsing = Some(tokio::task::spawn_blocking(move || Page::read(&body, &resource, &extent, form)));
        token = metadata.r#continue;
        if token.is_empty() {
            break metadata.resource_version;
        }
    };
    if let Some(page) = parsing {
        listing.add(page).await;
    }
    Ok(listing)
}

impl Listing {
    /// Adds a page when it is parsed.
    async fn add(&mut self, page: JoinHandle<Page>) {
        let Page { mut parsed, raw, mentions } = page.await.unwrap_or_else(|error| continue_panic(error));
        self.objects.append(&mut parsed.objects);
        self.problems.append(&mut parsed.problems);
        self.pages.extend(raw);
        self.mentions.add(mentions);
    }
}

/// Tasks end early only if they panic, or when nobody waits for them.
pub(crate) fn continue_panic(error: JoinError) -> ! {
    std::panic::resume_unwind(error.into_panic())
}

/// The objects of a page, parsed or as text.
#[derive(Debug)]
struct Page {
    parsed: Parsed,
    raw: Option<RawPage>,
    mentions: Mentions,
}

impl Page {
    fn read(body: &[u8], resource: &ApiResource, extent: &ListExtent, form: ListForm) -> Page {
        let text = || std::str::from_utf8(body).ok();
        if form == ListForm::Text
            && let Some((raw, mentions)) = text().and_then(|text| RawPage::read(text, resource, extent))
        {
            return Page { parsed: Parsed::default(), raw: Some(raw), mentions };
        }
        let parsed = read_objects(body, resource, extent);
        let mentions = Mentions::new(&parsed.objects);
        Page { parsed, raw: None, mentions }
    }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn slowly(body: &str) -> Option<ListMetadata> {
        serde_json::from_str(body).ok().map(|head: Head| head.metadata)
    }

    #[test]
    fn the_metadata_of_a_list_is_found_without_its_items() {
        let metadata = r#""metadata":{"resourceVersion":"12","continue":"abc","remainingItemCount":3}"#;
        let item = r#"{"metadata":{"resourceVersion":"1","continue":"no"},"spec":{"text":"\"metadata\":{}}"}}"#;
        let built_in = format!(r#"{{"kind":"ServiceList","apiVersion":"v1",{metadata},"items":[{item},{item}]}}"#);
        let custom = format!(r#"{{"apiVersion":"a/v1","items":[{item},{item}],"kind":"AList",{metadata}}}"#);
        assert_eq!(ListMetadata::at_start(built_in.as_bytes()), slowly(&built_in));
        assert_eq!(ListMetadata::at_start(custom.as_bytes()), None);
        assert_eq!(ListMetadata::at_end(custom.as_bytes()), slowly(&custom));
        assert_eq!(ListMetadata::at_end(built_in.as_bytes()), None);
    }

    #[test]
    fn every_format_of_a_list_is_understood() {
        let item = json!({"metadata": {"resourceVersion": "1"}, "spec": {"metadata": {"continue": "no"}}});
        let metadata = json!({"resourceVersion": "12", "continue": "abc"});
        for list in [
            json!({"metadata": metadata}),
            json!({"items": [], "metadata": metadata}),
            json!({"items": [item], "metadata": metadata}),
            json!({"items": [item], "metadata": {}}),
            json!({"items": [item], "metadata": metadata, "zzz": item}),
            json!({"a": {"metadata": {}}, "items": [item], "metadata": metadata}),
            json!({"items": [item]}),
            json!({}),
        ] {
            let pretty = serde_json::to_string_pretty(&list).unwrap();
            for body in [list.to_string(), pretty, format!("{list}\n")] {
                assert_eq!(ListMetadata::read(body.as_bytes()).ok(), slowly(&body), "{body}");
            }
        }
        assert!(ListMetadata::read(b"<html>").is_err());
        assert!(ListMetadata::read(br#"{"items":[{"metadata":{"continue":"#).is_err());
    }
}
