//! The last change of an object.

use jiff::Timestamp;
use smol_str::SmolStr;

use crate::value::Value;

/// The last change of an object, as `metadata.managedFields` records it. Changes of subresources, such as `status`, do
/// not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// The field manager, as in `kubectl-client-side-apply`.
    pub manager: SmolStr,
    /// The time of the change.
    pub time: Timestamp,
}

impl LastChange {
    pub(super) fn from_body(body: &Value) -> Option<LastChange> {
        let entries = body.at(&["metadata", "managedFields"])?.items().iter();
        let own = entries.filter(|entry| entry.get_str("subresource").is_none_or(str::is_empty));
        let changes = own.filter_map(|entry| {
            let time = entry.get_str("time")?.parse().ok()?;
            Some(LastChange { manager: entry.get_str("manager")?.into(), time })
        });
        changes.max_by_key(|change| change.time)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::Object;

    #[test]
    fn the_last_change_is_kept_of_the_managed_fields() {
        let entry = |manager: &str, time: &str, subresource: &str| json!({"manager": manager, "operation": "Update", "time": time, "subresource": subresource, "fieldsV1": {}});
        let object =
            Object::from_json(&json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "managedFields": [
                entry("helm", "2026-01-02T00:00:00Z", ""),
                entry("kubectl-edit", "2026-01-03T00:00:00Z", ""),
                entry("controller", "2026-01-04T00:00:00Z", "status"),
            ]}}));
        let change =
            object.ok().and_then(|object| object.last_change).map(|change| (change.manager.to_string(), change.time));
        assert_eq!(change, Some(("kubectl-edit".into(), "2026-01-03T00:00:00Z".parse().unwrap_or_default())));
    }
}
