use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Values from a few significant words, so that random documents refer to each other.
fn word() -> impl Strategy<Value = Json> {
    let words = [
        "a",
        "b",
        "gw",
        "r",
        "s",
        "*",
        "HTTP",
        "TLS",
        "TCP",
        "All",
        "Same",
        "Selector",
        "None",
        "Gateway",
        "ListenerSet",
        "HTTPRoute",
        "GRPCRoute",
        "Service",
        "label",
        "",
        "*.x.com",
        "y.x.com",
        "gateway.networking.k8s.io",
        "delegation.kgateway.dev",
        "In",
    ];
    prop_oneof![
        6 => prop::sample::select(words.to_vec()).prop_map(Json::from),
        2 => prop::sample::select(vec![80, 443, -1]).prop_map(Json::from),
        1 => Just(Json::Null),
        1 => Just(json!(true)),
        1 => Just(json!(1.5)),
    ]
}

fn anything() -> impl Strategy<Value = Json> {
    let fields = [
        "parentRefs",
        "parentRef",
        "backendRefs",
        "rules",
        "listeners",
        "ports",
        "name",
        "namespace",
        "kind",
        "group",
        "port",
        "sectionName",
        "hostname",
        "hostnames",
        "protocol",
        "allowedRoutes",
        "allowedListeners",
        "namespaces",
        "from",
        "selector",
        "matchLabels",
        "kinds",
        "tls",
        "certificateRefs",
        "filters",
        "requestMirror",
        "backendRef",
        "matches",
        "path",
        "to",
    ];
    word().prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((prop::sample::select(fields.to_vec()), inner), 0..6)
                .prop_map(|entries| Json::Object(entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn reference(kinds: &'static [&'static str], names: &'static [&'static str]) -> impl Strategy<Value = Json> {
    let group = |kind: &str| if kind == "Service" { "" } else { "gateway.networking.k8s.io" };
    let section = prop::option::weighted(0.2, prop::sample::select(vec!["a", "b"]));
    let namespace = prop::option::weighted(0.5, prop::sample::select(vec!["a", "b"]));
    (prop::sample::select(kinds), prop::sample::select(names), namespace, section).prop_map(move |(kind, name, namespace, section)| {
        json!({"group": group(kind), "kind": kind, "name": name, "namespace": namespace, "sectionName": section})
    })
}

fn hostname() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a.x.com", "*.x.com", "x.com", "*.com", ""])
}

type Doc = (&'static str, &'static str, Json);

fn listeners() -> impl Strategy<Value = Vec<Json>> {
    let protocol = prop::sample::select(vec!["HTTP", "TCP", "TLS"]);
    let listener = (prop::sample::select(vec!["a", "b", "c"]), 80..82, protocol, hostname());
    let listener = listener.prop_map(|(name, port, protocol, hostname)| {
        let allowed = json!({"namespaces": {"from": "All"}});
        json!({"name": name, "port": port, "protocol": protocol, "hostname": hostname, "allowedRoutes": allowed})
    });
    prop::collection::vec(listener, 0..3)
}

fn gateway_or_set() -> impl Strategy<Value = Doc> {
    (prop::bool::ANY, listeners()).prop_map(|(gateway, listeners)| match gateway {
        true => {
            let allowed = json!({"namespaces": {"from": "All"}});
            ("Gateway", "gw", json!({"gatewayClassName": "c", "listeners": listeners, "allowedListeners": allowed}))
        }
        false => ("ListenerSet", "gw", json!({"parentRef": {"name": "gw"}, "listeners": listeners})),
    })
}

fn route() -> impl Strategy<Value = Doc> {
    let kind = prop::sample::select(vec!["HTTPRoute", "GRPCRoute", "TCPRoute"]);
    let name = prop::sample::select(vec!["r", "s"]);
    let parents = reference(&["Gateway", "ListenerSet", "Service", "HTTPRoute"], &["gw", "r", "s"]);
    let backends = prop::collection::vec(reference(&["Service", "HTTPRoute"], &["r", "s", "*"]), 0..3);
    let rules = prop::collection::vec(backends.prop_map(|backends| json!({"backendRefs": backends})), 0..3);
    let hostnames = prop::collection::vec(hostname(), 0..2);
    let route = (kind, name, prop::collection::vec(parents, 0..3), rules, hostnames);
    route.prop_map(|(kind, name, parents, rules, hostnames)| {
        (kind, name, json!({"parentRefs": parents, "rules": rules, "hostnames": hostnames}))
    })
}

fn wild() -> impl Strategy<Value = Doc> {
    let kinds = vec!["Gateway", "ListenerSet", "HTTPRoute", "Service", "ReferenceGrant"];
    (prop::sample::select(kinds), anything()).prop_map(|(kind, spec)| (kind, "s", spec))
}

/// Mostly realistic documents.
fn document() -> impl Strategy<Value = Json> {
    let doc = prop_oneof![2 => gateway_or_set(), 3 => route(), 2 => wild()];
    (doc, prop::sample::select(vec!["a", "b"])).prop_map(|((kind, name, spec), namespace)| {
        let group = if kind == "Service" { "v1" } else { "gateway.networking.k8s.io/v1" };
        manifest(group, &format!("{kind}/{namespace}/{name}"), spec)
    })
}

proptest! {
    #[test]
    fn nothing_depends_on_the_order_of_the_input(docs in prop::collection::vec(document(), 0..12)) {
        let mut docs: Vec<Json> = docs;
        docs.sort_by_key(|doc| doc["kind"].to_string() + &doc["metadata"].to_string());
        docs.dedup_by_key(|doc| doc["kind"].to_string() + &doc["metadata"].to_string());
        let there = show(json!(docs));
        docs.reverse();
        let back = show(json!(docs));
        prop_assert_eq!(&there.links, &back.links);
        prop_assert_eq!(&there.refused, &back.refused);
    }

    #[test]
    fn parents_come_before_children_and_only_what_is_reached_is_live(docs in prop::collection::vec(document(), 0..12)) {
        let Shown { topology, .. } = show(json!(docs));
        let position: HashMap<NodeId, usize> = topology.order().iter().enumerate().map(|(at, id)| (*id, at)).collect();
        for (id, node) in topology.nodes() {
            prop_assert!(position.contains_key(&id));
            for child in topology.children(id) {
                prop_assert!(position[&id] < position[child]);
                prop_assert!(topology.parents(*child).contains(&id));
                let may_be_left_out = match topology[*child].level {
                    Level::Listener => !topology.served(*child),
                    Level::Route => topology.is_idle(id, *child),
                    Level::RouteRule => !topology.delegation_depths.is_empty(),
                    _ => false,
                };
                prop_assert!(!topology.live(id) || topology.live(*child) || may_be_left_out);
            }
            prop_assert!(topology.served(id) || !topology.live(id));
            let reached = topology.parents(id).iter().any(|parent| topology.live(*parent));
            prop_assert!(reached || !topology.live(id) || !matches!(node.level, Level::Route | Level::RouteRule));
        }
    }

    #[test]
    fn no_shape_of_a_document_does_harm(specs in prop::collection::vec((document(), anything()), 0..8)) {
        let docs: Vec<Json> = specs.into_iter().map(|(mut doc, spec)| {
            doc["spec"] = spec;
            doc
        }).collect();
        show(json!(docs));
    }
}
