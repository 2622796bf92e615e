//! Lists, page by page, and single objects.

use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::API_VERSION;
use super::error::ApiError;
use super::request::{ObjectFormat, RequestParameters};
use super::resource::{ApiEntry, ApiObject, Resource, api_objects};
use super::table::{IncludeObject, Row, columns, partial_metadata};
use super::versions::{Extent, Versioned, Versions};

/// The number of objects that are computed together.
const BATCH: usize = 200;

/// A request for a list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// The resource.
    pub resource: Resource,
    /// The namespace, or all.
    pub namespace: Option<String>,
    /// Everything else.
    pub parameters: RequestParameters,
}

/// Where a page starts: at the entry with this number in the list of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continue {
    /// The version of the list.
    pub version: u64,
    position: usize,
}

impl Continue {
    /// Reads a token.
    pub fn parse(text: &str) -> Result<Continue, ApiError> {
        let numbers = text.strip_prefix("v1.").and_then(|rest| rest.split_once('.'));
        let found = numbers.and_then(|(version, position)| {
            Some(Continue { version: version.parse().ok()?, position: position.parse().ok()? })
        });
        found.ok_or_else(|| ApiError::BadRequest("continue key is not valid".to_owned()))
    }

    /// The token.
    pub fn token(self) -> String {
        format!("v1.{}.{}", self.version, self.position)
    }
}

impl ListQuery {
    /// What the list is about.
    pub fn extent(&self) -> Extent {
        Extent { resource: self.resource, namespace: self.namespace.clone() }
    }

    /// The state that is listed: the latest one, or that of the previous page.
    pub fn state(&self, versions: &Versions, latest: Arc<Versioned>) -> Result<ListState, ApiError> {
        let too_old = |_| {
            ApiError::Expired("the provided continue parameter is too old: the list has changed, list again".to_owned())
        };
        match (&self.parameters.continued, self.parameters.version) {
            (Some(token), _) => {
                let Continue { version, position } = Continue::parse(token)?;
                Ok(ListState { versioned: versions.get(version, &self.extent()).map_err(too_old)?, position })
            }
            (None, Some(version)) if self.parameters.exactly => {
                Ok(ListState { versioned: versions.get(version, &self.extent())?, position: 0 })
            }
            (None, _) => Ok(ListState { versioned: latest, position: 0 }),
        }
    }

    /// Writes a page of the list. Objects are written as they are computed.
    pub fn write(&self, state: &ListState, writer: &mut impl Write) -> io::Result<()> {
        let ListState { versioned, position } = state;
        let ListQuery { resource, namespace, parameters } = self;
        let mut entries = resource.entries(versioned.snapshot(), namespace.as_deref()).enumerate().skip(*position);
        let mut output = ListWriter::start(*resource, parameters.format, writer)?;
        let (mut written, mut continued) = (0, None);
        loop {
            let room = parameters.limit.map_or(BATCH, |limit| BATCH.min(limit - written));
            let mut batch = Vec::with_capacity(room);
            let mut next = None;
            for (at, entry) in entries.by_ref() {
                if !entry.is_selected(&parameters.selectors) {
                    continue;
                }
                batch.push(entry);
                if batch.len() == room {
                    next = Some(at + 1);
                    break;
                }
            }
            for (object, about) in objects(&batch, versioned.version) {
                output.write(&object, &about)?;
                written += 1;
            }
            let Some(next) = next else { break };
            if parameters.limit.is_some_and(|limit| written >= limit) {
                // The page is full, and there is at least one more object.
                let is_wanted = |(_, entry): &(usize, ApiEntry<'_>)| entry.is_selected(&parameters.selectors);
                let mut rest = entries.filter(is_wanted);
                let has_more = rest.any(|(_, entry)| entry.api_object(versioned.version).is_some());
                continued = has_more.then_some(Continue { version: versioned.version, position: next });
                break;
            }
        }
        output.end(versioned.version, continued)
    }
}

/// A state, and where in its list a page starts.
#[derive(Clone, Debug)]
pub struct ListState {
    versioned: Arc<Versioned>,
    position: usize,
}

/// The objects of entries, each with its entry.
fn objects<'s>(entries: &[ApiEntry<'s>], version: u64) -> Vec<(ApiObject, ApiEntry<'s>)> {
    match entries.first() {
        Some(ApiEntry::Reach { .. }) => {
            api_objects(entries, version).into_iter().zip(entries.iter().copied()).collect()
        }
        _ => entries.iter().filter_map(|entry| Some((entry.api_object(version)?, *entry))).collect(),
    }
}

/// Writes one object in a format.
pub fn write_one(
    object: &ApiObject,
    about: &ApiEntry<'_>,
    format: ObjectFormat,
    resource: Resource,
) -> serde_json::Result<Vec<u8>> {
    match format {
        ObjectFormat::Objects => serde_json::to_vec(object),
        ObjectFormat::Metadata => serde_json::to_vec(&partial_metadata(object)),
        ObjectFormat::Table(include) => serde_json::to_vec(&table(Some(resource), object, about, include)),
    }
}

/// A table with one row. The columns are left out if the client has them already.
pub fn table(columns_of: Option<Resource>, object: &ApiObject, about: &ApiEntry<'_>, include: IncludeObject) -> Value {
    serde_json::json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": object.metadata.resource_version},
        "columnDefinitions": columns_of.map_or(Value::Array(Vec::new()), columns),
        "rows": [Row::new(object, about.object(), include)],
    })
}

/// Writes a list object by object.
struct ListWriter<'w, W> {
    writer: &'w mut W,
    format: ObjectFormat,
    is_first: bool,
}

/// The metadata of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiListMetadata {
    resource_version: String,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continued: Option<String>,
}

impl<'w, W: Write> ListWriter<'w, W> {
    fn start(resource: Resource, format: ObjectFormat, writer: &'w mut W) -> io::Result<ListWriter<'w, W>> {
        match format {
            ObjectFormat::Objects => {
                write!(writer, r#"{{"kind":"{}","apiVersion":"{API_VERSION}","items":["#, resource.list_kind())?;
            }
            ObjectFormat::Metadata => {
                write!(writer, r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":["#)?;
            }
            ObjectFormat::Table(_) => {
                write!(writer, r#"{{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":"#)?;
                serde_json::to_writer(&mut *writer, &columns(resource))?;
                write!(writer, r#","rows":["#)?;
            }
        }
        Ok(ListWriter { writer, format, is_first: true })
    }

    fn write(&mut self, object: &ApiObject, about: &ApiEntry<'_>) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.writer.write_all(b",")?;
        }
        match self.format {
            ObjectFormat::Objects => serde_json::to_writer(&mut *self.writer, object)?,
            ObjectFormat::Metadata => serde_json::to_writer(&mut *self.writer, &partial_metadata(object))?,
            ObjectFormat::Table(include) => {
                serde_json::to_writer(&mut *self.writer, &Row::new(object, about.object(), include))?;
            }
        }
        Ok(())
    }

    fn end(self, version: u64, continued: Option<Continue>) -> io::Result<()> {
        write!(self.writer, r#"],"metadata":"#)?;
        let continued = continued.map(Continue::token);
        serde_json::to_writer(
            &mut *self.writer,
            &ApiListMetadata { resource_version: version.to_string(), continued },
        )?;
        write!(self.writer, "}}")
    }
}
