//! What hierarchies make of the nodes that were edited, and how chains spread from there.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashSet;

use super::restack::Stacked;
use super::step::{Followed, Refolded, Step};
use crate::chain::Hierarchy;
use crate::engine::Engine;
use crate::model::{Cause, Ledger, Model};
use crate::object::ObjectId;
use crate::topology::{Level, NodeId};

impl Step<'_> {
    /// Looks again at what each hierarchy makes of the nodes that were edited, and what is below them. The nodes that it
    /// sees otherwise than before.
    pub(super) fn settle_hierarchies(&mut self) -> Vec<HashSet<NodeId>> {
        if self.edited.is_empty() && !self.has_waypoints() {
            return vec![HashSet::new(); self.next.models().len()];
        }
        let Engine { objects, topology, models, .. } = &mut self.next;
        let labelled = self.touched.iter().filter(|touched| touched.what.labels && touched.after.is_some());
        let labelled: Vec<NodeId> = labelled.map(|touched| NodeId::whole(touched.id)).collect();
        let mut done: Vec<(Arc<Hierarchy>, Arc<Hierarchy>, HashSet<NodeId>)> = Vec::new();
        let mut changes = Vec::new();
        for model in models.iter_mut() {
            let before = Arc::clone(model.hierarchy());
            if let Some((_, after, changed)) = done.iter().find(|(it, ..)| Arc::ptr_eq(it, &before)) {
                model.set_hierarchy(Arc::clone(after));
                changes.push(changed.clone());
                continue;
            }
            let mut hierarchy = Hierarchy::clone(&before);
            let mut changed = HashSet::new();
            self.edited.gone.iter().for_each(|node| hierarchy.forget(*node));
            let deepest = topology.deepest();
            let mut todo: BTreeSet<(usize, NodeId)> = BTreeSet::new();
            let add = |todo: &mut BTreeSet<(usize, NodeId)>, node| {
                todo.insert((topology.rank(deepest, node), node));
            };
            let extra = if hierarchy.has_waypoints() { labelled.as_slice() } else { &[] };
            for &node in self.edited.nodes.iter().chain(extra) {
                if topology.has(node) {
                    add(&mut todo, node);
                }
            }
            while let Some((_, node)) = todo.pop_first() {
                if hierarchy.settle(objects, topology, node) {
                    changed.insert(node);
                    topology.children(node).iter().for_each(|below| add(&mut todo, *below));
                    if topology.node(node).level == Level::RouteRule {
                        topology.ports_named(node).iter().for_each(|port| add(&mut todo, *port));
                    }
                }
            }
            let after = Arc::new(hierarchy);
            model.set_hierarchy(Arc::clone(&after));
            changes.push(changed.clone());
            done.push((before, after, changed));
        }
        changes
    }

    pub(super) fn follow(
        &mut self,
        ledgers: &mut [Ledger],
        stacked: &Stacked,
        hierarchies: &[HashSet<NodeId>],
        own: &BTreeSet<ObjectId>,
    ) -> Vec<Followed> {
        let mut models = self.next.models.take();
        let mut of_own: Vec<(NodeId, Cause)> = Vec::new();
        for id in own.iter().filter(|id| self.next.objects.shared(**id).is_some()) {
            let (whole, topology) = (NodeId::whole(*id), &self.next.topology);
            let nodes = [whole].into_iter().chain(topology.sections(whole)).chain(topology.frontend(whole));
            of_own.extend(nodes.map(|node| (node, Cause::Itself)));
        }
        let mut followed = Vec::new();
        for (at, ((model, ledger), changed)) in models.iter_mut().zip(ledgers).zip(hierarchies).enumerate() {
            let mut dirty: Vec<(NodeId, Cause)> = changed.iter().map(|node| (*node, Cause::Ways)).collect();
            dirty.extend(&of_own);
            let mut refolded = Refolded::default();
            for &node in stacked.nodes.get(&model.id).into_iter().flatten() {
                let was = self.before.model(model.id).and_then(|model| model.stack(node));
                let is = model.stack(node);
                let mut under = Vec::new();
                self.under(model, node, |node| under.push(node));
                let chains = if was.is_some() && is.is_some() { ledger.with(node) } else { Vec::new() };
                // Where there were policies for the same clients, and are, the same chains go on.
                if was.map(|was| &was.consumers) != is.map(|is| &is.consumers) {
                    let had = self.before.model(model.id);
                    let chains = chains.iter().copied().collect();
                    let met = had.map(|model| model.meeting(self.before.world(), &under, &chains));
                    let nodes = under.iter().copied().chain(met.into_iter().flatten());
                    dirty.extend(nodes.map(|node| (node, Cause::Chains)));
                }
                if !chains.is_empty() {
                    refolded.chains.extend(chains);
                    refolded.under.extend(under);
                }
            }
            dirty.retain(|(node, _)| self.next.topology.has(*node));
            refolded.chains.sort_unstable();
            refolded.chains.dedup();
            model.refold(&refolded.chains);
            let moved = match dirty.is_empty() && self.edited.gone.is_empty() {
                true => Vec::new(),
                false => model.follow(self.next.world(), ledger, dirty.into_iter(), &self.edited.gone),
            };
            if !moved.is_empty() || !refolded.chains.is_empty() {
                followed.push(Followed { at, moved, refolded });
            }
        }
        self.next.models.put(models);
        followed
    }

    /// The nodes at which the policies on a node are met first.
    fn under(&self, model: &Model, node: NodeId, mut found: impl FnMut(NodeId)) {
        let topology = &self.next.topology;
        found(node);
        let mut whole = |node: NodeId| {
            [node].into_iter().chain(topology.sections(node)).chain(topology.frontend(node)).for_each(&mut found);
        };
        match topology.node(node).level {
            _ if model.root() == Some(node) => topology.nodes().for_each(|(node, _)| whole(node)),
            Level::Namespace => {
                let name = topology.id(&self.next.objects, node).name.as_str();
                self.census.residents(name).iter().for_each(|id| whole(NodeId::whole(*id)));
            }
            _ => whole(node),
        }
    }
}
