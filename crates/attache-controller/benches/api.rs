//! The time of a list of effective policies: a namespace with 200 of 100,000 routes.

use attache_controller::{State, StatePublisher, api};
use attache_engine::kinds::{Settings, built_in};
use attache_engine::{IncrementalEngine, Objects};
use attache_gen::{ManifestShape, generate};
use axum::body::{Body, to_bytes};
use axum::http::Request;
use criterion::{Criterion, criterion_group, criterion_main};
use tower::ServiceExt;

const ROUTES: usize = 100_000;

fn state() -> State {
    let shape = ManifestShape { services: ROUTES, namespaces: 500, ..ManifestShape::one_in_ten(ROUTES) };
    let objects = Objects::new(generate(&shape));
    State::first(IncrementalEngine::new(objects, &built_in().0, Settings::default()), Vec::new())
}

fn lists(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let (publisher, reader) = StatePublisher::new();
    publisher.publish(state());
    let router = api::router(reader);
    let get = |path: &str, accept: &str| {
        let request = Request::get(format!("/apis/effective.attache.dev/v1alpha1/{path}")).header("accept", accept);
        let request = request.body(Body::empty()).expect("a request");
        runtime.block_on(async {
            let response = router.clone().oneshot(request).await.expect("an answer");
            to_bytes(response.into_body(), usize::MAX).await.expect("a body")
        })
    };
    let mut group = criterion.benchmark_group("api");
    group.sample_size(20);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for (name, path, accept) in [
        ("list of a namespace with 200 of 100,000 routes", "namespaces/team-007/effectivepolicies", "application/json"),
        ("the same as a table", "namespaces/team-007/effectivepolicies", table),
        ("first page of 500 of all namespaces", "effectivepolicies?limit=500", "application/json"),
    ] {
        let body: serde_json::Value = serde_json::from_slice(&get(path, accept)).expect("JSON");
        let count = |field: &str| body[field].as_array().map_or(0, Vec::len);
        println!("{name}: {} objects", count("items") + count("rows"));
        group.bench_function(name, |bencher| bencher.iter(|| get(path, accept)));
    }
}

criterion_group!(benches, lists);
criterion_main!(benches);
