//! Builds objects from JSON values and serde types. [`Object::from_json_str`] is beside the JSON reader, in
//! [`text`](crate::text).

use serde::Serialize;
use smol_str::SmolStr;

use super::identity::{creation_timestamp, identify};
use super::{LastChange, Object, ObjectError, ObjectRef, Source, count_values, secret, walk_position};
use crate::value::{MAX_DEPTH, Path, Value};

impl Object {
    /// Makes an object from a JSON document, as `kubectl get -o json` prints it.
    ///
    /// The values of a Secret are dropped. Of each value only the labels of the PEM blocks in it are kept, which is enough to
    /// see whether a listener can use it as a certificate:
    ///
    /// ```
    /// use attache_engine::Object;
    /// use serde_json::json;
    ///
    /// let secret = Object::from_json(&json!({
    ///     "apiVersion": "v1",
    ///     "kind": "Secret",
    ///     "metadata": {"name": "login", "namespace": "shop"},
    ///     "stringData": {"password": "hunter2"},
    /// }))?;
    /// assert_eq!(secret.body.at(&["stringData", "password"]).unwrap().as_str(), Some(""));
    /// # Ok::<(), attache_engine::ObjectError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the document has no `apiVersion`, `kind` or `metadata.name`, or one of the fields that the engine reads of every
    /// object is malformed.
    pub fn from_json(json: &serde_json::Value) -> Result<Object, ObjectError> {
        if is_deeper(json, MAX_DEPTH) {
            return Err(ObjectError::TooDeep);
        }
        Object::from_value(Value::from_json(json, Value::number))
    }

    /// Makes an object from any type that serializes as a Kubernetes object: a type of `k8s-openapi`, a `DynamicObject` of
    /// `kube`, or your own.
    ///
    /// ```
    /// use attache_engine::Object;
    /// use serde::Serialize;
    ///
    /// #[derive(Serialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct RetryPolicy {
    ///     api_version: &'static str,
    ///     kind: &'static str,
    ///     metadata: Metadata,
    ///     spec: Spec,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Metadata {
    ///     name: String,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Spec {
    ///     attempts: u32,
    /// }
    ///
    /// let policy = Object::from_serialize(&RetryPolicy {
    ///     api_version: "example.io/v1",
    ///     kind: "RetryPolicy",
    ///     metadata: Metadata { name: "twice".to_owned() },
    ///     spec: Spec { attempts: 2 },
    /// })?;
    /// assert_eq!(policy.id.to_string(), "RetryPolicy/twice");
    /// assert_eq!(policy.spec().get("attempts").and_then(|attempts| attempts.as_int()), Some(2));
    /// # Ok::<(), attache_engine::ObjectError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Object::from_json`], and if the type cannot be written as JSON.
    pub fn from_serialize(object: &impl Serialize) -> Result<Object, ObjectError> {
        let json = serde_json::to_value(object)
            .map_err(|error| ObjectError::NotSerializable { message: error.to_string() })?;
        Object::from_json(&json)
    }

    /// Builds an object from a value. See [`Object::from_json`].
    ///
    /// # Errors
    ///
    /// The errors of [`Object::from_json`].
    pub fn from_value(body: Value) -> Result<Object, ObjectError> {
        let (id, version) = identify(&body, None)?;
        match Object::assemble(id, version, body, Source::default()) {
            (object, None) => Ok(object),
            (_, Some(error)) => Err(error),
        }
    }

    /// Builds an object whose identity is known. Every object is built here: this drops the values of Secrets.
    ///
    /// An object with a malformed creation time is returned together with the error, without a creation time.
    pub(crate) fn assemble(
        id: ObjectRef,
        version: SmolStr,
        body: Value,
        mut source: Source,
    ) -> (Object, Option<ObjectError>) {
        let last_change = LastChange::from_body(&body).map(Box::new);
        let body = drop_fields(&id, body, &mut source);
        debug_assert!(source.locations.is_empty() || source.locations.len() == count_values(&body));
        let (created, error) = match creation_timestamp(&body) {
            Ok(created) => (created, None),
            Err(error) => (None, Some(error)),
        };
        (Object { id, version, created, body, last_change, source }, error)
    }
}

/// Drops secret values, and long fields that the engine does not use.
fn drop_fields(id: &ObjectRef, mut body: Value, source: &mut Source) -> Value {
    for keys in [
        ["metadata", "managedFields"].as_slice(),
        &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
    ] {
        if body.at(keys).is_some()
            && let Some((at, value)) =
                walk_position(&body, &keys.iter().fold(Path::default(), |path, key| path.key(*key)))
        {
            source.locations = source.locations.without(at, count_values(value));
            body = without(&body, keys);
        }
    }
    if id.group.is_empty() && id.kind == "Secret" { secret::redact(&body) } else { body }
}

