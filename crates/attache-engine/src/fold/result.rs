//! The result of a fold.

use super::merge::Lost;
use super::tree::BlockSource;
use super::{ConflictedBlock, Fold, FoldStep};
use crate::policy::{BlockKind, PolicyId};
use crate::topology::NodeId;
use crate::value::{Path, Segment, Value};

/// The source of values that the target object itself has, and no policy.
pub const OWN: BlockSource = BlockSource(u32::MAX);

/// The merged policies of a chain.
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
    /// The outcome of each policy of the chain, sorted by policy.
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
    /// The policy that it lost to. `None` if its own condition did not hold, or if it lost to the object itself or to
    /// another block of the same policy.
    pub by: Option<PolicyId>,
    /// Further policies to each of which it would have lost as well, in the order of ids. Without `by` and all of
    /// these, it would be in force, or lose at a later step.
    pub also_by: Vec<PolicyId>,
    /// Why it is not in force: how it compares to `by`.
    pub reason: Loss,
}

impl Superseded {
    /// All policies that it lost to: `by`, then `also_by`.
    pub fn rivals(&self) -> impl Iterator<Item = PolicyId> {
        self.by.into_iter().chain(self.also_by.iter().copied())
    }

    /// Whether the object that the policies merge into sets it itself.
    pub fn is_set_by_object(&self) -> bool {
        self.by.is_none() && self.reason == Loss::MoreSpecific
    }
}

/// Why a value lost.
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
    /// Another block of the same policy sets it.
    SamePolicy,
    /// The controller of the Gateway does not handle policies of the kind.
    NotHandled,
    /// The merged policies are invalid for the target.
    Invalid,
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
            Loss::SamePolicy => "SamePolicy",
            Loss::NotHandled => "NotHandled",
            Loss::Invalid => "Invalid",
        }
    }
}

impl EffectivePolicy {
    /// The effective policy if the merged spec is invalid: nothing is in force, and each policy is invalid together with
    /// the others.
    pub(crate) fn refused(mut self) -> EffectivePolicy {
        let merged = self.outcomes.iter().filter(|(_, outcome)| outcome.contributes).map(|(policy, _)| *policy);
        let merged: Vec<PolicyId> = merged.collect();
        for ValueOrigin { path, policy, block, target } in self.origins.drain(..) {
            let mut others = merged.iter().copied().filter(|other| *other != policy);
            let (by, also_by) = (others.next(), others.collect());
            self.superseded.push(Superseded { path, policy, block, target, by, also_by, reason: Loss::Invalid });
        }
        for (policy, outcome) in self.outcomes.iter_mut().filter(|(_, outcome)| outcome.contributes) {
            (outcome.contributes, outcome.inactive) = (false, true);
            outcome.invalid_with = merged.iter().copied().filter(|other| other != policy).collect();
        }
        self.spec = None;
        self
    }
}

