//! Tests of whole traces: malformed routes, delegation along many paths, and the policies on the path.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use super::*;
use crate::engine::Engine;
use crate::kinds::{Settings, built_in};
use crate::object::{ObjectRef, Objects};
use crate::text;

fn engine(yaml: &str) -> Engine {
    let reading = text::read(&Arc::from("test.yaml"), yaml);
    Engine::new(Objects::new(reading.objects), &built_in().0, Settings::default())
}

fn gateway(engine: &Engine) -> Entrance {
    let id = ObjectRef::new("gateway.networking.k8s.io", "Gateway", "d", "gw");
    Entrance::Gateway(engine.topology().find(engine.objects(), &id).unwrap())
}

const GATEWAY: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: d}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
";

#[test]
fn malformed_routes_do_not_panic() {
    let malformed =
        ["5", "[]", "{}", "null", "x", "[5]", "[{}]", "[null]", "-1", "99999999999", "{type: 5}", "['*', '']"];
    for wrong in malformed {
        let engine = engine(&format!(
            "{GATEWAY}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r, namespace: d}}
spec:
  parentRefs: [{{name: gw}}]
  hostnames: {wrong}
  rules:
  - {{matches: {wrong}, filters: {wrong}, backendRefs: {wrong}}}
  - {{matches: [{{path: {wrong}, method: {wrong}, headers: {wrong}, queryParams: {wrong}}}]}}
  - matches: [{{path: {{type: {wrong}, value: {wrong}}}}}]
    filters:
    - {{type: RequestRedirect, requestRedirect: {wrong}}}
    - {{type: RequestRedirect, requestRedirect: {{scheme: {wrong}, port: {wrong}, path: {wrong}, statusCode: {wrong}}}}}
    - {{type: URLRewrite, urlRewrite: {{hostname: {wrong}, path: {{type: {wrong}, replacePrefixMatch: {wrong}}}}}}}
    - {{type: RequestHeaderModifier, requestHeaderModifier: {{set: {wrong}, add: {wrong}, remove: {wrong}}}}}
    - {{type: RequestMirror, requestMirror: {{backendRef: {wrong}, percent: {wrong}, fraction: {wrong}}}}}
    - {{type: CORS, cors: {wrong}}}
    - {{type: ExtensionRef, extensionRef: {wrong}}}
    - {{type: {wrong}}}
    backendRefs: [{{name: {wrong}, port: {wrong}, weight: {wrong}, filters: {wrong}}}]
"
        ));
        for url in ["http://x/", "http://x/é?%", "https://x/", "tcp://x:80"] {
            let mut request = Request::parse("GET", url).unwrap();
            request.add_header("Origin: https://x").unwrap();
            for grpc in [false, true] {
                request.grpc = grpc;
                let trace = trace(engine.view(), &request, gateway(&engine), true);
                effective(&engine, &request, &trace);
            }
        }
    }
}

/// Thirty routes, each of which delegates to the next by two rules: about a thousand million paths.
#[test]
fn routes_on_many_paths_of_delegation_are_visited_once() {
    let mut yaml = GATEWAY.to_owned();
    for at in 0..30 {
        let parent = if at == 0 { "parentRefs: [{name: gw}], " } else { "" };
        let next = format!("{{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r{}}}", at + 1);
        yaml += &format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r{at}, namespace: d}}\n\
             spec: {{{parent}rules: [{{backendRefs: [{next}]}}, {{backendRefs: [{next}]}}]}}\n---\n"
        );
    }
    let engine = engine(&yaml);
    let request = Request::parse("GET", "http://x/").unwrap();
    let trace = trace(engine.view(), &request, gateway(&engine), true);
    assert_eq!(trace.outcome, RequestOutcome::InvalidBackend, "{:?}", trace.reason);
    assert!(trace.rules.len() > 10);
}

#[test]
fn only_the_scopes_on_the_path_of_the_request_are_given() {
    let engine = engine(&format!(
        "{GATEWAY}
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: other, namespace: d}}
spec: {{gatewayClassName: c, listeners: [{{name: http, port: 80, protocol: HTTP}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: r, namespace: d}}
spec:
  parentRefs: [{{name: gw}}, {{name: other}}]
  rules:
  - {{matches: [{{path: {{value: /a}}}}], backendRefs: [{{name: s, port: 80}}]}}
  - {{matches: [{{path: {{value: /b}}}}], backendRefs: [{{name: s, port: 80}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: s, namespace: d}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {{name: p, namespace: d}}
spec:
  targetRef: {{group: gateway.networking.k8s.io, kind: Gateway, name: gw}}
  limits: {{a: {{rates: [{{limit: 5, window: 10s}}]}}}}
"
    ));
    let request = Request::parse("GET", "http://x/b").unwrap();
    let trace = trace(engine.view(), &request, gateway(&engine), false);
    let found = effective(&engine, &request, &trace);
    let [(_, scopes)] = found.as_slice() else { panic!("{found:?}") };
    let [scope] = scopes.as_slice() else { panic!("{scopes:?}") };
    let names: Vec<String> = scope.nodes.iter().map(|node| engine.topology().name(engine.objects(), *node)).collect();
    assert_eq!(names, ["GatewayClass/c", "Gateway/d/gw", "Gateway/d/gw#http", "HTTPRoute/d/r", "HTTPRoute/d/r#rule-2"]);
}
