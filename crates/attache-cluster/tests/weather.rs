//! Servers that refuse requests, restart, are slow or cut connections, and unusual objects.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attache_cluster::{Cluster, ClusterError, ClusterFollower, ClusterReading};
use attache_engine::{Edit, Object, ObjectRef, Objects};
use attache_testenv::{ClusterOptions, Component, Fault, FaultProxy, TestCluster, eventually};
use common::{interest, names, open_bakery, options, read_with, shared, unseen};
use serde_json::{Value, json};

const POLICIES: &str = "/apis/example.io/v1/namespaces/baker/retrypolicies";

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let Some(cluster) = shared() else { return };
    let refused = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refused);
    let proxy = FaultProxy::start(cluster, move |path| {
        let busy = path.contains("/httproutes") && counted.fetch_add(1, Ordering::Relaxed) < 2;
        let body = String::from("{}");
        if busy { Fault::Answer { status: 429, header: Some("Retry-After: 0"), body } } else { Fault::None }
    });
    let reading = read_with(&options(proxy.kubeconfig())).unwrap();
    assert_eq!(names(&reading, "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    assert_eq!(refused.load(Ordering::Relaxed), 3);
    // Not before the time that the server names.
    let refused = AtomicUsize::new(0);
    let proxy = FaultProxy::start(cluster, move |path| {
        let busy = path.contains("/httproutes") && refused.fetch_add(1, Ordering::Relaxed) < 1;
        let body = String::from("{}");
        if busy { Fault::Answer { status: 429, header: Some("Retry-After: 1"), body } } else { Fault::None }
    });
    let start = Instant::now();
    assert_eq!(names(&read_with(&options(proxy.kubeconfig())).unwrap(), "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    assert!(start.elapsed() >= Duration::from_secs(1));
    let proxy = FaultProxy::start(cluster, |_| Fault::Answer {
        status: 429,
        header: Some("Retry-After: 0"),
        body: "{}".into(),
    });
    let error = read_with(&options(proxy.kubeconfig())).unwrap_err();
    assert!(matches!(error, ClusterError::TooManyRequests { .. }), "{error}");
}

#[test]
fn a_page_that_is_not_available_any_more_is_no_loss() {
    let Some(cluster) = TestCluster::start() else { return };
    std::thread::scope(|scope| {
        for part in 0..4 {
            let cluster = &cluster;
            scope.spawn(move || {
                for i in 0..270 {
                    let service = json!({"metadata": {"name": format!("s{part}-{i}")},
                        "spec": {"clusterIP": "None", "ports": [{"port": 80}]}});
                    let path = "/api/v1/namespaces/default/services";
                    cluster.http().post(path, &service).unwrap().expect_success();
                }
            });
        }
    });
    let proxy = FaultProxy::start(&cluster, |path| match path.contains("continue=") {
        true => Fault::refusal(410, "The provided continue parameter is too old"),
        false => Fault::None,
    });
    let reading = read_with(&options(proxy.kubeconfig())).unwrap();
    // Including the Service of the API server itself.
    assert_eq!(names(&reading, "Service").len(), 1081);
    let paged = read_with(&options(cluster.kubeconfig())).unwrap();
    assert_eq!(names(&paged, "Service"), names(&reading, "Service"));
}

#[test]
fn a_kind_that_disappears_while_it_is_listed_was_never_there() {
    let Some(cluster) = shared() else { return };
    let proxy = FaultProxy::start(cluster, |path| match path.contains("/retrypolicies") {
        true => Fault::refusal(404, "the server could not find the requested resource"),
        false => Fault::None,
    });
    let reading = read_with(&options(proxy.kubeconfig())).unwrap();
    assert_eq!(names(&reading, "RetryPolicy"), [""; 0]);
    assert_eq!(names(&reading, "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    assert_eq!(unseen(&reading), [""; 0]);
}

#[test]
fn a_kind_that_the_server_cannot_list_is_named_with_its_reason() {
    let Some(cluster) = shared() else { return };
    let proxy = FaultProxy::start(cluster, |path| match path.contains("/example.io/v1/retrypolicies") {
        true => Fault::refusal(500, "conversion webhook failed"),
        false => Fault::None,
    });
    let reading = read_with(&options(proxy.kubeconfig())).unwrap();
    let expected = "retrypolicies.example.io could not be listed (conversion webhook failed): RetryPolicies may affect what \
                    is shown";
    assert_eq!(unseen(&reading), [expected]);
}

#[test]
fn a_slow_server_delays_everything_once() {
    let Some(cluster) = shared() else { return };
    let proxy = FaultProxy::start(cluster, |_| Fault::Delay(Duration::from_millis(200)));
    let reading = read_with(&options(proxy.kubeconfig())).unwrap();
    assert_eq!(names(&reading, "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    let mut impatient = options(proxy.kubeconfig());
    impatient.request_timeout = Some(Duration::from_millis(50));
    assert!(matches!(read_with(&impatient).unwrap_err(), ClusterError::Timeout { .. }));
}

#[test]
fn an_answer_that_is_cut_is_an_error_and_not_a_shorter_list() {
    let Some(cluster) = shared() else { return };
    let proxy = FaultProxy::start(cluster, |path| match path.contains("/httproutes") {
        true => Fault::CutAfter(100),
        false => Fault::None,
    });
    let error = read_with(&options(proxy.kubeconfig())).unwrap_err();
    assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
}

#[test]
fn unusual_objects_are_read_like_others() {
    let Some(cluster) = TestCluster::start() else { return };
    open_bakery(&cluster);
    let policy = |name: &str, spec: Value| {
        json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy",
        "metadata": {"name": name, "annotations": {"note": "x".repeat(200_000)}}, "spec": spec})
    };
    let large = json!({"targetRef": {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cakes"},
        "text": "y".repeat(1_000_000)});
    cluster.http().post(POLICIES, &policy("large", large)).unwrap().expect_success();
    cluster.http().post(POLICIES, &policy("odd", json!({"retries": "many"}))).unwrap().expect_success();
    // The schema becomes stricter than the stored objects, and there is a second version.
    let version = |name: &str, storage: bool| {
        let retries = json!({"type": "integer"});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": {"type": "object", "required": ["retries"], "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"retries": retries}}}}}})
    };
    let patch = json!({"spec": {"versions": [version("v2", false), version("v1", true)]}});
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/retrypolicies.example.io";
    cluster.http().patch(crd, &patch).unwrap().expect_success();
    eventually("v2 is served", || cluster.http().get("/apis/example.io/v2/retrypolicies").unwrap().status == 200);
    let reading = read_with(&options(cluster.kubeconfig())).unwrap();
    let expected = ["RetryPolicy/baker/be-patient", "RetryPolicy/baker/large", "RetryPolicy/baker/odd"];
    assert_eq!(names(&reading, "RetryPolicy"), expected);
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
}

