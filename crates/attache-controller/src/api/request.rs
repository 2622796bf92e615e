//! Requests: paths, parameters and formats.

use axum::http::{HeaderMap, Uri, header};

use super::error::ApiError;
use super::resource::Resource;
use super::selector::Selectors;
use super::table::IncludeObject;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTarget {
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group,
    /// `/apis/GROUP/VERSION`.
    Resources,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiV3Index,
    /// `/openapi/v3/apis/GROUP/VERSION`.
    OpenApiV3,
    /// The objects of a resource in one namespace, or in all.
    Collection(Resource, Option<String>),
    /// One object.
    One(Resource, String, String),
}

impl RequestTarget {
    /// What a path names.
    pub fn find(path: &str) -> Result<RequestTarget, ApiError> {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let resource = |plural: &str| Resource::find(plural).ok_or(ApiError::UnknownPath);
        match segments.as_slice() {
            ["apis"] => Ok(RequestTarget::Groups),
            ["apis", super::GROUP] => Ok(RequestTarget::Group),
            ["apis", super::GROUP, super::VERSION] => Ok(RequestTarget::Resources),
            ["openapi", "v2"] => Ok(RequestTarget::OpenApiV2),
            ["openapi", "v3"] => Ok(RequestTarget::OpenApiV3Index),
            ["openapi", "v3", "apis", super::GROUP, super::VERSION] => Ok(RequestTarget::OpenApiV3),
            ["apis", super::GROUP, super::VERSION, rest @ ..] => match rest {
                [plural] => Ok(RequestTarget::Collection(resource(plural)?, None)),
                ["namespaces", namespace, plural] => {
                    Ok(RequestTarget::Collection(resource(plural)?, Some((*namespace).to_owned())))
                }
                ["namespaces", namespace, plural, name] => {
                    Ok(RequestTarget::One(resource(plural)?, (*namespace).to_owned(), (*name).to_owned()))
                }
                _ => Err(ApiError::UnknownPath),
            },
            _ => Err(ApiError::UnknownPath),
        }
    }
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// As they are.
    Objects,
    /// As a `Table`.
    Table(IncludeObject),
    /// Only their metadata.
    Metadata,
}

/// The parameters of a request for objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestParameters {
    /// How objects are written.
    pub format: ObjectFormat,
    /// The selected objects.
    pub selectors: Selectors,
    /// The number of objects of a page.
    pub limit: Option<usize>,
    /// Where the page starts.
    pub continued: Option<String>,
    /// Whether it is a watch.
    pub watch: bool,
    /// The version to start from. `None` is any.
    pub version: Option<u64>,
    /// Whether the response must have exactly that version.
    pub exactly: bool,
    /// Whether the client accepts bookmarks.
    pub bookmarks: bool,
    /// Whether a watch begins with all objects, whatever the version, and a bookmark after them.
    pub initial_events: Option<bool>,
    /// The duration of a watch, in seconds.
    pub timeout_seconds: Option<u64>,
}

impl RequestParameters {
    /// Reads the parameters of a request.
    pub fn parse(resource: Resource, uri: &Uri, headers: &HeaderMap) -> Result<RequestParameters, ApiError> {
        let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
        let query = query.map_err(|error| ApiError::BadRequest(error.to_string()))?.0;
        let get = |name: &str| {
            let found = query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
            found.filter(|value| !value.is_empty())
        };
        let number = |name: &str| {
            let bad =
                |value: &str| ApiError::BadRequest(format!("invalid value `{value}` of {name}: it must be a number"));
            get(name).map(|value| value.parse::<u64>().map_err(|_| bad(value))).transpose()
        };
        let flag = |name: &str| get(name).map(|value| matches!(value, "1" | "true" | "True" | "TRUE" | "t"));
        let include = match get("includeObject") {
            None | Some("Metadata") => IncludeObject::Metadata,
            Some("Object") => IncludeObject::Object,
            Some("None") => IncludeObject::None,
            Some(other) => {
                return Err(ApiError::BadRequest(format!(
                    "unknown value `{other}` of includeObject: use `None`, `Metadata` or `Object`"
                )));
            }
        };
        let (labels, fields) = (get("labelSelector").unwrap_or_default(), get("fieldSelector").unwrap_or_default());
        Ok(RequestParameters {
            format: format(headers, include)?,
            selectors: Selectors::parse(labels, fields, resource.fields())?,
            limit: number("limit")?.filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok()),
            continued: get("continue").map(str::to_owned),
            watch: flag("watch").unwrap_or_default(),
            version: number("resourceVersion")?.filter(|version| *version > 0),
            exactly: get("resourceVersionMatch") == Some("Exact"),
            bookmarks: flag("allowWatchBookmarks").unwrap_or_default(),
            initial_events: flag("sendInitialEvents"),
            timeout_seconds: number("timeoutSeconds")?,
        })
    }
}

/// The first supported format that the client accepts.
fn format(headers: &HeaderMap, include: IncludeObject) -> Result<ObjectFormat, ApiError> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    let known = |clause: &str| {
        let mut parts = clause.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let options: Vec<&str> = parts.collect();
        if !matches!(media_type, "application/json" | "*/*" | "application/*") {
            return None;
        }
        let is_v1 = options.iter().all(|option| !option.starts_with("v=") || *option == "v=v1");
        match options.iter().find_map(|option| option.strip_prefix("as=")) {
            None => Some(ObjectFormat::Objects),
            Some("Table") if is_v1 => Some(ObjectFormat::Table(include)),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") if is_v1 => Some(ObjectFormat::Metadata),
            Some(_) => None,
        }
    };
    accept.split(',').find_map(known).ok_or(ApiError::NotAcceptable)
}

/// Whether the client accepts a media type with an option.
pub fn accepts(headers: &HeaderMap, options: &[&str]) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|clause| options.iter().all(|option| clause.split(';').any(|it| it.trim() == *option)))
}
