//! As far as a change can be felt: of the rest, models know nothing where they are built for one change only.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashSet;

use super::step::{Linked, Step};
use crate::engine::Engine;
use crate::kinds::KindId;
use crate::object::ObjectId;
use crate::order::is_rejected_everywhere;
use crate::policy::PolicyId;
use crate::topology::{Level, NodeId, Topology, api};

#[derive(Debug)]
pub struct ImpactRegion {
    /// The kinds of which something may be different, and those on which they depend; each leads those that decide with it.
    pub kinds: BTreeSet<KindId>,
    /// The nodes on which what may be different depends, before and after, parents before children.
    pub nodes: [Arc<[NodeId]>; 2],
    /// The policies of which something else may become: all their scopes end among the nodes.
    pub policies: BTreeSet<PolicyId>,
    /// The objects with which something else may be wrong, before and after.
    pub objects: [BTreeSet<ObjectId>; 2],
}

impl Step<'_> {
    /// How far a change can be felt; everywhere, if there is no answer.
    pub(super) fn around(&self, linked: &Linked) -> Option<ImpactRegion> {
        if self.has_waypoints() || linked.old.iter().any(|(policy, _)| self.is_rejected_everywhere(*policy)) {
            return None;
        }
        // Every scope that came, went, or has another chain leads by way of one of these.
        let causes = self.causes(linked);
        let affected = self.reach(causes.iter().copied(), Topology::children);
        let kinds = self.kinds_felt(linked);
        let policies = self.policies_along(linked, &causes, &affected, &kinds);
        let targets = self.targets(&policies)?;
        // What becomes of a policy is counted in all its scopes.
        let mut within = self.reach(targets, Topology::children);
        within.extend(&affected);
        within.extend(self.edited.nodes.as_slice());
        let kin = self.kin(within.iter().copied());
        let nodes = self.reach(within.iter().copied().chain(kin), Topology::parents);
        let objects = self.engines().map(|engine| self.objects(engine, linked, &affected, &policies));
        let nodes = self.engines().map(|engine| in_order(&engine.topology, &nodes));
        Some(ImpactRegion { kinds, nodes, policies, objects })
    }

    pub(super) fn engines(&self) -> [&Engine; 2] {
        [&self.before, &self.next]
    }

    fn is_rejected_everywhere(&self, policy: PolicyId) -> bool {
        self.leaders(policy).any(|kind| is_rejected_everywhere(self.next.kinds.get(kind)))
    }

    /// The kind that leads that of a policy, before and after.
    fn leaders(&self, policy: PolicyId) -> impl Iterator<Item = KindId> {
        let engines = self.engines().into_iter();
        engines.filter_map(move |engine| Some(engine.kinds.leader(engine.policies.get(policy)?.kind)))
    }

    fn kinds_felt(&self, linked: &Linked) -> BTreeSet<KindId> {
        let all: BTreeSet<KindId> = self.kinds().collect();
        let kinds = &self.next.kinds;
        let mut names = self.touched.iter().filter_map(|touched| touched.name());
        let is_linked = !self.edited.is_empty() || !self.edited.live_changed.is_empty() || !linked.linked.is_empty();
        if is_linked || names.any(|id| kinds.find(&id.group, &id.kind).is_none()) {
            return all;
        }
        let yields = |one: KindId, to: KindId| {
            let led = kinds.iter().filter(|(id, _)| kinds.leader(*id) == to);
            led.into_iter().any(|(_, other)| kinds.get(one).yields_to(other))
        };
        let anew: BTreeSet<KindId> = linked.old.iter().flat_map(|(policy, _)| self.leaders(*policy)).collect();
        let feels = |kind: &KindId| anew.contains(kind) || anew.iter().any(|other| yields(*kind, *other));
        let affected: BTreeSet<KindId> = all.iter().copied().filter(feels).collect();
        let is_needed = |kind: &KindId| affected.contains(kind) || affected.iter().any(|other| yields(*other, *kind));
        all.into_iter().filter(is_needed).collect()
    }

    /// Some nodes and all that is next to them, and so on, before or after.
    fn reach(
        &self,
        from: impl IntoIterator<Item = NodeId>,
        next: fn(&Topology, NodeId) -> &[NodeId],
    ) -> HashSet<NodeId> {
        let mut found = HashSet::new();
        let mut todo: Vec<NodeId> = from.into_iter().collect();
        while let Some(node) = todo.pop() {
            if found.insert(node) {
                self.engines().iter().for_each(|engine| todo.extend(next(&engine.topology, node)));
            }
        }
        found
    }

    /// All nodes of the objects that have some, before and after.
    fn kin(&self, nodes: impl IntoIterator<Item = NodeId>) -> impl Iterator<Item = NodeId> {
        let there = |node: NodeId| self.engines().into_iter().filter(move |engine| engine.topology.has(node));
        let wholes = nodes.into_iter().flat_map(move |node| there(node).map(move |engine| engine.topology.whole(node)));
        let wholes: HashSet<NodeId> = wholes.collect();
        wholes.into_iter().flat_map(move |whole| {
            there(whole).flat_map(move |engine| {
                [whole].into_iter().chain(engine.topology.sections(whole)).chain(engine.topology.frontend(whole))
            })
        })
    }

    /// All nodes of the objects at which policies on some nodes are met first.
    fn kin_under(&self, nodes: HashSet<NodeId>) -> impl Iterator<Item = NodeId> {
        let mut under = HashSet::new();
        nodes.into_iter().for_each(|node| self.under(None, node, |node| _ = under.insert(node)));
        self.kin(under)
    }

    /// The nodes at which the change begins.
    fn causes(&self, linked: &Linked) -> HashSet<NodeId> {
        let edited =
            self.edited.removed.iter().chain(&self.edited.live_changed).chain(&self.edited.renamespaced).copied();
        let objects = linked.linked.iter().copied().chain(self.touched.iter().map(|touched| touched.id));
        let mut causes: HashSet<NodeId> = edited.chain(self.kin(objects.map(NodeId::whole))).collect();
        let restacked = linked.old.iter().filter(|(policy, was)| self.is_restacked(*policy, was));
        let nodes =
            restacked.flat_map(|(policy, was)| was.to.iter().chain(&self.next.attachments.for_policy(*policy).to));
        let nodes: HashSet<NodeId> = nodes.map(|it| it.node).collect();
        causes.extend(self.kin_under(nodes));
        causes
    }

    /// The policies that stand on the ways that lead by a cause.
    fn policies_along(
        &self,
        linked: &Linked,
        causes: &HashSet<NodeId>,
        affected: &HashSet<NodeId>,
        kinds: &BTreeSet<KindId>,
    ) -> BTreeSet<PolicyId> {
        let mut ways = self.reach(causes.iter().copied(), Topology::parents);
        ways.extend(affected);
        let engines = self.engines();
        let beside = |node: &NodeId| {
            let node = *node;
            let nodes = engines.into_iter().filter_map(move |engine| engine.topology.node(node));
            nodes.flat_map(move |it| [Some(it.whole(node)), it.namespace()]).flatten()
        };
        let beside: Vec<NodeId> = ways.iter().flat_map(beside).collect();
        ways.extend(beside);
        ways.extend(self.roots());
        let met = engines.into_iter().flat_map(|engine| engine.attachments.attached());
        let met = met.filter(|it| ways.contains(&it.node)).map(|it| it.policy);
        let met = met.filter(|policy| self.leaders(*policy).any(|kind| kinds.contains(&kind)));
        met.chain(linked.old.iter().map(|(policy, _)| *policy)).collect()
    }

    /// The nodes at which some policies are met first; none where that is everywhere.
    fn targets(&self, policies: &BTreeSet<PolicyId>) -> Option<impl Iterator<Item = NodeId>> {
        let attached = self.engines().into_iter().flat_map(|engine| {
            let of = policies.iter().flat_map(|policy| &engine.attachments.for_policy(*policy).to);
            of.map(|it| it.node)
        });
        let attached: HashSet<NodeId> = attached.collect();
        if self.roots().any(|root| attached.contains(&root)) {
            return None;
        }
        Some(self.kin_under(attached))
    }

    /// The Namespaces that stand on top of all others, for some kind.
    fn roots(&self) -> impl Iterator<Item = NodeId> {
        let names = self.kinds().filter_map(|kind| self.next.kinds.get(kind).hierarchy.root_namespace.as_ref());
        names.filter_map(|name| self.next.topology.find_namespace(&self.next.objects, name))
    }

    /// What stands above routes that came, went or are linked anew, before or after: a Gateway counts its routes.
    fn counting(&self, linked: &Linked) -> impl Iterator<Item = ObjectId> {
        let routes = linked.linked.iter().copied().chain(self.touched.iter().map(|touched| touched.id));
        routes.map(NodeId::whole).flat_map(|route| {
            let there = self.engines().into_iter().map(|engine| &engine.topology);
            let there = there.filter(move |topology| topology.has(route));
            there.flat_map(move |topology| {
                topology.parents(route).iter().filter_map(|parent| topology[*parent].owner.object())
            })
        })
    }

    fn objects(
        &self,
        engine: &Engine,
        linked: &Linked,
        affected: &HashSet<NodeId>,
        policies: &BTreeSet<PolicyId>,
    ) -> BTreeSet<ObjectId> {
        let owners = affected.iter().filter_map(|node| engine.topology.node(*node)?.owner.object());
        let touched = self.touched.iter().map(|touched| touched.id);
        // What is wrong with an unknown kind is said of the first of it.
        let kinds = self.touched.iter().filter_map(|touched| touched.name());
        let kinds = kinds.filter(|id| api::level(&id.group, &id.kind) == Level::Other);
        let kinds = kinds.filter(|id| engine.kinds.find(&id.group, &id.kind).is_none());
        let firsts = kinds.filter_map(|id| engine.objects.of_kind(&id.group, &id.kind).first().copied());
        let all = owners.chain(touched).chain(firsts).chain(linked.linked.iter().copied());
        let all = all.chain(policies.iter().map(|policy| policy.0));
        let all = all.chain(self.counting(linked));
        all.filter(|id| engine.objects.shared(*id).is_some()).collect()
    }
}

/// Those of some nodes that are there, parents before children.
fn in_order(topology: &Topology, nodes: &HashSet<NodeId>) -> Arc<[NodeId]> {
    let deepest = topology.deepest();
    let there = nodes.iter().copied().filter(|node| topology.has(*node));
    let mut ranked: Vec<(usize, NodeId)> = there.map(|node| (topology.rank(deepest, node), node)).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, node)| node).collect()
}