#[test]
fn an_annotation_of_a_megabyte_is_read_like_others() {
    let Some(cluster) = shared() else { return };
    // This API server takes at most 256 kB of annotations, but others need not have this limit.
    let policy = json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy",
        "metadata": {"name": "large", "namespace": "baker", "annotations": {"note": "\"x\\".repeat(350_000)}},
        "spec": {"retries": 1}});
    let list = json!({"apiVersion": "example.io/v1", "kind": "RetryPolicyList", "metadata": {"resourceVersion": "1"},
        "items": [policy]});
    let proxy = FaultProxy::start(cluster, move |path| match path.contains("/example.io/v1/retrypolicies") {
        true => Fault::Answer { status: 200, header: None, body: list.to_string() },
        false => Fault::None,
    });
    let reading = read_with(&options(proxy.kubeconfig())).unwrap();
    let policy = reading.objects.iter().find(|it| it.id.kind == "RetryPolicy").unwrap();
    let note = policy.body.at(&["metadata", "annotations", "note"]).unwrap();
    assert_eq!(note.as_str().unwrap().len(), 1_050_000);
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
}

/// A follower, and the objects that it has seen.
struct Following {
    follower: ClusterFollower,
    objects: BTreeMap<ObjectRef, Object>,
    disconnected: usize,
}

impl Following {
    fn start(kubeconfig: &std::path::Path) -> Following {
        let cluster = Cluster::connect(&options(kubeconfig)).unwrap();
        let mut reading: ClusterReading = cluster.read(&interest(), |_| ()).unwrap();
        let objects = std::mem::take(&mut reading.objects);
        let known = Objects::new(objects.clone());
        let objects = objects.into_iter().map(|it| (it.id.clone(), it)).collect();
        Following {
            follower: ClusterFollower::new(cluster, interest(), &mut reading, &known),
            objects,
            disconnected: 0,
        }
    }

