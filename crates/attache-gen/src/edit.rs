//! Changes of generated objects.

use attache_engine::Object;
use serde_json::Value;

/// The object of a JSON document.
///
/// # Panics
///
/// If the document is not a Kubernetes object.
pub fn object_from(document: Value) -> Object {
    match Object::from_json(&document) {
        Ok(object) => object,
        Err(error) => unreachable!("{error}: {document}"),
    }
}

/// An object after a change of its document.
pub fn edited(object: &Object, edit: impl FnOnce(&mut Value)) -> Object {
    let mut document = serde_json::to_value(&object.body).unwrap_or_default();
    edit(&mut document);
    object_from(document)
}
