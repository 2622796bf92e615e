use super::*;

fn allowing(from: Json) -> Json {
    gw(
        "Gateway/gw",
        json!({"gatewayClassName": "c", "allowedListeners": {"namespaces": from},
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP", "hostname": "a.com"}]}),
    )
}

fn set(id: &str, listeners: Json) -> Json {
    gw(id, json!({"parentRef": {"name": "gw", "namespace": "a"}, "listeners": listeners}))
}

fn http(name: &str, hostname: &str) -> Json {
    json!({"name": name, "port": 80, "protocol": "HTTP", "hostname": hostname})
}

fn all() -> Json {
    json!({"from": "All"})
}

#[test]
fn a_path_through_a_listener_set_does_not_pass_a_listener_of_the_gateway() {
    let shown = show(json!([
        allowing(all()),
        set("ListenerSet/b/set", json!([http("own", "b.com")])),
        gw("HTTPRoute/b/r", json!({"parentRefs": [{"kind": "ListenerSet", "name": "set"}]})),
    ]));
    assert_eq!(shown.below("Gateway/a/gw"), ["Gateway/a/gw#http", "ListenerSet/b/set"]);
    assert_eq!(shown.below("ListenerSet/b/set"), ["ListenerSet/b/set#own"]);
    assert_eq!(shown.below("ListenerSet/b/set#own"), ["HTTPRoute/b/r"]);
    assert!(shown.below("Gateway/a/gw#http").is_empty());
    assert!(shown.refused.is_empty() && shown.live("HTTPRoute/b/r"));
}

#[test]
fn the_experimental_listener_set_is_one_too() {
    let mut set = set("XListenerSet/set", json!([http("own", "b.com")]));
    set["apiVersion"] = json!("gateway.networking.x-k8s.io/v1alpha1");
    let parent = json!({"group": "gateway.networking.x-k8s.io", "kind": "XListenerSet", "name": "set"});
    let shown =
        show(json!([allowing(json!({"from": "Same"})), set, gw("HTTPRoute/r", json!({"parentRefs": [parent]}))]));
    assert_eq!(shown.below("XListenerSet/a/set#own"), ["HTTPRoute/a/r"]);
    assert!(shown.refused.is_empty() && shown.live("HTTPRoute/a/r"));
}

#[test]
fn a_gateway_lets_in_listener_sets_only_from_where_it_says() {
    let with = |from: Json| {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "labels": {"team": "b"}}});
        show(json!([allowing(from), set("ListenerSet/b/set", json!([http("own", "b.com")])), namespace]))
    };
    let refused = |from: Json, message: &str| {
        let shown = with(from);
        let message = format!(
            "Gateway/a/gw > ListenerSet/b/set: NotAllowed: Gateway/a/gw lets in listeners from {message}: see its `spec.allowedListeners`"
        );
        assert_eq!(shown.refused, [message]);
        assert!(!shown.live("ListenerSet/b/set#own"));
    };
    refused(json!(null), "no namespace");
    refused(json!({"from": "None"}), "no namespace");
    refused(json!({"from": "Same"}), "namespace `a` only");
    let selector = json!({"matchLabels": {"team": "c"}});
    refused(
        json!({"from": "Selector", "selector": selector}),
        "namespaces with labels `{\"matchLabels\":{\"team\":\"c\"}}` only",
    );
    assert!(with(json!({"from": "All"})).refused.is_empty());
    assert!(with(json!({"from": "Selector", "selector": {"matchLabels": {"team": "b"}}})).refused.is_empty());
    let by_name =
        json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["b"]}]});
    assert!(with(json!({"from": "Selector", "selector": by_name})).refused.is_empty());
}