/// The outcome of one policy in one chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldOutcome {
    /// Some of it is part of the result.
    pub contributes: bool,
    /// Some of it is superseded.
    pub lost: bool,
    /// The policies that it lost to, sorted. Empty if it lost to no policy in particular.
    pub by: Vec<PolicyId>,
    /// Some of it did not count: its condition did not hold, it is refused there, or it sets nothing.
    pub inactive: bool,
    /// The policies together with which it is invalid on the target, in the order of ids. None of it is in force.
    pub invalid_with: Vec<PolicyId>,
    /// The Gateway or mesh Service whose controller does not handle it. None of it is in force.
    pub unhandled: Option<NodeId>,
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
            let rejected = layer.rejected.iter().map(|it| &it.attachment);
            for attachment in layer.accepted.iter().copied().chain(rejected).filter(|it| !self.is_for_other_ports(it)) {
                outcome(&mut effective.outcomes, attachment.policy);
            }
        }
        self.origins(&mut effective);
        self.superseded(&mut effective);
        if !self.is_single && !self.kind.accumulates() {
            for (policy, outcome) in &mut effective.outcomes {
                outcome.inactive |= self.policies[*policy].is_empty();
            }
        }
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
        for lost in std::mem::take(&mut self.merge.lost) {
            let Some(loser) = self.steps.get(lost.loser.0 as usize) else { continue };
            let mut rivals = self.rivals(loser, &lost);
            let Some(first) = rivals.next() else {
                // All targets of a policy have the same blocks, so a policy does not lose to itself.
                let winner = self.steps.get(lost.winner.0 as usize);
                if winner.is_some_and(|winner| winner.block != loser.block) {
                    effective.superseded.push(loser.superseded(&lost.path, None, Loss::SamePolicy));
                }
                continue;
            };
            let reason = match first {
                _ if lost.removed => Loss::Removed,
                Some(winner) => self.reason(loser, winner),
                None => Loss::MoreSpecific,
            };
            let by = first.map(|winner| winner.attachment.policy);
            let mut superseded = loser.superseded(&lost.path, by, reason);
            superseded.also_by.extend(rivals.flatten().map(|winner| winner.attachment.policy));
            superseded.also_by.retain(|policy| Some(*policy) != by);
            superseded.also_by.sort_unstable();
            superseded.also_by.dedup();
            let outcome = outcome(&mut effective.outcomes, loser.attachment.policy);
            outcome.lost = true;
            outcome.by.extend(superseded.rivals());
            effective.superseded.push(superseded);
        }
        let units = self.merge.units;
        for &(source, spec) in &self.inactive {
            let step = &self.steps[source.0 as usize];
            outcome(&mut effective.outcomes, step.attachment.policy).inactive = true;
            units.each(spec, &mut Vec::new(), &mut |path, _| {
                effective.superseded.push(step.superseded(path, None, Loss::ConditionFalse));
            });
        }
        for &(source, spec) in &self.void {
            let step = &self.steps[source.0 as usize];
            outcome(&mut effective.outcomes, step.attachment.policy).inactive = true;
            units.each(spec, &mut Vec::new(), &mut |path, _| {
                effective.superseded.push(step.superseded(path, None, Loss::Invalid));
            });
        }
        for ConflictedBlock { loser, by, also_by, spec } in &self.conflicted {
            let loser = &self.steps[loser.0 as usize];
            units.each(spec, &mut Vec::new(), &mut |path, _| {
                let superseded = loser.superseded(path, Some(*by), Loss::Conflicted);
                effective.superseded.push(Superseded { also_by: also_by.clone(), ..superseded });
            });
            let outcome = outcome(&mut effective.outcomes, loser.attachment.policy);
            outcome.lost = true;
            outcome.by.push(*by);
            outcome.by.extend(also_by);
        }
        for (_, outcome) in &mut effective.outcomes {
            outcome.by.sort();
            outcome.by.dedup();
        }
    }

    /// The blocks of other policies that something lost to, the main one first. `None` is the object itself.
    fn rivals<'f>(&'f self, loser: &FoldStep<'_>, lost: &'f Lost) -> impl Iterator<Item = Option<&'f FoldStep<'f>>> {
        let loser = loser.attachment.policy;
        let others = lost.winners.as_slice().iter().copied().filter(|source| *source != lost.winner);
        let steps = std::iter::once(lost.winner).chain(others).map(|source| self.steps.get(source.0 as usize));
        steps.filter(move |step| step.is_none_or(|step| step.attachment.policy != loser))
    }

    fn reason(&self, loser: &FoldStep<'_>, winner: &FoldStep<'_>) -> Loss {
        let (lost, won) = (self.policy(loser.attachment), self.policy(winner.attachment));
        if winner.for_port {
            return Loss::MoreSpecific;
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

    pub(super) fn superseded(&self, path: &[Segment], by: Option<PolicyId>, reason: Loss) -> Superseded {
        let ValueOrigin { path, policy, block, target } = self.origin(path);
        Superseded { path, policy, block, target, by, also_by: Vec::new(), reason }
    }
}

/// The outcome of a policy, added if it does not exist.
pub(super) fn outcome(outcomes: &mut Vec<(PolicyId, FoldOutcome)>, policy: PolicyId) -> &mut FoldOutcome {
    let at = outcomes.binary_search_by_key(&policy, |(id, _)| *id).unwrap_or_else(|at| {
        outcomes.insert(at, (policy, FoldOutcome::default()));
        at
    });
    &mut outcomes[at].1
}
