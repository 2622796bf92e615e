//! References to nodes, which need not exist.

use std::cmp::Ordering;
use std::fmt;

use smol_str::SmolStr;

use super::{Level, api};
use crate::object::ObjectRef;

/// The object of a node, and the section if the node is a listener, a rule or a port. Displayed as
/// `Kind/namespace/name#section`, and ordered as displayed.
///
/// A [`NodeId`](super::NodeId) belongs to one topology, a reference means the same in every topology. A Service that is
/// the parent of routes has two nodes with the same reference, and sections that share a name share a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeRef {
    /// The object that the node belongs to.
    pub object: ObjectRef,
    /// The listener, rule or port of the object; `None` for the whole object.
    pub section: Option<SmolStr>,
}

impl NodeRef {
    /// The whole object that a section belongs to.
    pub fn whole(&self) -> NodeRef {
        NodeRef { object: self.object.clone(), section: None }
    }

    /// The level of its object, according to group and kind. An object of an unknown kind can be a backend too.
    pub fn object_level(&self) -> Level {
        api::level(&self.object.group, &self.object.kind)
    }

    /// The bytes of the displayed form.
    fn displayed(&self) -> impl Iterator<Item = u8> {
        let ObjectRef { kind, namespace, name, .. } = &self.object;
        let parts = [kind.as_str(), "/", namespace, if namespace.is_empty() { "" } else { "/" }, name];
        let section = self.section.as_deref();
        parts.into_iter().chain(section.map(|_| "#")).chain(section).flat_map(str::bytes)
    }
}

impl Ord for NodeRef {
    fn cmp(&self, other: &NodeRef) -> Ordering {
        self.displayed().cmp(other.displayed()).then_with(|| self.object.group.cmp(&other.object.group))
    }
}

impl PartialOrd for NodeRef {
    fn partial_cmp(&self, other: &NodeRef) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<ObjectRef> for NodeRef {
    fn from(object: ObjectRef) -> NodeRef {
        NodeRef { object, section: None }
    }
}

impl From<&ObjectRef> for NodeRef {
    fn from(object: &ObjectRef) -> NodeRef {
        NodeRef::from(object.clone())
    }
}

impl fmt::Display for NodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)?;
        match &self.section {
            // Piece by piece: long answers are mostly names, and `write!` takes ten times as long.
            Some(section) => f.write_str("#").and_then(|()| f.write_str(section)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, namespace: &str, name: &str, section: Option<&str>) -> NodeRef {
        NodeRef { object: ObjectRef::new("", kind, namespace, name), section: section.map(SmolStr::new) }
    }

    #[test]
    fn references_are_ordered_as_they_are_displayed() {
        let mut nodes = [
            node("Service", "a", "x", None),
            node("Service", "a-b", "x", None),
            node("Service", "a", "x", Some("http")),
            node("Namespace", "", "a", None),
        ];
        nodes.sort();
        let displayed = nodes.map(|node| node.to_string());
        assert_eq!(displayed, ["Namespace/a", "Service/a-b/x", "Service/a/x", "Service/a/x#http"]);
    }
}
