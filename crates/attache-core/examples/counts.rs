//! The changes of the benchmark `living`, once each, for callgrind to count: see `benches/instructions`.

#[path = "../benches/shapes/changes.rs"]
mod changes;

use attache_core::living::{Edit, Living, Report};
use rayon::ThreadPoolBuilder;

fn main() {
    // On one thread, so that it is always the same.
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("the first pool");
    let objects = changes::world(2_000, 10);
    let mut living = changes::living(&objects);
    for change in changes::changes(&objects) {
        living.apply(change.back.clone());
        let (_, is_empty) = measured(&mut living, change.there);
        assert_eq!(!is_empty, change.felt, "{}", change.name);
        living.apply(change.back);
        println!("{}", change.name);
    }
}

/// What callgrind counts.
#[inline(never)]
fn measured(living: &mut Living, batch: Vec<Edit>) -> (Report, bool) {
    let report = living.apply(batch);
    let is_empty = report.is_empty();
    (report, is_empty)
}
