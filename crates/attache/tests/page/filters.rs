//! Numbers before lists: totals, filtered rows, scopes with the same answer together, rules of a policy.

use std::fs;

use tempfile::TempDir;

use crate::browser::{Tab, tab};
use crate::server::{Server, root};

fn rows(tab: &Tab) -> Vec<String> {
    let rows = tab.eval("[...document.querySelectorAll('#matrix tbody tr[data-key]')].map((it) => it.dataset.key)");
    rows.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn totals_link_to_what_they_count() {
    let Some(tab) = tab() else { return };
    let server = Server::example("rfc-0009");
    for (what, number, path, text) in [
        ("policies", "7", "/policies", "closed-by-default"),
        ("in force", "2", "/policies?status=Enforced", "managers-only"),
        ("partly", "4", "/policies?status=PartiallyEnforced", "fair-use"),
        ("overridden", "1", "/policies?status=Overridden", "christmas"),
        ("warning", "1", "/problems?severity=warning", "never-wins"),
        ("gateway", "1", "/topology", "infra/external"),
    ] {
        tab.goto(&server.at("/"));
        tab.click_text(&format!("{number} {what}"));
        tab.wait(&format!("location.pathname + location.search === '{path}'"));
        tab.wait_for(text);
    }
}

#[test]
fn rows_are_filtered_by_namespace_kind_and_text() {
    let Some(tab) = tab() else { return };
    let server = Server::example("bakery");
    tab.goto(&server.at("/"));
    assert_eq!(rows(&tab).len(), 9);
    // A list needs no button.
    tab.eval("const kind = document.querySelector('.filters select[name=kind]'); kind.value = 'Service'; kind.dispatchEvent(new Event('change', {bubbles: true}))");
    tab.wait("location.search.includes('kind=Service') && document.readyState === 'complete'");
    tab.wait("document.querySelectorAll('#matrix tbody tr[data-key]').length === 5");
    assert!(rows(&tab).iter().all(|row| row.starts_with("Service/")));
    tab.click(".filters input[name=q]");
    tab.write("pay");
    tab.click_text("Filter");
    tab.wait("location.search.includes('q=pay') && document.readyState === 'complete'");
    tab.wait("document.querySelector('#matrix')");
    assert_eq!(rows(&tab), ["Service/baker/payments"]);
    tab.goto(&server.at("/?namespace=nope"));
    tab.wait_for("No route or backend matches.");
    tab.click_text("Show all");
    tab.wait("document.querySelectorAll('#matrix tbody tr[data-key]').length === 9");
}

#[test]
fn rows_with_problems_come_first_on_demand() {
    let Some(tab) = tab() else { return };
    let folder = TempDir::new().unwrap();
    let example = root().join("examples/bakery");
    for file in ["gateway.yaml", "baker.yaml"] {
        fs::copy(example.join(file), folder.path().join(file)).unwrap();
    }
    let route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: zzz, namespace: baker}\n\
                 spec: {parentRefs: [{name: missing, namespace: infra}], rules: [{backendRefs: [{name: nobody, port: 80}]}]}\n";
    fs::write(folder.path().join("zzz.yaml"), route).unwrap();
    let server = Server::start(folder.path(), 0);
    tab.goto(&server.at("/"));
    assert_ne!(rows(&tab)[0], "HTTPRoute/baker/zzz");
    tab.click(".filters input[name=problems]");
    tab.wait("location.search.includes('problems=first') && document.readyState === 'complete'");
    tab.wait("document.querySelector('#matrix')");
    assert_eq!(rows(&tab)[0], "HTTPRoute/baker/zzz");
    tab.wait("document.querySelector('#matrix tbody tr .count.bad')");
}

#[test]
fn scopes_with_the_same_answer_are_shown_once() {
    let Some(tab) = tab() else { return };
    let server = Server::example("rfc-0009");
    tab.goto(&server.at("/object/HTTPRoute.gateway.networking.k8s.io/toys/toystore"));
    tab.wait_for("on 2 HTTPRoute rules:");
    assert_eq!(
        tab.eval(
            "[...document.querySelectorAll('.answer h3')].filter((it) => it.innerText.startsWith('RateLimit')).length"
        ),
        1
    );
}

#[test]
fn each_rule_of_a_policy_has_the_number_of_places_where_it_is_in_force() {
    let Some(tab) = tab() else { return };
    let server = Server::example("rfc-0009");
    tab.goto(&server.at("/policy/RateLimitPolicy.kuadrant.io/infra/fair-use"));
    let rows = tab.eval(
        "[...document.querySelectorAll('#rules ~ .list tbody tr')].map((it) => it.innerText.replace(/\\s+/g, ' ').trim())",
    );
    let expected = [
        "limits.perAddress 2 of 3 removed by RateLimitPolicy toys/same-office",
        "limits.perUser 1 of 3 RateLimitPolicy toys/christmas is more specific",
    ];
    assert_eq!(rows, serde_json::json!(expected));
}
