//! Long lists are shortened, and end with the command that shows the rest.

use std::fmt::Write;

use super::run_with;

/// A Gateway with a policy, and routes, every third of which has its own policy.
fn many() -> String {
    let mut text = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec: {gatewayClassName: istio, listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: all, namespace: infra, creationTimestamp: 2026-01-01T00:00:00Z}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  defaults: {strategy: merge, rules: {authentication: {key: {apiKey: {}}}}}
"
    .to_owned();
    for i in 10..40 {
        let rules = "{}, ".repeat(if i == 10 { 15 } else { 1 });
        let _ = write!(
            text,
            "---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r{i}, namespace: shop}}
spec: {{parentRefs: [{{name: edge, namespace: infra}}], hostnames: [h{i}.example], rules: [{rules}]}}
"
        );
        if i % 3 == 0 {
            let _ = write!(
                text,
                "---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {{name: own-{i}, namespace: shop, creationTimestamp: 2026-02-01T00:00:00Z}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r{i}}}
  rules: {{authentication: {{key: {{jwt: {{issuer: i{i}}}}}}}}}
"
            );
        }
    }
    text
}

#[test]
fn shortened_lists_end_with_a_command_for_the_rest() {
    let mut shown = String::new();
    for question in [
        "audit --require authpolicy:rules.metadata -n shop",
        "describe ns/shop",
        "describe authpolicy/all",
        "effective --kind authpolicy -n shop",
        "explain httproute/r10",
        "plan --delete authpolicy/all authpolicy/own-12",
        "reach authpolicy/all",
        "status -n shop",
        "topology",
    ] {
        let line = format!("COLUMNS=1000 attache {question} -q -f -");
        let answer = run_with(&line, &many());
        let hints: Vec<String> = answer.lines().filter_map(hint).collect();
        assert!(!hints.is_empty(), "{answer}");
        let _ = writeln!(shown, "$ {line}\n{}", hints.join("\n"));
        for hint in hints {
            let (_, command) = hint.split_once(": attache ").expect("a command");
            let rest = run_with(&format!("COLUMNS=1000 attache {command}"), &many());
            let is_whole = !rest.contains("--- stderr") && rest.lines().filter_map(self::hint).next().is_none();
            assert!(is_whole, "{rest}");
        }
    }
    insta::assert_snapshot!(shown);
}

/// The hint of a line about items that are not shown: `and 3 more: …`.
fn hint(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("and ").filter(|(_, rest)| rest.starts_with(|it: char| it.is_ascii_digit()))?;
    rest.contains(" more").then(|| format!("and {rest}"))
}
