//! The use counts of the chains and sets of a model, so that unused ones can be removed, and an index of which chains
//! extend which.

use super::Model;
use super::propagate::ExtendChains;
use crate::chain::{ChainId, Chains, Link, SetId};
use crate::engine_view::EngineView;
use crate::persistent::{PersistentSet, PersistentVec};
use crate::topology::NodeId;

/// The use counts of the chains and sets of one model. They are kept beside a model that is updated. A clone is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefCounts {
    chains: PersistentVec<ChainUse>,
    /// How many nodes each set reaches.
    sets: PersistentVec<u32>,
    pub(super) free_chains: Vec<ChainId>,
    pub(super) free_sets: Vec<SetId>,
    /// Chains that may no longer be used.
    pub(super) unused_chains: Vec<ChainId>,
    /// Sets that may no longer be used.
    pub(super) unused_sets: Vec<SetId>,
    /// Pairs of a chain and a chain that extends it.
    continuing: PersistentSet<(ChainId, ChainId)>,
    /// Pairs of a node and a chain that ends with the policies on it.
    ending: PersistentSet<(NodeId, ChainId)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ChainUse {
    /// The number of sets that contain the chain, plus the number of chains that extend it.
    count: u32,
    /// The number of scopes with the chain that end at effective targets.
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
        &mut self.chains.entry(chain.0 as usize).count
    }

    /// The number of scopes with a chain that end at effective targets.
    pub fn scopes(&mut self, chain: ChainId) -> &mut i128 {
        &mut self.chains.entry(chain.0 as usize).scopes
    }

    /// The number of scopes with a chain that end at effective targets.
    pub fn scope_count(&self, chain: ChainId) -> i128 {
        self.chains.get(chain.0 as usize).map_or(0, |it| it.scopes)
    }

    pub(super) fn set_uses(&mut self, set: SetId) -> &mut u32 {
        self.sets.entry(set.0 as usize)
    }

    fn add_chain(&mut self, chain: ChainId, parent: ChainId, link: Link) {
        *self.chain_uses(parent) += 1;
        self.continuing.insert((parent, chain));
        if let Some(node) = link.node() {
            self.ending.insert((node, chain));
        }
    }

    pub(super) fn remove_chain(&mut self, chain: ChainId, parent: ChainId, link: Link) {
        self.continuing.remove((parent, chain));
        if let Some(node) = link.node() {
            self.ending.remove((node, chain));
        }
        self.free_chains.push(chain);
        self.drop_chain_use(parent);
    }

    /// Records that a set or a chain no longer uses the chain.
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

    /// All chains that contain the policies on a node.
    pub fn chains_with(&self, node: NodeId) -> Vec<ChainId> {
        let ending = self.ending.range((node, ChainId(0)), (node, ChainId(u32::MAX)));
        let mut found: Vec<ChainId> = ending.map(|(_, chain)| chain).collect();
        let mut at = 0;
        while let Some(&chain) = found.get(at) {
            let continuing = self.continuing.range((chain, ChainId(0)), (chain, ChainId(u32::MAX)));
            found.extend(continuing.map(|(_, chain)| chain));
            at += 1;
        }
        found
    }

    /// Records that a set no longer reaches some nodes.
    pub(super) fn drop_set_uses(&mut self, set: SetId, nodes: u32) {
        let uses = self.set_uses(set);
        *uses = uses.saturating_sub(nodes);
        if *uses == 0 && set != SetId::ROOT {
            self.unused_sets.push(set);
        }
    }
}

/// Extends chains, and counts their uses.
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
            *self.ref_counts.chains.entry(id.0 as usize) = ChainUse::default();
            self.ref_counts.add_chain(id, chain, link);
            self.ref_counts.unused_chains.push(id);
            self.new.push(id);
        }
        id
    }
}
