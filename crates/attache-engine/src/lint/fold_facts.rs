//! The outcomes of every policy and block, summed over all scopes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::fold::{EffectivePolicy, Loss, ValueOrigin};
use crate::kinds::KindId;
use crate::model::{Model, RefCounts};
use crate::object::ObjectId;
use crate::policy::{BlockKind, Policy, PolicyId};
use crate::status::PolicyStatus;
use crate::topology::NodeId;
use crate::value::Path;

/// The effective policy of a chain, and the number of scopes with it.
type FoldedChain<'e> = (&'e EffectivePolicy, u64);

pub struct FoldFacts<'e> {
    pub engine: &'e Engine,
    /// The statuses of the policies that the facts are about.
    statuses: Vec<PolicyStatus>,
    /// The index of each policy in `statuses`.
    position: HashMap<PolicyId, usize>,
    /// The losses by loser, winner and reason.
    pub losses: BTreeMap<(PolicyId, PolicyId, Loss), LossTotal<'e>>,
    /// Blocks with a condition, and the number of scopes in which it is false.
    pub inactive: BTreeMap<(PolicyId, BlockKind), u64>,
    /// Blocks whose condition cannot be evaluated, with the first error in alphabetical order and the number of scopes.
    pub errors: BTreeMap<(PolicyId, BlockKind), (&'e str, u64)>,
    /// Paths of a block that lose to another block of the same policy and are in force nowhere, with that other block.
    pub shadowed: BTreeMap<(PolicyId, BlockKind, &'e Path), BlockKind>,
    /// The paths that each policy removes from other policies.
    pub removed: BTreeMap<PolicyId, BTreeSet<&'e Path>>,
}

/// The losses of one policy to another, in all scopes.
#[derive(Default)]
pub struct LossTotal<'e> {
    pub paths: BTreeSet<&'e Path>,
    pub scopes: u64,
}

impl<'e> FoldFacts<'e> {
    /// Facts about all policies.
    pub fn for_all(engine: &'e Engine) -> FoldFacts<'e> {
        FoldFacts::new(engine, engine.policy_statuses(), all_chains(engine, engine.models()))
    }

    /// Facts about some policies of one kind, and of the kinds that are folded together with it.
    pub fn for_kind(engine: &'e Engine, kind: KindId, among: &BTreeSet<ObjectId>) -> FoldFacts<'e> {
        let leader = engine.kinds().leader(kind);
        let is_own = |policy: &PolicyId| {
            let policy = engine.parts().policies.get(*policy);
            policy.is_some_and(|policy| engine.kinds().leader(policy.kind) == leader)
        };
        let own: Vec<PolicyId> = among.iter().copied().map(PolicyId).filter(is_own).collect();
        let Some(model) = engine.model(leader) else { return FoldFacts::new(engine, Vec::new(), Vec::new()) };
        let nodes = targets(engine, &own);
        let has_own = |chain: ChainId| model.links(chain).filter_map(Link::node).any(|node| nodes.contains(&node));
        let chains = model.scope_counts(engine.view()).iter().filter(|(chain, _)| has_own(*chain));
        let chains = chains.map(|(chain, scopes)| (&**model.effective(engine.view(), *chain), *scopes)).collect();
        FoldFacts::new(engine, own.iter().map(|policy| engine.policy_status(*policy)).collect(), chains)
    }

    /// Facts about some policies, if the engine has them. The models of the engine must cover all scopes of these
    /// policies. `ref_counts` are the use counts of its chains, by model.
    pub fn for_policies<'r>(
        engine: &'e Engine,
        policies: &BTreeSet<PolicyId>,
        ref_counts: impl FnOnce() -> Cow<'r, [RefCounts]>,
    ) -> FoldFacts<'e> {
        let existing = policies.iter().copied().filter(|policy| engine.parts().policies.get(*policy).is_some());
        let existing: Vec<PolicyId> = existing.collect();
        if existing.is_empty() {
            return FoldFacts::new(engine, Vec::new(), Vec::new());
        }
        engine.build_tallies();
        let statuses = existing.iter().map(|policy| engine.policy_status(*policy)).collect();
        FoldFacts::new(engine, statuses, chains_with(engine, &existing, &ref_counts()))
    }

