//! Requests to the API server that read, create or change one object.

use std::fmt;
use std::time::Duration;

use attache_engine::Object;
use axum::http::Request;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use kube::{Client, Error};
use serde_json::Value as Json;

/// The timeout of a request. A leader that waits longer may have lost the Lease.
const TIMEOUT: Duration = Duration::from_secs(4);

/// How an object is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// Server-side apply.
    Apply,
    /// A JSON merge patch.
    Merge,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiServerError {
    /// The status code of the response. `None` if there is no response.
    pub code: Option<u16>,
    /// The message of the server, or the network error.
    pub message: String,
}

impl fmt::Display for ApiServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The `apiVersion` of an object. Objects in lists do not have it themselves.
pub fn api_version(object: &Object) -> String {
    if object.id.group.is_empty() {
        object.version.to_string()
    } else {
        format!("{}/{}", object.id.group, object.version)
    }
}

/// Reads a resource.
pub async fn get(client: &Client, path: &str) -> Result<Json, ApiServerError> {
    request(client, "GET", path, "application/json", Vec::new()).await
}

/// Creates a resource.
pub async fn post(client: &Client, path: &str, body: &Json) -> Result<Json, ApiServerError> {
    request(client, "POST", path, "application/json", body.to_string().into_bytes()).await
}

/// Replaces a resource.
pub async fn put(client: &Client, path: &str, body: &Json) -> Result<Json, ApiServerError> {
    request(client, "PUT", path, "application/json", body.to_string().into_bytes()).await
}

/// Patches a resource as a field manager.
pub async fn patch(
    client: &Client,
    path: &str,
    manager: &str,
    patch_type: PatchType,
    body: &Json,
) -> Result<Json, ApiServerError> {
    let (content_type, force) = match patch_type {
        PatchType::Apply => ("application/apply-patch+yaml", "&force=true"),
        PatchType::Merge => ("application/merge-patch+json", ""),
    };
    let path = format!("{path}?fieldManager={manager}{force}");
    request(client, "PATCH", &path, content_type, body.to_string().into_bytes()).await
}

async fn request(
    client: &Client,
    method: &str,
    path: &str,
    content_type: &str,
    body: Vec<u8>,
) -> Result<Json, ApiServerError> {
    let request = Request::builder().method(method).uri(path).header(ACCEPT, "application/json");
    let request = request.header(CONTENT_TYPE, content_type).body(body);
    let request = request.map_err(|error| ApiServerError { code: None, message: error.to_string() })?;
    match tokio::time::timeout(TIMEOUT, client.request(request)).await {
        Ok(answer) => answer.map_err(ApiServerError::from),
        Err(_) => {
            Err(ApiServerError { code: None, message: format!("no response within {} seconds", TIMEOUT.as_secs()) })
        }
    }
}

impl From<Error> for ApiServerError {
    fn from(error: Error) -> ApiServerError {
        match error {
            Error::Api(status) => ApiServerError { code: Some(status.code), message: status.message.clone() },
            other => ApiServerError { code: None, message: other.to_string() },
        }
    }
}
