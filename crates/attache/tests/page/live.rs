//! Changes appear while the page is open.

use std::fs;

use tempfile::TempDir;

use crate::browser::{Tab, tab};
use crate::server::{Server, root};

fn copy_of(example: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    for entry in fs::read_dir(root().join("examples").join(example)).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

const PAYMENTS: &str = "/object/HTTPRoute.gateway.networking.k8s.io/baker/payments";

/// Opens the route of payments, on a copy of the bakery that the test can change.
fn open_payments(tab: &Tab) -> (TempDir, Server) {
    let folder = copy_of("bakery");
    let server = Server::start(folder.path(), 0);
    tab.goto(&server.at(PAYMENTS));
    tab.wait("document.querySelector('.connection.live')");
    tab.leave();
    (folder, server)
}

#[test]
fn an_edited_file_is_shown_where_it_makes_a_difference() {
    let Some(tab) = tab() else { return };
    let (folder, _server) = open_payments(&tab);
    let file = folder.path().join("policies.yaml");
    let policies = fs::read_to_string(&file).unwrap();
    fs::write(&file, policies.replace("backoff: 2s", "backoff: 7s")).unwrap();
    tab.wait_for("backoff: 7s");
    assert_eq!(tab.eval("document.querySelector('.changed .line').innerText.trim()"), "backoff: 7s");
    tab.click_text("Changes");
    tab.wait_for("retry.backoff: 2s");
    tab.wait_for("retry.backoff: 7s");
    tab.wait_for("RetryPolicy baker/be-patient");
}

#[test]
fn nothing_jumps_under_the_pointer() {
    let Some(tab) = tab() else { return };
    let folder = copy_of("bakery");
    let server = Server::start(folder.path(), 0);
    tab.goto(&server.at("/"));
    tab.wait("document.querySelector('.connection.live')");
    tab.eval("document.activeElement.blur()");
    tab.call("Input.dispatchMouseEvent", serde_json::json!({"type": "mouseMoved", "x": 400, "y": 400}));
    tab.wait("document.getElementById('main').matches(':hover')");
    let route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: aaa, namespace: baker}\nspec: {}\n";
    fs::write(folder.path().join("new.yaml"), route).unwrap();
    tab.wait_for("Something changed");
    assert!(!tab.text().contains("baker/aaa"));
    tab.click(".connection button");
    tab.wait_for("baker/aaa");
}

#[test]
fn an_object_that_disappears_is_said_to_be_gone() {
    let Some(tab) = tab() else { return };
    let (folder, _server) = open_payments(&tab);
    fs::remove_file(folder.path().join("baker.yaml")).unwrap();
    tab.wait_for("Not found");
}

#[test]
fn a_lost_connection_is_shown_and_comes_back() {
    let Some(tab) = tab() else { return };
    let (folder, server) = open_payments(&tab);
    let port = server.port();
    drop(server);
    tab.wait_for("No connection");
    let file = folder.path().join("policies.yaml");
    let policies = fs::read_to_string(&file).unwrap();
    fs::write(&file, policies.replace("backoff: 2s", "backoff: 9s")).unwrap();
    let _again = Server::start(folder.path(), port);
    tab.wait_for("backoff: 9s");
    tab.wait("document.querySelector('.connection.live')");
}