    /// `chains` are the effective policies of all chains that contain one of the policies, each with its number of scopes.
    fn new(engine: &'e Engine, statuses: Vec<PolicyStatus>, chains: Vec<FoldedChain<'e>>) -> FoldFacts<'e> {
        let mut facts = FoldFacts {
            engine,
            position: statuses.iter().enumerate().map(|(at, status)| (status.policy, at)).collect(),
            statuses,
            losses: BTreeMap::new(),
            inactive: BTreeMap::new(),
            errors: BTreeMap::new(),
            shadowed: BTreeMap::new(),
            removed: BTreeMap::new(),
        };
        for &(effective, scopes) in &chains {
            facts.add_losses(effective, scopes);
            facts.add_conditions(effective, scopes);
        }
        if !facts.shadowed.is_empty() {
            for origin in chains.iter().flat_map(|(effective, _)| &effective.origins) {
                facts.shadowed.remove(&(origin.policy, origin.block, &origin.path));
            }
        }
        facts
    }

    /// The policies that the facts are about, with their statuses.
    pub fn policies(&self) -> impl Iterator<Item = (&PolicyStatus, &'e Policy)> {
        self.statuses.iter().map(|status| (status, self.engine.policy(status.policy)))
    }

    fn includes(&self, policy: PolicyId) -> bool {
        self.position.contains_key(&policy)
    }

    pub fn status(&self, policy: PolicyId) -> &PolicyStatus {
        &self.statuses[self.position[&policy]]
    }

    fn add_losses(&mut self, effective: &'e EffectivePolicy, scopes: u64) {
        let mut keys = BTreeSet::new();
        for lost in &effective.superseded {
            match (lost.reason, lost.by) {
                (Loss::Removed, Some(by)) => _ = self.removed.entry(by).or_default().insert(&lost.path),
                _ if !self.includes(lost.policy) => {}
                (Loss::SamePolicy, _) => {
                    let is_holder = |it: &&ValueOrigin| it.policy == lost.policy && it.path.starts_with(&lost.path);
                    let holder = effective.origins.iter().find(is_holder);
                    let holder = holder.map_or(lost.block, |origin| origin.block);
                    if holder != lost.block {
                        let first = self.shadowed.entry((lost.policy, lost.block, &lost.path)).or_insert(holder);
                        *first = holder.min(*first);
                    }
                }
                (_, None) => {}
                (reason, Some(by)) => {
                    let key = (lost.policy, by, reason);
                    self.losses.entry(key).or_default().paths.insert(&lost.path);
                    keys.insert(key);
                }
            }
        }
        for key in keys {
            let total = self.losses.entry(key).or_default();
            total.scopes = total.scopes.saturating_add(scopes);
        }
    }

    fn add_conditions(&mut self, effective: &'e EffectivePolicy, scopes: u64) {
        let is_inactive = |reason: Loss| reason == Loss::ConditionFalse;
        let mut inactive: BTreeSet<(PolicyId, BlockKind)> = effective
            .superseded
            .iter()
            .filter(|lost| is_inactive(lost.reason) && self.includes(lost.policy))
            .map(|lost| (lost.policy, lost.block))
            .collect();
        if !inactive.is_empty() {
            // A policy can occur twice in a chain, and its condition can be true once.
            let active = effective.superseded.iter().filter(|lost| !is_inactive(lost.reason));
            let active = active.map(|lost| (lost.policy, lost.block));
            for block in active.chain(effective.origins.iter().map(|origin| (origin.policy, origin.block))) {
                inactive.remove(&block);
            }
        }
        for block in inactive {
            let count = self.inactive.entry(block).or_default();
            *count = count.saturating_add(scopes);
        }
        for warning in effective.warnings.iter().filter(|warning| self.position.contains_key(&warning.policy)) {
            let (error, count) = self.errors.entry((warning.policy, warning.block)).or_insert((&warning.message, 0));
            *error = (*error).min(&warning.message);
            *count = count.saturating_add(scopes);
        }
    }
}

/// All chains of some models that reach effective targets.
fn all_chains<'e>(engine: &'e Engine, models: impl IntoIterator<Item = &'e Model>) -> Vec<FoldedChain<'e>> {
    let view = engine.view();
    let chains = models.into_iter().flat_map(|model| {
        model.scope_counts(view).iter().map(move |(chain, scopes)| (&**model.effective(view, *chain), *scopes))
    });
    chains.collect()
}

/// The nodes that some policies are attached to.
fn targets<'p>(engine: &Engine, policies: impl IntoIterator<Item = &'p PolicyId>) -> BTreeSet<NodeId> {
    let attached = policies.into_iter().flat_map(|policy| &engine.attachments().for_policy(*policy).to);
    attached.map(|it| it.node).collect()
}

/// The chains that contain one of some policies and reach effective targets.
fn chains_with<'e>(engine: &'e Engine, policies: &[PolicyId], ref_counts: &[RefCounts]) -> Vec<FoldedChain<'e>> {
    let mut found = Vec::new();
    for (model, ref_counts) in engine.models().iter().zip(ref_counts) {
        let is_own = |policy: &&PolicyId| engine.kinds().leader(engine.policy(**policy).kind) == model.id;
        let nodes = targets(engine, policies.iter().filter(is_own));
        let chains: BTreeSet<ChainId> = nodes.into_iter().flat_map(|node| ref_counts.chains_with(node)).collect();
        let scopes = |chain: ChainId| u64::try_from(ref_counts.scope_count(chain)).unwrap_or(u64::MAX);
        let reaching = chains.into_iter().map(|chain| (chain, scopes(chain))).filter(|(_, scopes)| *scopes > 0);
        found.extend(reaching.map(|(chain, scopes)| (&**model.effective(engine.view(), chain), scopes)));
    }
    found
}
