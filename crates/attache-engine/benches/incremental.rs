//! The time from a change to its report, in a cluster of 100,000 routes.

#[path = "shapes/changes.rs"]
mod changes;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};

fn incremental(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("incremental");
    group.sample_size(10);
    let objects = changes::cluster(100_000, 500);
    let mut incremental = changes::incremental(&objects);
    for change in changes::changes(&objects) {
        // Undo first: a route that is removed must exist.
        incremental.apply(change.undo.clone());
        assert_eq!(!incremental.apply(change.apply.clone()).is_empty(), change.affected, "{}", change.name);
        incremental.apply(change.undo.clone());
        group.bench_function(change.name, |bencher| {
            bencher.iter_custom(|times| {
                let mut total = Duration::ZERO;
                for _ in 0..times {
                    let batch = change.apply.clone();
                    let start = Instant::now();
                    let report = incremental.apply(batch);
                    black_box(report.is_empty());
                    total += start.elapsed();
                    drop(report);
                    incremental.apply(change.undo.clone());
                }
                total
            });
        });
    }
}

criterion_group!(benches, incremental);
criterion_main!(benches);
