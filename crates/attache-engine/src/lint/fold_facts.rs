//! The outcomes of every policy and block, summed over all scopes.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::engine::Engine;
use crate::fold::{EffectivePolicy, Loss, ValueOrigin};
use crate::kinds::KindId;
use crate::model::Model;
use crate::policy::{BlockKind, Policy, PolicyId};
use crate::status::PolicyStatus;
use crate::value::Path;

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
        FoldFacts::new(engine, engine.policy_statuses(), engine.models().iter())
    }

    /// Facts about the policies of one kind, and of the kinds that are folded together with it.
    pub fn for_kind(engine: &'e Engine, kind: KindId) -> FoldFacts<'e> {
        let leader = engine.kinds().leader(kind);
        let model = engine.model(leader);
        model.inspect(|model| model.fold_all(engine.view()));
        let own = engine.policies().filter(|(_, policy)| engine.kinds().leader(policy.kind) == leader);
        let statuses = own.map(|(policy, _)| engine.policy_status(policy)).collect();
        FoldFacts::new(engine, statuses, model.into_iter())
    }

    /// Facts about some policies, if the engine has them.
    pub fn for_policies(engine: &'e Engine, policies: &BTreeSet<PolicyId>) -> FoldFacts<'e> {
        engine.build_tallies();
        let existing = policies.iter().copied().filter(|policy| engine.parts().policies.get(*policy).is_some());
        let statuses = existing.map(|policy| engine.policy_status(policy)).collect();
        FoldFacts::new(engine, statuses, engine.models().iter())
    }

    fn new(engine: &'e Engine, statuses: Vec<PolicyStatus>, models: impl Iterator<Item = &'e Model>) -> FoldFacts<'e> {
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
        let mut folded = Vec::new();
        for model in models {
            for &(chain, scopes) in model.scope_counts(engine.view()) {
                folded.push((&**model.effective(engine.view(), chain), scopes));
            }
        }
        for &(effective, scopes) in &folded {
            facts.add_losses(effective, scopes);
            facts.add_conditions(effective, scopes);
        }
        if !facts.shadowed.is_empty() {
            for origin in folded.iter().flat_map(|(effective, _)| &effective.origins) {
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
