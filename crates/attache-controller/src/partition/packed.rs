//! Objects that are not followed, in a form that takes little memory.

use attache_engine::text::read_value;
use attache_engine::{Object, Value};

/// An object whose content is text.
#[derive(Clone, Debug)]
pub struct PackedObject {
    /// The object without its body.
    object: Object,
    body: Box<str>,
}

impl PackedObject {
    /// Packs an object.
    pub fn new(mut object: Object) -> PackedObject {
        let body = serde_json::to_string(&std::mem::take(&mut object.body)).unwrap_or_default();
        PackedObject { object, body: body.into_boxed_str() }
    }

    /// The object again.
    pub fn unpack(&self) -> Object {
        let mut object = self.object.clone();
        // It is text that was written from a value.
        object.body = read_value(&self.body).unwrap_or(Value::Null);
        object
    }
}
