//! References of one object to another: parentRefs, backendRefs, certificateRefs.

use super::NodeRef;
use super::api::GATEWAY_API;
use crate::object::{ObjectId, ObjectRef, Objects};
use crate::value::Value;

/// A reference, with the defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'o> {
    pub group: &'o str,
    pub kind: &'o str,
    pub namespace: &'o str,
    pub name: &'o str,
    pub section: Option<&'o str>,
    pub port: Option<i64>,
}

impl<'o> Reference<'o> {
    /// The parentRef of a route or ListenerSet in namespace `own`: by default a Gateway.
    pub fn parent(value: &'o Value, own: &'o str) -> Option<Self> {
        Self::read(value, own, GATEWAY_API, "Gateway")
    }

    /// The backendRef of a route in namespace `own`: by default a Service.
    pub fn backend(value: &'o Value, own: &'o str) -> Option<Self> {
        Self::read(value, own, "", "Service")
    }

    /// The certificateRef of a listener in namespace `own`: by default a Secret.
    pub fn certificate(value: &'o Value, own: &'o str) -> Option<Self> {
        Self::read(value, own, "", "Secret")
    }

    /// The caCertificateRef of a listener in namespace `own`: by default a ConfigMap.
    pub fn authority(value: &'o Value, own: &'o str) -> Option<Self> {
        Self::read(value, own, "", "ConfigMap")
    }

    fn read(value: &'o Value, own: &'o str, group: &'o str, kind: &'o str) -> Option<Self> {
        let mut reference = Reference { group, kind, namespace: own, name: "", section: None, port: None };
        // One pass instead of six lookups: most of the fields that are read are references.
        for (field, value) in value.as_map()?.entries() {
            match (field.as_str(), value) {
                ("group", Value::Str(group)) => reference.group = group,
                ("kind", Value::Str(kind)) if !kind.is_empty() => reference.kind = kind,
                ("namespace", Value::Str(namespace)) if !namespace.is_empty() => reference.namespace = namespace,
                ("name", Value::Str(name)) => reference.name = name,
                ("sectionName", Value::Str(section)) if !section.is_empty() => reference.section = Some(section),
                ("port", Value::Int(port)) => reference.port = Some(*port),
                _ => {}
            }
        }
        Some(reference)
    }

    /// The name of the object.
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef::new(self.group, self.kind, self.namespace, self.name)
    }

    /// The object, if it exists.
    pub fn find(&self, objects: &Objects) -> Option<ObjectId> {
        objects.lookup(self.group, self.kind, self.namespace, self.name)
    }
}

impl From<Reference<'_>> for NodeRef {
    fn from(reference: Reference<'_>) -> NodeRef {
        NodeRef { object: reference.object_ref(), section: reference.section.map(Into::into) }
    }
}
