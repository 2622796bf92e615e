//! The effects of filters on a request.

use attache_engine::ObjectRef;
use attache_engine::request::{
    self, ExtensionFilter, FilterEffects, HeaderChange, HeaderOperation, Mirror, Request, header_after,
};
use serde::Serialize;

use super::InvalidBackendDocument;

/// The effects of the filters of a rule or backend.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FiltersDocument {
    /// The backends that receive copies of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<MirrorDocument>,
    /// The redirect of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<RedirectDocument>,
    /// The host and path that the backend receives, if they differ from those of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<RewriteDocument>,
    /// Changes of headers of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<HeaderDocument>,
    /// Changes of headers of the response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers: Vec<HeaderDocument>,
    /// The response of the gateway, if a filter makes it respond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct_response: Option<DirectResponseDocument>,
    /// Other filters, such as an ExtensionRef: `Kind/namespace/name`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The known effect of each of the other filters.
    #[serde(skip)]
    pub extensions: Vec<ExtensionFilter>,
    /// The decision of a CORS filter.
    #[serde(skip)]
    pub cors: Option<CorsDocument>,
}

/// A copy of a request.
#[derive(Clone, Debug, Serialize)]
pub struct MirrorDocument {
    /// The object that the filter refers to. It may not exist.
    pub backend: ObjectRef,
    /// Its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,
    /// The share of requests that are copied, in percent.
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

/// The response of a gateway that does not forward the request.
#[derive(Clone, Debug, Serialize)]
pub struct DirectResponseDocument {
    /// The filter that defines the response.
    pub filter: ObjectRef,
    /// The HTTP status.
    pub status: u16,
}

/// The host and path that the backend receives, if they differ from those of the client.
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
    /// The value that is set or added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// For a header of the request: the value that the backend receives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// The decision of a CORS filter about the origin of a request.
#[derive(Clone, Debug)]
pub struct CorsDocument {
    /// The origin, if it is allowed.
    pub origin: Option<String>,
}

impl FiltersDocument {
    /// `before` are the header changes by filters that the request passes first.
    pub(super) fn new(request: &Request, before: &[HeaderChange], effects: &FilterEffects) -> FiltersDocument {
        let changes = [before, &effects.request_headers].concat();
        let header_result = |it: &HeaderChange| HeaderDocument {
            result: header_after(request, &changes, &it.name),
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
            direct_response: effects
                .direct_response
                .as_ref()
                .map(|it| DirectResponseDocument { filter: it.filter.clone(), status: it.status }),
            filters: effects.extensions.iter().map(|filter| filter.name.to_string()).collect(),
            extensions: effects.extensions.clone(),
            cors: effects.cors.as_ref().map(|cors| CorsDocument { origin: cors.origin.clone() }),
        }
    }
}

impl MirrorDocument {
    fn new(mirror: &Mirror) -> MirrorDocument {
        let Mirror { backend, percent } = mirror;
        MirrorDocument {
            backend: backend.id.clone(),
            port: backend.port,
            percent: *percent,
            invalid: backend.fault().map(InvalidBackendDocument::from),
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
