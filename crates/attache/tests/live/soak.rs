//! A long watch: nothing is missed across restarts, and memory stays flat.
//!
//! `SOAK=100000 cargo test --release -p attache --test live soak -- --nocapture` makes so many changes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use attache_testenv::{Component, HttpClient, TestCluster, eventually};
use serde_json::{Value, json};

use crate::{Lines, attache, open_bakery};

const POLICIES: &str = "/apis/example.io/v1/namespaces/baker/retrypolicies";
const ROUTES: usize = 40;
const CLIENTS: usize = 4;

/// The effective policies: from policy kind and scope to spec.
type State = BTreeMap<String, Value>;

fn key(kind: &Value, scope: &Value) -> String {
    json!([kind, scope["scope"], scope["from"]]).to_string()
}

fn fresh(cluster: &TestCluster) -> State {
    let output = attache(cluster.kubeconfig()).args(["effective", "-A", "-o", "json"]).output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    items.into_iter().map(|item| (key(&item["policyKind"], &item), item["spec"].clone())).collect()
}

/// Takes a line of `watch -o json`.
fn follow(state: &mut State, line: &str) {
    let change: Value = serde_json::from_str(line).unwrap();
    if change["type"] != "effective" {
        return;
    }
    for scope in change["scopes"].as_array().unwrap() {
        let key = key(&change["policyKind"], scope);
        match &change["after"] {
            Value::Null => _ = state.remove(&key),
            after => _ = state.insert(key, after["spec"].clone()),
        }
    }
}

/// The memory of a process, in kB.
fn memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// One change: nearly always a value of a policy, sometimes a deletion or creation. Repeated until the server responds.
/// Whether it was accepted.
fn change(http: &HttpClient, seed: usize) -> bool {
    let name = format!("p{}", seed % ROUTES);
    let path = format!("{POLICIES}/{name}");
    loop {
        let answer = match seed / ROUTES % 20 {
            18 => http.delete(&path),
            19 => http.post(POLICIES, &policy(seed % ROUTES, seed)),
            _ => http.patch(&path, &json!({"spec": {"retries": seed}})),
        };
        match answer.map(|answer| answer.status) {
            Ok(200..300) => return true,
            Ok(404 | 409) => return false,
            // The server restarts.
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn policy(route: usize, retries: usize) -> Value {
    let target = json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": format!("r{route}")});
    json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy", "metadata": {"name": format!("p{route}")},
        "spec": {"targetRef": target, "retries": retries}})
}

#[test]
fn a_long_watch_misses_nothing_across_restarts_and_its_memory_stays_flat() {
    let Some(mut cluster) = TestCluster::start() else { return };
    open_bakery(&cluster);
    for i in 0..ROUTES {
        let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": format!("r{i}")},
            "spec": {"parentRefs": [{"name": "shop", "namespace": "infra"}], "rules": [{"backendRefs": [{"name": "cakes", "port": 80}]}]}});
        let routes = "/apis/gateway.networking.k8s.io/v1/namespaces/baker/httproutes";
        cluster.http().post(routes, &route).unwrap().expect_success();
        cluster.http().post(POLICIES, &policy(i, 0)).unwrap().expect_success();
    }
    let changes: usize = std::env::var("SOAK").ok().and_then(|it| it.parse().ok()).unwrap_or(800);
    let state = Arc::new(Mutex::new(fresh(&cluster)));
    let mut child = attache(cluster.kubeconfig())
        .args(["watch", "-A", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, followed) = (BufReader::new(child.stdout.take().unwrap()).lines(), Arc::clone(&state));
    std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| follow(&mut followed.lock().unwrap(), &line));
    });
    // Changes that are made before it watches are not printed.
    let mut notices = Lines::new(child.stderr.take().unwrap());
    notices.expect("watching ").unwrap();
    const SERVER: Option<Component> = Some(Component::ApiServer);
    let restarts = [None, SERVER, SERVER, Some(Component::Etcd), SERVER];
    let part = changes / restarts.len();
    let (accepted, start, mut sizes) = (AtomicUsize::new(0), Instant::now(), Vec::new());
    for (round, component) in restarts.iter().enumerate() {
        let http = cluster.http().clone();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (http, accepted) = (&http, &accepted);
                scope.spawn(move || {
                    // Each policy is changed by one client only.
                    let own = (round * part..(round + 1) * part).filter(|seed| seed % ROUTES % CLIENTS == client);
                    own.for_each(|seed| _ = accepted.fetch_add(usize::from(change(http, seed)), Ordering::Relaxed));
                });
            }
            // While the clients go on.
            component.iter().for_each(|component| cluster.restart(*component));
        });
        eventually("what was printed is what is in force", || *state.lock().unwrap() == fresh(&cluster));
        sizes.push(memory(child.id()));
    }
    let accepted = accepted.into_inner();
    println!("{accepted} changes in {:.0?}, memory of watch after each fifth: {sizes:?} kB", start.elapsed());
    assert!(accepted > changes / 2, "{accepted}");
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    assert!(last < first + first / 4 + 16 * 1024, "memory grows: {sizes:?} kB");
    child.kill().unwrap();
    child.wait().unwrap();
}
