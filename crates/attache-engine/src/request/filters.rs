//! The effects of the filters of a rule or backendRef, in the order in which they are listed.

use super::backends::{self, Backend};
use super::client_request::Request;
use super::cors::{self, Cors};
use super::extension::{self, DirectResponse, ExtensionEffect, ExtensionFilter, ExtensionName};
use super::headers::{self, HeaderChange};
use super::matching::after_prefix;
use crate::engine_view::EngineView;
use crate::object::{Object, ObjectRef};
use crate::value::Value;

/// The effects of all filters together.
#[derive(Debug, Default)]
pub struct FilterEffects {
    /// The client is redirected.
    pub redirect: Option<Redirect>,
    /// The gateway responds without forwarding the request.
    pub direct_response: Option<DirectResponse>,
    /// The host and path that the backend receives, if they differ from those of the client.
    pub rewrite: Rewrite,
    /// Changes of the headers of the request.
    pub request_headers: Vec<HeaderChange>,
    /// Changes of the headers of the response.
    pub response_headers: Vec<HeaderChange>,
    /// Copies of the request.
    pub mirrors: Vec<Mirror>,
    /// The decision of a CORS filter, for cross-origin requests.
    pub cors: Option<Cors>,
    /// Filters that the Gateway API does not define.
    pub extensions: Vec<ExtensionFilter>,
    /// The first extension filter that does not exist: the request cannot be served.
    pub missing: Option<ObjectRef>,
}

/// A redirect of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The scheme of the new URL.
    pub scheme: String,
    /// The host of the new URL.
    pub host: String,
    /// The port of the new URL.
    pub port: u16,
    /// The path of the new URL.
    pub path: String,
    /// The HTTP status: 302 by default.
    pub status: u16,
}

/// The host and path that the backend receives, if they differ from those of the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// The new host.
    pub host: Option<String>,
    /// The new path.
    pub path: Option<String>,
}

/// A copy of the request. Its response is ignored.
#[derive(Debug)]
pub struct Mirror {
    /// The backend that receives the copy.
    pub backend: Backend,
    /// The share of requests that are copied, in percent.
    pub percent: f64,
}

impl Rewrite {
    /// Whether nothing is rewritten.
    pub fn is_empty(&self) -> bool {
        self.host.is_none() && self.path.is_none()
    }
}

impl Redirect {
    /// The `Location` header. The port is left out if it is the default port of the scheme.
    pub fn location(&self, query: Option<&str>) -> String {
        let Redirect { scheme, host, port, path, .. } = self;
        let port = if default_port(scheme) == Some(*port) { String::new() } else { format!(":{port}") };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{host}{port}{path}{query}")
    }
}

impl FilterEffects {
    /// Adds the effects of a list of filters. `prefix` is the path prefix that the request matched.
    pub(super) fn apply(
        &mut self,
        view: EngineView<'_>,
        request: &Request,
        route: &Object,
        filters: &[Value],
        prefix: Option<&str>,
    ) {
        for filter in filters {
            let settings = |field: &str| filter.get(field).unwrap_or(&Value::Null);
            match filter.get_str("type").unwrap_or_default() {
                "RequestHeaderModifier" => {
                    self.request_headers.extend(headers::read(settings("requestHeaderModifier")));
                }
                "ResponseHeaderModifier" => {
                    self.response_headers.extend(headers::read(settings("responseHeaderModifier")));
                }
                "RequestMirror" => self.mirrors.extend(mirror(view, route, settings("requestMirror"))),
                "RequestRedirect" => {
                    self.redirect.get_or_insert_with(|| redirect(request, settings("requestRedirect"), prefix));
                }
                "URLRewrite" => self.rewrite(request, settings("urlRewrite"), prefix),
                "CORS" => self.cors = cors::read(request, settings("cors")).or(self.cors.take()),
                "ExtensionRef" => self.extend(view, route, settings("extensionRef")),
                other => self.extensions.push(ExtensionFilter {
                    name: ExtensionName::UnknownType(other.to_owned()),
                    effect: ExtensionEffect::Unknown,
                }),
            }
        }
    }

    fn rewrite(&mut self, request: &Request, filter: &Value, prefix: Option<&str>) {
        if let Some(host) = filter.get_str("hostname") {
            self.rewrite.host = Some(host.to_owned());
        }
        if let Some(path) = filter.get("path") {
            self.rewrite.path = Some(replaced_path(&request.path, path, prefix));
        }
    }

