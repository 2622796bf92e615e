//! What a batch edited: the nodes whose links it can change, and the objects and policies whose lint findings it can change.

use std::collections::BTreeSet;

use hashbrown::HashSet;

use super::both_sides::BothSides;
use super::changed::ObjectChange;
use crate::engine_parts::EngineParts;
use crate::object::ObjectId;
use crate::policy::PolicyId;
use crate::topology::api::GATEWAY_API;
use crate::topology::{Level, NodeId, Topology, TopologyChanges, api};

/// The objects and policies whose lint findings a batch can change.
#[derive(Debug)]
pub(crate) struct LintRegion {
    /// The objects before and after the batch, policies included.
    pub objects: [BTreeSet<ObjectId>; 2],
    /// The policies whose outcomes can differ.
    pub policies: BTreeSet<PolicyId>,
}

/// What a batch edited.
#[derive(Debug, Default)]
pub(super) struct BatchEdits {
    pub changes: Vec<ObjectChange>,
    /// The routes, Gateways and ListenerSets that were relinked.
    pub linked: BTreeSet<ObjectId>,
    pub topology: TopologyChanges,
}

impl BatchEdits {
    /// The nodes whose links can differ, those below them, and the other nodes of the same objects.
    pub fn relinked_nodes(&self, sides: [&EngineParts; 2]) -> HashSet<NodeId> {
        let both = BothSides(sides);
        let changed = self.changes.iter().filter(|change| change.fields.content()).map(|change| change.id);
        let objects = self.linked.iter().copied().chain(changed).map(NodeId::whole);
        let edited = self.topology.nodes.iter().copied().chain(self.edited_nodes());
        let below = both.closure(edited.chain(both.nodes_of_same_objects(objects)), Topology::children);
        both.nodes_of_same_objects(below).collect()
    }

    /// The nodes that were removed, that requests newly reach or no longer reach, or whose Namespace node was replaced.
    fn edited_nodes(&self) -> impl Iterator<Item = NodeId> {
        let edits = &self.topology;
        edits.removed.iter().chain(&edits.live_changed).chain(&edits.renamespaced).copied()
    }

    /// The region of the batch, given the engines before and after it, and the policies whose outcomes it can change.
    pub fn lint_region(&self, sides: [&EngineParts; 2], touched: &BTreeSet<PolicyId>) -> LintRegion {
        let changed = self.changes.iter().map(|change| PolicyId(change.id));
        let is_policy = |policy: &PolicyId| sides.iter().any(|side| side.policies.get(*policy).is_some());
        let policies: BTreeSet<PolicyId> = touched.iter().copied().chain(changed).filter(is_policy).collect();
        let both = BothSides(sides);
        let objects = both.nodes_of_same_objects(self.linked_or_changed().map(NodeId::whole));
        let below = both.closure(self.edited_nodes().chain(objects), Topology::children);
        let parents: Vec<ObjectId> = sides.iter().flat_map(|side| self.parents_of_routes(&side.topology)).collect();
        let objects = sides.map(|side| {
            let owners = below.iter().filter_map(|node| side.topology.node(*node)?.owner.object());
            let all = owners.chain(self.linked_or_changed()).chain(parents.iter().copied());
            let all = all.chain(policies.iter().map(|policy| policy.0)).chain(self.objects_with_others(side));
            all.filter(|id| side.objects.shared(*id).is_some()).collect()
        });
        LintRegion { objects, policies }
    }

    fn linked_or_changed(&self) -> impl Iterator<Item = ObjectId> {
        self.linked.iter().copied().chain(self.changes.iter().map(|change| change.id))
    }

    /// The parents of routes that were relinked or changed: findings about a Gateway count its routes.
    fn parents_of_routes<'t>(&'t self, topology: &'t Topology) -> impl Iterator<Item = ObjectId> + 't {
        let routes = self.linked_or_changed().map(NodeId::whole).filter(|route| topology.has(*route));
        let parents = routes.flat_map(|route| topology.parents(route));
        parents.filter_map(|parent| topology[*parent].owner.object())
    }

    /// Objects of one side with findings that depend on all objects of a kind: the first object of an unknown kind, and
    /// Gateways, which may name a class that is similar to a new one.
    fn objects_with_others<'s>(&'s self, side: &'s EngineParts) -> impl Iterator<Item = ObjectId> + 's {
        let changed = self.changes.iter().map(|change| (change, change.reference()));
        changed
            .flat_map(move |(change, id)| {
                let of_kind = |group: &str, kind: &str| side.objects.of_kind(group, kind);
                match api::level(&id.group, &id.kind) {
                    Level::GatewayClass if change.fields.existence => of_kind(GATEWAY_API, "Gateway"),
                    Level::Other if side.kinds.find(&id.group, &id.kind).is_none() => {
                        let all = of_kind(&id.group, &id.kind);
                        &all[..all.len().min(1)]
                    }
                    _ => &[],
                }
            })
            .copied()
    }
}
