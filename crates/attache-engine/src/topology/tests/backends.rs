use super::*;

/// The links and refusals of a route with one rule and these backends.
fn with(backends: Json, others: Json) -> Shown {
    let mut docs = others;
    docs.as_array_mut().unwrap().extend([
        gateway(json!([{"name": "http", "port": 80, "protocol": "HTTP"}])),
        gw("HTTPRoute/r", json!({"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": backends}]})),
    ]);
    show(docs)
}

#[test]
fn backends_that_are_not_there_say_what_is() {
    let backends = json!([
        {"name": "s", "port": 80}, {"name": "t", "port": 80}, {"name": "s", "port": 81}, {"kind": "Bucket", "group": "x.io", "name": "b"},
        {"kind": "Gateway", "group": "gateway.networking.k8s.io", "name": "gw"},
    ]);
    let shown = with(backends, json!([service("Service/s")]));
    assert_eq!(shown.below("HTTPRoute/a/r#rule-1"), ["Service/a/s"]);
    assert_eq!(
        shown.refused,
        [
            "HTTPRoute/a/r > Bucket/a/b: InvalidKind: a `Bucket.x.io` cannot be a backend, and none is there; a backend is usually a Service",
            "HTTPRoute/a/r > Gateway/a/gw: InvalidKind: a `Gateway.gateway.networking.k8s.io` cannot be a backend; a backend is usually a Service",
            "HTTPRoute/a/r > Service/a/s: BackendNotFound: Service/a/s has no port 81, only `80 (http)`, `8080`",
            "HTTPRoute/a/r > Service/a/t: BackendNotFound: there is no Service `t` in namespace `a`, only `s`",
        ]
    );
}

#[test]
fn whatever_is_there_can_be_a_backend() {
    let shown = with(
        json!([{"kind": "Bucket", "group": "x.io", "name": "b"}]),
        json!([manifest("x.io/v1", "Bucket/b", json!({}))]),
    );
    assert_eq!(shown.below("HTTPRoute/a/r#rule-1"), ["Bucket/a/b"]);
    let bucket = shown.topology.find(&shown.objects, &ObjectRef::new("x.io", "Bucket", "a", "b")).unwrap();
    assert_eq!(shown.topology[bucket].level, Level::Backend);
    let shown = with(
        json!([{"kind": "Bucket", "group": "x.io", "name": "c"}]),
        json!([manifest("x.io/v1", "Bucket/b", json!({}))]),
    );
    assert_eq!(
        shown.refused,
        ["HTTPRoute/a/r > Bucket/a/c: BackendNotFound: there is no Bucket `c` in namespace `a`, only `b`"]
    );
}

#[test]
fn a_backend_in_another_namespace_needs_a_grant_for_this_kind_and_name() {
    let backends = json!([{"name": "s", "namespace": "b", "port": 80}]);
    let granted = |kind: &str, namespace: &str, to: Json| {
        let grant =
            json!({"from": [{"group": "gateway.networking.k8s.io", "kind": kind, "namespace": namespace}], "to": [to]});
        let shown = with(backends.clone(), json!([service("Service/b/s"), gw("ReferenceGrant/b/g", grant)]));
        assert_eq!(shown.refused.is_empty(), !shown.below("HTTPRoute/a/r#rule-1").is_empty());
        shown.refused.is_empty()
    };
    assert!(granted("HTTPRoute", "a", json!({"group": "", "kind": "Service"})));
    assert!(granted("HTTPRoute", "a", json!({"group": "", "kind": "Service", "name": "s"})));
    assert!(!granted("HTTPRoute", "a", json!({"group": "", "kind": "Service", "name": "t"})));
    assert!(!granted("HTTPRoute", "a", json!({"group": "", "kind": "Secret"})));
    assert!(!granted("GRPCRoute", "a", json!({"group": "", "kind": "Service"})));
    assert!(!granted("HTTPRoute", "c", json!({"group": "", "kind": "Service"})));
    assert_eq!(
        with(backends, json!([service("Service/b/s")])).refused,
        [
            "HTTPRoute/a/r > Service/b/s: RefNotPermitted: namespace `b` has no ReferenceGrant that lets HTTPRoute of namespace `a` refer to Service `s`"
        ]
    );
}

#[test]
fn mirrors_are_judged_and_not_linked() {
    let rules = json!([{"filters": [{"requestMirror": {"backendRef": {"name": "s", "port": 80}}}, {"requestMirror": {"backendRef": {"name": "t"}}}]}]);
    let shown = show(json!([service("Service/s"), gw("HTTPRoute/r", json!({"rules": rules}))]));
    assert!(shown.below("HTTPRoute/a/r#rule-1").is_empty());
    assert_eq!(
        shown.refused,
        ["HTTPRoute/a/r > Service/a/t: BackendNotFound: there is no Service `t` in namespace `a`, only `s`"]
    );
}

fn mesh(id: &str, parent: Json, backend: Json) -> Json {
    gw(id, json!({"parentRefs": [parent], "rules": [{"backendRefs": [backend]}]}))
}

#[test]
fn a_service_that_is_a_parent_is_above_the_route_and_below_it() {
    let parent = json!({"group": "", "kind": "Service", "name": "s"});
    let shown = show(json!([service("Service/s"), mesh("HTTPRoute/r", parent, json!({"name": "s", "port": 80}))]));
    let service = shown.topology.find(&shown.objects, &ObjectRef::new("", "Service", "a", "s")).unwrap();
    let frontend = shown.topology.frontend(service).unwrap();
    assert_eq!(shown.topology[frontend].level, Level::Frontend);
    assert_eq!(shown.topology.frontend(frontend), Some(frontend));
    let only_child = |id| {
        assert_eq!(shown.topology.children(id).len(), 1);
        shown.topology.children(id)[0]
    };
    let rule = only_child(only_child(frontend));
    assert_eq!(only_child(rule), service);
    assert!(shown.topology.live(rule) && shown.refused.is_empty());
}

#[test]
fn a_consumer_needs_no_grant_for_its_parent_nor_for_its_backends() {
    let parent = json!({"group": "", "kind": "Service", "name": "s", "namespace": "b"});
    let backend = json!({"name": "s", "namespace": "b", "port": 80});
    let shown = show(json!([service("Service/b/s"), mesh("HTTPRoute/r", parent, backend)]));
    assert!(shown.refused.is_empty());
    assert_eq!(shown.below("HTTPRoute/a/r#rule-1"), ["Service/b/s"]);
}

#[test]
fn the_port_of_a_parent_service_must_exist() {
    let parent = json!({"group": "", "kind": "Service", "name": "s", "port": 81});
    let shown = show(json!([service("Service/s"), mesh("HTTPRoute/r", parent, json!({"name": "s", "port": 80}))]));
    assert_eq!(
        shown.refused,
        ["Service/a/s > HTTPRoute/a/r: NoMatchingParent: Service/a/s has no port 81, only `80 (http)`, `8080`"]
    );
    assert!(!shown.live("HTTPRoute/a/r"));
}
