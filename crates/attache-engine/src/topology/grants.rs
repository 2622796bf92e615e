//! ReferenceGrants: which objects may be referred to from other namespaces.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::api::GATEWAY_API;
use crate::object::{ObjectId, ObjectRef, Objects};
use crate::value::Value;

/// All ReferenceGrants by their namespace.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    by_namespace: HashMap<SmolStr, Vec<ObjectId>>,
}

impl Grants {
    /// The ReferenceGrants among objects.
    pub fn new(objects: &Objects) -> Self {
        let mut grants = Grants::default();
        for (id, grant) in objects.each_of_kind(GATEWAY_API, "ReferenceGrant") {
            grants.add(&grant.id.namespace, id);
        }
        grants
    }

    /// Adds a ReferenceGrant of a namespace.
    pub fn add(&mut self, namespace: &SmolStr, grant: ObjectId) {
        self.by_namespace.entry(namespace.clone()).or_default().push(grant);
    }

    /// Removes a ReferenceGrant of a namespace.
    pub fn remove(&mut self, namespace: &str, grant: ObjectId) {
        if let Some(grants) = self.by_namespace.get_mut(namespace) {
            grants.retain(|it| *it != grant);
            if grants.is_empty() {
                self.by_namespace.remove(namespace);
            }
        }
    }

    /// Whether `from` may refer to an object: always in its own namespace, and with a grant in others.
    pub fn permit(
        &self,
        objects: &Objects,
        from: &ObjectRef,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> bool {
        let granted = |grant: &ObjectId| {
            let grant = objects[*grant].spec();
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
