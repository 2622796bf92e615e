//! The controller writes beside others, and hands over to others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use attache_testenv::{HttpClient, TestCluster, eventually};
use serde_json::{Value, json};

use crate::harness::{Controller, NAMESPACE, create_namespace};
use crate::world::{ancestors, become_lines, install_crds, install_kind, policy, policy_kind, statuses, topology};

const ROUTE: &str = "/apis/gateway.networking.k8s.io/v1/namespaces/shared/httproutes/r1";
const POLICY: &str = "/apis/example.io/v1/namespaces/shared/colorpolicies/p1";

fn open(cluster: &TestCluster) {
    install_crds(cluster);
    create_namespace(cluster);
    install_kind(cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    cluster.apply(&policy_kind(
        "ColorPolicy",
        json!({"targets": ["Gateway", "Route"], "strategies": ["atomic", "patch"]}),
    ));
    topology(cluster, "shared", &["g1 > r1 > b1"]);
}

/// An entry of another controller that counts.
fn entry(list: &str, count: usize) -> Value {
    let reference = json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "g1"});
    let conditions = json!([{"type": "Counted", "status": "True", "reason": "Counted", "message": count.to_string(),
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let key = if list == "parents" { "parentRef" } else { "ancestorRef" };
    json!({key: reference, "controllerName": "example.io/other", "conditions": conditions})
}

/// Writes an entry as a well-behaved controller does, and checks that the last one is still there.
fn count(http: &HttpClient, path: &str, list: &str, count: usize) {
    loop {
        let mut object = http.get(path).unwrap().expect_success().json();
        let mut entries = object["status"][list].as_array().cloned().unwrap_or_default();
        let other = entries.iter().position(|it| it["controllerName"] == "example.io/other");
        match other {
            Some(at) => {
                let there = entries.remove(at);
                assert_eq!(there, entry(list, count - 1), "an entry of another controller is lost");
            }
            None => assert_eq!(count, 1, "the entry of another controller is lost: {object}"),
        }
        entries.insert(0, entry(list, count));
        object["status"][list] = json!(entries);
        let answer = http.put(&format!("{path}/status"), &object).unwrap();
        if answer.status != 409 {
            answer.expect_success();
            return;
        }
    }
}

#[test]
fn entries_of_another_controller_are_never_lost() {
    let Some(cluster) = TestCluster::start() else { return };
    let writes: usize = std::env::var("WRITES").map_or(200, |writes| writes.parse().unwrap());
    open(&cluster);
    cluster.apply(&policy("ColorPolicy", "shared", "p1", "HTTPRoute/r1", json!({"color": "red"})));
    let controller = Controller::start(&cluster, &["--status-qps", "1000", "--status-burst", "1000"]);
    let is_done = AtomicBool::new(false);
    let ours = || controller.metric("attache_status_writes_total{result=\"Written\"");
    let flips = std::thread::scope(|scope| {
        // What affects the route, and so both of our statuses, changes all the time.
        let flipping = scope.spawn(|| {
            let http = cluster.fresh_http();
            let mut flips = 0;
            while !is_done.load(Ordering::Relaxed) {
                flips += 1;
                let before = ours();
                let over = policy("ColorPolicy", "shared", "p2", "Gateway/g1", json!({"overrides": {"color": "blue"}}));
                let over: Value = serde_json::from_str(&over).unwrap();
                http.post(POLICY.trim_end_matches("/p1"), &over).unwrap().expect_success();
                std::thread::sleep(Duration::from_millis(100));
                // However slow the machine is, each flip is noticed.
                eventually("something is written", || ours() > before);
                http.delete(&POLICY.replace("/p1", "/p2")).unwrap().expect_success();
                std::thread::sleep(Duration::from_millis(100));
            }
            flips
        });
        let counting = [(ROUTE, "parents"), (POLICY, "ancestors")].map(|(path, list)| {
            let cluster = &cluster;
            scope.spawn(move || {
                let http = cluster.fresh_http();
                (1..=writes / 2).for_each(|number| count(&http, path, list, number));
            })
        });
        let counted = counting.map(|counting| counting.join());
        is_done.store(true, Ordering::Relaxed);
        counted.into_iter().for_each(|counted| counted.unwrap());
        flipping.join().unwrap()
    });
    become_lines(
        "
        ColorPolicy/p1 > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        HTTPRoute/r1 > g1: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shared/p1])
        ",
        || statuses(&cluster, "shared", "colorpolicies,httproutes"),
    );
    for (path, list) in [(ROUTE, "parents"), (POLICY, "ancestors")] {
        let entries = cluster.http().get(path).unwrap().json()["status"][list].as_array().cloned().unwrap();
        assert!(entries.contains(&entry(list, writes / 2)), "{entries:?}");
        assert_eq!(entries.len(), 2, "{entries:?}");
    }
    let ours = ours();
    assert!(ours as usize > flips, "{ours} writes of ours in {flips} flips");
    eprintln!(
        "{writes} writes of the other, {ours} of ours, {} conflicts",
        controller.metric("attache_status_writes_total{result=\"Conflict\"")
    );
}

#[test]
fn another_process_takes_over_when_the_leader_is_gone() {
    let Some(cluster) = TestCluster::start() else { return };
    open(&cluster);
    let first = Controller::start(&cluster, &[]);
    eventually("the first leads", || first.metric("attache_leader") == 1.0);
    let second = Controller::start(&cluster, &[]);
    let apply =
        |name: &str| cluster.apply(&policy("ColorPolicy", "shared", name, "HTTPRoute/r1", json!({"color": "red"})));
    let all = || statuses(&cluster, "shared", "colorpolicies");
    apply("p1");
    become_lines("ColorPolicy/p1 > g1: Accepted=True Accepted (), Enforced=True Enforced ()", all);
    assert_eq!((first.metric("attache_leader"), second.metric("attache_leader")), (1.0, 0.0));
    assert_eq!(second.metric("attache_status_writes_total"), 0.0);
    // A crash: the Lease expires.
    first.kill();
    let start = Instant::now();
    eventually("the second leads", || second.metric("attache_leader") == 1.0);
    eprintln!("hand-over after a crash: {:.1?}", start.elapsed());
    // What the first has written is what the second would write.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(second.metric("attache_status_writes_total"), 0.0, "{}", second.log());
    cluster.kubectl(&["delete", "colorpolicy/p1", "-n", "shared"]);
    apply("p3");
    become_lines("ColorPolicy/p3 > g1: Accepted=True Accepted (), Enforced=True Enforced ()", all);
    // An orderly end: the Lease is given back.
    let third = Controller::start(&cluster, &[]);
    assert_eq!(third.metric("attache_leader"), 0.0);
    assert!(second.stop().success());
    eventually("the third leads", || third.metric("attache_leader") == 1.0);
    let lease = cluster.kubectl(&["get", "lease/attache", "-n", NAMESPACE, "-o", "json"]);
    let lease: Value = serde_json::from_str(&lease).unwrap();
    assert_eq!(lease["spec"]["leaseTransitions"], 2, "{lease}");
}
