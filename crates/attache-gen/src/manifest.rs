//! One manifest, as the engine would have read it.

use attache_engine::object::{Object, ObjectRef, Source};
use attache_engine::value::Value;
use jiff::Timestamp;

/// When the first object was made: 2025-01-01.
const EPOCH: i64 = 1_735_689_600;

/// An object made so many seconds after the first.
pub fn object(api_version: &str, kind: &str, namespace: &str, name: &str, age: usize, spec: Value) -> Object {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let created = Timestamp::from_second(EPOCH + age as i64).ok();
    let mut metadata = vec![("name", Value::str(name)), ("generation", Value::Int(1))];
    if let Some(created) = created {
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
    Object {
        id: ObjectRef::new(group, kind, namespace, name),
        version: version.into(),
        created,
        body: fields(body),
        source: Source::default(),
    }
}

pub fn fields<'k>(fields: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::map(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::list(items.into_iter().collect())
}
