//! Every view, on every example.

use std::fs;

use tempfile::TempDir;

use crate::browser::{Tab, tab};
use crate::server::{Server, root};

const VIEWS: [&str; 9] =
    ["/", "/policies", "/problems", "/topology", "/request", "/plan", "/changes", "/?q=zzz", "/no/such/page"];

fn check(tab: &Tab, address: &str) {
    for is_dark in [false, true] {
        tab.dark(is_dark);
        let found = tab.inaccessible();
        assert!(found.is_empty(), "{address}, dark: {is_dark}\n{}", found.join("\n"));
    }
    assert_eq!(tab.violations(), Vec::<String>::new(), "{address}");
}

fn check_example(name: &str, more: &[&str]) {
    let Some(tab) = tab() else { return };
    let server = Server::example(name);
    for path in VIEWS.iter().chain(more) {
        tab.goto(&server.at(path));
        assert_ne!(tab.eval("document.title"), "", "{path}");
        assert_eq!(tab.eval("document.querySelectorAll('h1').length"), 1, "{path}");
        check(&tab, path);
    }
}

#[test]
fn every_view_of_the_bakery_is_accessible() {
    check_example(
        "bakery",
        &[
            "/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes",
            "/object/HTTPRoute.gateway.networking.k8s.io/baker/payments?show=styles",
            "/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes?section=orders",
            "/object/Gateway.gateway.networking.k8s.io/infra/main",
            "/object/Namespace/baker",
            "/policy/RetryPolicy.example.io/baker/be-patient",
            "/request?url=http://bakery.example/cakes",
            "/plan?delete=retrypolicy/be-patient",
            "/plan?edit=retrypolicy/be-patient",
            "/topology?object=httproute/cakes",
        ],
    );
}

#[test]
fn every_view_of_rfc_9_is_accessible() {
    check_example(
        "rfc-0009",
        &[
            "/object/HTTPRoute.gateway.networking.k8s.io/toys/toystore",
            "/object/HTTPRoute.gateway.networking.k8s.io/toys/toystore?show=styles",
            "/policy/RateLimitPolicy.kuadrant.io/infra/fair-use",
            "/request?url=http://store.toys.example/admin",
        ],
    );
}

#[test]
fn every_view_of_envoy_gateway_and_kgateway_is_accessible() {
    check_example("envoy-gateway", &[]);
    check_example("kgateway", &[]);
}

#[test]
fn every_view_of_kuadrant_and_of_an_own_kind_is_accessible() {
    check_example("kuadrant", &[]);
    check_example("own-kind", &[]);
}

#[test]
fn a_narrow_window_needs_no_horizontal_scrolling() {
    let Some(tab) = tab() else { return };
    let server = Server::example("rfc-0009");
    tab.resize(400, 800);
    for path in VIEWS.iter().chain(&[
        "/object/HTTPRoute.gateway.networking.k8s.io/toys/toystore?show=styles",
        "/policy/RateLimitPolicy.kuadrant.io/infra/fair-use",
        "/request?url=http://store.toys.example/admin",
    ]) {
        tab.goto(&server.at(path));
        assert_eq!(tab.eval("document.documentElement.scrollWidth <= 400"), true, "{path}");
        check(&tab, path);
    }
}

#[test]
fn a_page_is_complete_without_script() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.without_script();
    tab.goto(&server.at("/object/HTTPRoute.gateway.networking.k8s.io/baker/cakes"));
    tab.click_text("Styles");
    tab.wait_for("overridden by");
    tab.goto(&server.at("/plan?delete=retrypolicy/be-patient"));
    tab.wait_for("retry.attempts: 5");
}

#[test]
fn only_the_rows_that_are_seen_are_sent() {
    let Some(tab) = tab() else { return };
    let folder = TempDir::new().unwrap();
    let mut manifests = fs::read_to_string(root().join("examples/bakery/gateway.yaml")).unwrap();
    for i in 0..3000 {
        manifests += &format!(
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: route-{i:04}, namespace: baker}}\n\
             spec: {{parentRefs: [{{name: main, namespace: infra}}], rules: [{{}}]}}\n"
        );
    }
    fs::write(folder.path().join("routes.yaml"), manifests).unwrap();
    let server = Server::start(folder.path(), 0);
    tab.goto(&server.at("/"));
    tab.wait_for("route-0000");
    assert!(tab.eval("document.querySelectorAll('#matrix tr').length").as_u64().unwrap() < 200);
    tab.eval("document.getElementById('matrix').scrollTop = 1500 * 40");
    tab.wait_for("route-1500");
    tab.eval("document.getElementById('matrix').scrollTop = 1e9");
    tab.wait_for("route-2999");
    assert!(tab.eval("document.querySelectorAll('#matrix tr').length").as_u64().unwrap() < 200);
    assert!(tab.eval("document.documentElement.outerHTML.length").as_u64().unwrap() < 150_000);
    assert_eq!(tab.violations(), Vec::<String>::new());
}

#[test]
fn nothing_to_show_is_said_in_words() {
    let Some(tab) = tab() else { return };
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("one.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    let server = Server::start(folder.path(), 0);
    for path in VIEWS {
        tab.goto(&server.at(path));
        check(&tab, path);
    }
    tab.goto(&server.at("/"));
    tab.wait_for("There are no routes and no backends");
    tab.goto(&server.at("/policies"));
    tab.wait_for("There are no policies of a known kind");
}

#[test]
fn broken_files_are_named_with_their_line_and_the_rest_is_shown() {
    let Some(tab) = tab() else { return };
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("broken.yaml"), "a: [\n").unwrap();
    let bakery = fs::read_to_string(root().join("examples/bakery/gateway.yaml")).unwrap();
    fs::write(folder.path().join("gateway.yaml"), bakery).unwrap();
    let server = Server::start(folder.path(), 0);
    tab.goto(&server.at("/"));
    tab.wait_for("1 part of the input cannot be used");
    tab.click_text("See which");
    tab.wait_for("broken.yaml:1:4");
    tab.wait_for("1 │ a: [");
    check(&tab, "/problems");
}
