//! What filters do to a request.

use attache_engine::request::{self, FilterEffects, HeaderChange, HeaderOperation, Mirror, Request, header_after};
use serde::Serialize;

use super::InvalidBackendDocument;

/// What the filters of a rule, or of a backend, do.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FiltersDocument {
    /// Where copies of the request go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<MirrorDocument>,
    /// Where the client is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectDocument>,
    /// What the backend receives instead of what the client asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<RewriteDocument>,
    /// Changes of headers of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<HeaderDocument>,
    /// Changes of headers of the response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers: Vec<HeaderDocument>,
    /// Other filters, such as an ExtensionRef: `Kind/namespace/name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// What CORS says about the origin of the request.
    #[serde(skip)]
    pub cors: Option<CorsDocument>,
}

/// Where copies of a request go.
#[derive(Clone, Debug, Serialize)]
pub struct MirrorDocument {
    /// The backend.
    pub backend: String,
    /// Its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// How many of all requests are copied.
    pub percent: f64,
    /// Why no copy arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<InvalidBackendDocument>,
}

/// A redirect.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs)]
pub struct RedirectDocument {
    pub scheme: String,
    pub host: String,
    pub port: u16,
    pub path: String,
    /// The HTTP status.
    pub status: u16,
    /// The `Location` header.
    #[serde(skip)]
    pub location: String,
}

/// What the backend receives instead of what the client asked for.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs)]
pub struct RewriteDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A change of a header.
#[derive(Clone, Debug, Serialize)]
pub struct HeaderDocument {
    /// `Set`, `Add` or `Remove`.
    pub change: &'static str,
    /// The name of the header.
    pub name: String,
    /// What is set or added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// For a header of the request: the value that the backend receives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// What CORS says about the origin of a request.
#[derive(Clone, Debug)]
pub struct CorsDocument {
    /// The origin, if it is allowed.
    pub origin: Option<String>,
}

impl FiltersDocument {
    pub(super) fn new(request: &Request, effects: &FilterEffects) -> FiltersDocument {
        let header_result = |it: &HeaderChange| HeaderDocument {
            result: header_after(request, &effects.request_headers, &it.name),
            ..HeaderDocument::new(it)
        };
        let redirect = |it: &request::Redirect| RedirectDocument {
            scheme: it.scheme.clone(),
            host: it.host.clone(),
            port: it.port,
            path: it.path.clone(),
            status: it.status,
            location: it.location(request.query.as_deref()),
        };
        let rewrite = &effects.rewrite;
        FiltersDocument {
            mirrors: effects.mirrors.iter().map(MirrorDocument::new).collect(),
            redirect: effects.redirect.as_ref().map(redirect),
            rewrite: (!rewrite.is_empty())
                .then(|| RewriteDocument { host: rewrite.host.clone(), path: rewrite.path.clone() }),
            request_headers: effects.request_headers.iter().map(header_result).collect(),
            response_headers: effects.response_headers.iter().map(HeaderDocument::new).collect(),
            filters: effects.extensions.iter().map(ToString::to_string).collect(),
            cors: effects.cors.as_ref().map(|cors| CorsDocument { origin: cors.origin.clone() }),
        }
    }
}

impl MirrorDocument {
    fn new(mirror: &Mirror) -> MirrorDocument {
        let Mirror { backend, percent } = mirror;
        MirrorDocument {
            backend: backend.id.to_string(),
            port: backend.port,
            percent: *percent,
            invalid: backend.resolved.as_ref().err().map(InvalidBackendDocument::from),
        }
    }
}

impl HeaderDocument {
    fn new(header: &HeaderChange) -> HeaderDocument {
        let change = match header.operation {
            HeaderOperation::Set => "Set",
            HeaderOperation::Add => "Add",
            HeaderOperation::Remove => "Remove",
        };
        HeaderDocument { change, name: header.name.clone(), value: header.value.clone(), result: None }
    }
}
