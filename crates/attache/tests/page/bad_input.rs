//! What makes no sense gets an answer that says so.

use std::fmt::Write;
use std::fs;

use tempfile::TempDir;

use crate::browser::tab;
use crate::server::{Server, root};

#[test]
fn made_up_addresses_are_not_found() {
    let server = Server::example("bakery");
    for path in [
        "/object/HTTPRoute.gateway.networking.k8s.io/baker/nope",
        "/object/Nope/baker/nope",
        "/object/HTTPRoute",
        "/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes?section=nope",
        "/object/%00/%ff/%252e%252e",
        "/policy/RetryPolicy.example.io/baker/nope",
        "/topology?object=httproute/nope",
        "/assets/nope.css",
        "/a/b/c/d/e",
    ] {
        let response = server.get(path);
        assert!(response.starts_with("HTTP/1.1 404"), "{path}: {}", response.lines().next().unwrap_or_default());
        assert!(response.contains("<h1>Not found</h1>"), "{path}");
        assert!(!response.contains("broke the server"), "{path}");
    }
}

#[test]
fn nonsense_in_parameters_breaks_nothing() {
    let server = Server::example("bakery");
    let long = "x".repeat(5000);
    for path in [
        "/?from=99999999999999999999&most=-1&kind=%00",
        "/?from=1000000",
        "/rows?from=abc&most=1000000000",
        "/policies?from=5000&status=Nope",
        "/problems?severity=nope&rule=nope",
        "/search?q=%E2%80%AE%00",
        &format!("/search?q={long}"),
        "/topology?namespace=nope",
        "/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes?show=nope",
    ] {
        let status = server.get(path).lines().next().unwrap_or_default().to_owned();
        assert!(status.contains("200") || status.contains("400") || status.contains("404"), "{path}: {status}");
    }
}

#[test]
fn nonsense_in_the_form_of_a_request_is_explained() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    for (url, header, said) in [
        ("not a url", "", "not a url"),
        ("ftp://bakery.example/", "", "ftp"),
        ("http://pay.bakery.example/", "no colon", "no colon"),
        ("http://nobody.example/", "", "no listener accepts it"),
    ] {
        tab.goto(&server.at("/request"));
        tab.click("input[name=url]");
        tab.write(url);
        if !header.is_empty() {
            tab.click_text("Headers, gateway, client");
            tab.click("textarea[name=header]");
            tab.write(header);
        }
        tab.click_text("Follow");
        tab.wait(&format!("location.search && document.querySelector('main section').innerText.includes('{said}')"));
        assert_eq!(tab.eval("document.querySelector('input[name=url]').value"), url, "what was written stays");
        assert_eq!(tab.inaccessible(), Vec::<String>::new(), "{url}");
    }
}

#[test]
fn ten_thousand_policies_on_one_object_are_counted_and_the_first_are_shown() {
    let Some(tab) = tab() else { return };
    let folder = TempDir::new().unwrap();
    let example = root().join("examples/bakery");
    let parts = ["gateway.yaml", "kind.yaml", "baker.yaml"].map(|it| fs::read_to_string(example.join(it)).unwrap());
    let mut manifests = parts.join("\n---\n");
    for i in 0..10_000 {
        write!(
            manifests,
            "\n---\napiVersion: example.io/v1\nkind: RetryPolicy\nmetadata: {{name: p{i:05}, namespace: baker}}\n\
             spec: {{targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: payments}}, retry: {{attempts: {i}}}}}\n"
        )
        .unwrap();
    }
    fs::write(folder.path().join("many.yaml"), manifests).unwrap();
    let server = Server::start(folder.path(), 0);
    let payments = "/object/HTTPRoute.gateway.networking.k8s.io/baker/payments";
    for path in ["/", payments, &format!("{payments}?show=styles"), "/policies", "/topology", "/problems"] {
        tab.goto(&server.at(path));
        assert_eq!(tab.eval("document.querySelectorAll('h1').length"), 1, "{path}");
        assert!(tab.eval("document.documentElement.outerHTML.length").as_u64().unwrap() < 300_000, "{path}");
    }
    tab.goto(&server.at("/policies"));
    tab.wait_for("1–200 of 10\u{202f}001");
    tab.goto(&server.at(&format!("{payments}?show=styles")));
    tab.wait_for("and 9\u{202f}9");
    tab.goto(&server.at("/policy/RetryPolicy.example.io/baker/p00007"));
    tab.wait_for("Overridden");
}
