use super::*;

fn to(children: &[Json]) -> Json {
    json!({"rules": [{"matches": [{"path": {"value": "/x"}}], "backendRefs": children}]})
}

fn route(namespace: &str, name: &str) -> Json {
    json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": namespace, "name": name})
}

/// A route below `/x` that does not delegate.
fn leaf(id: &str) -> Json {
    gw(id, json!({"rules": [{"matches": [{"path": {"value": "/x/y"}}]}]}))
}

fn root(children: &[Json]) -> Json {
    let mut root = gw("HTTPRoute/root", to(children));
    root["spec"]["parentRefs"] = json!([{"name": "gw"}]);
    root
}

fn entry() -> Json {
    gateway(json!([{"name": "http", "port": 80, "protocol": "HTTP"}]))
}

#[test]
fn a_rule_hands_on_to_routes_by_name_by_namespace_and_by_label() {
    let mut labelled = leaf("HTTPRoute/c/labelled");
    labelled["metadata"]["labels"] = json!({"delegation.kgateway.dev/label": "team"});
    let by_label = |namespace: &str| json!({"group": "delegation.kgateway.dev", "kind": "label", "name": "team", "namespace": namespace});
    let below = |child: Json| {
        let docs = json!([entry(), root(&[child]), leaf("HTTPRoute/b/one"), leaf("HTTPRoute/b/two"), labelled.clone()]);
        let shown = show(docs);
        assert!(shown.below("HTTPRoute/a/root#rule-1").iter().all(|child| shown.live(child)));
        assert_eq!(shown.refused.is_empty(), !shown.below("HTTPRoute/a/root#rule-1").is_empty());
        shown.below("HTTPRoute/a/root#rule-1").join(" ") + &shown.refused.join("\n")
    };
    assert_eq!(below(route("b", "two")), "HTTPRoute/b/two");
    assert_eq!(below(route("b", "*")), "HTTPRoute/b/one HTTPRoute/b/two");
    assert_eq!(below(by_label("c")), "HTTPRoute/c/labelled");
    assert_eq!(below(by_label("all")), "HTTPRoute/c/labelled");
    assert_eq!(
        below(by_label("b")),
        "HTTPRoute/a/root > label/b/team: BackendNotFound: there is no HTTPRoute with label `delegation.kgateway.dev/label: team` in namespace `b` that it could delegate to"
    );
}

#[test]
fn a_child_chooses_its_parents_has_no_hostnames_and_stays_below_the_rule() {
    let with = |spec: Json| {
        let shown = show(json!([entry(), root(&[route("b", "child")]), gw("HTTPRoute/b/child", spec)]));
        assert_eq!(shown.live("HTTPRoute/b/child"), shown.refused.is_empty());
        shown.refused.join("\n")
    };
    let rules = json!([{"matches": [{"path": {"value": "/x/y"}}]}]);
    assert_eq!(with(json!({"rules": rules})), "");
    let parent = |name: &str| json!([route("a", name)]);
    assert_eq!(with(json!({"rules": rules, "parentRefs": parent("root")})), "");
    assert_eq!(
        with(json!({"rules": rules, "parentRefs": parent("other")})),
        "HTTPRoute/a/other > HTTPRoute/b/child: NoMatchingParent: there is no HTTPRoute `other` in namespace `a`, only `root`\n\
         HTTPRoute/a/root > HTTPRoute/b/child: RefNotPermitted: HTTPRoute/b/child has parentRefs, and none of them names HTTPRoute/a/root"
    );
    assert_eq!(
        with(json!({"rules": rules, "hostnames": ["x.com"]})),
        "HTTPRoute/a/root > HTTPRoute/b/child: UnsupportedValue: HTTPRoute/b/child has hostnames: a route that is delegated to takes those of its parent"
    );
    assert_eq!(
        with(json!({"rules": [{}]})),
        "HTTPRoute/a/root > HTTPRoute/b/child: UnsupportedValue: no match of HTTPRoute/b/child lies within those of the rule that delegates to it"
    );
}

#[test]
fn a_child_that_no_rule_delegates_to_is_refused() {
    let mut child = leaf("HTTPRoute/b/child");
    child["spec"]["parentRefs"] = json!([route("a", "root")]);
    let shown = show(json!([entry(), root(&[]), child]));
    assert_eq!(
        shown.refused,
        [
            "HTTPRoute/a/root > HTTPRoute/b/child: NoMatchingParent: HTTPRoute/a/root does not delegate to it: no rule of it names it as a backend"
        ]
    );
}

#[test]
fn a_circle_is_opened_where_it_comes_back_to_the_route_that_is_attached() {
    // Alphabetically, `root` is the last route of the cycle.
    let mut back = gw("HTTPRoute/b", to(&[route("a", "root")]));
    back["spec"]["parentRefs"] = json!([route("a", "a")]);
    let mut root = root(&[route("a", "a")]);
    root["spec"]["parentRefs"] = json!([{"name": "gw"}, route("a", "b")]);
    let docs = json!([entry(), root, gw("HTTPRoute/a", to(&[route("a", "b")])), back, service("Service/s")]);
    let shown = show(docs);
    assert_eq!(
        shown.refused,
        [
            "HTTPRoute/a/b > HTTPRoute/a/root: RefNotPermitted: the routes `HTTPRoute/a/root`, `HTTPRoute/a/a`, `HTTPRoute/a/b` delegate in a circle: this step, which closes it, is left out"
        ]
    );
    assert_eq!(shown.below("HTTPRoute/a/root#rule-1"), ["HTTPRoute/a/a"]);
    assert_eq!(shown.below("HTTPRoute/a/a#rule-1"), ["HTTPRoute/a/b"]);
    assert!(shown.live("HTTPRoute/a/b#rule-1"));
}

#[test]
fn routes_that_delegate_to_nothing_but_themselves_are_dead() {
    let shown = show(json!([gw("HTTPRoute/a", to(&[route("a", "b")])), gw("HTTPRoute/b", to(&[route("a", "a")]))]));
    assert_eq!(shown.refused.len(), 1);
    assert!(!shown.live("HTTPRoute/a/a") && !shown.live("HTTPRoute/a/b#rule-1"));
}

#[test]
fn routes_delegate_sixteen_deep_and_no_deeper() {
    let name = |i: usize| format!("r{i:02}");
    let mut docs = vec![entry(), root(&[route("a", &name(1))])];
    docs.extend((1..20).map(|i| gw(&format!("HTTPRoute/{}", name(i)), to(&[route("a", &name(i + 1))]))));
    docs.push(leaf("HTTPRoute/r20"));
    let shown = show(json!(docs));
    assert_eq!(shown.below("HTTPRoute/a/r15#rule-1"), ["HTTPRoute/a/r16"]);
    assert_eq!(shown.below("HTTPRoute/a/r16#rule-1"), [""; 0]);
    assert_eq!(
        shown.refused,
        ["HTTPRoute/a/r16 > HTTPRoute/a/r17: RefNotPermitted: 16 routes in a row delegate before it, and no more may"]
    );
}
