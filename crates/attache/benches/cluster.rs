//! Commands against a real API server, side by side with a plain HTTP client that fetches the same lists.
//!
//! `cargo bench -p attache --bench cluster` prints a table. `SCALE=10` takes a tenth of the objects.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use attache_testenv::{Fault, FaultProxy, HttpClient, TestCluster};
use serde_json::{Value, json};

const KINDS: usize = 10;
const RUNS: usize = 9;
const EDITS: usize = 40;

fn main() {
    let Some(cluster) = TestCluster::start() else { return };
    let scale: usize = std::env::var("SCALE").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let size = Size {
        routes: 5000 / scale,
        services: 5000 / scale,
        gateways: 200 / scale,
        policies: 2000 / scale,
        namespaces: 500 / scale,
    };
    let start = Instant::now();
    fill(&cluster, &size);
    println!("{size:?} created in {:.0?}", start.elapsed());

    let paths = record(&cluster);
    let kubeconfig = cluster.kubeconfig();
    let (mut commands, mut fetches, mut memory, mut bytes, mut pages) = (Vec::new(), Vec::new(), 0, 0, 0);
    for _ in 0..RUNS {
        let (time, peak) = describe(kubeconfig);
        commands.push(time);
        memory = memory.max(peak);
        let start = Instant::now();
        (bytes, pages) = fetch(&cluster, &paths.lists);
        fetches.push(start.elapsed());
    }
    let (command, plain) = (median(&mut commands), median(&mut fetches));
    println!("describe of one route, cold    {command:>8.0?}   {:.2} x a plain client", ratio(command, plain));
    println!("the same lists, plain client   {plain:>8.0?}   {:.1} MB", bytes as f64 / 1e6);
    println!(
        "requests of the command        {:>8}   {} kinds, {pages} pages in all",
        paths.requests,
        paths.lists.len()
    );
    println!(
        "peak memory of the command     {:>6} MB   {:.1} x the bytes of the lists",
        memory >> 20,
        memory as f64 / bytes as f64
    );
    let mut latencies = watch(&cluster);
    println!("watch: change to printed line  {:>8.1?}   median of {EDITS}", median(&mut latencies));
}

#[derive(Debug)]
struct Size {
    routes: usize,
    services: usize,
    gateways: usize,
    policies: usize,
    namespaces: usize,
}

