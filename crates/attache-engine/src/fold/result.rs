//! What comes out of a fold.

use super::tree::Source;
use super::{Fold, FoldStep};
use crate::policy::{BlockKind, PolicyId};
use crate::topology::NodeId;
use crate::value::{Path, Segment, Value};

/// The object that policies merge into, as a source: its own value is no policy's.
pub const OWN: Source = Source(u32::MAX);

/// What the policies of a chain say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// The merged spec. `None` if nothing is in force, or if all policies of the kind apply one after the other.
    pub spec: Option<Value>,
    /// For kinds whose policies all apply: each of them, in the order in which they apply.
    pub applied: Vec<Applied>,
    /// Which policy set each value of the spec.
    pub origins: Vec<ValueOrigin>,
    /// The values that are not in force, and why.
    pub superseded: Vec<Superseded>,
    /// What became of each policy of the chain, sorted by policy.
    pub outcomes: Vec<(PolicyId, FoldOutcome)>,
    /// The conditions that could not be evaluated.
    pub warnings: Vec<FoldWarning>,
}

/// A policy of a kind whose policies all apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The policy.
    pub policy: PolicyId,
    /// The node that it targets.
    pub target: NodeId,
    /// Its spec.
    pub spec: Value,
}

/// The policy that set a value of an effective policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    /// Where the value is.
    pub path: Path,
    /// The policy.
    pub policy: PolicyId,
    /// The block of the policy.
    pub block: BlockKind,
    /// The node that the policy targets.
    pub target: NodeId,
}

/// A value of a policy that is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// Where the value is.
    pub path: Path,
    /// The policy that sets it.
    pub policy: PolicyId,
    /// The block of the policy.
    pub block: BlockKind,
    /// The node that the policy targets.
    pub target: NodeId,
    /// The policy that it lost to. `None` if its own condition did not hold, or if it lost to the object itself.
    pub by: Option<PolicyId>,
    /// Why it is not in force.
    pub reason: Loss,
}

/// Why something lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// The other policy is on a more specific target.
    MoreSpecific,
    /// The other policy overrides it.
    Overridden,
    /// The other policy is older.
    Older,
    /// The other policy is newer.
    Newer,
    /// Both are of the same age, and the order of their names decides.
    ByName,
    /// The other policy has a higher priority.
    HigherPriority,
    /// The other policy removes it.
    Removed,
    /// The condition of its block does not hold.
    ConditionFalse,
    /// Only one of the two policies can be accepted.
    Conflicted,
}

impl Loss {
    /// The name of the variant, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Loss::MoreSpecific => "MoreSpecific",
            Loss::Overridden => "Overridden",
            Loss::Older => "Older",
            Loss::Newer => "Newer",
            Loss::ByName => "ByName",
            Loss::HigherPriority => "HigherPriority",
            Loss::Removed => "Removed",
            Loss::ConditionFalse => "ConditionFalse",
            Loss::Conflicted => "Conflicted",
        }
    }
}

/// What became of one policy in one chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldOutcome {
    /// Some of it is part of the result.
    pub contributes: bool,
    /// Some of it is superseded.
    pub lost: bool,
    /// The policies that it lost to, sorted. Empty if it lost to no policy in particular.
    pub by: Vec<PolicyId>,
    /// Some of it did not count, because its condition did not hold.
    pub inactive: bool,
}

/// A condition that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldWarning {
    /// The policy.
    pub policy: PolicyId,
    /// The block with the condition.
    pub block: BlockKind,
    /// What is wrong.
    pub message: String,
}

