//! What did not serve a request, and why.

use crate::topology::NodeId;

/// A listener, route or rule that the request passed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotChosen {
    pub node: NodeId,
    /// Completes "it …".
    pub reason: String,
}

/// Collects them, if anybody wants to know.
#[derive(Debug)]
pub struct NotChosenList {
    pub wanted: bool,
    pub list: Vec<NotChosen>,
}

impl NotChosenList {
    pub fn add(&mut self, node: NodeId, reason: impl FnOnce() -> String) {
        if self.wanted {
            self.list.push(NotChosen { node, reason: reason() });
        }
    }
}
