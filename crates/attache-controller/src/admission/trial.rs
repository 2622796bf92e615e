//! The effects of a change: it is applied to a copy of the engine.

use std::sync::Arc;

use attache_answers::plan::Deletion;
use attache_engine::{Edit, IncrementalEngine, Object, Report, Value};

use super::AdmissionChange;
use crate::state::State;

/// With up to this number of objects, changes that need a rebuild of the engine are tried. It takes some tenths of a second.
const MOST_OBJECTS: usize = 20_000;

/// Tries a change on a copy of the engine. `None` if it would take too long.
pub(super) fn report(state: &State, change: &AdmissionChange) -> Option<Report> {
    let engine = with_named(state, change);
    let edits = edits(state, change);
    match engine.try_batch(edits.iter().cloned()) {
        Ok(report) => Some(report),
        Err(_) if state.snapshot.engine.objects().len() <= MOST_OBJECTS => {
            Some(IncrementalEngine::clone(&engine).apply(edits))
        }
        Err(_) => None,
    }
}

/// The engine, with objects that are not followed so far, and will be because the changed object names them.
fn with_named(state: &State, change: &AdmissionChange) -> Arc<IncrementalEngine> {
    let (Some(partition), Some(object)) = (&state.partition, &change.after) else { return Arc::clone(&state.engine) };
    let named = partition.read().named_by(object);
    if named.is_empty() {
        return Arc::clone(&state.engine);
    }
    let mut engine = IncrementalEngine::clone(&state.engine);
    engine.apply(named.into_iter().map(Edit::Put));
    Arc::new(engine)
}

fn edits(state: &State, change: &AdmissionChange) -> Vec<Edit> {
    match &change.after {
        Some(object) => vec![Edit::Put(as_followed(object.clone()))],
        None => {
            let objects = state.snapshot.engine.objects().iter().map(|(_, object)| object);
            Deletion::new(change.id.clone(), objects).all().cloned().map(Edit::Delete).collect()
        }
    }
}

/// An object as the controller reads it from the cluster. Otherwise fields that it drops would count as changes.
fn as_followed(mut object: Object) -> Object {
    let is_namespace = object.id.group.is_empty() && object.id.kind == "Namespace";
    if let Value::Map(body) = &object.body {
        let is_dropped =
            |key: &str| if is_namespace { key != "metadata" } else { matches!(key, "apiVersion" | "kind") };
        object.body = Value::Map(body.without(is_dropped));
    }
    object
}
