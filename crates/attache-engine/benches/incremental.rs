//! From a change to the report of what is different, in a world of 100,000 routes.

#[path = "shapes/changes.rs"]
mod changes;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};

fn incremental(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("incremental");
    group.sample_size(10);
    let objects = changes::world(100_000, 500);
    let mut incremental = changes::incremental(&objects);
    for change in changes::changes(&objects) {
        // A route can be removed only if it is there.
        incremental.apply(change.back.clone());
        assert_eq!(!incremental.apply(change.there.clone()).is_empty(), change.affected, "{}", change.name);
        incremental.apply(change.back.clone());
        group.bench_function(change.name, |bencher| {
            bencher.iter_custom(|times| {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    let batch = change.there.clone();
                    let start = Instant::now();
                    let report = incremental.apply(batch);
                    black_box(report.is_empty());
                    total += start.elapsed();
                    drop(report);
                    incremental.apply(change.back.clone());
                }
                total
            });
        });
    }
}

criterion_group!(benches, incremental);
criterion_main!(benches);
