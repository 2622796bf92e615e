//! The names by which a PolicyKind calls the levels of the hierarchy.

use crate::level::Level;

use super::{KindName, LevelName};

/// The hierarchy that holds when a kind gives none, highest first.
pub const DEFAULT_HIERARCHY: [Level; 8] = [
    Level::GatewayClass,
    Level::Namespace,
    Level::Gateway,
    Level::Listener,
    Level::Route,
    Level::RouteRule,
    Level::Backend,
    Level::BackendPort,
];

const NAMES: [(&str, Level); 11] = [
    ("GatewayClass", Level::GatewayClass),
    ("Namespace", Level::Namespace),
    ("Gateway", Level::Gateway),
    ("Frontend", Level::Frontend),
    ("ListenerSet", Level::ListenerSet),
    ("Listener", Level::Listener),
    ("Route", Level::Route),
    ("RouteRule", Level::RouteRule),
    ("Backend", Level::Backend),
    ("BackendPort", Level::BackendPort),
    ("Workload", Level::Workload),
];

/// The levels at which kinds of objects stand that are not named like their level.
const KINDS: [(&str, Level); 14] = [
    ("HTTPRoute", Level::Route),
    ("GRPCRoute", Level::Route),
    ("TLSRoute", Level::Route),
    ("TCPRoute", Level::Route),
    ("UDPRoute", Level::Route),
    ("XListenerSet", Level::ListenerSet),
    ("Service", Level::Backend),
    ("ServiceImport", Level::Backend),
    ("Pod", Level::Workload),
    ("Deployment", Level::Workload),
    ("StatefulSet", Level::Workload),
    ("DaemonSet", Level::Workload),
    ("ReplicaSet", Level::Workload),
    ("Job", Level::Workload),
];

impl LevelName {
    pub fn parse(text: &str) -> LevelName {
        match NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            Some((_, level)) => LevelName::Level(*level),
            None => LevelName::Kind(KindName::parse(text)),
        }
    }

    /// The level that is named, or at which objects of the named kind stand.
    pub fn level(&self) -> Level {
        match self {
            LevelName::Level(level) => *level,
            LevelName::Kind(name) => {
                KINDS.iter().find(|(kind, _)| name.kind == *kind).map_or(Level::Other, |(_, level)| *level)
            }
        }
    }

    /// Whether objects of this group and kind are named, by their kind or by the level of the same name.
    pub fn names(&self, group: &str, kind: &str) -> bool {
        match self {
            LevelName::Level(_) => self.to_string() == kind,
            LevelName::Kind(name) => name.is(group, kind),
        }
    }

    /// Whether a node at `level`, of an object of this group and kind, is meant.
    pub fn takes(&self, level: Level, group: &str, kind: &str) -> bool {
        self.takes_of(level, |name| name.is(group, kind))
    }

    /// The same for those to whom it costs something to find out whether the object is of a kind.
    pub fn takes_of(&self, level: Level, is: impl FnOnce(&KindName) -> bool) -> bool {
        match self {
            // Listeners of a ListenerSet have their set above them, and it counts as one of them.
            LevelName::Level(Level::Listener) => matches!(level, Level::Listener | Level::ListenerSet),
            // A Service in front of routes is a Service all the same.
            LevelName::Level(Level::Backend) => matches!(level, Level::Backend | Level::Frontend),
            LevelName::Level(named) => *named == level,
            // A section has a level of its own: its object's kind does not stand for it.
            LevelName::Kind(name) => !level.is_section() && is(name),
        }
    }
}

impl std::fmt::Display for LevelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LevelName::Level(level) => {
                f.write_str(NAMES.iter().find(|(_, named)| named == level).map_or("Other", |(name, _)| *name))
            }
            LevelName::Kind(name) => name.fmt(f),
        }
    }
}
