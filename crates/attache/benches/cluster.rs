//! Commands against a real API server, side by side with a plain HTTP client that fetches the same lists.
//!
//! `cargo bench -p attache --bench cluster` prints a table. `SCALE=10` takes a tenth of the objects, and `ATTACHE=program`
//! measures another build of the program.

#![allow(clippy::unwrap_used)]

mod common;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use attache_testenv::{Fault, FaultProxy, HttpClient, TestCluster};
use serde_json::json;

use common::{Size, memory, percentile};

const RUNS: usize = 15;
const EDITS: usize = 40;

fn main() {
    let Some(cluster) = TestCluster::start() else { return };
    let scale: usize = std::env::var("SCALE").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    let size = Size {
        routes: 5000 / scale,
        services: 5000 / scale,
        gateways: 200 / scale,
        policies: 2000 / scale,
        on_gateways: 0,
        kinds: 10,
        namespaces: 500 / scale,
    };
    size.fill(&cluster);
    let recorded = record(&cluster);
    let kubeconfig = cluster.kubeconfig();
    let (mut commands, mut fetches, mut peak, mut fetched) =
        (Vec::new(), Vec::new(), Peak::default(), Fetched::default());
    for _ in 0..RUNS {
        let (time, memory) = describe(kubeconfig);
        commands.push(time);
        peak.add(memory);
        let start = Instant::now();
        fetched = fetch(&cluster, &recorded.lists);
        fetches.push(start.elapsed());
    }
    let (command, plain) = (percentile(&mut commands, 50), percentile(&mut fetches, 50));
    let ratio = command.as_secs_f64() / plain.as_secs_f64();
    println!("describe of one route, cold    {command:>8.0?}   {ratio:.2} x a plain client");
    println!("the same lists, plain client   {plain:>8.0?}   {:.1} MB", fetched.bytes as f64 / 1e6);
    println!(
        "requests of the command        {:>8}   {} lists with {} pages, {} others",
        recorded.requests,
        recorded.lists.len(),
        fetched.pages,
        recorded.requests - fetched.pages
    );
    for (name, bytes) in [("allocated", peak.allocated), ("resident", peak.resident)] {
        let ratio = bytes as f64 / fetched.bytes as f64;
        println!("peak of {name:<9} memory       {:>6.1} MB   {ratio:.1} x the bytes of the lists", bytes as f64 / 1e6);
    }
    let mut latencies = watch(&cluster, &size);
    println!("watch: change to printed line  {:>8.1?}   median of {EDITS}", percentile(&mut latencies, 50));
}

/// The requests of the command.
struct Recorded {
    /// The lists, without the parameter that continues them.
    lists: Vec<String>,
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
    let first_pages = paths.iter().filter(|path| path.contains("limit=") && !path.contains("continue="));
    Recorded { lists: first_pages.cloned().collect(), requests: paths.len() }
}

fn program() -> OsString {
    std::env::var_os("ATTACHE").unwrap_or_else(|| env!("CARGO_BIN_EXE_attache").into())
}

/// The most memory that a process has, in bytes.
#[derive(Clone, Copy, Default)]
struct Peak {
    /// What it has allocated.
    allocated: usize,
    /// The same, and the pages of the program file that are in use.
    resident: usize,
}

impl Peak {
    fn add(&mut self, other: Peak) {
        self.allocated = self.allocated.max(other.allocated);
        self.resident = self.resident.max(other.resident);
    }
}

/// The time of the command, and its peak memory.
fn describe(kubeconfig: &Path) -> (Duration, Peak) {
    let start = Instant::now();
    let mut child = Command::new(program())
        .args(["describe", "httproute/route-1", "-n", "ns-1"])
        .env_clear()
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = Peak::default();
    loop {
        // The kernel keeps the maximum of resident memory, so reading it shortly before the end is enough.
        peak.add(Peak { allocated: memory(child.id(), "RssAnon"), resident: memory(child.id(), "VmHWM") });
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return (start.elapsed(), peak);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[derive(Default)]
struct Fetched {
    bytes: usize,
    pages: usize,
}

/// Fetches lists with new connections, each in its own thread, page by page.
fn fetch(cluster: &TestCluster, lists: &[String]) -> Fetched {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for path in lists {
            let sender = sender.clone();
            scope.spawn(move || {
                let client: HttpClient = cluster.fresh_http();
                // As the command does: of Namespaces only the labels count.
                let accept = if path.starts_with("/api/v1/namespaces?") { METADATA } else { "application/json" };
                let mut page = String::new();
                loop {
                    let body = client.get_as(&format!("{path}{page}"), accept).unwrap().expect_success().body;
                    sender.send(body.len()).unwrap();
                    match next_page(&body) {
                        Some(token) => page = format!("&continue={token}"),
                        None => return,
                    }
                }
            });
        }
    });
    drop(sender);
    receiver.iter().fold(Fetched::default(), |all, bytes| Fetched { bytes: all.bytes + bytes, pages: all.pages + 1 })
}

const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The token for the next page. It is in the metadata of the list, before the items or after them.
fn next_page(body: &str) -> Option<&str> {
    const NEAR: usize = 1000;
    let head = &body[..body.floor_char_boundary(NEAR)];
    let tail = &body[body.ceil_char_boundary(body.len().saturating_sub(NEAR))..];
    let key = "\"continue\":\"";
    let found = [head, tail].into_iter().find_map(|part| part.split_once(key)?.1.split('"').next());
    found.filter(|token| !token.is_empty())
}

/// The time from when the server has accepted a change until its line is printed.
fn watch(cluster: &TestCluster, size: &Size) -> Vec<Duration> {
    let mut child = Command::new(program())
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
        let patch = json!({"spec": {"limit": value}});
        cluster.http().patch(&size.policy(0), &patch).unwrap().expect_success();
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
