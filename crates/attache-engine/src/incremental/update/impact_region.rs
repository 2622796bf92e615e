//! The region that a batch can affect. A one-shot engine builds its models for this region only.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashSet;

use super::attachments::Reattached;
use super::chains::first_nodes_below;
use super::{NextEngine, UpdateContext};
use crate::incremental::both_sides::BothSides;
use crate::kinds::KindId;
use crate::object::ObjectId;
use crate::order::is_rejected_everywhere;
use crate::policy::PolicyId;
use crate::topology::{NodeId, Topology};

/// Everything that a batch can affect, with its dependencies.
#[derive(Debug)]
pub(in crate::incremental) struct ImpactRegion {
    /// The kinds whose effective policies can differ, and the kinds that they depend on. Kinds whose policies are
    /// ordered together are represented by their leading kind.
    pub kinds: BTreeSet<KindId>,
    /// The nodes before and after the batch, parents before children.
    pub nodes: [Arc<[NodeId]>; 2],
}

impl ImpactRegion {
    /// The region of a batch. `None` if it can affect everything.
    pub(super) fn find(
        context: &UpdateContext<'_>,
        next: &NextEngine,
        linked: &BTreeSet<ObjectId>,
        reattached: &[Reattached],
    ) -> Option<ImpactRegion> {
        let sides = BothSides([context.before.parts(), &next.parts]);
        Search { context, next, sides, linked, reattached }.find()
    }
}

/// The input of the search for a region.
#[derive(Clone, Copy)]
struct Search<'s> {
    context: &'s UpdateContext<'s>,
    next: &'s NextEngine,
    /// Before and after the batch.
    sides: BothSides<'s>,
    /// The routes, Gateways and ListenerSets that were relinked.
    linked: &'s BTreeSet<ObjectId>,
    reattached: &'s [Reattached],
}

impl<'s> Search<'s> {
    fn find(self) -> Option<ImpactRegion> {
        let is_rejected_everywhere = |kind| is_rejected_everywhere(self.next.parts.kinds.get(kind));
        let mut kinds = self.reattached.iter().flat_map(|it| self.leaders(it.policy));
        if self.context.can_change_inheritance() || kinds.any(is_rejected_everywhere) {
            return None;
        }
        // Every scope that is added, removed or gets another chain leads through one of these.
        let causes = self.causes();
        let affected = self.sides.closure(causes.iter().copied(), Topology::children);
        let kinds = self.affected_kinds();
        let policies = self.policies_through(&causes, &affected, &kinds);
        // The status of a policy counts all its scopes: they must end in the region.
        let mut within = self.sides.closure(self.first_nodes_of(&policies)?, Topology::children);
        within.extend(&affected);
        within.extend(self.next.edits.nodes.iter());
        let siblings = self.sides.nodes_of_same_objects(within.iter().copied());
        let nodes = self.sides.closure(within.iter().copied().chain(siblings), Topology::parents);
        let nodes = self.sides.0.map(|side| in_order(&side.topology, &nodes));
        Some(ImpactRegion { kinds, nodes })
    }

    /// The leading kind of a policy's kind, before and after the batch.
    fn leaders(self, policy: PolicyId) -> impl Iterator<Item = KindId> {
        let kinds = self.sides.0.into_iter().filter_map(move |side| Some((side, side.policies.get(policy)?.kind)));
        kinds.map(|(side, kind)| side.kinds.leader(kind))
    }

    /// The kinds whose effective policies can differ, and the kinds that they yield to.
    fn affected_kinds(self) -> BTreeSet<KindId> {
        let all: BTreeSet<KindId> = self.context.kinds_in_use().collect();
        let (kinds, edits) = (&self.next.parts.kinds, &self.next.edits);
        let mut changed = self.context.changes.iter().map(|change| change.reference());
        let is_linked = !edits.is_empty() || !edits.live_changed.is_empty() || !self.linked.is_empty();
        if is_linked || changed.any(|id| kinds.find(&id.group, &id.kind).is_none()) {
            return all;
        }
        let yields = |one: KindId, to: KindId| {
            let mut led = kinds.iter().filter(|(id, _)| kinds.leader(*id) == to);
            led.any(|(_, other)| kinds.get(one).yields_to(other))
        };
        let reattached: BTreeSet<KindId> = self.reattached.iter().flat_map(|it| self.leaders(it.policy)).collect();
        let is_affected =
            |kind: &KindId| reattached.contains(kind) || reattached.iter().any(|other| yields(*kind, *other));
        let affected: BTreeSet<KindId> = all.iter().copied().filter(is_affected).collect();
        let is_needed = |kind: &KindId| affected.contains(kind) || affected.iter().any(|other| yields(*other, *kind));
        all.into_iter().filter(is_needed).collect()
    }

