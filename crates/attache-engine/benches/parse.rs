//! The throughput of reading YAML and JSON.

mod shapes;

use std::sync::Arc;

use attache_engine::text;
use attache_gen::ManifestFormat;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn parse(criterion: &mut Criterion) {
    let objects = attache_gen::generate(&shapes::one_in_ten(10_000));
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(10);
    for (name, format) in [("yaml", ManifestFormat::Yaml), ("json", ManifestFormat::Json)] {
        let mut bytes = Vec::new();
        attache_gen::write(&objects, format, &mut bytes).expect("writing to a vector never fails");
        let text = String::from_utf8(bytes).expect("manifests are text");
        let file: Arc<str> = "generated".into();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| text::read(&file, &text)));
    }
}

criterion_group!(benches, parse);
criterion_main!(benches);
