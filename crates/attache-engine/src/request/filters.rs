//! What the filters of a rule do to a request: in the order in which they are listed.

use super::backends::{Backend, Resolve};
use super::client::Request;
use super::cors::{self, Cors};
use super::matching::below;
use crate::object::Object;
use crate::value::Value;

/// What has been done to a request.
#[derive(Debug, Default)]
pub struct FilterEffects {
    pub redirect: Option<Redirect>,
    pub rewrite: Rewrite,
    /// Of the request, on its way to the backend.
    pub request_headers: Vec<HeaderChange>,
    /// Of the answer, on its way back.
    pub response_headers: Vec<HeaderChange>,
    pub mirrors: Vec<Mirror>,
    pub cors: Option<Cors>,
    /// Filters beyond the Gateway API's own, as `Kind/namespace/name` or by their type.
    pub extensions: Vec<String>,
    /// Why the request cannot be served, though it has a backend.
    pub fault: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub scheme: String,
    pub host: String,
    pub port: u16,
    pub path: String,
    pub status: u16,
}

/// What the backend sees instead of what the client asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    pub host: Option<String>,
    pub path: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderOperation {
    Set,
    Add,
    Remove,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    pub change: HeaderOperation,
    pub name: String,
    /// What is set or added.
    pub value: Option<String>,
}

/// A copy of the request, whose answer nobody sees.
#[derive(Debug)]
pub struct Mirror {
    pub backend: Backend,
    /// How many of all requests are copied.
    pub percent: f64,
}

impl Rewrite {
    pub fn is_empty(&self) -> bool {
        self.host.is_none() && self.path.is_none()
    }
}

impl Redirect {
    /// The `Location` header. The port is left out where it goes without saying.
    pub fn location(&self, query: Option<&str>) -> String {
        let Redirect { scheme, host, port, path, .. } = self;
        let port = if well_known_port(scheme) == Some(*port) { String::new() } else { format!(":{port}") };
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{scheme}://{host}{port}{path}{query}")
    }
}

impl FilterEffects {
    /// Takes note of the filters of a route. `prefix` is the path prefix by which the request came, and `port` the
    /// one at which.
    pub fn apply(
        &mut self,
        resolve: &Resolve<'_>,
        request: &Request,
        route: &Object,
        filters: &[Value],
        prefix: Option<&str>,
    ) {
        for filter in filters {
            let kind = filter.get_str("type").unwrap_or_default();
            let part = |field: &str| filter.get(field).unwrap_or(&Value::Null);
            match kind {
                "RequestHeaderModifier" => change_headers(part("requestHeaderModifier"), &mut self.request_headers),
                "ResponseHeaderModifier" => change_headers(part("responseHeaderModifier"), &mut self.response_headers),
                "RequestMirror" => self.mirrors.extend(mirror(resolve, route, part("requestMirror"))),
                "RequestRedirect" if self.redirect.is_none() => {
                    self.redirect = Some(redirect(request, part("requestRedirect"), prefix));
                }
                "URLRewrite" => self.rewrite(request, part("urlRewrite"), prefix),
                "CORS" => self.cors = cors::read(request, part("cors")).or(self.cors.take()),
                "ExtensionRef" => self.extend(resolve, route, part("extensionRef")),
                "RequestRedirect" => {}
                other => self.extensions.push(other.to_owned()),
            }
        }
    }

    fn rewrite(&mut self, request: &Request, filter: &Value, prefix: Option<&str>) {
        if let Some(host) = filter.get_str("hostname") {
            self.rewrite.host = Some(host.to_owned());
        }
        if let Some(path) = filter.get("path") {
            self.rewrite.path = Some(replaced(&request.path, path, prefix));
        }
    }

    fn extend(&mut self, resolve: &Resolve<'_>, route: &Object, reference: &Value) {
        let part = |field| reference.get_str(field).unwrap_or_default();
        let (group, kind, name) = (part("group"), part("kind"), part("name"));
        let full_name = format!("{kind}/{}/{name}", route.id.namespace);
        if resolve.view.objects.lookup(group, kind, &route.id.namespace, name).is_none() && self.fault.is_none() {
            self.fault = Some(format!("its filter {full_name} does not exist"));
        }
        self.extensions.push(full_name);
    }
}

