//! The name of a node, whether or not the node exists.

use std::fmt;

use smol_str::SmolStr;

use crate::object::ObjectRef;

/// The object of a node, and the section if the node is a listener, a rule or a port. Displayed as
/// `Kind/namespace/name#section`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// The object that the node belongs to.
    pub object: ObjectRef,
    /// The listener, rule or port of the object; `None` for the whole object.
    pub section: Option<SmolStr>,
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
            // Piece by piece: a long answer is mostly names, and a format takes ten times as long.
            Some(section) => f.write_str("#").and_then(|()| f.write_str(section)),
            None => Ok(()),
        }
    }
}