    fn extend(&mut self, view: EngineView<'_>, route: &Object, reference: &Value) {
        let (filter, response) = extension::read(view, route, reference);
        if let ExtensionFilter { name: ExtensionName::Object(id), effect: ExtensionEffect::Missing } = &filter {
            self.missing.get_or_insert_with(|| id.clone());
        }
        self.direct_response = self.direct_response.take().or(response);
        self.extensions.push(filter);
    }

    /// Whether a filter of an unknown kind may respond to the request.
    pub fn may_answer(&self) -> bool {
        self.extensions.iter().any(|filter| filter.effect == ExtensionEffect::Unknown)
    }
}

fn mirror(view: EngineView<'_>, route: &Object, filter: &Value) -> Option<Mirror> {
    let backend = backends::backend(view, route, filter.get("backendRef")?)?;
    let number = |value: &Value, field| value.get(field).and_then(Value::as_int);
    let (numerator, denominator) = match (number(filter, "percent"), filter.get("fraction")) {
        (Some(percent), _) => (percent, 100),
        (None, Some(fraction)) => {
            (number(fraction, "numerator").unwrap_or(0), number(fraction, "denominator").unwrap_or(100))
        }
        (None, None) => (100, 100),
    };
    Some(Mirror { backend, percent: numerator as f64 * 100.0 / denominator.max(1) as f64 })
}

fn redirect(request: &Request, filter: &Value, prefix: Option<&str>) -> Redirect {
    let scheme = filter.get_str("scheme").map(str::to_ascii_lowercase);
    let port = filter.get("port").and_then(Value::as_int).and_then(|port| u16::try_from(port).ok());
    let port = port.or_else(|| default_port(scheme.as_deref()?)).unwrap_or(request.port);
    let status = filter.get("statusCode").and_then(Value::as_int).and_then(|status| u16::try_from(status).ok());
    let path = filter.get("path").map(|path| replaced_path(&request.path, path, prefix));
    Redirect {
        scheme: scheme.unwrap_or_else(|| request.scheme.name().to_owned()),
        host: filter.get_str("hostname").unwrap_or(&request.host).to_owned(),
        port,
        path: path.unwrap_or_else(|| request.path.clone()),
        status: status.unwrap_or(302),
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// A path after `ReplaceFullPath` or `ReplacePrefixMatch`. The latter needs the prefix that the request matched.
fn replaced_path(path: &str, modifier: &Value, prefix: Option<&str>) -> String {
    let text = |field| modifier.get_str(field).unwrap_or_default();
    let replaced = match modifier.get_str("type") {
        Some("ReplaceFullPath") => text("replaceFullPath").to_owned(),
        _ => match prefix.and_then(|prefix| after_prefix(path, prefix)) {
            Some(rest) => format!("{}{rest}", text("replacePrefixMatch").trim_end_matches('/')),
            None => path.to_owned(),
        },
    };
    if replaced.is_empty() { "/".to_owned() } else { replaced }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prefixes_are_replaced_as_the_gateway_api_specifies() {
        for (path, prefix, replacement, expected) in [
            ("/foo/bar", "/foo", "/xyz", "/xyz/bar"),
            ("/foo/bar", "/foo", "/xyz/", "/xyz/bar"),
            ("/foo/bar", "/foo/", "/xyz", "/xyz/bar"),
            ("/foo/bar", "/foo/", "/xyz/", "/xyz/bar"),
            ("/foo", "/foo", "/xyz", "/xyz"),
            ("/foo/", "/foo", "/xyz", "/xyz/"),
            ("/foo/bar", "/foo", "", "/bar"),
            ("/foo/", "/foo", "", "/"),
            ("/foo", "/foo", "", "/"),
            ("/foo/", "/foo", "/", "/"),
            ("/foo", "/foo", "/", "/"),
            ("/foo", "/", "/xyz", "/xyz/foo"),
        ] {
            let modifier = json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": replacement}).into();
            assert_eq!(replaced_path(path, &modifier, Some(prefix)), expected, "{path} {prefix} {replacement}");
        }
    }

    #[test]
    fn the_port_of_a_redirect_follows_its_scheme() {
        let request = Request::parse("GET", "http://x:8080/a?b").unwrap();
        let to = |filter: serde_json::Value| redirect(&request, &filter.into(), None).location(Some("b"));
        assert_eq!(to(json!({})), "http://x:8080/a?b");
        assert_eq!(to(json!({"scheme": "https"})), "https://x/a?b");
        assert_eq!(to(json!({"scheme": "https", "port": 8443})), "https://x:8443/a?b");
        assert_eq!(to(json!({"port": 80, "hostname": "y"})), "http://y/a?b");
    }
}
