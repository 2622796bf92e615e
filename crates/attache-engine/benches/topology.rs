//! The time to build the topology of objects in memory.

mod shapes;

use std::cell::LazyCell;
use std::hint::black_box;

use attache_engine::{Objects, Topology};
use criterion::{Criterion, criterion_group, criterion_main};

fn topology(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("topology");
    group.sample_size(10);
    for (name, shape) in shapes::all() {
        let objects = LazyCell::new(|| Objects::new(attache_gen::generate(&shape)));
        group.bench_function(name, |bencher| {
            let objects = &*objects;
            bencher.iter_with_large_drop(|| Topology::build(black_box(objects), &[]));
        });
    }
}

criterion_group!(benches, topology);
criterion_main!(benches);
