//! ReferenceGrants: who may refer across namespaces to what.

use hashbrown::HashMap;

use super::api::GATEWAY_API;
use crate::object::{ObjectRef, Objects};
use crate::value::Value;

/// All grants, by the namespace whose owner gave them.
#[derive(Debug, Default)]
pub struct Grants<'o> {
    by_namespace: HashMap<&'o str, Vec<&'o Value>>,
}

impl<'o> Grants<'o> {
    pub fn of(objects: &'o Objects) -> Self {
        let mut by_namespace: HashMap<&str, Vec<&Value>> = HashMap::new();
        for (_, grant) in objects.each(GATEWAY_API, "ReferenceGrant") {
            by_namespace.entry(&grant.id.namespace).or_default().push(grant.spec());
        }
        Grants { by_namespace }
    }

    /// Whether `from` may refer to the object: always in its own namespace, else by a grant.
    pub fn permit(&self, from: &ObjectRef, group: &str, kind: &str, namespace: &str, name: &str) -> bool {
        let granted = |grant: &&Value| {
            grant.list_at("from").iter().any(|who| {
                has(who, "group", &from.group) && has(who, "kind", &from.kind) && has(who, "namespace", &from.namespace)
            }) && grant.list_at("to").iter().any(|what| {
                let named = what.get_str("name").unwrap_or_default();
                has(what, "group", group) && has(what, "kind", kind) && (named.is_empty() || named == name)
            })
        };
        from.namespace == namespace || self.by_namespace.get(namespace).is_some_and(|grants| grants.iter().any(granted))
    }
}

fn has(value: &Value, field: &str, text: &str) -> bool {
    value.get_str(field).unwrap_or_default() == text
}
