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

/// The longest time in which nobody leads after a leader has crashed.
const HAND_OVER: Duration = Duration::from_secs(15);

/// The number of clients of the storm, each with a connection and policies of its own.
const CLIENTS: usize = 8;

/// Creates, changes and deletes policies until told to stop: `number` of all clients, at `rate` changes a second together.
/// Requests that fail are not repeated.
fn storm(http: &HttpClient, number: usize, rate: f64, stop: &AtomicBool, changes: &AtomicUsize) {
    // Whether a policy exists is known, unless its last request failed: one request makes a change.
    let mut exists = [false; 4];
    let start = Instant::now();
    for turn in 0.. {
        // A client that is late does not wait: the server sets the pace.
        let planned = Duration::from_secs_f64((turn * CLIENTS + number) as f64 / rate);
        std::thread::sleep(planned.saturating_sub(start.elapsed()));
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let (own, round) = (turn % exists.len(), turn / exists.len());
        let (name, target) = (format!("p{number}-{own}"), TARGETS[(number + own + round) % TARGETS.len()]);
        let color = if turn.is_multiple_of(5) { json!({"overrides": {"color": turn}}) } else { json!({"color": turn}) };
        let body: Value = serde_json::from_str(&policy("ColorPolicy", "storm", &name, target, color)).unwrap();
        let path = format!("{POLICIES}/{name}");
        let answer = match (round + own) % 8 {
            0 if exists[own] => http.delete(&path),
            _ if exists[own] => http.patch(&path, &json!({"spec": body["spec"]})),
            _ => http.post(POLICIES, &body),
        };
        let status = answer.map_or(0, |answer| answer.status);
        exists[own] = match (status, (round + own) % 8) {
            (200..300, 0) if exists[own] => false,
            (200..300 | 409, _) => true,
            (404, _) => false,
            // A request without an answer may have been successful: the next one finds out.
            _ => exists[own],
        };
        if (200..300).contains(&status) {
            changes.fetch_add(1, Ordering::Relaxed);
        }
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
    let (rounds, rate) = match std::env::var("FAULTS") {
        Ok(rounds) => (rounds.parse().unwrap(), 200.0),
        Err(_) => (1, 25.0),
    };
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    let kind =
        json!({"targets": ["Gateway", "Route"], "effectiveTarget": "Backend", "strategies": ["atomic", "patch"]});
    cluster.apply(&policy_kind("ColorPolicy", kind));
    topology(&cluster, "storm", &["g1 > r1 > b1", "g1 > r2 > b2", "g2 > r3 > b1"]);
    // More often than by default, but not so often that the storm has to wait for the writes of statuses.
    let fast = ["--status-qps", "50", "--status-burst", "50"];
    let mut controllers = vec![Controller::start(&cluster, &fast), Controller::start(&cluster, &fast)];
    let clients: Vec<HttpClient> = (0..CLIENTS).map(|_| cluster.fresh_http()).collect();
    for round in 0..rounds {
        for fault in ["leader", "API server", "etcd"] {
            let is_leader = |it: &Controller| it.metric("attache_leader") == 1.0;
            eventually("somebody leads", || controllers.iter().any(is_leader));
            let (stop, changes) = (AtomicBool::new(false), AtomicUsize::new(0));
            let (mut before_fault, mut handed_over) = (0.0, None);
            let start = Instant::now();
            std::thread::scope(|scope| {
                for (number, http) in clients.iter().enumerate() {
                    let (stop, changes) = (&stop, &changes);
                    scope.spawn(move || storm(http, number, rate, stop, changes));
                }
                // Also if this thread panics: a scope waits for its threads.
                let _stopping = StopOnDrop(&stop);
                std::thread::sleep(Duration::from_secs(3));
                eventually("policies change", || changes.load(Ordering::Relaxed) >= 20);
                before_fault = changes.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
                match fault {
                    "leader" => {
                        let leader = controllers.iter().position(is_leader).unwrap_or_default();
                        controllers.remove(leader).kill();
                        let killed = Instant::now();
                        controllers.push(Controller::spawn(&cluster, cluster.kubeconfig(), &fast));
                        eventually("another one leads", || controllers.iter().any(is_leader));
                        handed_over = Some(killed.elapsed());
                    }
                    "API server" => cluster.restart(Component::ApiServer),
                    _ => cluster.restart(Component::Etcd),
                }
                std::thread::sleep(Duration::from_secs(3));
            });
            let (count, seconds) = (changes.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
            eprintln!(
                "round {round}, {fault}: {before_fault:.0} changes a second before the fault, {:.0} with it, {count} in all",
                count as f64 / seconds
            );
            if let Some(time) = handed_over {
                eprintln!("  another one leads after {time:.1?}");
                assert!(time < HAND_OVER, "another one leads only after {time:.1?}");
            }
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
