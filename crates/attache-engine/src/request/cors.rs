//! CORS filters: the gateway itself answers preflight requests.

use super::client_request::Request;
use crate::value::Value;

/// The decision of a CORS filter about a cross-origin request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// The origin of the request, if the filter allows it.
    pub origin: Option<String>,
    /// Whether the request is a preflight, which asks whether another request may be sent.
    pub preflight: bool,
}

/// `None` for a request that is not cross-origin.
pub fn read(request: &Request, filter: &Value) -> Option<Cors> {
    let origin = request.header("origin")?;
    let mut allowed = filter.list_at("allowOrigins").iter().filter_map(Value::as_str);
    let preflight = request.method == "OPTIONS" && request.header("access-control-request-method").is_some();
    Some(Cors { origin: allowed.any(|allowed| allows(allowed, &origin)).then_some(origin), preflight })
}

/// `*` alone allows any origin; within a host it stands for one or more labels.
fn allows(allowed: &str, origin: &str) -> bool {
    match allowed.split_once('*') {
        None => allowed.eq_ignore_ascii_case(origin),
        Some(("", "")) => true,
        Some((before, after)) => {
            let starts = origin.get(..before.len()).is_some_and(|start| start.eq_ignore_ascii_case(before));
            let end = origin.len().checked_sub(after.len()).and_then(|at| origin.get(at..));
            starts
                && end.is_some_and(|end| end.eq_ignore_ascii_case(after))
                && origin.len() > before.len() + after.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_allowed_by_name_or_by_wildcard() {
        for (allowed, origin, expected) in [
            ("*", "https://x.com:123", true),
            ("https://x.com", "https://X.com", true),
            ("https://x.com", "http://x.com", false),
            ("https://*.x.com", "https://a.b.x.com", true),
            ("https://*.x.com", "https://.x.com", false),
            ("https://*.x.com", "https://x.com", false),
            ("https://*", "https://x.com:8443", true),
        ] {
            assert_eq!(allows(allowed, origin), expected, "{allowed} {origin}");
        }
    }
}