#[test]
fn of_clashing_listeners_the_gateway_comes_first_then_the_oldest_set() {
    let shown = show(json!([
        allowing(all()),
        aged(set("ListenerSet/newer", json!([http("x", "x.com"), http("gateways", "a.com")])), 3),
        aged(set("ListenerSet/older", json!([http("x", "x.com"), http("y", "y.com")])), 2),
        aged(set("ListenerSet/newest", json!([http("y", "y.com")])), 4),
    ]));
    assert_eq!(
        shown.refused,
        [
            "Gateway/a/gw > ListenerSet/a/newer: ListenersNotValid: none of its listeners is valid",
            "Gateway/a/gw > ListenerSet/a/newest: ListenersNotValid: none of its listeners is valid",
            "ListenerSet/a/newer > ListenerSet/a/newer#gateways: HostnameConflict: an older listener already claims port 80 (HTTP) for `a.com`",
            "ListenerSet/a/newer > ListenerSet/a/newer#x: HostnameConflict: an older listener already claims port 80 (HTTP) for `x.com`",
            "ListenerSet/a/newest > ListenerSet/a/newest#y: HostnameConflict: an older listener already claims port 80 (HTTP) for `y.com`",
        ]
    );
    assert_eq!(shown.below("Gateway/a/gw"), ["Gateway/a/gw#http", "ListenerSet/a/older"]);
}

#[test]
fn inside_one_gateway_no_clashing_listener_wins_but_routes_attach() {
    let listener = |name: &str, port: u16, protocol: &str| json!({"name": name, "port": port, "protocol": protocol});
    let shown = show(json!([
        gateway(json!([
            listener("a", 80, "HTTP"),
            listener("b", 80, "HTTP"),
            listener("c", 90, "TCP"),
            listener("d", 90, "TLS"),
            listener("e", 91, "UDP"),
            listener("f", 91, "TCP"),
            listener("g", 92, "HTTPS"),
            listener("h", 92, "HTTP"),
            listener("i", 93, "QUIC"),
        ])),
        gw("HTTPRoute/r", json!({"parentRefs": [{"name": "gw", "sectionName": "a"}]})),
    ]));
    let reasons: Vec<&str> =
        shown.refused.iter().map(|r| r.strip_prefix("Gateway/a/gw > Gateway/a/gw#").unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "a: HostnameConflict: more than one listener of Gateway/a/gw claims port 80 (HTTP) for any hostname: none of them is served",
            "b: HostnameConflict: more than one listener of Gateway/a/gw claims port 80 (HTTP) for any hostname: none of them is served",
            "c: ProtocolConflict: other listeners of Gateway/a/gw claim port 90, and TCP cannot share it with them: none of them is served",
            "d: ProtocolConflict: other listeners of Gateway/a/gw claim port 90, and TLS cannot share it with them: none of them is served",
            "g: ProtocolConflict: other listeners of Gateway/a/gw claim port 92, and HTTPS cannot share it with them: none of them is served",
            "h: ProtocolConflict: other listeners of Gateway/a/gw claim port 92, and HTTP cannot share it with them: none of them is served",
            "i: UnsupportedProtocol: protocol `QUIC` is none of HTTP, HTTPS, TLS, TCP and UDP: no route can attach",
        ]
    );
    assert_eq!(shown.below("Gateway/a/gw#a"), ["HTTPRoute/a/r"]);
    let gateway = shown.topology.find(&shown.objects, &ObjectRef::new(api::GATEWAY_API, "Gateway", "a", "gw")).unwrap();
    let served = shown.topology.sections(gateway).map(|listener| shown.topology.served(listener));
    assert_eq!(served.collect::<Vec<_>>(), [false, false, false, false, true, true, false, false, false]);
}

