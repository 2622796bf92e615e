//! Effective policies as an aggregated API: `effective.attache.dev/v1alpha1`.
//!
//! ```text
//! front proxy ─request─→ request   the resource, the format, selectors
//!                           │
//!   discovery, openapi ←────┼───→ list    a page of the objects of one state ─→ resource   documents as API objects
//!                           └───→ watch   how one state differs from the next       table      for kubectl get
//!                                   │                                               names      their names
//!                                versions   recent states, by resource version
//! ```
//!
//! Nothing is stored: a response is computed from the latest state. Everything is read-only. The API server authorizes a
//! request before it forwards it.

mod chunks;
mod discovery;
mod error;
mod list;
mod names;
mod openapi;
mod request;
mod resource;
mod selector;
mod serve;
mod table;
#[cfg(test)]
mod tests;
mod versions;
mod watch;

use std::io::Write;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};

pub(crate) use self::serve::serve;

use self::chunks::{ChunkWriter, chunks};
use self::error::ApiError;
use self::list::{ListQuery, write_one};
use self::request::{RequestParameters, RequestTarget};
use self::resource::Resource;
use self::versions::{Extent, Versioned, Versions};
use self::watch::WatchQuery;
use crate::state::StateReader;

/// The API group.
pub const GROUP: &str = "effective.attache.dev";

/// The version of the API.
pub const VERSION: &str = "v1alpha1";

/// Both.
const API_VERSION: &str = "effective.attache.dev/v1alpha1";

const JSON: [(axum::http::HeaderName, &str); 1] = [(CONTENT_TYPE, "application/json")];

/// Where responses are computed from.
#[derive(Clone, Debug)]
struct EffectivePolicyApi {
    reader: StateReader,
    versions: Arc<Versions>,
}

/// The API. It does not authenticate clients: see [`FrontProxy`](crate::FrontProxy).
pub fn router(reader: StateReader) -> Router {
    Router::new().fallback(answer).with_state(EffectivePolicyApi { reader, versions: Arc::new(Versions::new()) })
}

async fn answer(State(server): State<EffectivePolicyApi>, request: Request) -> Response {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let user = headers.get("x-remote-user").and_then(|value| value.to_str().ok()).unwrap_or_default();
    tracing::debug!(%method, %uri, user, "a request for effective policies");
    server.answer(method, uri, headers).await.unwrap_or_else(IntoResponse::into_response)
}

impl EffectivePolicyApi {
    async fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Response, ApiError> {
        let target = RequestTarget::find(uri.path())?;
        if !matches!(*method, Method::GET | Method::HEAD) {
            return Err(ApiError::MethodNotAllowed);
        }
        match target {
            RequestTarget::Groups => Ok(discovery::groups(headers)),
            RequestTarget::Group => Ok(discovery::group()),
            RequestTarget::Resources => Ok(discovery::resources()),
            RequestTarget::OpenApiV2 => Ok(openapi::v2()),
            RequestTarget::OpenApiV3Index => Ok(openapi::v3_index()),
            RequestTarget::OpenApiV3 => Ok(openapi::v3()),
            RequestTarget::Collection(resource, namespace) => {
                let parameters = RequestParameters::parse(resource, uri, headers)?;
                let query = ListQuery { resource, namespace, parameters };
                if query.parameters.watch { self.watch(query) } else { self.list(query) }
            }
            RequestTarget::One(resource, namespace, name) => {
                let parameters = RequestParameters::parse(resource, uri, headers)?;
                let latest = self.latest(&Extent { resource, namespace: Some(namespace.clone()) })?;
                let answer = move || one(&latest, resource, &namespace, name, &parameters);
                tokio::task::spawn_blocking(answer).await.map_err(|_| ApiError::Internal)?
            }
        }
    }

    fn latest(&self, extent: &Extent) -> Result<Arc<Versioned>, ApiError> {
        self.reader.latest().map(|state| self.versions.keep(&state, extent)).ok_or(ApiError::NotReady)
    }

    fn list(&self, query: ListQuery) -> Result<Response, ApiError> {
        let state = query.state(&self.versions, self.latest(&query.extent())?)?;
        let (sender, body) = chunks();
        tokio::task::spawn_blocking(move || {
            let mut writer = ChunkWriter::new(sender);
            query.write(&state, &mut writer).and_then(|()| writer.flush())
        });
        Ok((JSON, body).into_response())
    }

    fn watch(&self, query: ListQuery) -> Result<Response, ApiError> {
        let watch = WatchQuery { query, reader: self.reader.clone(), versions: Arc::clone(&self.versions) };
        self.latest(&watch.query.extent())?;
        let start = watch.start()?;
        Ok((JSON, watch.body(start)).into_response())
    }
}

/// One object.
fn one(
    state: &Versioned,
    resource: Resource,
    namespace: &str,
    name: String,
    parameters: &RequestParameters,
) -> Result<Response, ApiError> {
    let mut entries = resource.entries(state.snapshot(), Some(namespace)).filter(|entry| entry.name() == name);
    let found = entries.find_map(|entry| Some((entry.api_object(state.version)?, entry)));
    let Some((object, entry)) = found else { return Err(ApiError::NotFound { resource: resource.plural(), name }) };
    let body = write_one(&object, &entry, parameters.format, resource).map_err(|_| ApiError::Internal)?;
    Ok((StatusCode::OK, JSON, body).into_response())
}