    /// All nodes of the objects at which paths first contain the policies on some nodes.
    fn first_objects_below(self, nodes: HashSet<NodeId>) -> impl Iterator<Item = NodeId> {
        let mut first = HashSet::new();
        for node in nodes {
            first_nodes_below(self.context, self.next, None, node, |node| _ = first.insert(node));
        }
        self.sides.nodes_of_same_objects(first)
    }

    /// The nodes at which the effects of the batch begin.
    fn causes(self) -> HashSet<NodeId> {
        let edits = &self.next.edits;
        let edited = edits.removed.iter().chain(&edits.live_changed).chain(&edits.renamespaced).copied();
        let objects = self.linked_or_changed().map(NodeId::whole);
        let mut causes: HashSet<NodeId> = edited.chain(self.sides.nodes_of_same_objects(objects)).collect();
        let restacked = self.reattached.iter().filter(|it| it.changes_stacks(self.context, self.next));
        let nodes = restacked.flat_map(|it| it.before.to.iter().chain(&it.after(self.next).to));
        let nodes: HashSet<NodeId> = nodes.map(|it| it.node).collect();
        causes.extend(self.first_objects_below(nodes));
        causes
    }

    fn linked_or_changed(self) -> impl Iterator<Item = ObjectId> {
        self.linked.iter().copied().chain(self.context.changes.iter().map(|change| change.id))
    }

    /// The policies on all paths through a cause.
    fn policies_through(
        self,
        causes: &HashSet<NodeId>,
        affected: &HashSet<NodeId>,
        kinds: &BTreeSet<KindId>,
    ) -> BTreeSet<PolicyId> {
        let mut paths = self.sides.closure(causes.iter().copied(), Topology::parents);
        paths.extend(affected);
        let unlinked = |node: &NodeId| {
            let node = *node;
            let nodes = self.sides.0.into_iter().filter_map(move |side| side.topology.node(node));
            nodes.flat_map(move |it| [Some(it.whole(node)), it.namespace()]).flatten()
        };
        let unlinked: Vec<NodeId> = paths.iter().flat_map(unlinked).collect();
        paths.extend(unlinked);
        paths.extend(self.roots());
        let attached = self.sides.0.into_iter().flat_map(|side| side.attachments.with_absent());
        let policies = attached.filter(|it| paths.contains(&it.node)).map(|it| it.policy);
        let policies = policies.filter(|policy| self.leaders(*policy).any(|kind| kinds.contains(&kind)));
        policies.chain(self.reattached.iter().map(|it| it.policy)).collect()
    }

    /// The nodes at which paths first contain some policies. `None` if a policy applies to the whole cluster.
    fn first_nodes_of(self, policies: &BTreeSet<PolicyId>) -> Option<impl Iterator<Item = NodeId>> {
        let attached = self.sides.0.into_iter().flat_map(|side| {
            let attached = policies.iter().flat_map(|policy| &side.attachments.for_policy(*policy).to);
            attached.map(|it| it.node)
        });
        let attached: HashSet<NodeId> = attached.collect();
        if self.roots().any(|root| attached.contains(&root)) {
            return None;
        }
        Some(self.first_objects_below(attached))
    }

    /// The root Namespaces of all kinds in use.
    fn roots(self) -> impl Iterator<Item = NodeId> {
        let parts = &self.next.parts;
        let names =
            self.context.kinds_in_use().filter_map(|kind| parts.kinds.get(kind).hierarchy.root_namespace.as_ref());
        names.filter_map(|name| parts.topology.find_namespace(&parts.objects, name))
    }
}

/// The nodes that exist, parents before children.
fn in_order(topology: &Topology, nodes: &HashSet<NodeId>) -> Arc<[NodeId]> {
    let deepest = topology.deepest();
    let existing = nodes.iter().copied().filter(|node| topology.has(*node));
    let mut ranked: Vec<(usize, NodeId)> = existing.map(|node| (topology.rank(deepest, node), node)).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, node)| node).collect()
}
