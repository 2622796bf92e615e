//! Reads the identity of the object in a document.

use jiff::Timestamp;
use smol_str::SmolStr;

use super::{ObjectError, ObjectRef};
use crate::value::Value;

/// The type of the items of a typed list that have no type of their own, as in a response of the API server.
#[derive(Clone, Debug)]
pub(crate) struct TypeMeta {
    pub api_version: SmolStr,
    pub kind: SmolStr,
}

/// The identity of a document, and the version of its API.
pub(crate) fn identify(body: &Value, default_type: Option<&TypeMeta>) -> Result<(ObjectRef, SmolStr), ObjectError> {
    if body.as_map().is_none() {
        return Err(ObjectError::NotAnObject { found: body.type_name() });
    }
    let api_version = string_at(body, &["apiVersion"], "apiVersion")?
        .or_else(|| default_type.map(|default| default.api_version.clone()))
        .ok_or(ObjectError::MissingApiVersion)?;
    let kind = string_at(body, &["kind"], "kind")?
        .or_else(|| default_type.map(|default| default.kind.clone()))
        .ok_or(ObjectError::MissingKind)?;
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
    if group.contains('/') {
        return Err(ObjectError::InvalidApiVersion { api_version });
    }
    let name = string_at(body, &["metadata", "name"], "metadata.name")?.ok_or_else(|| {
        let has_generate_name = body.at(&["metadata", "generateName"]).is_some();
        ObjectError::MissingName { has_generate_name }
    })?;
    let namespace = string_at(body, &["metadata", "namespace"], "metadata.namespace")?.unwrap_or_default();
    let version = SmolStr::new(version);
    Ok((ObjectRef::from_parts(group.into(), kind, namespace, name), version))
}

/// An optional field that must be a string. `None` if it is missing, null or empty.
fn string_at(body: &Value, keys: &[&str], field: &'static str) -> Result<Option<SmolStr>, ObjectError> {
    match body.at(keys) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(other) => Err(ObjectError::NotAString { field, found: other.type_name() }),
    }
}

/// `metadata.creationTimestamp`. `None` for an object that has not been created yet.
pub(super) fn creation_timestamp(body: &Value) -> Result<Option<Timestamp>, ObjectError> {
    match body.at(&["metadata", "creationTimestamp"]) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_str().map(str::parse) {
            Some(Ok(created)) => Ok(Some(created)),
            _ => Err(ObjectError::InvalidCreationTimestamp),
        },
    }
}
