//! Errors of the API, as a `Status`.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Why a request fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The request is not valid.
    BadRequest(String),
    /// There is no such path.
    UnknownPath,
    /// There is no such object.
    NotFound {
        /// The resource.
        resource: &'static str,
        /// The name of the object.
        name: String,
    },
    /// Everything is read-only.
    MethodNotAllowed,
    /// The client accepts none of the supported formats.
    NotAcceptable,
    /// The resource version is too old, or of another process.
    Expired(String),
    /// The cluster has not been read yet.
    NotReady,
    /// A bug in the controller.
    Internal,
}

/// `Status` of `v1`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDocument {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    status: &'static str,
    message: String,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    code: u16,
}

#[derive(Clone, Debug, Serialize)]
struct Empty {}

#[derive(Clone, Debug, Serialize)]
struct Details {
    name: String,
    group: &'static str,
    kind: &'static str,
}

impl ApiError {
    /// What the API server's clients understand.
    pub fn document(&self) -> StatusDocument {
        let (code, reason, message) = match self {
            ApiError::BadRequest(message) => (StatusCode::BAD_REQUEST, "BadRequest", message.clone()),
            ApiError::UnknownPath => {
                (StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource".to_owned())
            }
            ApiError::NotFound { resource, name } => {
                (StatusCode::NOT_FOUND, "NotFound", format!("{resource}.{} \"{name}\" not found", super::GROUP))
            }
            ApiError::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                "effective policies are computed and read-only: change the policies instead".to_owned(),
            ),
            ApiError::NotAcceptable => (
                StatusCode::NOT_ACCEPTABLE,
                "NotAcceptable",
                "only application/json is supported, also as Table and as PartialObjectMetadata".to_owned(),
            ),
            ApiError::Expired(message) => (StatusCode::GONE, "Expired", message.clone()),
            ApiError::NotReady => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ServiceUnavailable",
                "the cluster has not been read yet, try again in a moment".to_owned(),
            ),
            ApiError::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalError",
                "internal error: the log of the controller has details".to_owned(),
            ),
        };
        let details = match self {
            ApiError::NotFound { resource, name } => {
                Some(Details { name: name.clone(), group: super::GROUP, kind: resource })
            }
            _ => None,
        };
        StatusDocument {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            status: "Failure",
            message,
            reason,
            details,
            code: code.as_u16(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let document = self.document();
        let status = StatusCode::from_u16(document.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        json(status, "application/json", &document)
    }
}

/// A document as a response.
pub fn json(status: StatusCode, media_type: &'static str, document: &impl Serialize) -> Response {
    match serde_json::to_vec(document) {
        Ok(body) => (status, [(CONTENT_TYPE, HeaderValue::from_static(media_type))], body).into_response(),
        Err(error) => {
            tracing::error!("cannot serialize a response: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