impl Fold<'_> {
    pub(super) fn finish(&mut self) -> EffectivePolicy {
        self.conflicts();
        let mut effective = EffectivePolicy::default();
        for layer in self.layers {
            let rejected = layer.rejected.iter().map(|(loser, _)| *loser);
            for attachment in layer.accepted.iter().copied().chain(rejected) {
                outcome(&mut effective.outcomes, attachment.policy);
            }
        }
        self.origins(&mut effective);
        self.superseded(&mut effective);
        let spec = self.tree.value();
        let is_set = spec.as_map().is_none_or(|map| !map.is_empty());
        effective.spec = Some(spec).filter(|_| is_set || self.is_single);
        effective.warnings = std::mem::take(&mut self.warnings);
        effective
    }

    fn origins(&self, effective: &mut EffectivePolicy) {
        let units = self.merge.units;
        let steps = &self.steps;
        self.tree.each_piece(&mut Vec::new(), &mut |path, value, source| {
            let Some(step) = steps.get(source.0 as usize) else { return };
            outcome(&mut effective.outcomes, step.attachment.policy).contributes = true;
            units.each(value, path, &mut |path, unit| {
                let nothing = unit.is_null() || path.is_empty() && unit.entries().is_empty();
                if !nothing {
                    effective.origins.push(step.origin(path));
                }
            });
        });
    }

    fn superseded(&mut self, effective: &mut EffectivePolicy) {
        let mut lost = std::mem::take(&mut self.merge.lost);
        // If one policy alone holds the path in the end, the value lost to that one, even if it lost to another before.
        for lost in lost.iter_mut().filter(|lost| !lost.removed) {
            let holder = self.tree.get(&lost.path).and_then(|held| held.only_source());
            if let Some(holder) = holder.filter(|holder| self.owner(*holder) != self.owner(lost.loser)) {
                lost.winner = holder;
            }
        }
        for lost in &lost {
            let Some(loser) = self.steps.get(lost.loser.0 as usize) else { continue };
            let winner = self.steps.get(lost.winner.0 as usize);
            let reason = match winner {
                _ if lost.removed => Loss::Removed,
                Some(winner) => self.reason(loser, winner),
                None => Loss::MoreSpecific,
            };
            let by = winner.map(|winner| winner.attachment.policy);
            effective.superseded.push(loser.superseded(&lost.path, by, reason));
            // Its own blocks are no rivals on one target, but each of its targets stands on its own.
            if winner.is_none_or(|winner| winner.attachment != loser.attachment) {
                let outcome = outcome(&mut effective.outcomes, loser.attachment.policy);
                outcome.lost = true;
                outcome.by.extend(by);
            }
        }
        let units = self.merge.units;
        for &(source, spec) in &self.inactive {
            let step = &self.steps[source.0 as usize];
            outcome(&mut effective.outcomes, step.attachment.policy).inactive = true;
            units.each(spec, &mut Vec::new(), &mut |path, _| {
                effective.superseded.push(step.superseded(path, None, Loss::ConditionFalse));
            });
        }
        for &(loser, winner, spec) in &self.conflicted {
            let (loser, winner) = (&self.steps[loser.0 as usize], &self.steps[winner.0 as usize]);
            let by = Some(winner.attachment.policy);
            units.each(spec, &mut Vec::new(), &mut |path, _| {
                effective.superseded.push(loser.superseded(path, by, Loss::Conflicted));
            });
            let outcome = outcome(&mut effective.outcomes, loser.attachment.policy);
            outcome.lost = true;
            outcome.by.extend(by);
        }
        for (_, outcome) in &mut effective.outcomes {
            outcome.by.sort();
            outcome.by.dedup();
        }
    }

    fn owner(&self, source: Source) -> Option<PolicyId> {
        self.steps.get(source.0 as usize).map(|step| step.attachment.policy)
    }

    fn reason(&self, loser: &FoldStep<'_>, winner: &FoldStep<'_>) -> Loss {
        let (lost, won) = (self.policy(loser.attachment), self.policy(winner.attachment));
        if loser.attachment.policy == winner.attachment.policy {
            return if loser.layer < winner.layer || winner.block > loser.block {
                Loss::Overridden
            } else {
                Loss::MoreSpecific
            };
        }
        if winner.layer > loser.layer || winner.foreign {
            return Loss::Overridden;
        }
        if winner.layer < loser.layer || winner.attachment.via != loser.attachment.via {
            return Loss::MoreSpecific;
        }
        if winner.block == BlockKind::Overrides && loser.block != BlockKind::Overrides {
            return Loss::Overridden;
        }
        if won.rank.priority != lost.rank.priority {
            return Loss::HigherPriority;
        }
        match won.rank.by_age(&lost.rank) {
            std::cmp::Ordering::Less => Loss::Older,
            std::cmp::Ordering::Greater => Loss::Newer,
            std::cmp::Ordering::Equal => Loss::ByName,
        }
    }
}

impl FoldStep<'_> {
    fn origin(&self, path: &[Segment]) -> ValueOrigin {
        let path = Path::new(path.to_vec());
        ValueOrigin { path, policy: self.attachment.policy, block: self.block, target: self.attachment.node }
    }

    fn superseded(&self, path: &[Segment], by: Option<PolicyId>, reason: Loss) -> Superseded {
        let ValueOrigin { path, policy, block, target } = self.origin(path);
        Superseded { path, policy, block, target, by, reason }
    }
}

/// What becomes of a policy; added if it is not there yet.
pub(super) fn outcome(outcomes: &mut Vec<(PolicyId, FoldOutcome)>, policy: PolicyId) -> &mut FoldOutcome {
    let at = outcomes.binary_search_by_key(&policy, |(id, _)| *id).unwrap_or_else(|at| {
        outcomes.insert(at, (policy, FoldOutcome::default()));
        at
    });
    &mut outcomes[at].1
}
