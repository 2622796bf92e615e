//! The time to compute the topology and all effective policies of objects in memory.

mod shapes;

use std::cell::LazyCell;

use attache_engine::Engine;
use attache_engine::Objects;
use attache_engine::kinds::Settings;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

fn resolve(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("resolve");
    group.sample_size(10);
    for (name, shape) in shapes::all() {
        let objects = LazyCell::new(|| attache_gen::generate(&shape));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || Objects::new(objects.clone()),
                |objects| {
                    let engine = Engine::new(objects, &[], Settings::default());
                    engine.fold_all();
                    engine
                },
                BatchSize::PerIteration,
            );
        });
    }
}

criterion_group!(benches, resolve);
criterion_main!(benches);
