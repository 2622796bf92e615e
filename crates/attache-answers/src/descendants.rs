//! The nodes below an object, by level. A GatewayClass can have a million, and several answers need them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::{Engine, Level, NodeId};
use serde::Serialize;

/// Nodes, and everything below them.
#[derive(Debug)]
pub(crate) struct Descendants {
    /// The nodes of each level, sorted.
    pub by_level: BTreeMap<Level, Vec<NodeId>>,
    /// The Namespaces of the nodes of each level.
    pub namespaces: BTreeMap<Level, BTreeSet<NodeId>>,
    /// The number of nodes of each kind.
    pub counts: Vec<NodeCount>,
}

/// The number of nodes of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeCount {
    /// The kind: `Gateway`, `HTTPRoute rule`.
    pub kind: String,
    /// The number.
    pub count: usize,
}

impl Descendants {
    /// Some nodes, and everything below them.
    pub fn new(engine: &Engine, nodes: impl IntoIterator<Item = NodeId>) -> Descendants {
        let topology = engine.topology();
        let by_level = topology.below_by_level(nodes);
        let namespaces = by_level.iter().map(|(level, nodes)| {
            let mut namespaces: Vec<NodeId> = nodes.iter().filter_map(|node| topology.namespace(*node)).collect();
            // Most neighbours are in the same one.
            namespaces.dedup();
            (*level, namespaces.into_iter().collect())
        });
        let namespaces = namespaces.collect();
        let counts = node_counts(engine, by_level.values().flatten());
        Descendants { by_level, namespaces, counts }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.by_level.values().map(Vec::len).sum()
    }

    /// All nodes.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + Clone {
        self.by_level.values().flatten().copied()
    }

    /// Whether a node is among them.
    pub fn contains(&self, engine: &Engine, node: NodeId) -> bool {
        let level = engine.topology()[node].level;
        self.by_level.get(&level).is_some_and(|nodes| nodes.binary_search(&node).is_ok())
    }
}

/// The number of nodes of each kind, the highest level first.
pub(crate) fn node_counts<'n>(engine: &Engine, nodes: impl IntoIterator<Item = &'n NodeId>) -> Vec<NodeCount> {
    let topology = engine.topology();
    let mut by_level: HashMap<(Level, &str), (NodeId, usize)> = HashMap::new();
    // Most neighbours are alike.
    let mut alike: Option<((Level, &str), NodeId, usize)> = None;
    for node in nodes {
        let key = (topology[*node].level, topology.id(engine.objects(), *node).kind.as_str());
        match &mut alike {
            Some((last, _, count)) if *last == key => *count += 1,
            _ => {
                if let Some((key, node, count)) = alike.replace((key, *node, 1)) {
                    by_level.entry(key).or_insert((node, 0)).1 += count;
                }
            }
        }
    }
    if let Some((key, node, count)) = alike {
        by_level.entry(key).or_insert((node, 0)).1 += count;
    }
    let mut counts: BTreeMap<String, (Level, usize)> = BTreeMap::new();
    for ((level, _), (node, number)) in by_level {
        // A Service that is the parent of routes has a node of another level.
        let (highest, count) = counts.entry(node_kind(engine, node)).or_insert((level, 0));
        *highest = level.min(*highest);
        *count += number;
    }
    let mut counts: Vec<(Level, NodeCount)> =
        counts.into_iter().map(|(kind, (level, count))| (level, NodeCount { kind, count })).collect();
    counts.sort_by_key(|(level, _)| *level);
    counts.into_iter().map(|(_, count)| count).collect()
}

/// The kind of a node, for a sentence: `Gateway`, `HTTPRoute rule`.
pub(crate) fn node_kind(engine: &Engine, node: NodeId) -> String {
    let kind = &engine.topology().id(engine.objects(), node).kind;
    match engine.topology()[node].level {
        Level::Listener => format!("{kind} listener"),
        Level::RouteRule => format!("{kind} rule"),
        Level::BackendPort => format!("{kind} port"),
        _ => kind.to_string(),
    }
}
