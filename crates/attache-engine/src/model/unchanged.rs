//! What is the same in two states of the world, without a look at any scope.

use hashbrown::{HashMap, HashSet};

use super::{Model, stack_node};
use crate::attachment::Attachment;
use crate::engine_view::EngineView;
use crate::object::{Object, ObjectId};
use crate::order::Stack;
use crate::topology::{Level, Node, NodeId, Owner};

/// Each node and each policy of one state as it is in the other, if it is there and its object says the same.
#[derive(Debug)]
pub(crate) struct NodeMapping {
    nodes: HashMap<NodeId, NodeId>,
    objects: HashMap<ObjectId, ObjectId>,
}

impl NodeMapping {
    pub fn new(here: EngineView<'_>, there: EngineView<'_>) -> NodeMapping {
        let object = |(id, object): (ObjectId, &Object)| {
            let twin = there.objects.find(&object.id)?;
            let other = &there.objects[twin];
            (object.body == other.body && object.created == other.created).then_some((id, twin))
        };
        let objects: HashMap<ObjectId, ObjectId> = here.objects.iter().filter_map(object).collect();
        let node = |(id, node): (NodeId, &Node)| {
            let whole = match node.owner {
                Owner::Object(object) => NodeId::whole(*objects.get(&object)?),
                Owner::Implied(_) => {
                    let whole = there.topology.find(there.objects, here.topology.id(here.objects, id))?;
                    matches!(there.topology[whole].owner, Owner::Implied(_)).then_some(whole)?
                }
            };
            let twin = match (&node.section, node.level) {
                // By position: two of them may have one name.
                (Some(_), _) => there.topology.sections(whole).nth(here.topology.position(id)?)?,
                (None, Level::Frontend) => there.topology.frontend(whole)?,
                (None, _) => whole,
            };
            (here.topology.live(id) == there.topology.live(twin)).then_some((id, twin))
        };
        NodeMapping { nodes: here.topology.nodes().filter_map(node).collect(), objects }
    }

    pub fn node(&self, node: NodeId) -> Option<NodeId> {
        self.nodes.get(&node).copied()
    }

    fn are(&self, here: Option<NodeId>, there: Option<NodeId>) -> bool {
        match here {
            Some(here) => there.is_some() && self.node(here) == there,
            None => there.is_none(),
        }
    }

    fn are_attachments(&self, here: &Attachment, there: &Attachment) -> bool {
        self.objects.get(&here.policy.0) == Some(&there.policy.0)
            && self.node(here.node) == Some(there.node)
            && self.are(here.from, there.from)
            && here.via == there.via
            && here.patch == there.patch
    }

    fn are_stacks(&self, here: Option<&Stack>, there: Option<&Stack>) -> bool {
        let (Some(here), Some(there)) = (here, there) else { return here.is_none() && there.is_none() };
        here.accepted.len() == there.accepted.len()
            && here.yields.len() == there.yields.len()
            && here.accepted.iter().zip(&there.accepted).all(|(here, there)| self.are_attachments(here, there))
            && here
                .yields
                .iter()
                .zip(&there.yields)
                .all(|((here, fields), (there, others))| fields == others && self.are_attachments(here, there))
    }
}

impl Model {
    /// The nodes for which everything is as it is in another state of the same kind: the node and all above it, the ways
    /// to it, and the policies on them. Then their scopes are the same, too, and what is in force in them.
    pub(crate) fn unchanged(
        &self,
        here: EngineView<'_>,
        other: &Model,
        there: EngineView<'_>,
        mapping: &NodeMapping,
    ) -> HashSet<NodeId> {
        let mut unchanged = HashSet::new();
        if self.kind != other.kind || !mapping.are(self.root, other.root) {
            return unchanged;
        }
        let has_twin = |node: &NodeId| {
            let twin = mapping.node(*node);
            twin.is_some_and(|twin| mapping.are_stacks(self.stacks.get(*node), other.stacks.get(twin)))
        };
        let mut changed: HashSet<NodeId> = self.stacks.nodes().filter(|node| !has_twin(node)).collect();
        // Where there are policies in the other state only.
        let known: HashSet<NodeId> = self.stacks.nodes().filter_map(|node| mapping.node(node)).collect();
        if other.stacks.nodes().any(|node| !known.contains(&node)) {
            let is_new = |twin: NodeId| other.stacks.has(twin) && !known.contains(&twin);
            let nodes = here.topology.nodes().map(|(node, _)| node);
            changed.extend(nodes.filter(|node| mapping.node(*node).is_some_and(is_new)));
        }
        for &node in here.topology.order() {
            let Some(twin) = mapping.node(node) else { continue };
            let (ways, others) = (self.hierarchy.arrivals(node), other.hierarchy.arrivals(twin));
            let mut ways_and_others = ways.iter().zip(others);
            let same_ways = ways.len() == others.len()
                && ways_and_others.all(|(way, other)| {
                    mapping.are(way.parent, other.parent)
                        && mapping.are(way.from, other.from)
                        && way.parent.is_none_or(|parent| unchanged.contains(&parent))
                });
            let above = self.above(here, node).map(|above| mapping.node(above));
            let is_untouched = same_ways
                && self.hierarchy.has(node) == other.hierarchy.has(twin)
                && !changed.contains(&stack_node(here, node))
                && above.eq(other.above(there, twin).map(Some))
                && self.above(here, node).all(|above| !changed.contains(&above));
            if is_untouched {
                unchanged.insert(node);
            }
        }
        unchanged
    }
}
