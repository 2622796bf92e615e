//! Compares which listeners are served, and which of them serves a hostname, with a slow reference that tests every
//! pair of listeners and single hosts.

use proptest::prelude::*;

use super::*;
use crate::topology::hostname::{covers, specificity};

const HOSTNAMES: [&str; 6] = ["", "*.com", "*.x.com", "a.x.com", "x.com", "*.a.x.com"];
/// For each hostname, at least one host that it matches and that no more specific one matches.
const HOSTS: [&str; 6] = ["z.org", "y.com", "b.x.com", "a.x.com", "x.com", "b.a.x.com"];

#[derive(Clone, Debug)]
struct Draft {
    port: i64,
    protocol: &'static str,
    hostname: &'static str,
}

/// The listeners of the Gateway, and of its ListenerSets from the oldest on.
type Owners = Vec<Vec<Draft>>;

fn listener() -> impl Strategy<Value = Draft> {
    let protocol = prop::sample::select(vec!["HTTP", "HTTP", "HTTP", "HTTPS", "TLS", "TCP", "UDP"]);
    (80..82i64, protocol, prop::sample::select(HOSTNAMES.to_vec())).prop_map(|(port, protocol, hostname)| Draft {
        port,
        protocol,
        hostname: if ["TCP", "UDP"].contains(&protocol) { "" } else { hostname },
    })
}

fn owners() -> impl Strategy<Value = Owners> {
    prop::collection::vec(prop::collection::vec(listener(), 1..4), 1..4)
}

fn owner_name(owner: usize) -> String {
    if owner == 0 { "Gateway/a/gw".to_owned() } else { format!("ListenerSet/a/set{owner}") }
}

fn manifests(owners: &Owners, routes: &[Vec<&str>]) -> Json {
    let mut docs = Vec::new();
    for (at, listeners) in owners.iter().enumerate() {
        let listeners = listeners.iter().enumerate().map(|(i, it)| {
            let mut listener = json!({"name": format!("l{i}"), "port": it.port, "protocol": it.protocol});
            if !it.hostname.is_empty() {
                listener["hostname"] = json!(it.hostname);
            }
            listener
        });
        let listeners: Vec<Json> = listeners.collect();
        docs.push(match at {
            0 => {
                let allowed = json!({"namespaces": {"from": "All"}});
                let spec = json!({"gatewayClassName": "c", "listeners": listeners, "allowedListeners": allowed});
                gw("Gateway/gw", spec)
            }
            _ => {
                let set =
                    gw(&format!("ListenerSet/set{at}"), json!({"parentRef": {"name": "gw"}, "listeners": listeners}));
                aged(set, at as u32)
            }
        });
    }
    let parents: Vec<Json> = (0..owners.len())
        .map(|at| match at {
            0 => json!({"name": "gw"}),
            _ => json!({"kind": "ListenerSet", "name": format!("set{at}")}),
        })
        .collect();
    for (at, hostnames) in routes.iter().enumerate() {
        docs.push(gw(&format!("HTTPRoute/r{at}"), json!({"parentRefs": parents, "hostnames": hostnames})));
    }
    json!(docs)
}

/// Whether two listeners cannot both be served.
fn conflict(a: &Draft, b: &Draft) -> bool {
    let is = |it: &Draft, protocols: &[&str]| protocols.contains(&it.protocol);
    let can_share = |protocols: &[&str]| is(a, protocols) && is(b, protocols) && a.hostname != b.hostname;
    let is_udp = (a.protocol == "UDP", b.protocol == "UDP");
    a.port == b.port
        && match is_udp {
            (true, true) => true,
            (false, false) => !can_share(&["HTTP"]) && !can_share(&["HTTPS", "TLS"]),
            _ => false,
        }
}

/// Which listeners are served. Older owners win; of conflicting listeners of one owner, none is served.
fn served(owners: &Owners) -> Vec<Vec<bool>> {
    let mut claims: Vec<&Draft> = Vec::new();
    let mut served = Vec::new();
    for listeners in owners {
        let has_no_older = |it: &Draft| !claims.iter().any(|older| conflict(it, older));
        let own: Vec<&Draft> = listeners.iter().filter(|it| has_no_older(it)).collect();
        let is_served = |it: &Draft| has_no_older(it) && own.iter().filter(|other| conflict(it, other)).count() <= 1;
        served.push(listeners.iter().map(is_served).collect());
        claims.extend(own);
    }
    served
}

proptest! {
    #[test]
    fn listeners_are_served_unless_they_conflict_and_each_host_by_the_most_specific_one(
        owners in owners(),
        routes in prop::collection::vec(prop::collection::vec(prop::sample::select(HOSTNAMES[1..].to_vec()), 0..3), 1..4),
    ) {
        let shown = show(manifests(&owners, &routes));
        let served = served(&owners);
        let node = |owner: usize, at: usize| {
            let name = format!("{}#l{at}", owner_name(owner));
            shown.topology.nodes().map(|(id, _)| id).find(|id| shown.topology.name(&shown.objects, *id) == name).unwrap()
        };
        let all = || owners.iter().enumerate().flat_map(|(owner, it)| (0..it.len()).map(move |at| (owner, at)));
        for (owner, at) in all() {
            prop_assert_eq!(shown.topology.served(node(owner, at)), served[owner][at], "{} l{}", owner, at);
        }
        for (route, hostnames) in routes.iter().enumerate() {
            for (owner, at) in all().filter(|(owner, at)| served[*owner][*at]) {
                let own = &owners[owner][at];
                let is_in_route = |host: &&&str| hostnames.is_empty() || hostnames.iter().any(|it| covers(it, host));
                let is_most_specific = |host: &&str| {
                    let mut others = all().filter(|(o, a)| served[*o][*a]).map(|(o, a)| &owners[o][a]);
                    let rank = specificity(own.hostname);
                    !others.any(|it| it.port == own.port && covers(it.hostname, host) && specificity(it.hostname) > rank)
                };
                let is_http = ["HTTP", "HTTPS"].contains(&own.protocol);
                let mut hosts = HOSTS.iter().filter(is_in_route).filter(|host| covers(own.hostname, host));
                let expected = is_http && hosts.any(is_most_specific);
                let name = format!("HTTPRoute/a/r{route}");
                let is_linked = shown.below(&format!("{}#l{at}", owner_name(owner))).contains(&name.as_str());
                prop_assert_eq!(is_linked, expected, "{} at {} l{}", name, owner, at);
            }
        }
    }
}
