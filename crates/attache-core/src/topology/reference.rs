//! How one object names another: parentRefs, backendRefs, certificateRefs.

use std::fmt;

use super::api::GATEWAY_API;
use crate::object::{ObjectId, Objects};
use crate::value::Value;

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
    /// What a route or a ListenerSet in namespace `home` names as its parent: a Gateway unless it says otherwise.
    pub fn parent(value: &'o Value, home: &'o str) -> Option<Self> {
        Self::read(value, home, GATEWAY_API, "Gateway")
    }

    /// What a route in namespace `home` names as its backend: a Service unless it says otherwise.
    pub fn backend(value: &'o Value, home: &'o str) -> Option<Self> {
        Self::read(value, home, "", "Service")
    }

    /// The certificate of a listener in namespace `home`: a Secret unless it says otherwise.
    pub fn certificate(value: &'o Value, home: &'o str) -> Option<Self> {
        Self::read(value, home, "", "Secret")
    }

    fn read(value: &'o Value, home: &'o str, group: &'o str, kind: &'o str) -> Option<Self> {
        value.as_map()?;
        Some(Reference {
            group: value.get_str("group").unwrap_or(group),
            kind: value.get_str("kind").filter(|kind| !kind.is_empty()).unwrap_or(kind),
            namespace: value.get_str("namespace").filter(|namespace| !namespace.is_empty()).unwrap_or(home),
            name: value.get_str("name").unwrap_or_default(),
            section: value.get_str("sectionName").filter(|section| !section.is_empty()),
            port: value.get("port").and_then(Value::as_int),
        })
    }

    pub fn find(&self, objects: &Objects) -> Option<ObjectId> {
        objects.lookup(self.group, self.kind, self.namespace, self.name)
    }
}

/// As nodes are written: `Kind/namespace/name#section`.
impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)?;
        self.section.map_or(Ok(()), |section| write!(f, "#{section}"))
    }
}
