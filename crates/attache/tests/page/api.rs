//! The documents under `/api` are those that the commands print.

use std::process::Command;

use serde_json::Value;

use crate::server::{Server, root};

/// A path under `/api`, and the command that prints the same.
const SAME: [(&str, &str); 14] = [
    ("describe?object=httproute/cakes", "describe httproute/cakes"),
    ("describe?object=retrypolicy/be-patient", "describe retrypolicy/be-patient"),
    ("effective?object=httproute/cakes&kind=RetryPolicy", "effective httproute/cakes --kind RetryPolicy"),
    ("explain?object=httproute/cakes&field=attempts", "explain httproute/cakes attempts"),
    ("explain?object=httproute/payments&steps", "explain httproute/payments --steps"),
    ("reach?object=retrypolicy/be-patient&rule=attempts", "reach retrypolicy/be-patient --rule attempts"),
    ("request?url=http://pay.bakery.example/", "request GET http://pay.bakery.example/ --why"),
    ("plan?delete=retrypolicy/be-patient", "plan --delete retrypolicy/be-patient"),
    ("topology?namespace=baker", "topology -n baker"),
    ("audit?require=RetryPolicy&on=route", "audit --require RetryPolicy --on route"),
    ("lint", "lint"),
    ("status", "status"),
    ("get/policies?namespace=baker", "get policies -n baker"),
    ("get/kinds", "get kinds"),
];

fn printed(command: &str) -> Value {
    let words = command.split(' ').chain(["-o", "json", "-f", "examples/bakery"]);
    let output = Command::new(env!("CARGO_BIN_EXE_attache")).args(words).current_dir(root()).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{command}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn served(server: &Server, path: &str) -> (String, Value) {
    let response = server.get(&format!("/api/{path}"));
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), serde_json::from_str(body).unwrap())
}

#[test]
fn a_document_is_what_the_command_prints() {
    let server = Server::example("bakery");
    for (path, command) in SAME {
        assert_eq!(served(&server, path).1, printed(command), "{path}");
    }
    assert_eq!(served(&server, "get/scopes").1["kind"], "ScopeList");
}

#[test]
fn documents_of_the_page_alone_say_what_they_are() {
    let server = Server::example("bakery");
    for (path, kind) in [
        ("summary", "Summary"),
        ("matrix", "Matrix"),
        ("lineage?object=httproute/cakes", "Lineage"),
        ("samples?object=httproute/cakes", "RequestSamples"),
        ("changes", "ChangeList"),
    ] {
        assert_eq!(served(&server, path).1["kind"], kind, "{path}");
    }
}

#[test]
fn a_question_without_an_answer_is_an_error_with_a_status() {
    let server = Server::example("bakery");
    for (path, status, message) in [
        ("describe?object=httproute/nope", "404", "`nope`"),
        ("describe", "400", "no object is given"),
        ("audit", "400", "no requirement given"),
        ("audit?require=RetryPolicy&on=moon", "400", "`moon` is not a level"),
        ("request?url=%3A%3A", "400", ""),
        ("nope", "404", "no such page"),
    ] {
        let (line, document) = served(&server, path);
        assert!(line.contains(status), "{path}: {line}");
        assert_eq!(document["kind"], "Error", "{path}");
        assert!(document["message"].as_str().unwrap().contains(message), "{path}: {document}");
    }
}
