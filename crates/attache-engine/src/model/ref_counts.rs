//! What is kept beside a model that follows changes: how often chains and sets are used, so that those that nobody needs
//! any more can be forgotten, and which chains hang on which.

use std::collections::BTreeSet;

use super::Model;
use crate::chain::{ChainId, Chains, Link, SetId};
use crate::engine_view::EngineView;
use crate::topology::NodeId;

#[derive(Debug, Default)]
pub(crate) struct RefCounts {
    chains: Vec<ChainUse>,
    sets: Vec<u32>,
    pub(super) free_chains: Vec<ChainId>,
    pub(super) free_sets: Vec<SetId>,
    /// What may have come out of use.
    pub(super) idle_chains: Vec<ChainId>,
    pub(super) idle_sets: Vec<SetId>,
    /// Each chain behind the one above it.
    below: BTreeSet<(ChainId, ChainId)>,
    /// Each chain behind the node with which it ends, if it ends with policies.
    ending: BTreeSet<(NodeId, ChainId)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ChainUse {
    /// In how many sets it is, and how many chains are below it.
    count: u32,
    /// In how many scopes that end at effective targets it is met.
    scopes: i128,
}

impl RefCounts {
    pub fn of(model: &Model, view: EngineView<'_>) -> RefCounts {
        let mut ref_counts = RefCounts::default();
        for (_, set) in model.at.iter() {
            if let Some(set) = set {
                *ref_counts.set(*set) += 1;
            }
        }
        for at in 0..model.sets.bound() {
            for (chain, _) in model.sets.get(SetId(at as u32)) {
                *ref_counts.chain(*chain) += 1;
            }
        }
        for (chain, above, link) in model.chains.iter() {
            ref_counts.hang(chain, above, link);
        }
        for &(chain, scopes) in model.scope_counts(view) {
            *ref_counts.scopes(chain) = i128::from(scopes);
        }
        ref_counts
    }

    pub(super) fn chain(&mut self, chain: ChainId) -> &mut u32 {
        &mut entry(&mut self.chains, chain.0).count
    }

    pub fn scopes(&mut self, chain: ChainId) -> &mut i128 {
        &mut entry(&mut self.chains, chain.0).scopes
    }

    pub(super) fn set(&mut self, set: SetId) -> &mut u32 {
        entry(&mut self.sets, set.0)
    }

    /// A chain came to be.
    fn hang(&mut self, chain: ChainId, above: ChainId, link: Link) {
        *self.chain(above) += 1;
        self.below.insert((above, chain));
        self.ending.extend(link.node().map(|node| (node, chain)));
    }

    /// A chain was forgotten.
    pub(super) fn drop(&mut self, chain: ChainId, above: ChainId, link: Link) {
        self.below.remove(&(above, chain));
        if let Some(node) = link.node() {
            self.ending.remove(&(node, chain));
        }
        self.free_chains.push(chain);
        let uses = self.chain(above);
        *uses = uses.saturating_sub(1);
        self.idle_chains.push(above);
    }

    /// Every chain that has the policies on a node.
    pub fn with(&self, node: NodeId) -> Vec<ChainId> {
        let ends = (node, ChainId(0))..=(node, ChainId(u32::MAX));
        let mut found: Vec<ChainId> = self.ending.range(ends).map(|(_, chain)| *chain).collect();
        let mut at = 0;
        while let Some(&chain) = found.get(at) {
            let below = (chain, ChainId(0))..=(chain, ChainId(u32::MAX));
            found.extend(self.below.range(below).map(|(_, chain)| *chain));
            at += 1;
        }
        found
    }

    /// So many more nodes have `new`, and so many less `old`.
    pub(super) fn exchange(&mut self, old: Option<SetId>, new: Option<SetId>, nodes: u32) {
        if let Some(new) = new {
            *self.set(new) += nodes;
        }
        if let Some(old) = old {
            let uses = self.set(old);
            *uses = uses.saturating_sub(nodes);
            if *uses == 0 && old != SetId::ROOT {
                self.idle_sets.push(old);
            }
        }
    }
}

fn entry<T: Clone + Default>(uses: &mut Vec<T>, at: u32) -> &mut T {
    if uses.len() <= at as usize {
        uses.resize(at as usize + 1, T::default());
    }
    &mut uses[at as usize]
}

/// Chains that grow, with the uses of them.
pub(super) struct ChainBuilder<'l> {
    pub chains: Chains,
    pub ref_counts: &'l mut RefCounts,
    pub new: Vec<ChainId>,
}

impl super::propagate::Linking for ChainBuilder<'_> {
    fn chains(&self) -> &Chains {
        &self.chains
    }

    fn link(&mut self, chain: ChainId, link: Link) -> ChainId {
        let mut is_new = false;
        let free = &mut self.ref_counts.free_chains;
        let id = self.chains.push(chain, link, |chains| {
            is_new = true;
            free.pop().unwrap_or_else(|| chains.next())
        });
        if is_new {
            *entry(&mut self.ref_counts.chains, id.0) = ChainUse::default();
            self.ref_counts.hang(id, chain, link);
            self.ref_counts.idle_chains.push(id);
            self.new.push(id);
        }
        id
    }
}
