//! Requests of other sites are refused, and no request changes anything.

use crate::server::Server;

#[test]
fn other_hosts_and_origins_are_refused() {
    let server = Server::example("bakery");
    let status = |request: &str| server.send(request).lines().next().unwrap_or_default().to_owned();
    let get = |headers: &str| status(&format!("GET / HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"));
    assert!(get("Host: 127.0.0.1\r\n").contains("200"));
    assert!(get("Host: localhost:7713\r\n").contains("200"));
    assert!(get("Host: rebound.example\r\n").contains("403"));
    assert!(get("Host: 127.0.0.1\r\nOrigin: http://rebound.example\r\n").contains("403"));
    assert!(get("Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n").contains("403"));
    assert!(status("DELETE / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").contains("405"));
}

#[test]
fn every_response_has_a_strict_policy() {
    let server = Server::example("bakery");
    for path in ["/", "/assets/style.css", "/api/summary", "/no/such/page", "/topology.svg"] {
        let response = server.get(path).to_lowercase();
        assert!(
            response.contains("content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}"
        );
        assert!(!response.contains("unsafe"), "{path}");
        assert!(response.contains("x-content-type-options: nosniff"), "{path}");
    }
}
