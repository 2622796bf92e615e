//! The structural defaults of a CRD, filled into objects as the API server does.
//!
//! A default is filled in where the map around it exists and lacks the field, or has a null that the schema does not allow.
//! A null that the schema does not allow and that has no default is dropped.

use std::borrow::Cow;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::object::Object;
use crate::value::{Map, Value};

/// The schemas of a CRD that have defaults, by version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrdDefaults(Arc<[(SmolStr, Value)]>);

impl CrdDefaults {
    /// The schemas of a CRD, from its `spec`.
    pub(super) fn read(definition: &Value) -> CrdDefaults {
        let versions = definition.list_at("versions").iter().filter_map(|version| {
            let schema = version.at(&["schema", "openAPIV3Schema"]).filter(|schema| has_defaults(schema))?;
            Some((SmolStr::new(version.get_str("name")?), schema.clone()))
        });
        CrdDefaults(versions.collect())
    }

    /// An object with the defaults of its version.
    pub fn fill<'o>(&self, object: &'o Object) -> Cow<'o, Object> {
        let schema = self.0.iter().find(|(version, _)| *version == object.version);
        match schema.and_then(|(_, schema)| filled(&object.body, schema)) {
            Some(body) => Cow::Owned(Object { body, ..object.clone() }),
            None => Cow::Borrowed(object),
        }
    }
}

fn has_defaults(schema: &Value) -> bool {
    let below = |name: &str| schema.get(name).is_some_and(has_defaults);
    schema.get("default").is_some()
        || schema.get("properties").is_some_and(|it| it.entries().iter().any(|(_, property)| has_defaults(property)))
        || below("items")
        || below("additionalProperties")
}

/// A value with the defaults of its schema; `None` if it stays as it is.
fn filled(value: &Value, schema: &Value) -> Option<Value> {
    match value {
        Value::Map(map) => filled_map(map, schema).map(Value::Map),
        Value::List(items) => {
            let schema = schema.get("items")?;
            let new: Vec<Option<Value>> = items.iter().map(|item| replacement(item, schema)).collect();
            let is_changed = new.iter().any(Option::is_some);
            let items = items.iter().zip(new).map(|(item, new)| new.unwrap_or_else(|| item.clone()));
            is_changed.then(|| Value::list(items.collect()))
        }
        _ => None,
    }
}

fn filled_map(map: &Map, schema: &Value) -> Option<Map> {
    let properties = schema.get("properties").unwrap_or(&Value::Null);
    let additional = schema.get("additionalProperties").filter(|schema| schema.as_map().is_some());
    let mut is_changed = false;
    let mut entries = Vec::with_capacity(map.entries().len());
    for (key, child) in map.entries() {
        let property = properties.get(key);
        let new = property.or(additional).and_then(|schema| replacement(child, schema));
        let is_dropped = new.is_none() && property.is_some_and(|schema| is_forbidden_null(child, schema));
        is_changed |= is_dropped || new.is_some();
        if !is_dropped {
            entries.push((key.clone(), new.unwrap_or_else(|| child.clone())));
        }
    }
    for (key, property) in properties.entries() {
        if let Some(default) = property.get("default").filter(|_| map.get(key).is_none()) {
            is_changed = true;
            entries.push((key.clone(), with_defaults(default, property)));
        }
    }
    is_changed.then(|| Map::from_entries(entries))
}

/// What a value becomes; `None` if it stays as it is.
fn replacement(value: &Value, schema: &Value) -> Option<Value> {
    if is_forbidden_null(value, schema) {
        return schema.get("default").map(|default| with_defaults(default, schema));
    }
    filled(value, schema)
}

fn with_defaults(default: &Value, schema: &Value) -> Value {
    filled(default, schema).unwrap_or_else(|| default.clone())
}

fn is_forbidden_null(value: &Value, schema: &Value) -> bool {
    value.is_null() && schema.get("nullable").and_then(Value::as_bool) != Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(value: serde_json::Value, schema: serde_json::Value) -> serde_json::Value {
        let value = Value::from(value);
        let filled = filled(&value, &Value::from(schema)).unwrap_or(value);
        serde_json::to_value(filled).unwrap_or_default()
    }

    #[test]
    fn a_default_is_filled_in_where_the_map_around_it_exists() {
        let schema = json!({"properties": {"breaker": {"properties": {"limit": {"default": 1024}, "max": {}}}}});
        assert_eq!(fill(json!({"breaker": {"max": 5}}), schema.clone()), json!({"breaker": {"limit": 1024, "max": 5}}));
        assert_eq!(fill(json!({"breaker": {"limit": 7}}), schema.clone()), json!({"breaker": {"limit": 7}}));
        assert_eq!(fill(json!({}), schema), json!({}));
    }

    #[test]
    fn a_default_that_is_a_map_gets_the_defaults_of_its_own_fields() {
        let schema = json!({"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}});
        assert_eq!(fill(json!({}), schema), json!({"a": {"b": 1}}));
    }

    #[test]
    fn items_of_lists_and_entries_of_maps_are_filled() {
        let entry = json!({"properties": {"weight": {"default": 1}}});
        let schema = json!({"properties": {"list": {"items": entry}, "map": {"additionalProperties": entry}}});
        let value = json!({"list": [{}, {"weight": 2}], "map": {"x": {}}, "other": {}});
        let expected = json!({"list": [{"weight": 1}, {"weight": 2}], "map": {"x": {"weight": 1}}, "other": {}});
        assert_eq!(fill(value, schema), expected);
    }

    #[test]
    fn a_null_that_is_not_allowed_is_replaced_or_dropped() {
        let schema = json!({
            "properties": {"a": {"default": 1}, "b": {}, "c": {"nullable": true, "default": 2}},
            "additionalProperties": {},
        });
        let value = json!({"a": null, "b": null, "c": null, "unknown": null});
        assert_eq!(fill(value, schema), json!({"a": 1, "c": null, "unknown": null}));
    }

    #[test]
    fn fields_without_schema_stay_as_they_are() {
        let schema = json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"default": 1}}});
        assert_eq!(fill(json!({"b": {"c": null}}), schema), json!({"a": 1, "b": {"c": null}}));
    }
}
