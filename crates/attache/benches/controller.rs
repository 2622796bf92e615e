//! The controller on a real API server: memory, CPU, and the time from a change to its effect.
//!
//! `cargo bench -p attache --bench controller` prints a table. `ROUTES=1000` chooses the size. With `STATUS=off` no statuses are
//! written, which takes long in a large cluster.

#![allow(clippy::unwrap_used)]

mod common;
#[allow(dead_code)]
#[path = "../tests/controller/harness.rs"]
mod harness;
#[allow(dead_code)]
#[path = "../tests/controller/world.rs"]
mod world;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use attache_controller::{FollowOptions, Metrics, ShutdownTrigger, State, StatePublisher, follow};
use attache_testenv::{HttpClient, TestCluster};
use serde_json::{Value, json};

use common::{Size, cpu, memory, percentile};
use harness::{Controller, create_namespace};

const EDITS: usize = 200;
const LOAD: Duration = Duration::from_secs(20);
const FAST: [&str; 4] = ["--status-qps", "1000", "--status-burst", "1000"];

fn main() {
    let Some(cluster) = TestCluster::start() else { return };
    let routes: usize = std::env::var("ROUTES").ok().and_then(|it| it.parse().ok()).unwrap_or(5000);
    let gateways = (routes / 500).max(1);
    let size = Size {
        routes,
        services: routes,
        gateways,
        policies: gateways + routes / 10,
        on_gateways: gateways,
        kinds: 1,
        namespaces: (routes / 10).clamp(1, 500),
    };
    world::install_crds(&cluster);
    create_namespace(&cluster);
    size.fill(&cluster);
    let writes = std::env::var("STATUS").as_deref() != Ok("off");
    let write = if writes { "All" } else { "None" };
    let kind =
        json!({"group": "bench.io", "kind": "P0Policy", "targets": ["Gateway", "Route"], "status": {"write": write}});
    let kind = json!({"apiVersion": "attache.dev/v1alpha1", "kind": "PolicyKind",
        "metadata": {"name": "p0policies.bench.io"}, "spec": kind});
    cluster.apply(&kind.to_string());

    if writes {
        write_all(&cluster);
    }
    let start = Instant::now();
    let controller = Controller::spawn(&cluster, cluster.kubeconfig(), &[]);
    wait_until(|| controller.get("/readyz").is_some_and(|(status, _)| status == 200));
    println!("ready after {:.1?}", start.elapsed());
    wait_until(|| controller.metric("attache_leader") == 1.0);
    std::thread::sleep(Duration::from_secs(5));
    println!("writes after a restart: {}", controller.metric("attache_status_writes_total"));
    show_memory(&controller, "after the first read");
    show_load(&cluster, &controller, "nothing changes", 0, |_, _| ());
    show_load(&cluster, &controller, "10 status updates of routes a second, by others", 10, |http, i| {
        update_status(http, &size.route(i % routes), i);
    });
    for rate in [10, 100] {
        show_load(&cluster, &controller, &format!("{rate} changes of policies a second"), rate, |http, i| {
            edit(http, &size.policy(gateways + i % (size.policies - gateways)), i);
        });
    }
    show_memory(&controller, "after these changes");
    if writes {
        let mut times = status_times(&cluster, &size);
        show_times("change to written status", &mut times);
        let queued = controller.metric("attache_status_queue");
        println!("statuses that wait: {queued}");
        show_neighbours(&cluster, &size, &controller);
    }
    drop(controller);
    let mut times = snapshot_times(&cluster, &size);
    show_times("change to snapshot", &mut times);
}

/// Writes every status once, so that later measurements begin when there is nothing to write.
fn write_all(cluster: &TestCluster) {
    let controller = Controller::spawn(cluster, cluster.kubeconfig(), &FAST);
    let start = Instant::now();
    let writes = || controller.metric("attache_status_writes_total");
    wait_until(|| writes() > 0.0);
    let mut before = 0.0;
    while before != writes() || controller.metric("attache_status_queue") > 0.0 {
        before = writes();
        std::thread::sleep(Duration::from_secs(2));
    }
    println!("all statuses written: {before} in {:.0?}", start.elapsed());
    show_memory(&controller, "meanwhile");
}