fn fill(cluster: &TestCluster, size: &Size) {
    let crd = |i: usize| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("p{i}policies.bench.io"), "labels": {"gateway.networking.k8s.io/policy": "Inherited"}},
            "spec": {"group": "bench.io", "scope": "Namespaced", "names": {"plural": format!("p{i}policies"),
                "singular": format!("p{i}policy"), "kind": format!("P{i}Policy"), "listKind": format!("P{i}PolicyList")},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]}})
    };
    let namespace = |i: usize| format!("ns-{}", i % size.namespaces);
    let post = |count: usize, make: &(dyn Fn(usize) -> (String, Value) + Sync)| {
        std::thread::scope(|scope| {
            for part in 0..4 {
                scope.spawn(move || {
                    for i in (part..count).step_by(4) {
                        let (path, body) = make(i);
                        cluster.http().post(&path, &body).unwrap().expect_success();
                    }
                });
            }
        });
    };
    post(KINDS, &|i| ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".into(), crd(i)));
    post(size.namespaces, &|i| ("/api/v1/namespaces".into(), json!({"metadata": {"name": namespace(i)}})));
    cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=120s", "crd", "--all"]);
    let gateway_api =
        |i: usize, plural: &str| format!("/apis/gateway.networking.k8s.io/v1/namespaces/{}/{plural}", namespace(i));
    let object = |kind: &str, name: String, spec: Value| json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    post(size.gateways, &|i| {
        let listener =
            json!({"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}});
        let spec = json!({"gatewayClassName": "bench", "listeners": [listener]});
        (gateway_api(i, "gateways"), object("Gateway", format!("gw-{i}"), spec))
    });
    post(size.services, &|i| {
        let service =
            json!({"metadata": {"name": format!("svc-{i}")}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}});
        (format!("/api/v1/namespaces/{}/services", namespace(i)), service)
    });
    post(size.routes, &|i| {
        let gateway = i % size.gateways;
        let parent = json!({"name": format!("gw-{gateway}"), "namespace": namespace(gateway)});
        let backend = i % size.services;
        let matched = json!({"path": {"type": "PathPrefix", "value": format!("/{i}")}});
        let rule = json!({"matches": [matched], "backendRefs": [{"name": format!("svc-{backend}"), "port": 80}]});
        let spec = json!({"parentRefs": [parent], "hostnames": [format!("h{i}.example.com")], "rules": [rule]});
        (gateway_api(i, "httproutes"), object("HTTPRoute", format!("route-{i}"), spec))
    });
    post(size.policies, &|i| {
        let kind = i % KINDS;
        let target = i % size.routes;
        let reference =
            json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": format!("route-{target}")});
        let policy = json!({"apiVersion": "bench.io/v1", "kind": format!("P{kind}Policy"), "metadata": {"name": format!("p-{i}")},
            "spec": {"targetRef": reference, "limit": i, "burst": {"size": i, "unit": "s"}}});
        (format!("/apis/bench.io/v1/namespaces/{}/p{kind}policies", namespace(target)), policy)
    });
}

/// What the command asks for.
struct Recorded {
    /// The lists, without what says which page is meant.
    lists: BTreeSet<String>,
    requests: usize,
}

fn record(cluster: &TestCluster) -> Recorded {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&paths);
    let proxy = FaultProxy::start(cluster, move |path| {
        seen.lock().unwrap().push(path.to_owned());
        Fault::None
    });
    describe(proxy.kubeconfig());
    let paths = paths.lock().unwrap();
    let lists = paths.iter().map(|path| path.split("&continue=").next().unwrap().to_owned()).collect();
    Recorded { lists, requests: paths.len() }
}

/// How long the command takes, and the most memory that it had.
fn describe(kubeconfig: &Path) -> (Duration, usize) {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(["describe", "httproute/route-1", "-n", "ns-1"])
        .env_clear()
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // The kernel keeps the maximum: to read it shortly before the end is enough.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<usize>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() << 10);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return (start.elapsed(), peak);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Fetches lists with new connections, each in its own thread and all their pages.
fn fetch(cluster: &TestCluster, lists: &BTreeSet<String>) -> (usize, usize) {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for path in lists {
            let sender = sender.clone();
            scope.spawn(move || {
                let client: HttpClient = cluster.fresh_http();
                let mut token = String::new();
                loop {
                    let page = if token.is_empty() { String::new() } else { format!("&continue={token}") };
                    let body = client.get(&format!("{path}{page}")).unwrap().body;
                    sender.send(body.len()).unwrap();
                    let key = "\"continue\":\"";
                    match body.rfind(key).map(|at| &body[at + key.len()..]) {
                        Some(rest) if !rest.starts_with('"') => token = rest.split('"').next().unwrap().to_owned(),
                        _ => return,
                    }
                }
            });
        }
    });
    drop(sender);
    let lengths: Vec<usize> = receiver.iter().collect();
    (lengths.iter().sum(), lengths.len())
}

/// The time from when the server has taken a change until its line is printed.
fn watch(cluster: &TestCluster) -> Vec<Duration> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(["watch", "-A"])
        .env_clear()
        .env("KUBECONFIG", cluster.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let stdout = child.stdout.take().unwrap();
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).for_each(|line| _ = sender.send((Instant::now(), line)));
    });
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("watching ") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "watch ended");
    }
    let mut latencies = Vec::new();
    for i in 0..EDITS {
        let value = 1_000_000 + i;
        let path = "/apis/bench.io/v1/namespaces/ns-0/p0policies/p-0";
        cluster.http().patch(path, &json!({"spec": {"limit": value}})).unwrap().expect_success();
        let changed = Instant::now();
        loop {
            let (printed, line) = lines.recv_timeout(Duration::from_secs(20)).unwrap();
            if line.contains(&value.to_string()) {
                latencies.push(printed.saturating_duration_since(changed));
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    latencies
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}