/// `set` overwrites, then `add` appends, then `remove` deletes, as proxies do it whatever the order in the filter.
fn change_headers(filter: &Value, changes: &mut Vec<HeaderChange>) {
    for (field, change) in [("set", HeaderOperation::Set), ("add", HeaderOperation::Add)] {
        changes.extend(filter.list_at(field).iter().map(|header| HeaderChange {
            change,
            name: header.get_str("name").unwrap_or_default().to_owned(),
            value: Some(header.get_str("value").unwrap_or_default().to_owned()),
        }));
    }
    let removed = filter.list_at("remove").iter().filter_map(Value::as_str);
    changes.extend(removed.map(|name| HeaderChange {
        change: HeaderOperation::Remove,
        name: name.to_owned(),
        value: None,
    }));
}

/// What a header has become after some changes; nothing if it is not sent any more.
pub fn header_after(request: &Request, changes: &[HeaderChange], name: &str) -> Option<String> {
    let changes = changes.iter().filter(|change| change.name.eq_ignore_ascii_case(name));
    changes.fold(request.header(name), |now, HeaderChange { change, value, .. }| match (change, now) {
        (HeaderOperation::Remove, _) => None,
        (HeaderOperation::Add, Some(now)) => Some(format!("{now},{}", value.as_deref().unwrap_or_default())),
        (HeaderOperation::Set | HeaderOperation::Add, _) => value.clone(),
    })
}

fn mirror(resolve: &Resolve<'_>, route: &Object, filter: &Value) -> Option<Mirror> {
    let backend = resolve.backend(route, filter.get("backendRef")?)?;
    let number = |value: &Value, field| value.get(field).and_then(Value::as_int);
    let fraction = filter.get("fraction");
    let (copied, of) = match (number(filter, "percent"), fraction) {
        (Some(percent), _) => (percent, 100),
        (None, Some(fraction)) => {
            (number(fraction, "numerator").unwrap_or(0), number(fraction, "denominator").unwrap_or(100))
        }
        (None, None) => (100, 100),
    };
    Some(Mirror { backend, percent: copied as f64 * 100.0 / of.max(1) as f64 })
}

fn redirect(request: &Request, filter: &Value, prefix: Option<&str>) -> Redirect {
    let own_scheme = filter.get_str("scheme").map(str::to_ascii_lowercase);
    let port = filter.get("port").and_then(Value::as_int).and_then(|port| u16::try_from(port).ok());
    let port = port.or_else(|| well_known_port(own_scheme.as_deref()?)).unwrap_or(request.port);
    let status = filter.get("statusCode").and_then(Value::as_int).and_then(|status| u16::try_from(status).ok());
    Redirect {
        scheme: own_scheme.unwrap_or_else(|| request.scheme.name().to_owned()),
        host: filter.get_str("hostname").unwrap_or(&request.host).to_owned(),
        port,
        path: filter.get("path").map_or_else(|| request.path.clone(), |path| replaced(&request.path, path, prefix)),
        status: status.unwrap_or(302),
    }
}

fn well_known_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// A path after `ReplaceFullPath` or `ReplacePrefixMatch`. The latter needs a prefix, by which the request came.
fn replaced(path: &str, modifier: &Value, prefix: Option<&str>) -> String {
    let text = |field| modifier.get_str(field).unwrap_or_default();
    let replaced = match modifier.get_str("type") {
        Some("ReplaceFullPath") => text("replaceFullPath").to_owned(),
        _ => match prefix.and_then(|prefix| below(path, prefix)) {
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
    fn prefixes_are_replaced_as_the_gateway_api_has_it() {
        for (path, prefix, by, expected) in [
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
            let modifier = json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": by}).into();
            assert_eq!(replaced(path, &modifier, Some(prefix)), expected, "{path} {prefix} {by}");
        }
    }

    #[test]
    fn headers_are_set_added_to_and_removed_whatever_their_case() {
        let mut request = Request::parse("GET", "http://x").unwrap();
        for line in ["x-set: old", "x-add: old", "x-remove: old"] {
            request.add_header(line).unwrap();
        }
        let filter = json!({
            "set": [{"name": "X-Set", "value": "new"}],
            "add": [{"name": "X-Add", "value": "new"}, {"name": "X-New", "value": "new"}],
            "remove": ["X-Remove"],
        });
        let mut changes = Vec::new();
        change_headers(&filter.into(), &mut changes);
        let after = |name| header_after(&request, &changes, name);
        assert_eq!(after("x-set").as_deref(), Some("new"));
        assert_eq!(after("x-add").as_deref(), Some("old,new"));
        assert_eq!(after("x-new").as_deref(), Some("new"));
        assert_eq!(after("x-remove"), None);
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