fn without(value: &Value, keys: &[&str]) -> Value {
    match (value, keys) {
        (Value::Map(map), [key]) => Value::Map(map.without(|k| k == *key)),
        (Value::Map(map), [key, rest @ ..]) => match map.get(key) {
            Some(child) => Value::Map(map.with(key, without(child, rest))),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Whether values are nested more than `levels` deep.
fn is_deeper(json: &serde_json::Value, levels: usize) -> bool {
    let is_deeper_inside = |child| levels == 0 || is_deeper(child, levels - 1);
    match json {
        serde_json::Value::Array(items) => levels == 0 || items.iter().any(is_deeper_inside),
        serde_json::Value::Object(fields) => levels == 0 || fields.values().any(is_deeper_inside),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text;

    /// The results of all constructors for a document.
    fn by_every_constructor(document: &serde_json::Value) -> [Result<Object, ObjectError>; 4] {
        [
            Object::from_json(document),
            Object::from_serialize(document),
            Object::from_value(Value::from_json(document, Value::number)),
            Object::from_json_str(&document.to_string()),
        ]
    }

    #[test]
    fn every_constructor_makes_the_object_that_text_gives() {
        let document = json!({
            "apiVersion": "example.io/v1", "kind": "ColorPolicy",
            "metadata": {
                "name": "p", "namespace": "n", "generation": 2, "labels": {"a": "b"},
                "creationTimestamp": "2026-01-31T12:00:00Z", "deletionTimestamp": "2026-02-01T12:00:00Z",
                "annotations": {"x": "y", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
                "managedFields": [{"manager": "kubectl"}],
            },
            "spec": {"whole": 1.0, "half": 0.5, "large": u64::MAX, "list": [null, true]},
        });
        let read = text::read(&"".into(), &document.to_string()).objects.remove(0);
        assert!(read.body.at(&["metadata", "managedFields"]).is_none());
        assert_eq!(read.deletion_timestamp(), "2026-02-01T12:00:00Z".parse().ok());
        for object in by_every_constructor(&document) {
            let object = object.unwrap();
            assert_eq!((&object.id, &object.version, object.created), (&read.id, &read.version, read.created));
            assert_eq!(object.body, read.body);
        }
    }

    #[test]
    fn no_constructor_keeps_the_values_of_a_secret() {
        let document = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
            "data": {"password": "aHVudGVyMg=="}, "stringData": {"token": "hunter2"},
        });
        for object in by_every_constructor(&document) {
            let text = serde_json::to_string(&object.unwrap().body).unwrap();
            assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_with_a_reason() {
        let cases = [
            (json!([]), ObjectError::NotAnObject { found: "a list" }),
            (json!({"kind": "K"}), ObjectError::MissingApiVersion),
            (json!({"apiVersion": "v1"}), ObjectError::MissingKind),
            (json!({"apiVersion": "v1", "kind": "K"}), ObjectError::MissingName { has_generate_name: false }),
            (
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"generateName": "k-"}}),
                ObjectError::MissingName { has_generate_name: true },
            ),
            (
                json!({"apiVersion": "a/b/c", "kind": "K"}),
                ObjectError::InvalidApiVersion { api_version: "a/b/c".into() },
            ),
            (
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": 5}}),
                ObjectError::NotAString { field: "metadata.name", found: "a number" },
            ),
            (
                json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "creationTimestamp": "today"}}),
                ObjectError::InvalidCreationTimestamp,
            ),
        ];
        for (document, expected) in cases {
            for result in by_every_constructor(&document) {
                assert_eq!(result, Err(expected.clone()), "{document}");
            }
        }
    }

    #[test]
    fn json_that_is_too_deep_or_broken_is_refused() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let object = |levels: usize| json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": nested(levels - 1)});
        assert!(by_every_constructor(&object(MAX_DEPTH)).iter().all(Result::is_ok));
        assert_eq!(Object::from_json(&object(MAX_DEPTH + 1)), Err(ObjectError::TooDeep));
        assert_eq!(Object::from_json_str(&object(MAX_DEPTH + 1).to_string()), Err(ObjectError::TooDeep));
        let error = Object::from_json_str("{\n \"kind\": }").unwrap_err();
        assert_eq!(error.to_string(), "not valid JSON: expected a value, found `}` (2:10)");
        assert!(matches!(Object::from_json_slice(b"\xff{}"), Err(ObjectError::InvalidJson { .. })));
    }
}
