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

/// The number of a listener's port, of a Service's, or of one of what is like a Service.
pub fn port(section: &Value) -> Option<i64> {
    section.get("port").or_else(|| section.get("number"))?.as_int()
}

/// Which nodes are the sections of which object.
#[derive(Debug, Default)]
pub struct Sections {
    /// The sections of each object.
    ranges: Vec<Range<u32>>,
    /// The first node that is a listener or a port, and the port numbers of them all.
    first: u32,
    ports: Vec<Option<i64>>,
}

impl Sections {
    /// `first` is the first node that is a listener or a port.
    pub fn new(objects: usize, first: usize, ports: Vec<Option<i64>>) -> Self {
        Sections { ranges: vec![0..0; objects], first: first as u32, ports }
    }

    /// Takes note of the next section of an object; those of one object come one after the other.
    pub fn add(&mut self, owner: ObjectId, section: NodeId) {
        let range = &mut self.ranges[owner.0 as usize];
        if range.start == range.end {
            range.start = section.0;
        }
        range.end = section.0 + 1;
    }

    pub fn range(&self, owner: ObjectId) -> Range<u32> {
        self.ranges[owner.0 as usize].clone()
    }

    /// The node of the section at `position` of the owner's list.
    pub fn node(&self, owner: ObjectId, position: usize) -> NodeId {
        NodeId(self.ranges[owner.0 as usize].start + position as u32)
    }

    /// The numbers of the ports of a Service: many routes ask, and reading them from its spec would take longer.
    pub fn ports(&self, owner: ObjectId) -> &[Option<i64>] {
        let Range { start, end } = self.range(owner);
        start
            .checked_sub(self.first)
            .and_then(|start| self.ports.get(start as usize..(end - self.first) as usize))
            .unwrap_or(&[])
    }
}
