//! Which nodes have the same scopes in two independently built states. No scope is listed to find them.

use hashbrown::{HashMap, HashSet};

use super::{Model, stack_node};
use crate::attachment::Attachment;
use crate::chain::EdgeTraffic;
use crate::engine_view::EngineView;
use crate::object::{Object, ObjectId};
use crate::order::Stack;
use crate::topology::{Level, Node, NodeId, Owner};

/// Maps the nodes and objects of one state to those of another, if they exist there and their objects are equal.
#[derive(Debug)]
pub(crate) struct NodeMapping {
    nodes: HashMap<NodeId, NodeId>,
    objects: HashMap<ObjectId, ObjectId>,
}

impl NodeMapping {
    pub fn new(here: EngineView<'_>, there: EngineView<'_>) -> NodeMapping {
        let counterpart_of_object = |(id, object): (ObjectId, &Object)| {
            let counterpart = there.objects.find(&object.id)?;
            let other = &there.objects[counterpart];
            (object.body == other.body && object.created == other.created).then_some((id, counterpart))
        };
        let objects: HashMap<ObjectId, ObjectId> = here.objects.iter().filter_map(counterpart_of_object).collect();
        let counterpart_of_node = |(id, node): (NodeId, &Node)| {
            let whole = match node.owner {
                Owner::Object(object) => NodeId::whole(*objects.get(&object)?),
                Owner::Implied(_) => {
                    let whole = there.topology.find(there.objects, here.topology.id(here.objects, id))?;
                    matches!(there.topology[whole].owner, Owner::Implied(_)).then_some(whole)?
                }
            };
            let counterpart = match (&node.section, node.level) {
                // By index, because sections can share a name.
                (Some(_), _) => there.topology.sections(whole).nth(here.topology.position(id)?)?,
                (None, Level::Frontend) => there.topology.frontend(whole)?,
                (None, _) => whole,
            };
            (here.topology.live(id) == there.topology.live(counterpart)).then_some((id, counterpart))
        };
        NodeMapping { nodes: here.topology.nodes().filter_map(counterpart_of_node).collect(), objects }
    }

    /// The same node in the other state.
    pub fn node(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.get(&node).copied()
    }

    fn is_same_node(&self, here: Option<NodeId>, there: Option<NodeId>) -> bool {
        match here {
            Some(here) => there.is_some() && self.node(here) == there,
            None => there.is_none(),
        }
    }

    fn is_same_traffic(&self, here: EdgeTraffic, there: EdgeTraffic) -> bool {
        match (here, there) {
            (EdgeTraffic::All, EdgeTraffic::All) => true,
            (EdgeTraffic::From(here), EdgeTraffic::From(there))
            | (EdgeTraffic::Unhandled(here), EdgeTraffic::Unhandled(there)) => self.node(here) == Some(there),
            _ => false,
        }
    }

    fn is_same_attachment(&self, here: &Attachment, there: &Attachment) -> bool {
        self.objects.get(&here.policy.0) == Some(&there.policy.0)
            && self.node(here.node) == Some(there.node)
            && self.is_same_node(here.from, there.from)
            && here.via == there.via
            && here.patch == there.patch
            && here.standing == there.standing
    }

    fn is_same_stack(&self, here: Option<&Stack>, there: Option<&Stack>) -> bool {
        let (Some(here), Some(there)) = (here, there) else { return here.is_none() && there.is_none() };
        here.accepted.len() == there.accepted.len()
            && here.yields.len() == there.yields.len()
            && here.accepted.iter().zip(&there.accepted).all(|(here, there)| self.is_same_attachment(here, there))
            && here
                .yields
                .iter()
                .zip(&there.yields)
                .all(|((here, fields), (there, others))| fields == others && self.is_same_attachment(here, there))
    }
}

impl Model {
    /// The nodes that have the same scopes, with the same effective policies, in another state of the same kind: the node
    /// and all nodes above it, the paths between them, and the policies on them are the same.
    pub(crate) fn unchanged(
        &self,
        here: EngineView<'_>,
        other: &Model,
        there: EngineView<'_>,
        mapping: &NodeMapping,
    ) -> HashSet<NodeId> {
        let mut unchanged = HashSet::new();
        if self.kind != other.kind || !mapping.is_same_node(self.root, other.root) {
            return unchanged;
        }
        let has_same_stack = |node: &NodeId| {
            let counterpart = mapping.node(*node);
            counterpart.is_some_and(|it| mapping.is_same_stack(self.stacks.get(*node), other.stacks.get(it)))
        };
        let mut restacked: HashSet<NodeId> = self.stacks.nodes().filter(|node| !has_same_stack(node)).collect();
        // Nodes that have policies only in the other state.
        let known: HashSet<NodeId> = self.stacks.nodes().filter_map(|node| mapping.node(node)).collect();
        if other.stacks.nodes().any(|node| !known.contains(&node)) {
            let is_new = |counterpart: NodeId| other.stacks.has(counterpart) && !known.contains(&counterpart);
            let nodes = here.topology.nodes().map(|(node, _)| node);
            restacked.extend(nodes.filter(|node| mapping.node(*node).is_some_and(is_new)));
        }
        for &node in here.topology.order() {
            let Some(counterpart) = mapping.node(node) else { continue };
            let (edges, others) = (self.hierarchy.parent_edges(node), other.hierarchy.parent_edges(counterpart));
            let mut pairs = edges.iter().zip(others);
            let has_same_paths = edges.len() == others.len()
                && pairs.all(|(edge, other)| {
                    mapping.is_same_node(edge.parent, other.parent)
                        && mapping.is_same_traffic(edge.traffic, other.traffic)
                        && edge.parent.is_none_or(|parent| unchanged.contains(&parent))
                });
            let ancestors = self.unlinked_ancestors(here, node).map(|ancestor| mapping.node(ancestor));
            let is_unchanged = has_same_paths
                && self.hierarchy.has(node) == other.hierarchy.has(counterpart)
                && !restacked.contains(&stack_node(here, node))
                && ancestors.eq(other.unlinked_ancestors(there, counterpart).map(Some))
                && self.unlinked_ancestors(here, node).all(|ancestor| !restacked.contains(&ancestor));
            if is_unchanged {
                unchanged.insert(node);
            }
        }
        unchanged
    }
}
