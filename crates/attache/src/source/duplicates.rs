//! Objects that are defined more than once.

use attache_engine::Object;
use attache_engine::hash;
use attache_engine::{Path, Problem};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

/// Keeps the last definition of each object, with a warning that names both locations.
pub fn keep_last(objects: Vec<Object>) -> (Vec<Object>, Vec<Problem>) {
    let twice = pairs(&objects);
    if twice.is_empty() {
        return (objects, Vec::new());
    }
    let warnings = twice.iter().map(|(at, before)| self::twice(&objects[*before], &objects[*at])).collect();
    let mut dropped: Vec<usize> = twice.into_iter().map(|(_, before)| before).collect();
    dropped.sort_unstable();
    let kept = objects.into_iter().enumerate();
    let kept = kept.filter(|(i, _)| dropped.binary_search(i).is_err()).map(|(_, object)| object).collect();
    (kept, warnings)
}

/// Every repeated definition, with the one before it, in order.
fn pairs(objects: &[Object]) -> Vec<(usize, usize)> {
    let hashes = objects.par_iter().enumerate().map(|(at, object)| (hash(&object.id), at));
    let mut hashes: Vec<(u64, usize)> = hashes.collect();
    hashes.par_sort_unstable();
    let mut pairs = Vec::new();
    for alike in hashes.chunk_by(|(a, _), (b, _)| a == b).filter(|alike| alike.len() > 1) {
        for (i, &(_, at)) in alike.iter().enumerate() {
            let before = alike[..i].iter().rev().find(|(_, before)| objects[*before].id == objects[at].id);
            pairs.extend(before.map(|(_, before)| (at, *before)));
        }
    }
    pairs.sort_unstable();
    pairs
}

pub fn twice(earlier: &Object, object: &Object) -> Problem {
    let earlier = earlier.file_location(&Path::default()).map(|it| it.to_string()).unwrap_or_default();
    let message = format!("`{}` is defined twice; this definition replaces the one in {earlier}", object.id);
    Problem::warning(message).about(object).help("remove one of the two")
}
