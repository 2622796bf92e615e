//! Keeps other web sites out.
//!
//! The server listens on loopback, where every program of the machine, and through the browser every web site, can send
//! requests. A site that rebinds its own name to 127.0.0.1 sends that name as the host, so only addresses and
//! `localhost` are served. A site that sends a request to 127.0.0.1 cannot read the response, and is refused by its
//! origin.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Only the assets, which are part of the program, are loaded; nothing is framed or sent elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer`, the origin of the page's own forms would be `null`.
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Refuses requests from other sites, and sets the headers that restrict pages.
pub async fn guard(request: Request, next: Next) -> Response {
    let mut response = match refusal(request.headers(), request.uri()) {
        Some(reason) => (StatusCode::FORBIDDEN, reason).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Why a request is refused.
fn refusal(headers: &HeaderMap, uri: &Uri) -> Option<&'static str> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(&HOST).or_else(|| uri.authority().map(|authority| authority.as_str())).unwrap_or_default();
    if headers.get_all(HOST).iter().count() > 1 || !is_address(host) {
        return Some("this host name is not served: use 127.0.0.1 or localhost\n");
    }
    let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
    if text(&ORIGIN).is_some_and(|origin| !is_own(origin)) {
        return Some("requests from other origins are not served\n");
    }
    // A link on another site may lead here, but scripts, images and frames may not.
    let site = text(&HeaderName::from_static("sec-fetch-site"));
    let mode = text(&HeaderName::from_static("sec-fetch-mode"));
    if matches!(site, Some("cross-site" | "same-site")) && mode != Some("navigate") {
        return Some("requests from other sites are not served\n");
    }
    None
}

/// Whether a host is `localhost` or an IP address, with or without a port.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(lines: &[(&'static str, &str)]) -> bool {
        let lines = lines.iter().map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header value"))
        });
        refusal(&lines.collect(), &Uri::from_static("/")).is_some()
    }

    #[test]
    fn only_addresses_and_localhost_are_served() {
        for host in ["127.0.0.1:7713", "localhost:7713", "LOCALHOST", "[::1]:7713", "192.168.1.4:80"] {
            assert!(!refused(&[("host", host)]), "{host}");
        }
        for host in ["", "evil.example", "evil.example:7713", "localhost.evil.example", "127.0.0.1.evil.example:7713"] {
            assert!(refused(&[("host", host)]), "{host}");
        }
        assert!(refused(&[]));
    }

    #[test]
    fn other_origins_and_sites_are_not_served() {
        let host = ("host", "127.0.0.1:7713");
        assert!(!refused(&[host, ("origin", "http://127.0.0.1:7713"), ("sec-fetch-site", "same-origin")]));
        for origin in ["null", "http://evil.example", "https://127.0.0.1:7713", "http://127.0.0.1:80"] {
            assert!(refused(&[host, ("origin", origin)]), "{origin}");
        }
        assert!(refused(&[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
        assert!(!refused(&[host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
    }
}
