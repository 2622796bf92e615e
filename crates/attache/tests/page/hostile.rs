//! The content of objects is never interpreted as HTML or script.

use std::fs;

use tempfile::TempDir;

use crate::browser::tab;
use crate::server::Server;

const HOSTILE: &str = r##"
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: "<script>window.hacked=1</script>", namespace: "\"><img src=x onerror=window.hacked=1>"}
spec: {gatewayClassName: "</style><script>window.hacked=1</script>", listeners: [{name: "'><svg onload=window.hacked=1>", port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: "עברית\u202e<b>bold</b>"
  namespace: "\"><img src=x onerror=window.hacked=1>"
  annotations: {"<script>": "</pre><script>window.hacked=1</script>"}
spec:
  parentRefs: [{name: "<script>window.hacked=1</script>"}]
  hostnames: ["javascript:window.hacked=1"]
  rules: [{backendRefs: [{name: "javascript:alert(1)//", port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: "LONG", namespace: "a/b/../..?x=1#y"}
spec: {ports: [{port: 80, name: "<i>"}]}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: "<script>window.hacked=1</script>", namespace: "\"><img src=x onerror=window.hacked=1>"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: "<script>window.hacked=1</script>"}
  limits: {"<script>window.hacked=1</script>": {rates: [{limit: 5, window: "</code><script>window.hacked=1</script>"}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: secret, namespace: default}
stringData: {password: "correct horse battery staple"}
"##;

#[test]
fn nothing_of_an_object_is_interpreted() {
    let Some(tab) = tab() else { return };
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("hostile.yaml"), HOSTILE.replace("LONG", &"x".repeat(253))).unwrap();
    let server = Server::start(folder.path(), 0);
    tab.goto(&server.at("/"));
    let mut todo = vec!["/".to_owned()];
    let mut seen: Vec<String> = Vec::new();
    while let Some(path) = todo.pop() {
        if seen.contains(&path) || seen.len() > 40 {
            continue;
        }
        seen.push(path.clone());
        tab.goto(&server.at(&path));
        assert_eq!(tab.eval("window.hacked === undefined"), true, "{path}");
        assert_eq!(tab.eval("document.querySelectorAll('script').length"), 1, "{path}");
        assert_eq!(tab.eval("document.querySelectorAll('img, i, b b, [onerror], [onload]').length"), 0, "{path}");
        assert_eq!(tab.violations(), Vec::<String>::new(), "{path}");
        assert!(!tab.text().contains("horse"), "{path}");
        let links = tab.eval("[...document.querySelectorAll('main a, header a')].map((it) => it.getAttribute('href'))");
        for link in links.as_array().unwrap().iter().filter_map(|link| link.as_str()) {
            assert!(link.starts_with('/') || link.starts_with('#'), "{path} links to {link}");
            if link.starts_with('/') && !link.starts_with("/topology.svg") {
                todo.push(link.to_owned());
            }
        }
        // The link leads to the named object, if it exists.
        let exists = ["/object/Gateway.", "/object/HTTPRoute.", "/object/Service/a", "/policy/"];
        if exists.iter().any(|start| path.starts_with(start)) {
            assert!(!tab.text().contains("Not found"), "{path}");
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
    tab.goto(&server.at("/object/Service/a%2Fb%2F..%2F..%3Fx%3D1%23y/"));
    tab.goto(&server.at("/object/Secret/default/secret"));
    assert!(!tab.text().contains("horse"));
    assert_eq!(
        tab.eval("fetch('/search?q=script').then((it) => it.text()).then((it) => it.includes('<script'))"),
        false
    );
    tab.goto(&server.at("/request?url=%22%3E%3Cscript%3Ewindow.hacked%3D1%3C/script%3E&method=%3Cscript%3E"));
    assert_eq!(tab.eval("window.hacked === undefined"), true);
}
