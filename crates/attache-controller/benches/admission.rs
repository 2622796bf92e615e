//! The time that the webhook takes to answer, with 100,000 routes in the snapshot.
//!
//! Beside criterion's estimates it prints the 99th percentile of each request, which is what users wait for.

use std::time::{Duration, Instant};

use attache_controller::State;
use attache_controller::admission::{AdmissionOptions, review};
use attache_engine::kinds::{Settings, built_in};
use attache_engine::{IncrementalEngine, Object, Objects};
use attache_gen::{ManifestShape, generate};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

const ROUTES: usize = 100_000;

/// 10,000 routes on each of ten gateways, a policy on each gateway and on each tenth route.
fn objects() -> Vec<Object> {
    generate(&ManifestShape { services: ROUTES, namespaces: 500, ..ManifestShape::one_in_ten(ROUTES) })
}

fn state(objects: Vec<Object>) -> State {
    State::first(IncrementalEngine::new(Objects::new(objects), &built_in().0, Settings::default()), Vec::new())
}

fn request(operation: &str, before: &Value, after: &Value) -> Vec<u8> {
    let request = json!({"uid": "u", "operation": operation, "object": after, "oldObject": before});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string().into_bytes()
}

fn admission(criterion: &mut Criterion) {
    let objects = objects();
    let policy = |level: &str| {
        let mut policies = objects.iter().filter(|it| it.id.kind == "LimitPolicy" && it.id.name.starts_with(level));
        let middle = policies.clone().count() / 2;
        serde_json::to_value(&policies.nth(middle).expect("there are policies").body).expect("an object is JSON")
    };
    let (of_route, of_gateway) = (policy("httproute"), policy("gateway"));
    let mut stricter = of_route.clone();
    stricter["spec"]["defaults"]["limits"] = json!({"limit-0": {"rate": 7, "window": "1s"}});
    let mut stricter_gateway = of_gateway.clone();
    stricter_gateway["spec"]["defaults"]["limits"] = json!({"limit-0": {"rate": 7, "window": "1s"}});
    let requests = [
        ("policy of a route changed", request("UPDATE", &of_route, &stricter)),
        ("policy of a route deleted", request("DELETE", &of_route, &Value::Null)),
        ("policy of a gateway with 10,000 routes changed", request("UPDATE", &of_gateway, &stricter_gateway)),
        ("policy of a gateway with 10,000 routes deleted", request("DELETE", &of_gateway, &Value::Null)),
    ];
    let state = state(objects);
    let answer = |body: &[u8]| review(Some(&state), AdmissionOptions::default(), body).expect("an AdmissionReview").0;
    let mut group = criterion.benchmark_group("admission");
    group.sample_size(20);
    for (name, body) in &requests {
        println!("{name}: {:?}", answer(body).warnings);
        println!("{name}: p99 {:?} of {SAMPLES} answers", percentile(|| _ = answer(body)));
        group.bench_function(*name, |bencher| bencher.iter(|| answer(body)));
    }
    group.bench_function("clone of the engine", |bencher| bencher.iter(|| IncrementalEngine::clone(&state.engine)));
}

const SAMPLES: usize = 300;

/// The time below which 99 of 100 calls stay.
fn percentile(mut call: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            call();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[SAMPLES * 99 / 100]
}

criterion_group!(benches, admission);
criterion_main!(benches);
