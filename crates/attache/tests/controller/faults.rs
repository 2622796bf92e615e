//! Crashes of the controller, the API server and etcd while the cluster changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attache_testenv::{Component, HttpClient, TestCluster, eventually};
use serde_json::{Value, json};

use crate::harness::{Controller, create_namespace};
use crate::world::{ancestors, install_crds, install_kind, lines, objects, policy, policy_kind, text, topology};

const KINDS: &str = "colorpolicies,gateways,httproutes,services";
const POLICIES: &str = "/apis/example.io/v1/namespaces/storm/colorpolicies";
const TARGETS: [&str; 4] = ["Gateway/g1", "Gateway/g2", "HTTPRoute/r1", "HTTPRoute/r2"];

/// Creates, changes and deletes policies until told to stop. Requests that fail are not repeated.
fn storm(http: &HttpClient, seed: usize, pause: Duration, stop: &AtomicBool, changes: &AtomicUsize) {
    let mut number = seed;
    while !stop.load(Ordering::Relaxed) {
        number += 7;
        let (name, target) = (format!("p{}", number % 20), TARGETS[number % 3 + number % 2]);
        let color =
            if number.is_multiple_of(5) { json!({"overrides": {"color": number}}) } else { json!({"color": number}) };
        let body: Value = serde_json::from_str(&policy("ColorPolicy", "storm", &name, target, color)).unwrap();
        let path = format!("{POLICIES}/{name}");
        // Each time it is the turn of a policy, something else happens to it.
        let turn = number / (7 * 20);
        let answer = match (number + turn) % 4 {
            0 => http.delete(&path),
            _ => match http.post(POLICIES, &body) {
                Ok(answer) if answer.status == 409 => http.patch(&path, &json!({"spec": body["spec"]})),
                answer => answer,
            },
        };
        if answer.is_ok_and(|answer| answer.status < 300) {
            changes.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(pause);
    }
}

/// Stops the storm when it is dropped.
struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn after_crashes_the_statuses_are_those_of_a_fresh_computation() {
    let Some(mut cluster) = TestCluster::start() else { return };
    // FAULTS=3 crashes everything three times, with 200 changes a second.
    let (rounds, pause) = match std::env::var("FAULTS") {
        Ok(rounds) => (rounds.parse().unwrap(), Duration::from_millis(10)),
        Err(_) => (1, Duration::from_millis(80)),
    };
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    let kind =
        json!({"targets": ["Gateway", "Route"], "effectiveTarget": "Backend", "strategies": ["atomic", "patch"]});
    cluster.apply(&policy_kind("ColorPolicy", kind));
    topology(&cluster, "storm", &["g1 > r1 > b1", "g1 > r2 > b2", "g2 > r3 > b1"]);
    let fast = ["--status-qps", "500", "--status-burst", "500"];
    let mut controllers = vec![Controller::start(&cluster, &fast), Controller::start(&cluster, &fast)];
    let clients = [cluster.fresh_http(), cluster.fresh_http()];
    for round in 0..rounds {
        for fault in ["leader", "API server", "etcd"] {
            let is_leader = |it: &Controller| it.metric("attache_leader") == 1.0;
            eventually("somebody leads", || controllers.iter().any(is_leader));
            let (stop, changes) = (AtomicBool::new(false), AtomicUsize::new(0));
            let start = Instant::now();
            std::thread::scope(|scope| {
                for (seed, http) in clients.iter().enumerate() {
                    let (stop, changes) = (&stop, &changes);
                    scope.spawn(move || storm(http, seed, pause, stop, changes));
                }
                // Also if this thread panics: a scope waits for its threads.
                let _stopping = StopOnDrop(&stop);
                std::thread::sleep(Duration::from_secs(2));
                eventually("policies change", || changes.load(Ordering::Relaxed) >= 20);
                match fault {
                    "leader" => {
                        let leader = controllers.iter().position(is_leader).unwrap_or_default();
                        controllers.remove(leader).kill();
                        controllers.push(Controller::spawn(&cluster, cluster.kubeconfig(), &fast));
                    }
                    "API server" => cluster.restart(Component::ApiServer),
                    _ => cluster.restart(Component::Etcd),
                }
                std::thread::sleep(Duration::from_secs(2));
            });
            let (count, seconds) = (changes.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
            eprintln!("round {round}, {fault}: {count} changes, {:.0} a second", count as f64 / seconds);
            let start = Instant::now();
            while let Some(difference) = difference(&cluster) {
                assert!(start.elapsed() < Duration::from_secs(180), "{fault}: {difference}");
                std::thread::sleep(Duration::from_millis(200));
            }
            eprintln!("  all statuses are as computed after {:.1?}", start.elapsed());
        }
    }
}

/// The first status in the cluster that is not what the command `status` computes from the same objects.
fn difference(cluster: &TestCluster) -> Option<String> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_attache"))
        .env_clear()
        .env("KUBECONFIG", cluster.kubeconfig())
        .args(["status", "-n", "storm", "-o", "json"])
        .output()
        .unwrap();
    let Ok(computed) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Some(String::from_utf8_lossy(&output.stderr).into_owned());
    };
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for status in computed["policies"].as_array().into_iter().flatten() {
        let entries = status["ancestors"].as_array().into_iter().flatten();
        let object = json!({
            "apiVersion": "example.io/v1", "kind": "ColorPolicy", "metadata": {"name": names(&status["policy"]).1},
            "status": {"ancestors": entries.map(|it| dated(it, "attache.dev/controller")).collect::<Vec<_>>()},
        });
        expected.insert(key(&object), lines(&object));
    }
    for status in computed["targets"].as_array().into_iter().flatten() {
        let (kind, name) = names(&status["target"]);
        if !name.contains('#') {
            let conditions = &dated(status, "")["conditions"];
            let object = json!({"kind": kind, "metadata": {"name": name}, "status": {"conditions": conditions}});
            expected.insert(key(&object), lines(&object));
        }
    }
    // After a crash the API server may refuse requests for a moment.
    let found = match cluster.try_kubectl(&["get", KINDS, "-n", "storm", "-o", "json"]) {
        Ok(found) => objects(&found),
        Err(error) => return Some(error.to_string()),
    };
    found.into_iter().find_map(|mut object| {
        if object["kind"] == "HTTPRoute" {
            let parents = object["status"]["parents"].as_array().cloned().unwrap_or_default();
            let ours = parents.iter().find(|it| it["controllerName"] == "attache.dev/controller");
            object["status"] = json!({"conditions": ours.map(|it| it["conditions"].clone())});
        }
        let (found, expected) = (lines(&object), expected.get(&key(&object)).cloned().unwrap_or_default());
        (found != expected).then(|| format!("{found:#?} instead of {expected:#?}"))
    })
}

/// The kind and the name of `KIND/NAMESPACE/NAME`.
fn names(reference: &Value) -> (&str, &str) {
    let reference = text(reference);
    (reference.split('/').next().unwrap_or_default(), reference.rsplit('/').next().unwrap_or_default())
}

fn key(object: &Value) -> String {
    format!("{}/{}", object["kind"], object["metadata"]["name"])
}

/// An entry as an object without a generation has it in a cluster: its conditions have a time.
fn dated(entry: &Value, controller: &str) -> Value {
    let mut entry = entry.clone();
    entry["controllerName"] = json!(controller);
    for condition in entry["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
        condition["observedGeneration"] = Value::Null;
    }
    entry
}
