//! What became of every policy and every block, over all scopes.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::engine::Engine;
use crate::fold::{EffectivePolicy, Loss};
use crate::kinds::KindId;
use crate::model::Model;
use crate::policy::{BlockKind, Policy, PolicyId};
use crate::status::PolicyStatus;
use crate::value::Path;

pub struct Facts<'e> {
    pub engine: &'e Engine,
    /// By policy.
    pub statuses: Vec<PolicyStatus>,
    /// Where the status of each policy is.
    position: HashMap<PolicyId, usize>,
    /// What each policy lost to each other, by the reason.
    pub losses: BTreeMap<(PolicyId, PolicyId, Loss), Lost<'e>>,
    /// Blocks that have a condition, with the scopes in which it did not hold.
    pub inactive: BTreeMap<(PolicyId, BlockKind), u64>,
    /// Blocks whose condition could not be evaluated, with the first of the errors, by its words, and the scopes.
    pub errors: BTreeMap<(PolicyId, BlockKind), (&'e str, u64)>,
    /// What a block lost to another of its own policy, with that one, and is in force nowhere.
    pub shadowed: BTreeMap<(PolicyId, BlockKind, &'e Path), BlockKind>,
    /// What each policy removed from others.
    pub removed: BTreeMap<PolicyId, BTreeSet<&'e Path>>,
}

#[derive(Default)]
pub struct Lost<'e> {
    pub paths: BTreeSet<&'e Path>,
    pub scopes: u64,
}

impl<'e> Facts<'e> {
    pub fn of(engine: &'e Engine) -> Facts<'e> {
        Facts::new(engine, engine.policy_statuses(), engine.models().iter())
    }

    /// Of the policies of one kind, and those that decide with it.
    pub fn of_kind(engine: &'e Engine, kind: KindId) -> Facts<'e> {
        let leader = engine.kinds().leader(kind);
        let model = engine.model(leader);
        model.inspect(|model| model.fold_all(engine.view()));
        let own = engine.policies().filter(|(_, policy)| engine.kinds().leader(policy.kind) == leader);
        let statuses = own.map(|(policy, _)| engine.policy_status(policy)).collect();
        Facts::new(engine, statuses, model.into_iter())
    }

    /// Of some policies, those of them that are there.
    pub fn of_policies(engine: &'e Engine, policies: &BTreeSet<PolicyId>) -> Facts<'e> {
        engine.build_tallies();
        let there = policies.iter().copied().filter(|policy| engine.policies.get(*policy).is_some());
        let statuses = there.map(|policy| engine.policy_status(policy)).collect();
        Facts::new(engine, statuses, engine.models().iter())
    }

    fn new(engine: &'e Engine, statuses: Vec<PolicyStatus>, models: impl Iterator<Item = &'e Model>) -> Facts<'e> {
        let mut facts = Facts {
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
            facts.lost(effective, scopes);
            facts.conditions(effective, scopes);
        }
        if !facts.shadowed.is_empty() {
            for origin in folded.iter().flat_map(|(effective, _)| &effective.origins) {
                facts.shadowed.remove(&(origin.policy, origin.block, &origin.path));
            }
        }
        facts
    }

    /// The policies with their status.
    pub fn policies(&self) -> impl Iterator<Item = (&PolicyStatus, &'e Policy)> {
        self.statuses.iter().map(|status| (status, self.engine.policy(status.policy)))
    }

    fn knows(&self, policy: PolicyId) -> bool {
        self.position.contains_key(&policy)
    }

    pub fn status(&self, policy: PolicyId) -> &PolicyStatus {
        &self.statuses[self.position[&policy]]
    }

    fn lost(&mut self, effective: &'e EffectivePolicy, scopes: u64) {
        let mut rivals = BTreeSet::new();
        for lost in &effective.superseded {
            let Some(by) = lost.by else { continue };
            match lost.reason {
                Loss::Removed => _ = self.removed.entry(by).or_default().insert(&lost.path),
                _ if !self.knows(lost.policy) => {}
                _ if by == lost.policy => {
                    let holder = effective.origins.iter().find(|it| it.policy == by && it.path.starts_with(&lost.path));
                    let holder = holder.map_or(lost.block, |origin| origin.block);
                    if holder != lost.block {
                        let first = self.shadowed.entry((lost.policy, lost.block, &lost.path)).or_insert(holder);
                        *first = holder.min(*first);
                    }
                }
                reason => {
                    let rivalry = (lost.policy, by, reason);
                    self.losses.entry(rivalry).or_default().paths.insert(&lost.path);
                    rivals.insert(rivalry);
                }
            }
        }
        for rivalry in rivals {
            let lost = self.losses.entry(rivalry).or_default();
            lost.scopes = lost.scopes.saturating_add(scopes);
        }
    }

    fn conditions(&mut self, effective: &'e EffectivePolicy, scopes: u64) {
        let is_inactive = |reason: Loss| reason == Loss::ConditionFalse;
        let mut inactive: BTreeSet<(PolicyId, BlockKind)> = effective
            .superseded
            .iter()
            .filter(|lost| is_inactive(lost.reason) && self.knows(lost.policy))
            .map(|lost| (lost.policy, lost.block))
            .collect();
        if !inactive.is_empty() {
            // A policy can be met twice on one way, and its condition hold once.
            let met = effective.superseded.iter().filter(|lost| !is_inactive(lost.reason));
            let met = met.map(|lost| (lost.policy, lost.block));
            for block in met.chain(effective.origins.iter().map(|origin| (origin.policy, origin.block))) {
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
