//! What hierarchies make of the nodes that were edited, and how chains spread from there.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::impact_region::ImpactRegion;
use super::reattach::Stacked;
use super::step::{Followed, Refolded, Step};
use crate::chain::Hierarchy;
use crate::engine::Engine;
use crate::model::{Cause, Model, RefCounts};
use crate::object::ObjectId;
use crate::topology::{Level, NodeId};

/// The nodes that a hierarchy sees otherwise than before.
type Anew = Arc<[NodeId]>;

fn add(by_rank: &mut Vec<Vec<NodeId>>, rank: usize, node: NodeId) {
    if by_rank.len() <= rank {
        by_rank.resize_with(rank + 1, Vec::new);
    }
    by_rank[rank].push(node);
}

/// Sorts nodes. Most come in order, one run after the other.
fn each_once(nodes: &mut Vec<NodeId>) {
    nodes.sort();
    nodes.dedup();
}

impl Step<'_> {
    /// Looks again at what each hierarchy makes of the nodes that were edited, and what is below them. One
    /// for each model.
    pub(super) fn settle_hierarchies(&mut self, around: Option<&ImpactRegion>) -> Vec<Anew> {
        if self.edited.is_empty() && !self.has_waypoints() {
            return vec![Arc::default(); self.next.models().len()];
        }
        let by_rank = self.edited_by_rank();
        let mut models = self.next.models.take();
        let mut before: Vec<Arc<Hierarchy>> = Vec::new();
        for model in &models {
            if !before.iter().any(|it| Arc::ptr_eq(it, model.hierarchy())) {
                before.push(Arc::clone(model.hierarchy()));
            }
        }
        let settled = self.each(before, |before| {
            let mut after = Hierarchy::clone(&before);
            if let Some(ImpactRegion { nodes: [_, nodes], .. }) = around {
                after.keep_to(nodes);
            }
            let changed: Anew = self.settle_hierarchy(&mut after, by_rank.clone()).into();
            (before, Arc::new(after), changed)
        });
        let settle = |model: &mut Model| {
            let (_, after, changed) = settled.iter().find(|(before, ..)| Arc::ptr_eq(before, model.hierarchy()))?;
            model.set_hierarchy(Arc::clone(after));
            Some(Arc::clone(changed))
        };
        let changes = models.iter_mut().map(|model| settle(model).unwrap_or_default()).collect();
        self.next.models.put(models);
        changes
    }

    /// Does the same with each of several: at once, if much was edited.
    fn each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        match self.edited.nodes.as_slice().len() < 5_000 {
            true => items.into_iter().map(work).collect(),
            false => items.into_par_iter().map(work).collect(),
        }
    }

    /// The nodes that were edited, parents before children.
    fn edited_by_rank(&self) -> Vec<Vec<NodeId>> {
        let topology = &self.next.topology;
        let mut by_rank = Vec::new();
        let deepest = topology.deepest();
        let edited = self.edited.nodes.as_slice().iter().chain(&self.edited.renamespaced).copied();
        let existing = edited.filter(|node| topology.has(*node));
        existing.for_each(|node| add(&mut by_rank, topology.rank(deepest, node), node));
        by_rank.iter_mut().for_each(each_once);
        by_rank
    }

    fn settle_hierarchy(&self, hierarchy: &mut Hierarchy, mut by_rank: Vec<Vec<NodeId>>) -> Vec<NodeId> {
        let Engine { objects, topology, .. } = &self.next;
        self.edited.removed.iter().for_each(|node| hierarchy.forget(*node));
        let deepest = topology.deepest();
        let look = |by_rank: &mut Vec<Vec<NodeId>>, node| add(by_rank, topology.rank(deepest, node), node);
        let labelled = self.touched.iter().filter(|it| it.what.labels && hierarchy.has_waypoints());
        let labelled = labelled.map(|touched| NodeId::whole(touched.id)).filter(|node| topology.has(*node));
        labelled.for_each(|node| look(&mut by_rank, node));
        let mut changed = Vec::new();
        let mut found = Vec::new();
        let mut rank = 0;
        while rank < by_rank.len() {
            let mut nodes = std::mem::take(&mut by_rank[rank]);
            each_once(&mut nodes);
            for node in nodes.into_iter().filter(|node| hierarchy.settle(objects, topology, *node, &mut found)) {
                changed.push(node);
                topology.children(node).iter().for_each(|below| look(&mut by_rank, *below));
                if topology[node].level == Level::RouteRule {
                    topology.ports_named(node).iter().for_each(|port| look(&mut by_rank, *port));
                }
            }
            rank += 1;
        }
        changed
    }

    pub(super) fn follow(
        &mut self,
        ref_counts: &mut [RefCounts],
        stacked: &Stacked,
        hierarchies: &[Anew],
        own: &BTreeSet<ObjectId>,
    ) -> Vec<Followed> {
        let mut models = self.next.models.take();
        let mut of_own: Vec<(NodeId, Cause)> = Vec::new();
        for id in own.iter().filter(|id| self.next.objects.shared(**id).is_some()) {
            let (whole, topology) = (NodeId::whole(*id), &self.next.topology);
            let nodes = [whole].into_iter().chain(topology.sections(whole)).chain(topology.frontend(whole));
            of_own.extend(nodes.map(|node| (node, Cause::Itself)));
        }
        let is_there = |node: &NodeId| self.next.topology.has(*node);
        let housed = self.edited.renamespaced.iter().copied().filter(is_there);
        of_own.extend(housed.map(|node| (node, Cause::Ways)));
        let all: Vec<_> = models.iter_mut().zip(ref_counts).zip(hierarchies).enumerate().collect();
        let followed = self.each(all, |(at, ((model, ref_counts), changed))| {
            // Whoever is below one that does not belong to the hierarchy, and is seen otherwise, is among them himself.
            let was = self.before.models().get(at).map(|was| was.hierarchy());
            let belongs = |node: &NodeId| model.hierarchy().has(*node) || was.is_some_and(|was| was.has(*node));
            let changed = changed.iter().map(|node| (*node, Cause::Ways));
            let lives = self.edited.live_changed.iter().map(|node| (*node, Cause::Itself));
            let mut dirty: Vec<(NodeId, Cause)> = changed.chain(lives).filter(|(node, _)| belongs(node)).collect();
            dirty.extend(&of_own);
            let mut refolded = Refolded::default();
            for &node in stacked.nodes.get(&model.id).into_iter().flatten() {
                let was = self.before.model(model.id).and_then(|model| model.stack(node));
                let is = model.stack(node);
                let mut under = Vec::new();
                self.under(model.root(), node, |node| under.push(node));
                let chains = if was.is_some() && is.is_some() { ref_counts.with(node) } else { Vec::new() };
                // Where there were policies for the same clients, and are, the same chains go on.
                if was.map(|was| &was.consumers) != is.map(|is| &is.consumers) {
                    let had = self.before.model(model.id);
                    let chains = chains.iter().copied().collect();
                    let met = had.map(|model| model.meeting(self.before.view(), &under, &chains));
                    let nodes = under.iter().copied().chain(met.into_iter().flatten()).filter(is_there);
                    dirty.extend(nodes.map(|node| (node, Cause::Chains)));
                }
                if !chains.is_empty() {
                    refolded.chains.extend(chains);
                    refolded.under.extend(under);
                }
            }
            refolded.chains.sort_unstable();
            refolded.chains.dedup();
            model.refold(&refolded.chains);
            let moved = match dirty.is_empty() && self.edited.removed.is_empty() {
                true => Vec::new(),
                false => model.follow(self.next.view(), ref_counts, dirty.into_iter(), &self.edited.removed),
            };
            (!moved.is_empty() || !refolded.chains.is_empty()).then_some(Followed { at, moved, refolded })
        });
        self.next.models.put(models);
        followed.into_iter().flatten().collect()
    }

    /// The nodes at which the policies on a node are met first: all of them, if it is the root.
    pub(super) fn under(&self, root: Option<NodeId>, node: NodeId, mut found: impl FnMut(NodeId)) {
        let topology = &self.next.topology;
        found(node);
        let mut whole = |node: NodeId| {
            [node].into_iter().chain(topology.sections(node)).chain(topology.frontend(node)).for_each(&mut found);
        };
        match topology.node(node).map(|it| it.level) {
            _ if root == Some(node) => topology.nodes().for_each(|(node, _)| whole(node)),
            Some(Level::Namespace) => {
                let name = topology.id(&self.next.objects, node).name.as_str();
                self.object_counts.residents(name).iter().for_each(|id| whole(NodeId::whole(*id)));
            }
            _ => whole(node),
        }
    }
}
