//! Manifests that say something else than generated ones.

use attache_engine::object::{Object, ObjectRef, Source};
use serde_json::Value;

/// The object that a document is, as the engine would have read it.
pub fn read(document: Value) -> Object {
    let text = |pointer| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    Object {
        id: ObjectRef::new(group, text("/kind"), text("/metadata/namespace"), text("/metadata/name")),
        version: version.into(),
        created: text("/metadata/creationTimestamp").parse().ok(),
        body: document.into(),
        source: Source::default(),
    }
}

/// An object after some change of its document.
pub fn edited(object: &Object, edit: impl FnOnce(&mut Value)) -> Object {
    let mut document = serde_json::to_value(&object.body).unwrap_or_default();
    edit(&mut document);
    read(document)
}
