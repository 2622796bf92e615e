//! Objects that are there more than once.

use std::collections::HashMap;

use attache_core::object::Object;
use attache_core::problem::Problem;

/// Keeps the last of the objects that have one name, with a warning that says where both are.
pub fn keep_last(objects: Vec<Object>) -> (Vec<Object>, Vec<Problem>) {
    let mut last = HashMap::with_capacity(objects.len());
    let mut warnings = Vec::new();
    let mut dropped = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        if let Some(before) = last.insert(&object.id, i) {
            warnings.push(twice(&objects[before], object));
            dropped.push(before);
        }
    }
    if dropped.is_empty() {
        return (objects, warnings);
    }
    dropped.sort_unstable();
    let kept = objects.into_iter().enumerate();
    let kept = kept.filter(|(i, _)| dropped.binary_search(i).is_err()).map(|(_, object)| object).collect();
    (kept, warnings)
}

pub fn twice(earlier: &Object, object: &Object) -> Problem {
    let earlier = Problem::warning("").about(earlier).location().unwrap_or_default();
    let message = format!("`{}` is there twice: this one replaces the one in {earlier}", object.id);
    Problem::warning(message).about(object).help("remove one of the two")
}
