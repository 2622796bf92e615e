//! How many writes one policy on a Gateway with many routes takes.

use std::time::{Duration, Instant};

use attache_testenv::{HttpClient, TestCluster, eventually};
use serde_json::json;

use crate::harness::{Controller, create_namespace};
use crate::world::{ancestors, install_crds, install_kind, policy, policy_kind, topology};

/// How long a request of another client takes: the median of some.
fn latency(http: &HttpClient, requests: usize) -> Duration {
    let mut times: Vec<Duration> = (0..requests)
        .map(|_| {
            let start = Instant::now();
            http.get("/apis/gateway.networking.k8s.io/v1/namespaces/fan-out/httproutes/r0").unwrap().expect_success();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

#[test]
fn a_policy_on_a_gateway_is_written_once_for_each_object_and_an_edit_of_a_value_once_at_all() {
    let Some(cluster) = TestCluster::start() else { return };
    let routes: usize = std::env::var("ROUTES").map_or(60, |routes| routes.parse().unwrap());
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    cluster.apply(&policy_kind("ColorPolicy", json!({"targets": ["Gateway", "Route"]})));
    let paths: Vec<String> = (0..routes).map(|route| format!("g1 > r{route} > b")).collect();
    for chunk in paths.chunks(500) {
        topology(&cluster, "fan-out", &chunk.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let controller = Controller::start(&cluster, &["--status-qps", "1000", "--status-burst", "1000"]);
    eventually("the PolicyKind is written", || controller.metric("attache_status_writes_total") == 1.0);
    let mut before = 1.0;
    // The policy, the Gateway and each route.
    let whole = routes as f64 + 2.0;
    let applied =
        |color: &str| cluster.apply(&policy("ColorPolicy", "fan-out", "p1", "Gateway/g1", json!({"color": color})));
    let other = cluster.fresh_http();
    let alone = latency(&other, 100);
    let mut expect = |what: &str, writes: f64| {
        let start = Instant::now();
        let beside = latency(&other, 50);
        eprintln!("{what}: a request of another client takes {beside:.1?}, and {alone:.1?} without us");
        eventually(what, || controller.metric("attache_status_writes_total") >= before + writes);
        eprintln!("{what}: {writes} writes in {:.1?}", start.elapsed());
        // Nothing more comes.
        assert_eq!(controller.settled_writes(), before + writes, "{what}: {}", controller.log());
        before += writes;
    };
    applied("red");
    expect("created", whole);
    applied("blue");
    expect("edited", 1.0);
    cluster.kubectl(&["delete", "colorpolicy/p1", "-n", "fan-out"]);
    expect("deleted", whole - 1.0);
}
