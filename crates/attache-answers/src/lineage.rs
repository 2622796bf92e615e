//! The ancestors and descendants of an object, level by level, with the policies on them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::{Level, NodeId, NodeRef, ObjectRef, PolicyId};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::scopes::cut;
use crate::snapshot::Snapshot;

/// The object to show.
#[derive(Clone, Debug)]
pub struct LineageQuery {
    /// The object.
    pub object: ObjectQuery,
    /// The namespace of the object.
    pub namespace: Option<String>,
    /// The number of nodes of a step to name.
    pub names: usize,
}

/// The document `Lineage`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lineage {
    api_version: &'static str,
    kind: &'static str,
    /// The steps from the highest level to the lowest.
    pub steps: Vec<LineageStep>,
}

/// Nodes of one level.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineageStep {
    /// Their kind: `Gateway`, `HTTPRoute rule`.
    pub kind: String,
    /// Whether they are above the object, the object, or below it.
    pub position: Position,
    /// The number of nodes.
    pub count: usize,
    /// The first nodes. Nodes with policies come first.
    pub nodes: Vec<LineageNode>,
}

/// The position of a step relative to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Position {
    /// Above the object.
    Above,
    /// The object.
    Here,
    /// Below the object.
    Below,
}

/// A node, and the policies that are attached to it.
#[derive(Clone, Debug, Serialize)]
pub struct LineageNode {
    /// The node.
    pub node: NodeRef,
    /// The policies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<ObjectRef>,
}

/// The ancestors and descendants of an object.
pub fn lineage(snapshot: &Snapshot, query: &LineageQuery) -> Result<Lineage, QueryError> {
    let object = snapshot.find(&query.object, query.namespace.as_deref())?;
    let topology = snapshot.engine.topology();
    let here = snapshot.nodes(&object);
    let level = |node: NodeId| topology[node].level;
    let mut steps: BTreeMap<(Position, Level), Cow<'_, [NodeId]>> = BTreeMap::new();
    let above = topology.above(here.iter().copied());
    let above = above.iter().map(|node| (Position::Above, *node)).filter(|(_, node)| !here.contains(node));
    for (position, node) in above.chain(here.iter().map(|node| (Position::Here, *node))) {
        steps.entry((position, level(node))).or_default().to_mut().push(node);
    }
    let below = snapshot.descendants(&here);
    for (level, nodes) in &below.by_level {
        // A Service can be the backend of its own routes.
        let others = match here.iter().any(|node| nodes.binary_search(node).is_ok()) {
            true => nodes.iter().copied().filter(|node| !here.contains(node)).collect(),
            false => Cow::Borrowed(nodes.as_slice()),
        };
        steps.insert((Position::Below, *level), others);
    }
    steps.retain(|(_, level), nodes| *level != Level::Namespace && !nodes.is_empty());
    let mut attached: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
    for attachment in snapshot.engine.attachments().attached() {
        attached.entry(attachment.node).or_default().push(attachment.policy);
    }
    // `nodes` are sorted.
    let step = |position: Position, nodes: &[NodeId]| {
        let mut with_policies: Vec<NodeId> = match nodes.len() <= attached.len() {
            true => nodes.iter().copied().filter(|node| attached.contains_key(node)).collect(),
            false => attached.keys().copied().filter(|node| nodes.binary_search(node).is_ok()).collect(),
        };
        with_policies.sort_unstable();
        let others = nodes.iter().copied().filter(|node| !attached.contains_key(node));
        let named = with_policies.into_iter().chain(others).take(cut(nodes.len(), query.names));
        let named = named.map(|node| LineageNode {
            node: snapshot.node_ref(node),
            policies: attached.get(&node).map(|policies| snapshot.policy_refs(policies)).unwrap_or_default(),
        });
        let kind = nodes.first().map(|node| snapshot.node_kind(*node)).unwrap_or_default();
        LineageStep { kind, position, count: nodes.len(), nodes: named.collect() }
    };
    let own_namespace = here.first().and_then(|node| topology.namespace(*node));
    let is_told = |namespace: &NodeId| attached.contains_key(namespace) || Some(*namespace) == own_namespace;
    let mut found = Vec::new();
    let mut told: BTreeSet<NodeId> = BTreeSet::new();
    for ((position, level), nodes) in &steps {
        // A Namespace is above the highest objects in it.
        let namespaces: BTreeSet<NodeId> = match (position, below.namespaces.get(level)) {
            (Position::Below, Some(namespaces)) => namespaces.clone(),
            _ => nodes.iter().filter_map(|node| topology.namespace(*node)).collect(),
        };
        let namespaces = namespaces.into_iter().filter(is_told).filter(|namespace| told.insert(*namespace));
        let namespaces: Vec<NodeId> = namespaces.collect();
        if !namespaces.is_empty() {
            let position = if *position == Position::Below { Position::Below } else { Position::Above };
            found.push(step(position, &namespaces));
        }
        found.push(step(*position, nodes));
    }
    Ok(Lineage { api_version: API_VERSION, kind: "Lineage", steps: found })
}
