//! The sections of objects: listeners, rules and ports.

use std::ops::Range;

use smol_str::{SmolStr, format_smolstr};

use super::{Level, NodeId};
use crate::object::{Object, ObjectId};
use crate::value::Value;

/// The list that holds the sections of an object, and their level.
pub fn of(object: &Object, level: Level) -> Option<(Level, &[Value])> {
    match level {
        Level::Gateway | Level::ListenerSet => Some((Level::Listener, object.spec().list_at("listeners"))),
        Level::Route => Some((Level::RouteRule, object.spec().list_at("rules"))),
        Level::Backend => Some((Level::BackendPort, object.spec().list_at("ports"))),
        _ => None,
    }
}

/// What the section at `position` is called. Rules and whatever else has no name are counted from one.
pub fn name(level: Level, section: &Value, position: usize) -> SmolStr {
    match (section.get("name"), level) {
        (Some(Value::Str(name)), _) if !name.is_empty() => name.clone(),
        (_, Level::BackendPort) => {
            port(section).map_or_else(|| format_smolstr!("port-{}", position + 1), |port| format_smolstr!("{port}"))
        }
        (_, Level::Listener) => format_smolstr!("listener-{}", position + 1),
        _ => rule(position),
    }
}

fn rule(position: usize) -> SmolStr {
    const FIRST: [&str; 4] = ["rule-1", "rule-2", "rule-3", "rule-4"];
    FIRST.get(position).map_or_else(|| format_smolstr!("rule-{}", position + 1), |name| SmolStr::new_static(name))
}

/// The number of a port of a Service, or of what is like one.
pub fn port(port: &Value) -> Option<i64> {
    port.get("port").or_else(|| port.get("number"))?.as_int()
}

/// Which nodes are the sections of which object.
#[derive(Debug, Default)]
pub struct Sections {
    /// The sections of object `i` are the nodes `start[i]..start[i + 1]`.
    start: Vec<u32>,
}

impl Sections {
    /// `owners` are those of all sections in order, the first of which is node `first`.
    pub fn new(objects: usize, first: u32, owners: impl Iterator<Item = ObjectId>) -> Self {
        let mut start = vec![0; objects + 1];
        for owner in owners {
            start[owner.0 as usize + 1] += 1;
        }
        let mut next = first;
        for count in &mut start {
            next += *count;
            *count = next;
        }
        Sections { start }
    }

    pub fn range(&self, owner: ObjectId) -> Range<u32> {
        let at = owner.0 as usize;
        self.start[at]..self.start[at + 1]
    }

    pub fn nodes(&self, owner: ObjectId) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        self.range(owner).map(NodeId)
    }

    /// The node of the section at `position` of the owner's list.
    pub fn node(&self, owner: ObjectId, position: usize) -> NodeId {
        NodeId(self.start[owner.0 as usize] + position as u32)
    }
}
