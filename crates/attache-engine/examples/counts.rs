//! Applies each change of the benchmark `incremental` once, so that callgrind counts its instructions: see
//! `benches/instructions`.

#[path = "../benches/shapes/changes.rs"]
mod changes;

use attache_engine::{Edit, IncrementalEngine, Report};
use rayon::ThreadPoolBuilder;

fn main() {
    // On one thread, so that the counts are the same in every run.
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("the first pool");
    let objects = changes::cluster(2_000, 10);
    let mut incremental = changes::incremental(&objects);
    for change in changes::changes(&objects) {
        incremental.apply(change.undo.clone());
        let (_, is_empty) = measured(&mut incremental, change.apply);
        assert_eq!(!is_empty, change.affected, "{}", change.name);
        incremental.apply(change.undo);
        println!("{}", change.name);
    }
}

/// The function whose instructions callgrind counts.
#[inline(never)]
fn measured(incremental: &mut IncrementalEngine, batch: Vec<Edit>) -> (Report, bool) {
    let report = incremental.apply(batch);
    let is_empty = report.is_empty();
    (report, is_empty)
}
