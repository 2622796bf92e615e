//! The names by which a PolicyKind refers to levels of the hierarchy and to kinds of objects.

use std::fmt;
use std::ops::Deref;

use smol_str::SmolStr;

use crate::document::{Diagnostics, FieldValue, Location, Schema, ValueType, written_as_string};
use crate::level::Level;
use crate::value::Value;

/// A kind, with or without its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KindName {
    /// The kind.
    pub kind: SmolStr,
    /// The group. Without one, a kind of any group.
    pub group: Option<SmolStr>,
}

/// A level of the hierarchy, or one kind of object in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LevelName {
    /// A level.
    Level(Level),
    /// A kind of object.
    Kind(KindName),
}

/// Names of levels. A document that gives such a list names at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelNames(Vec<LevelName>);

written_as_string!(KindName, KindName::parse, "kind");
written_as_string!(LevelName, LevelName::parse, "level");

/// The hierarchy of a kind that gives none, highest first.
const DEFAULT_HIERARCHY: [Level; 8] = [
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

/// The levels of kinds whose name is not that of their level.
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

impl KindName {
    /// Reads `Kind` or `Kind.group`.
    pub fn parse(text: &str) -> KindName {
        match text.split_once('.') {
            Some((kind, group)) => KindName { kind: kind.into(), group: Some(group.into()) },
            None => KindName { kind: text.into(), group: None },
        }
    }

    /// Whether this is the kind `kind` of `group`.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind == kind && self.group.as_ref().is_none_or(|g| g == group)
    }
}

impl From<&str> for KindName {
    fn from(text: &str) -> Self {
        KindName::parse(text)
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{}.{group}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}

impl LevelName {
    /// Reads the name of a level, in any case, or else `Kind` or `Kind.group`.
    pub fn parse(text: &str) -> LevelName {
        match NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
            Some((_, level)) => LevelName::Level(*level),
            None => LevelName::Kind(KindName::parse(text)),
        }
    }

    /// The level itself, or the level of objects of the kind.
    pub fn level(&self) -> Level {
        match self {
            LevelName::Level(level) => *level,
            LevelName::Kind(name) => {
                KINDS.iter().find(|(kind, _)| name.kind == *kind).map_or(Level::Other, |(_, level)| *level)
            }
        }
    }

    /// Whether this is the name of a kind: of the kind itself, or of a level with the same name.
    pub fn names(&self, group: &str, kind: &str) -> bool {
        match self {
            LevelName::Level(_) => self.to_string() == kind,
            LevelName::Kind(name) => name.is(group, kind),
        }
    }

    /// Whether a node at `level`, of an object of this group and kind, belongs to the level or kind.
    pub fn includes(&self, level: Level, group: &str, kind: &str) -> bool {
        self.includes_object(level, |name| name.is(group, kind))
    }

    /// Like [`LevelName::includes`], for callers for which the test of the kind is expensive.
    pub fn includes_object(&self, level: Level, is: impl FnOnce(&KindName) -> bool) -> bool {
        match self {
            // A ListenerSet is above its listeners, and counts as a listener of the Gateway.
            LevelName::Level(Level::Listener) => matches!(level, Level::Listener | Level::ListenerSet),
            // A Service that is the parent of routes is a Service, too.
            LevelName::Level(Level::Backend) => matches!(level, Level::Backend | Level::Frontend),
            LevelName::Level(named) => *named == level,
            // The kind of an object does not include its sections, which have levels of their own.
            LevelName::Kind(name) => !level.is_section() && is(name),
        }
    }
}

impl fmt::Display for LevelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelName::Level(level) => {
                f.write_str(NAMES.iter().find(|(_, named)| named == level).map_or("Other", |(name, _)| *name))
            }
            LevelName::Kind(name) => name.fmt(f),
        }
    }
}

impl LevelNames {
    /// Adds the names that are missing.
    pub(super) fn add_missing(&mut self, names: impl Iterator<Item = LevelName>) {
        for name in names {
            if !self.0.contains(&name) {
                self.0.push(name);
            }
        }
    }

    /// The hierarchy of a kind that gives none.
    pub(super) fn default_hierarchy() -> Self {
        LevelNames(DEFAULT_HIERARCHY.map(LevelName::Level).to_vec())
    }
}

impl Deref for LevelNames {
    type Target = Vec<LevelName>;

    fn deref(&self) -> &Vec<LevelName> {
        &self.0
    }
}

impl FieldValue for LevelNames {
    const TYPE: ValueType = ValueType::List;

    fn schema() -> Schema {
        Vec::<LevelName>::schema()
    }

    fn read(value: &Value, at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let levels = Vec::read(value, at, diagnostics)?;
        if value.items().is_empty() && levels.is_empty() {
            let help = format!("name a level, or leave `{at}` out");
            diagnostics.report(at, format!("`{at}` is empty"), Some(help));
        }
        Some(LevelNames(levels))
    }

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }
}