#[test]
fn a_protocol_of_the_controller_is_served_on_its_gateways() {
    let refused = |class: &str| {
        let spec =
            json!({"gatewayClassName": class, "listeners": [{"name": "mesh", "port": 15008, "protocol": "HBONE"}]});
        show(json!([gw("Gateway/gw", spec)])).refused
    };
    assert_eq!(refused("istio-waypoint"), [""; 0]);
    // The class is unknown.
    assert_eq!(refused("my-waypoints"), [""; 0]);
    assert_eq!(
        refused("nginx"),
        [
            "Gateway/a/gw > Gateway/a/gw#mesh: UnsupportedProtocol: protocol `HBONE` is none of HTTP, HTTPS, TLS, TCP and UDP: no route can attach",
            "GatewayClass/nginx > Gateway/a/gw: ListenersNotValid: none of its listeners is valid",
        ]
    );
}

#[test]
fn kinds_that_a_listener_cannot_serve_are_named() {
    let kinds = json!({"kinds": [{"kind": "TLSRoute"}, {"kind": "HTTPRoute"}, {"group": "x.io", "kind": "GRPCRoute"}]});
    let shown = show(json!([
        gateway(json!([{"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": kinds}])),
        gw("GRPCRoute/r", json!({"parentRefs": [{"name": "gw"}]})),
    ]));
    assert_eq!(
        shown.refused,
        [
            "Gateway/a/gw > GRPCRoute/a/r: NotAllowedByListeners: listener `http` lets in HTTPRoute only",
            "Gateway/a/gw > Gateway/a/gw#http: InvalidRouteKinds: a listener of its protocol cannot serve `TLSRoute`, `GRPCRoute`",
        ]
    );
}

#[test]
fn certificates_must_be_there_be_pem_and_be_granted() {
    let refs = json!([
        {"name": "good"}, {"name": "gone"}, {"name": "bad"}, {"kind": "ConfigMap", "name": "good"}, {"name": "far", "namespace": "b"},
    ]);
    let secret = |id: &str, pem: &str| {
        let mut secret = manifest("v1", id, json!(null));
        secret["stringData"] = json!({"tls.crt": pem});
        secret
    };
    let certificate = "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n";
    let mut docs = json!([
        gateway(json!([{"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": refs}}])),
        secret("Secret/good", certificate),
        secret("Secret/bad", ""),
        secret("Secret/b/far", certificate),
    ]);
    let expected = [
        "InvalidCertificateRef: `tls.crt` of Secret/a/bad is not a PEM certificate",
        "InvalidCertificateRef: a certificate must be a Secret, not a `ConfigMap`",
        "InvalidCertificateRef: there is no Secret `gone` in namespace `a`, only `bad`, `good`",
        "RefNotPermitted: namespace `b` has no ReferenceGrant that lets Gateway of namespace `a` refer to Secret `far`",
    ];
    let refused = |docs: &Json| {
        let refused = show(docs.clone()).refused;
        refused
            .iter()
            .map(|r| r.strip_prefix("Gateway/a/gw > Gateway/a/gw#https: ").unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(refused(&docs), expected);
    let grant = json!({"from": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "a"}],
        "to": [{"group": "", "kind": "Secret", "name": "far"}]});
    docs.as_array_mut().unwrap().push(gw("ReferenceGrant/b/g", grant));
    assert_eq!(refused(&docs), expected[..3]);
}

#[test]
fn where_an_http_and_a_grpc_route_meet_only_the_older_is_let_in() {
    let route = |id: &str, hostnames: &[&str], day| {
        aged(gw(id, json!({"parentRefs": [{"name": "gw"}], "hostnames": hostnames})), day)
    };
    let docs = |newer: u32| {
        json!([
            gateway(json!([{"name": "http", "port": 80, "protocol": "HTTP"}])),
            route("HTTPRoute/r", &["a.x.com", "b.com"], 2),
            route("GRPCRoute/r", &["*.x.com"], newer),
            route("GRPCRoute/elsewhere", &["x.com"], 3),
        ])
    };
    let shown = show(docs(3));
    assert_eq!(shown.below("Gateway/a/gw#http"), ["GRPCRoute/a/elsewhere", "HTTPRoute/a/r"]);
    assert_eq!(
        shown.refused,
        ["Gateway/a/gw#http > GRPCRoute/a/r: Conflicted: an older HTTPRoute has hostname `*.x.com` on listener `http`"]
    );
    assert_eq!(show(docs(1)).below("Gateway/a/gw#http"), ["GRPCRoute/a/elsewhere", "GRPCRoute/a/r"]);
}

