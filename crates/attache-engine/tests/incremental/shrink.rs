//! Makes a failing case smaller as long as it fails.
//!
//! `proptest-state-machine` shrinks the list of transitions, and the values of each by the strategy that generated it.
//! Here, a case also shrinks by its content: it starts after its first batch, and loses fields of documents that come
//! from the PolicyTests, which no strategy generated. That is most of this file, so the rest of it is here too.

use attache_engine::Edit;
use serde_json::Value;

use crate::case::{Case, object};
use crate::follow::verdict;

/// The number of smaller cases that are tried.
const TRIES: usize = 20_000;

pub fn shrink(mut case: Case) -> Case {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut tries = TRIES;
    while PASSES.iter().any(|pass| pass(&mut case, &mut tries)) {}
    std::panic::set_hook(hook);
    case
}

/// Makes a case smaller in one respect. Returns whether it did.
type Pass = fn(&mut Case, &mut usize) -> bool;

const PASSES: &[Pass] =
    &[no_last_batch, no_first_batch, fewer_batches, fewer_steps, fewer_documents, louder, fewer_fields];

/// Takes the smaller case if it fails as well.
fn attempt(case: &mut Case, tries: &mut usize, smaller: Case) -> bool {
    if *tries == 0 {
        return false;
    }
    *tries -= 1;
    let fails = verdict(&smaller).is_err();
    if fails {
        *case = smaller;
    }
    fails
}

fn no_last_batch(case: &mut Case, tries: &mut usize) -> bool {
    let mut smaller = case.clone();
    smaller.batches.pop().is_some() && attempt(case, tries, smaller)
}

/// Starts after the first batch.
fn no_first_batch(case: &mut Case, tries: &mut usize) -> bool {
    if case.batches.is_empty() {
        return false;
    }
    let mut smaller = case.clone();
    for step in smaller.batches.remove(0).steps {
        let Some(edit) = step.edit() else { continue };
        smaller.documents.retain(|document| object(document).is_some_and(|object| object.id != *edit.id()));
        if let Edit::Put(_) = edit {
            smaller.documents.extend(step.document().cloned());
        }
    }
    attempt(case, tries, smaller)
}

fn fewer_batches(case: &mut Case, tries: &mut usize) -> bool {
    each(case, tries, |case| case.batches.len(), |case, i| drop(case.batches.remove(i)))
}

fn fewer_steps(case: &mut Case, tries: &mut usize) -> bool {
    (0..case.batches.len()).any(|at| {
        each(case, tries, |case| case.batches[at].steps.len(), |case, i| drop(case.batches[at].steps.remove(i)))
    })
}

fn fewer_documents(case: &mut Case, tries: &mut usize) -> bool {
    // First many at once.
    let len = case.documents.len();
    for size in [len / 2, len / 4].into_iter().filter(|size| *size > 1) {
        for start in (0..len).step_by(size) {
            let mut smaller = case.clone();
            smaller.documents.drain(start..(start + size).min(len));
            if attempt(case, tries, smaller) {
                return true;
            }
        }
    }
    each(case, tries, |case| case.documents.len(), |case, i| drop(case.documents.remove(i)))
}

/// Queries everything after each batch, so that the case fails sooner.
fn louder(case: &mut Case, tries: &mut usize) -> bool {
    let quiet = |case: &Case| (0..case.batches.len()).filter(|i| case.batches[*i].quiet).collect::<Vec<_>>();
    each(
        case,
        tries,
        |case| quiet(case).len(),
        |case, i| {
            let at = quiet(case)[i];
            case.batches[at].quiet = false;
        },
    )
}

fn fewer_fields(case: &mut Case, tries: &mut usize) -> bool {
    let mut shrunk = false;
    let documents = case.documents.len();
    let steps: Vec<(usize, usize)> =
        case.batches.iter().enumerate().flat_map(|(i, batch)| (0..batch.steps.len()).map(move |j| (i, j))).collect();
    for which in 0..documents + steps.len() {
        shrunk |= fewer_fields_of(case, tries, |case| match which.checked_sub(documents) {
            None => case.documents.get_mut(which),
            Some(at) => case.batches[steps[at].0].steps[steps[at].1].document_mut(),
        });
    }
    shrunk
}

fn fewer_fields_of(case: &mut Case, tries: &mut usize, document: impl Fn(&mut Case) -> Option<&mut Value>) -> bool {
    let mut shrunk = false;
    let mut at = 0;
    loop {
        let mut smaller = case.clone();
        let Some(it) = document(&mut smaller) else { return shrunk };
        if !remove(it, &mut at.clone()) {
            return shrunk;
        }
        if attempt(case, tries, smaller) {
            shrunk = true;
        } else {
            at += 1;
        }
    }
}

/// Removes the `nth` field or item of a walk, the whole before its parts.
fn remove(value: &mut Value, nth: &mut usize) -> bool {
    match value {
        Value::Object(map) => {
            for key in map.keys().cloned().collect::<Vec<_>>() {
                if *nth == 0 {
                    map.remove(&key);
                    return true;
                }
                *nth -= 1;
                if map.get_mut(&key).is_some_and(|child| remove(child, nth)) {
                    return true;
                }
            }
            false
        }
        Value::Array(items) => {
            for i in 0..items.len() {
                if *nth == 0 {
                    items.remove(i);
                    return true;
                }
                *nth -= 1;
                if remove(&mut items[i], nth) {
                    return true;
                }
            }
            false
        }
        _ => false,
    }
}

/// Tries to make the case smaller at each of several places.
fn each(
    case: &mut Case,
    tries: &mut usize,
    count: impl Fn(&Case) -> usize,
    without: impl Fn(&mut Case, usize),
) -> bool {
    let mut shrunk = false;
    for i in (0..count(case)).rev() {
        let mut smaller = case.clone();
        without(&mut smaller, i);
        shrunk |= attempt(case, tries, smaller);
    }
    shrunk
}