fn show_memory(controller: &Controller, when: &str) {
    let [now, peak] = ["VmRSS", "VmHWM"].map(|line| memory(controller.pid(), line) >> 20);
    println!("memory {when}: {now} MB, peak {peak} MB");
}

/// The CPU of the controller while changes are made at a rate.
fn show_load(
    cluster: &TestCluster,
    controller: &Controller,
    what: &str,
    rate: u32,
    change: impl Fn(&HttpClient, usize) + Sync,
) {
    let (before, start) = (cpu(controller.pid()), Instant::now());
    let made = at_rate(cluster, rate, &change, || start.elapsed() < LOAD);
    let (time, elapsed) = (cpu(controller.pid()) - before, start.elapsed());
    let percent = 100.0 * time.as_secs_f64() / elapsed.as_secs_f64();
    println!("CPU, {what}: {percent:.1} % of a core ({:.0} a second)", made as f64 / elapsed.as_secs_f64());
}

/// Makes changes at a rate, with as many clients as that needs, and returns how many were made.
fn at_rate(
    cluster: &TestCluster,
    rate: u32,
    change: &(impl Fn(&HttpClient, usize) + Sync),
    goes_on: impl Fn() -> bool + Sync,
) -> usize {
    if rate == 0 {
        while goes_on() {
            std::thread::sleep(Duration::from_millis(50));
        }
        return 0;
    }
    let clients = rate.div_ceil(50);
    let (goes_on, pause) = (&goes_on, Duration::from_secs(clients.into()) / rate);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients as usize)
            .map(|client| {
                scope.spawn(move || {
                    let (http, start, mut made) = (cluster.fresh_http(), Instant::now(), 0);
                    while goes_on() {
                        change(&http, made as usize * clients as usize + client);
                        made += 1;
                        std::thread::sleep((pause * made).saturating_sub(start.elapsed()));
                    }
                    made as usize
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    })
}

/// Changes a value of a policy, and returns its new generation.
fn edit(http: &HttpClient, path: &str, value: usize) -> i64 {
    let unique = json!({"spec": {"limit": 1_000_000 + value}});
    http.patch(path, &unique).unwrap().expect_success().json()["metadata"]["generation"].as_i64().unwrap()
}

/// Updates the status of a route as another controller does.
fn update_status(http: &HttpClient, path: &str, number: usize) {
    let mut route = http.get(path).unwrap().expect_success().json();
    let condition = json!({"type": "Accepted", "status": "True", "reason": "Accepted", "message": number.to_string(),
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let reference = route["spec"]["parentRefs"][0].clone();
    let ours = |it: &Value| it["controllerName"] == "attache.dev/controller";
    let mut parents = route["status"]["parents"].as_array().cloned().unwrap_or_default();
    parents.retain(ours);
    parents.push(json!({"parentRef": reference, "controllerName": "bench.io/gateways", "conditions": [condition]}));
    route["status"] = json!({"parents": parents});
    http.put(&format!("{path}/status"), &route).unwrap();
}

/// The times from sending a change of a policy until its status is written and read.
fn status_times(cluster: &TestCluster, size: &Size) -> Vec<Duration> {
    let http = cluster.fresh_http();
    let change = |i: usize| {
        let path = size.policy(size.on_gateways + i % (size.policies - size.on_gateways));
        let start = Instant::now();
        let generation = edit(&http, &path, 2_000_000 + i);
        loop {
            let policy = http.get(&path).unwrap().expect_success().json();
            let conditions = &policy["status"]["ancestors"][0]["conditions"];
            if conditions[0]["observedGeneration"] == generation {
                let time = start.elapsed();
                std::thread::sleep(Duration::from_millis(100).saturating_sub(time));
                return time;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no status of generation {generation}: {policy}");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    (0..EDITS).map(change).collect()
}

/// The time of requests of another client while a policy of a Gateway is created and deleted again and again, and the
/// statuses of its routes are written, side by side with the time while nothing is written.
fn show_neighbours(cluster: &TestCluster, size: &Size, controller: &Controller) {
    let http = cluster.fresh_http();
    let path = size.policy(0);
    let mut policy = http.get(&path).unwrap().expect_success().json();
    policy["metadata"] = json!({"name": policy["metadata"]["name"], "namespace": policy["metadata"]["namespace"]});
    let collection = path.rsplit_once('/').unwrap().0;
    let (mut calm, mut busy, mut writes) = (Vec::new(), Vec::new(), 0.0);
    for round in 0..6 {
        wait_until(|| controller.metric("attache_status_queue") == 0.0);
        std::thread::sleep(Duration::from_secs(1));
        calm.extend(request_times(&http, size, round));
        match round % 2 {
            0 => http.delete(&path).unwrap().expect_success(),
            _ => http.post(collection, &policy).unwrap().expect_success(),
        };
        // The burst comes first, then the constant rate.
        wait_until(|| controller.metric("attache_status_queue") > 0.0);
        let before = controller.metric("attache_status_writes_total");
        busy.extend(request_times(&http, size, round));
        writes += controller.metric("attache_status_writes_total") - before;
    }
    for (what, percent) in [("median", 50), ("90th percentile", 90)] {
        let [calm, busy] = [&mut calm, &mut busy].map(|times| percentile(times, percent));
        let ratio = busy.as_secs_f64() / calm.as_secs_f64();
        println!(
            "requests of others, {what}: {calm:.1?}, while {writes} statuses are written {busy:.1?} ({ratio:.2} x)"
        );
    }
}

/// The times of reads and writes.
fn request_times(http: &HttpClient, size: &Size, round: usize) -> Vec<Duration> {
    let time = |i: usize| {
        let path = size.route(i * 37 % size.routes);
        let start = Instant::now();
        match i % 2 {
            0 => http.get(&path).unwrap().expect_success(),
            _ => http
                .patch(&path, &json!({"metadata": {"annotations": {"bench.io/n": (round * 1000 + i).to_string()}}}))
                .unwrap(),
        };
        let time = start.elapsed();
        std::thread::sleep(Duration::from_millis(10));
        time
    };
    (0..300).map(time).collect()
}

/// The times from sending a change of a policy until there is a snapshot with it.
fn snapshot_times(cluster: &TestCluster, size: &Size) -> Vec<Duration> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (publisher, mut reader) = StatePublisher::new();
    let (trigger, shutdown) = ShutdownTrigger::new();
    let mut options = FollowOptions::default();
    options.client.kubeconfig = Some(cluster.kubeconfig().to_owned());
    let handle = runtime.handle().clone();
    let following = std::thread::spawn(move || {
        let _entered = handle.enter();
        follow(&options, &publisher, &Metrics::new(), &shutdown).unwrap();
    });
    runtime.block_on(reader.next()).unwrap();
    // Kinds are looked for again shortly after the start.
    std::thread::sleep(Duration::from_secs(10));
    let http = cluster.fresh_http();
    let change = |i: usize| {
        let path = size.policy(size.on_gateways + i % (size.policies - size.on_gateways));
        let name = path.rsplit('/').next().unwrap().to_owned();
        let is_done = AtomicBool::new(false);
        let start = Instant::now();
        let time = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let state = runtime.block_on(reader.next()).unwrap();
                    if has_value(&state, &name, 1_000_000 + 3_000_000 + i) {
                        return start.elapsed();
                    }
                }
                Duration::MAX
            });
            edit(&http, &path, 3_000_000 + i);
            waiting.join().unwrap()
        });
        std::thread::sleep(Duration::from_millis(20));
        time
    };
    let times = (0..EDITS).map(change).collect();
    trigger.request();
    following.join().unwrap();
    times
}

/// Whether the last batch of a state set the limit of a policy to this value.
fn has_value(state: &State, name: &str, value: usize) -> bool {
    let objects = state.snapshot.engine.objects();
    let edited = state.edited.iter().filter(|id| id.name == name).filter_map(|id| objects.find(id));
    let mut values = edited.filter_map(|id| objects[id].body.at(&["spec", "limit"])?.as_int());
    values.any(|it| it == value as i64)
}

fn show_times(what: &str, times: &mut [Duration]) {
    let [median, high] = [50, 99].map(|percent| percentile(times, percent));
    println!("{what}: median {median:.1?}, p99 {high:.1?} of {}", times.len());
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::sleep(Duration::from_millis(50));
    }
}
