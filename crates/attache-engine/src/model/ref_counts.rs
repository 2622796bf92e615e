//! How often the chains and sets of a model are used, so that unused ones can be removed, and which chains continue which.

use std::collections::BTreeSet;

use super::Model;
use super::propagate::ExtendChains;
use crate::chain::{ChainId, Chains, Link, SetId};
use crate::engine_view::EngineView;
use crate::topology::NodeId;

/// The uses of the chains and sets of one model. It is kept beside a model that is updated.
#[derive(Debug, Default)]
pub(crate) struct RefCounts {
    chains: Vec<ChainUse>,
    /// How many nodes each set reaches.
    sets: Vec<u32>,
    pub(super) free_chains: Vec<ChainId>,
    pub(super) free_sets: Vec<SetId>,
    /// Chains that may no longer be used.
    pub(super) unused_chains: Vec<ChainId>,
    /// Sets that may no longer be used.
    pub(super) unused_sets: Vec<SetId>,
    /// Each chain after the chain that it continues.
    continuing: BTreeSet<(ChainId, ChainId)>,
    /// Each chain that ends with the policies on a node after that node.
    ending: BTreeSet<(NodeId, ChainId)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ChainUse {
    /// The number of sets that have the chain, plus the number of chains that continue it.
    count: u32,
    /// The number of scopes that have the chain and end at effective targets.
    scopes: i128,
}

impl RefCounts {
    /// Counts the uses in a model.
    pub fn new(model: &Model, view: EngineView<'_>) -> RefCounts {
        let mut ref_counts = RefCounts::default();
        for (_, set) in model.reaching.iter() {
            if let Some(set) = set {
                *ref_counts.set_uses(*set) += 1;
            }
        }
        for at in 0..model.sets.bound() {
            for (chain, _) in model.sets.get(SetId(at as u32)) {
                *ref_counts.chain_uses(*chain) += 1;
            }
        }
        for (chain, parent, link) in model.chains.iter() {
            ref_counts.add_chain(chain, parent, link);
        }
        for &(chain, scopes) in model.scope_counts(view) {
            *ref_counts.scopes(chain) = i128::from(scopes);
        }
        ref_counts
    }

    pub(super) fn chain_uses(&mut self, chain: ChainId) -> &mut u32 {
        &mut entry(&mut self.chains, chain.0).count
    }

    /// The number of scopes that have a chain and end at effective targets.
    pub fn scopes(&mut self, chain: ChainId) -> &mut i128 {
        &mut entry(&mut self.chains, chain.0).scopes
    }

    pub(super) fn set_uses(&mut self, set: SetId) -> &mut u32 {
        entry(&mut self.sets, set.0)
    }

    fn add_chain(&mut self, chain: ChainId, parent: ChainId, link: Link) {
        *self.chain_uses(parent) += 1;
        self.continuing.insert((parent, chain));
        self.ending.extend(link.node().map(|node| (node, chain)));
    }

    pub(super) fn remove_chain(&mut self, chain: ChainId, parent: ChainId, link: Link) {
        self.continuing.remove(&(parent, chain));
        if let Some(node) = link.node() {
            self.ending.remove(&(node, chain));
        }
        self.free_chains.push(chain);
        self.drop_chain_use(parent);
    }

    /// A set or a chain that used the chain is gone.
    pub(super) fn drop_chain_use(&mut self, chain: ChainId) {
        let uses = self.chain_uses(chain);
        *uses = uses.saturating_sub(1);
        self.unused_chains.push(chain);
    }

    /// Adds a set that reaches no node yet.
    pub(super) fn add_set(&mut self, set: SetId, chains: &[(ChainId, u64)]) {
        *self.set_uses(set) = 0;
        self.unused_sets.push(set);
        for (chain, _) in chains {
            *self.chain_uses(*chain) += 1;
        }
    }

    /// All chains that have the policies on a node.
    pub fn chains_with(&self, node: NodeId) -> Vec<ChainId> {
        let ending = (node, ChainId(0))..=(node, ChainId(u32::MAX));
        let mut found: Vec<ChainId> = self.ending.range(ending).map(|(_, chain)| *chain).collect();
        let mut at = 0;
        while let Some(&chain) = found.get(at) {
            let continuing = (chain, ChainId(0))..=(chain, ChainId(u32::MAX));
            found.extend(self.continuing.range(continuing).map(|(_, chain)| *chain));
            at += 1;
        }
        found
    }

    /// A number of nodes that had the set `old` now have the set `new`.
    pub(super) fn replace_set(&mut self, old: Option<SetId>, new: Option<SetId>, nodes: u32) {
        if let Some(new) = new {
            *self.set_uses(new) += nodes;
        }
        if let Some(old) = old {
            let uses = self.set_uses(old);
            *uses = uses.saturating_sub(nodes);
            if *uses == 0 && old != SetId::ROOT {
                self.unused_sets.push(old);
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

/// Chains that are extended while their uses are counted.
pub(super) struct ChainBuilder<'c> {
    pub chains: Chains,
    pub ref_counts: &'c mut RefCounts,
    /// The chains that were added.
    pub new: Vec<ChainId>,
}

impl ExtendChains for ChainBuilder<'_> {
    fn chains(&self) -> &Chains {
        &self.chains
    }

    fn extend(&mut self, chain: ChainId, link: Link) -> ChainId {
        let mut is_new = false;
        let free = &mut self.ref_counts.free_chains;
        let id = self.chains.push(chain, link, |chains| {
            is_new = true;
            free.pop().unwrap_or_else(|| chains.next())
        });
        if is_new {
            *entry(&mut self.ref_counts.chains, id.0) = ChainUse::default();
            self.ref_counts.add_chain(id, chain, link);
            self.ref_counts.unused_chains.push(id);
            self.new.push(id);
        }
        id
    }
}