#[test]
fn some_controllers_let_in_http_and_grpc_routes_side_by_side() {
    let class = |controller: &str| {
        let spec = json!({"controllerName": controller});
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "c"}, "spec": spec})
    };
    let attached = |controller: &str| {
        let parents = json!({"parentRefs": [{"name": "gw"}]});
        let listener = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
        let routes = [gw("HTTPRoute/r", parents.clone()), gw("GRPCRoute/s", parents)];
        show(json!([class(controller), gateway(listener), routes[0], routes[1]])).below("Gateway/a/gw#http").len()
    };
    assert_eq!(attached("gateway.envoyproxy.io/gatewayclass-controller"), 2);
    assert_eq!(attached("example.com/controller"), 1);
}

#[test]
fn a_listener_that_can_trust_no_client_is_not_served() {
    let listener = |name: &str, port: u16| json!({"name": name, "port": port, "protocol": "HTTPS"});
    let validation = |authority: Json| json!({"validation": {"caCertificateRefs": [authority]}});
    let frontend = json!({"default": validation(json!({"name": "ca"})), "perPort": [
        {"port": 444, "tls": validation(json!({"name": "gone"}))},
        {"port": 445, "tls": validation(json!({"kind": "Service", "name": "ca"}))},
    ]});
    let listeners = json!([listener("a", 443), listener("b", 444), listener("c", 445)]);
    let shown = show(json!([
        gw("Gateway/gw", json!({"tls": {"frontend": frontend}, "listeners": listeners})),
        manifest("v1", "ConfigMap/ca", json!(null)),
    ]));
    let unusable = "NoValidCACertificate: it requests client certificates, but none of its CA certificates can be used to validate them";
    assert_eq!(
        shown.refused,
        [
            "Gateway/a/gw > Gateway/a/gw#b: InvalidCACertificateRef: there is no ConfigMap `gone` in namespace `a`, only `ca`".to_owned(),
            format!("Gateway/a/gw > Gateway/a/gw#b: {unusable}"),
            "Gateway/a/gw > Gateway/a/gw#c: InvalidCACertificateKind: a CA certificate must be a ConfigMap, not a `Service`".to_owned(),
            format!("Gateway/a/gw > Gateway/a/gw#c: {unusable}"),
        ]
    );
}

#[test]
fn a_listener_lets_in_routes_only_from_where_it_says() {
    let attached = |allowed: Json| {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "labels": {"team": "b"}}});
        let parents = json!({"parentRefs": [{"name": "gw", "namespace": "a"}]});
        let shown = show(json!([
            gateway(
                json!([{"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": allowed}}])
            ),
            gw("HTTPRoute/a/r", parents.clone()),
            gw("HTTPRoute/b/r", parents.clone()),
            gw("HTTPRoute/c/r", parents),
            namespace,
        ]));
        shown.below("Gateway/a/gw#http").join(" ")
    };
    assert_eq!(attached(json!(null)), "HTTPRoute/a/r");
    assert_eq!(attached(json!({"from": "Everywhere"})), "HTTPRoute/a/r");
    assert_eq!(attached(json!({"from": "None"})), "");
    assert_eq!(attached(all()), "HTTPRoute/a/r HTTPRoute/b/r HTTPRoute/c/r");
    assert_eq!(attached(json!({"from": "Selector", "selector": {"matchLabels": {"team": "b"}}})), "HTTPRoute/b/r");
    let not_b = json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["b"]}]});
    assert_eq!(attached(json!({"from": "Selector", "selector": not_b})), "HTTPRoute/a/r HTTPRoute/c/r");
}