    /// Follows until the objects are those of a fresh read.
    #[track_caller]
    fn catch_up(&mut self, kubeconfig: &std::path::Path) {
        let start = Instant::now();
        loop {
            // A server that has just started may still refuse requests.
            let fresh = read_with(&options(kubeconfig)).map(|reading| reading.objects).unwrap_or_default();
            let fresh: BTreeMap<ObjectRef, Object> = fresh.into_iter().map(|it| (it.id.clone(), it)).collect();
            if fresh == self.objects {
                return;
            }
            let differs = |(id, object): &(&ObjectRef, &Object)| self.objects.get(*id) != Some(*object);
            let missing: Vec<String> = fresh.iter().filter(differs).map(|(id, _)| id.to_string()).collect();
            let extra: Vec<&ObjectRef> = self.objects.keys().filter(|id| !fresh.contains_key(*id)).collect();
            assert!(start.elapsed() < Duration::from_secs(180), "missed {missing:?}, left {extra:?}");
            let stop = self.follower.stopper();
            let timer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(500));
                stop();
            });
            self.take();
            timer.join().unwrap();
        }
    }

    /// Takes events until it is stopped.
    fn take(&mut self) {
        loop {
            let now = Objects::new(self.objects.values().cloned().collect());
            let Some(news) = self.follower.wait(&now) else { return };
            self.disconnected += usize::from(news.disconnected.is_some());
            for edit in news.edits {
                match edit {
                    Edit::Put(object) => _ = self.objects.insert(object.id.clone(), object),
                    Edit::Delete(id) => _ = self.objects.remove(&id),
                }
            }
        }
    }
}

/// Creates, changes and deletes Services and policies, the same ones each time.
fn change(cluster: &TestCluster, seed: usize) {
    let name = format!("x{}", seed * 7 % 40);
    let http = cluster.http();
    let policy = json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy", "metadata": {"name": name},
        "spec": {"targetRef": {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cakes"}, "retries": seed}});
    let answer = match seed % 3 {
        0 => http.post(POLICIES, &policy),
        1 => http.patch(&format!("{POLICIES}/{name}"), &json!({"spec": {"retries": seed}})),
        _ => http.delete(&format!("{POLICIES}/{name}")),
    };
    // Requests fail if the object exists, or does not exist, or if the server restarts.
    let _ = answer;
}

#[test]
fn nothing_is_missed_across_restarts_of_the_api_server_and_of_etcd() {
    let Some(mut cluster) = TestCluster::start() else { return };
    open_bakery(&cluster);
    let kubeconfig = cluster.kubeconfig().to_owned();
    let mut following = Following::start(&kubeconfig);
    let changes: usize = std::env::var("SOAK").ok().and_then(|it| it.parse().ok()).unwrap_or(400);
    for (round, component) in
        [Component::ApiServer, Component::ApiServer, Component::Etcd, Component::ApiServer].into_iter().enumerate()
    {
        let stop = following.follower.stopper();
        let running = &mut following;
        std::thread::scope(|scope| {
            scope.spawn(|| running.take());
            (0..changes / 8).for_each(|i| change(&cluster, round * changes + i));
            stop();
        });
        // Changes while the connection is lost count, too.
        cluster.restart(component);
        eventually("the server writes", || {
            cluster.http().post(POLICIES, &json!({})).is_ok_and(|answer| answer.status == 422 || answer.status == 400)
        });
        (0..changes / 8).for_each(|i| change(&cluster, round * changes + changes / 2 + i));
        following.catch_up(&kubeconfig);
    }
    assert!(following.disconnected > 0);
}

#[test]
fn a_watch_that_is_cut_lags_or_sends_errors_loses_nothing() {
    let Some(cluster) = TestCluster::start() else { return };
    open_bakery(&cluster);
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let proxy = FaultProxy::start(&cluster, move |path| {
        if !path.contains("/retrypolicies?watch") {
            return Fault::None;
        }
        let expired = json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}});
        let broken = json!({"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "storage is down"}});
        let answer = |body: String| Fault::Answer { status: 200, header: None, body };
        match counted.fetch_add(1, Ordering::Relaxed) % 6 {
            0 => Fault::CutAfter(700),
            1 => answer(format!("{expired}\n")),
            2 => answer(format!("{broken}\n")),
            3 => answer("this is no event\n".into()),
            4 => Fault::refusal(410, "too old resource version"),
            _ => Fault::Delay(Duration::from_millis(300)),
        }
    });
    let mut following = Following::start(proxy.kubeconfig());
    for round in 0..6 {
        (0..10).for_each(|i| change(&cluster, round * 10 + i));
        following.catch_up(cluster.kubeconfig());
    }
    eventually("each fault has happened", || {
        change(&cluster, asked.load(Ordering::Relaxed));
        following.catch_up(cluster.kubeconfig());
        asked.load(Ordering::Relaxed) >= 6
    });
}

#[test]
fn kinds_come_and_go() {
    let Some(cluster) = ClusterOptions::new().start() else { return };
    let mut following = Following::start(cluster.kubeconfig());
    open_bakery(&cluster);
    following.catch_up(cluster.kubeconfig());
    assert!(following.objects.keys().any(|id| id.kind == "RetryPolicy"));
    cluster.kubectl(&["delete", "crd", "retrypolicies.example.io", "--timeout=180s"]);
    following.catch_up(cluster.kubeconfig());
    assert!(!following.objects.keys().any(|id| id.kind == "RetryPolicy"));
}
