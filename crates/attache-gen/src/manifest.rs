//! One generated manifest.

use attache_engine::{Object, Value};
use jiff::Timestamp;

/// The creation time of the first object: 2025-01-01.
const EPOCH: i64 = 1_735_689_600;

/// An object that was created `age` seconds after the first.
pub fn object(api_version: &str, kind: &str, namespace: &str, name: &str, age: usize, spec: Value) -> Object {
    let mut metadata = vec![("name", Value::str(name)), ("generation", Value::Int(1))];
    if let Ok(created) = Timestamp::from_second(EPOCH + age as i64) {
        metadata.push(("creationTimestamp", Value::str(created.to_string())));
    }
    if !namespace.is_empty() {
        metadata.push(("namespace", Value::str(namespace)));
    }
    let mut body =
        vec![("apiVersion", Value::str(api_version)), ("kind", Value::str(kind)), ("metadata", fields(metadata))];
    if !spec.is_null() {
        body.push(("spec", spec));
    }
    Object::from_value(fields(body)).expect("it has a version, a kind and a name")
}

pub fn fields<'k>(fields: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::map(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::list(items.into_iter().collect())
}
