//! Stage 5: what a batch changed, for those who ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::compare::{Differences, KindDifferences, TargetContributors, status, uncounted_nodes};
use super::update::{ImpactRegion, Update};
use crate::change::{
    AffectedTargets, EffectiveChange, StatusChange, TargetChange, changes_at, effective_changes, status_changes,
    target_changes,
};
use crate::engine::Engine;
use crate::object::ObjectId;
use crate::policy::PolicyId;
use crate::topology::{NeedsRebuild, NodeId};

/// What a batch of edits changed. The changes are found when they are asked for.
#[derive(Debug)]
pub struct Report {
    /// The engine before the batch.
    pub before: Arc<Engine>,
    /// The engine after the batch.
    pub after: Arc<Engine>,
    comparison: Comparison,
}

/// How the changes between the two engines are found.
#[derive(Debug)]
enum Comparison {
    /// The engine was updated, and the update knows what differs.
    Updated {
        /// The engines before and after the batch, with the models that were updated.
        sides: [Arc<Engine>; 2],
        differences: Box<Differences>,
        /// The region that the models cover. `None` if they cover everything.
        region: Option<Box<ImpactRegion>>,
    },
    /// The engines were built independently of each other, and are compared as a whole.
    Whole { reason: Option<NeedsRebuild> },
}

impl Report {
    /// Nothing changed that other objects depend on.
    pub(super) fn unchanged(before: Arc<Engine>, after: Arc<Engine>) -> Report {
        let sides = [Arc::clone(&before), Arc::clone(&after)];
        let differences = Box::new(Differences::none(true));
        Report { before, after, comparison: Comparison::Updated { sides, differences, region: None } }
    }

    /// The batch was applied incrementally.
    pub(super) fn updated(before: Arc<Engine>, after: Arc<Engine>, update: Update) -> Report {
        let Update { sides, differences, region, .. } = update;
        let (differences, region) = (Box::new(differences), region.map(Box::new));
        Report { before, after, comparison: Comparison::Updated { sides, differences, region } }
    }

    /// Everything was built again.
    pub(super) fn rebuilt(before: Arc<Engine>, after: Arc<Engine>, reason: NeedsRebuild) -> Report {
        Report { before, after, comparison: Comparison::Whole { reason: Some(reason) } }
    }

    /// Compares two engines that were built independently of each other.
    pub fn between(before: Arc<Engine>, after: Arc<Engine>) -> Report {
        Report { before, after, comparison: Comparison::Whole { reason: None } }
    }

    /// Why the batch was not applied incrementally. `None` if it was.
    pub fn rebuild_reason(&self) -> Option<NeedsRebuild> {
        match self.comparison {
            Comparison::Updated { .. } => None,
            Comparison::Whole { reason } => reason,
        }
    }

    /// Whether no effective policy, no status of a policy, and no set of policies that affect a target changed.
    pub fn is_empty(&self) -> bool {
        match &self.comparison {
            Comparison::Updated { differences, .. } => {
                !differences.has_effective && differences.policies.is_empty() && self.targets().is_empty()
            }
            Comparison::Whole { .. } => {
                self.effective().is_empty() && self.policies().is_empty() && self.targets().is_empty()
            }
        }
    }

    /// The scopes that were added or removed, or whose effective policy changed, grouped by what changed.
    pub fn effective(&self) -> Vec<EffectiveChange> {
        match &self.comparison {
            Comparison::Updated { sides, differences, .. } => {
                differences.kinds.par_iter().flat_map_iter(|kind| effective_changes_of(sides, kind)).collect()
            }
            Comparison::Whole { .. } => effective_changes(&self.before, &self.after),
        }
    }

    /// The policies that were added or removed, or whose status changed, sorted.
    pub fn policies(&self) -> Vec<StatusChange> {
        let Comparison::Updated { sides, differences, .. } = &self.comparison else {
            return status_changes(&self.before, &self.after);
        };
        let changed = differences.policies.iter().map(|policy| {
            let [before, after] = [0, 1].map(|side| status(&sides[side], *policy));
            let engine = if after.is_some() { &self.after } else { &self.before };
            StatusChange { policy: engine.policy_id(*policy).clone(), before, after }
        });
        let mut changed: Vec<StatusChange> = changed.collect();
        changed.sort_by(|a, b| a.policy.cmp(&b.policy));
        changed
    }

    /// The targets that are affected by other policies than before, sorted.
    pub fn targets(&self) -> Vec<TargetChange> {
        let Comparison::Updated { sides, differences, .. } = &self.comparison else {
            return target_changes(&self.before, &self.after);
        };
        let Some(counted) = &differences.targets else { return target_changes(&self.before, &self.after) };
        let mut targets = AffectedTargets::default();
        for it in counted.iter().cloned().chain(uncounted_targets(sides, &differences.kinds)) {
            for (side, (engine, policies)) in
                [(&self.before, &it.before), (&self.after, &it.after)].into_iter().enumerate()
            {
                if engine.topology().has(it.node) {
                    targets.add(side, engine, it.node, policies);
                }
            }
        }
        targets.changes()
    }

    /// The engines before and after the batch, with the models that were compared.
    pub(crate) fn sides(&self) -> [&Engine; 2] {
        match &self.comparison {
            Comparison::Updated { sides, .. } => [&sides[0], &sides[1]],
            Comparison::Whole { .. } => [&self.before, &self.after],
        }
    }

    /// The objects of each side, and the policies, that the batch can affect. `None` if it can affect all of them.
    pub(crate) fn affected_region(&self) -> Option<([&BTreeSet<ObjectId>; 2], &BTreeSet<PolicyId>)> {
        let Comparison::Updated { region: Some(region), .. } = &self.comparison else { return None };
        Some((region.objects.each_ref(), &region.policies))
    }
}

/// The changes of one kind, at its targets that can differ.
fn effective_changes_of(sides: &[Arc<Engine>; 2], kind: &KindDifferences) -> Vec<EffectiveChange> {
    let models = [0, 1].map(|side| sides[side].models().get(kind.model));
    let views = [0, 1].map(|side| sides[side].view());
    let Some(model) = models[1] else { return Vec::new() };
    let refolded = kind.refolded.nodes(views[1], model, &kind.refolded_effective);
    let same_named = refolded.iter().flat_map(|node| views[1].topology.same_named(*node));
    let refolded: BTreeSet<NodeId> = refolded.iter().copied().chain(same_named).collect();
    let mut targets = kind.targets.clone();
    for ((targets, view), model) in targets.iter_mut().zip(views).zip(models) {
        let is_target = |node: &&NodeId| {
            view.topology.has(**node) && model.is_some_and(|model| model.is_effective_target(view, **node))
        };
        targets.extend(refolded.iter().filter(is_target));
    }
    changes_at(views, models, targets)
}

/// The targets without contribution counts to which other policies can contribute.
fn uncounted_targets(sides: &[Arc<Engine>; 2], kinds: &[KindDifferences]) -> Vec<TargetContributors> {
    let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
    for kind in kinds {
        let Some(model) = sides[1].models().get(kind.model) else { continue };
        let mut targets = kind.refolded.nodes(sides[1].view(), model, &kind.refolded_contributors);
        targets.extend(&kind.recontributed);
        for engine in sides {
            if let Some(model) = engine.models().get(kind.model) {
                nodes.extend(uncounted_nodes(engine.view(), model, targets.iter().copied()));
            }
        }
    }
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut affected: BTreeMap<NodeId, [Vec<PolicyId>; 2]> = BTreeMap::new();
    for (side, engine) in sides.iter().enumerate() {
        let existing = nodes.iter().copied().filter(|node| engine.topology().has(*node));
        let within = engine.topology().below(existing);
        for status in engine.target_statuses_within(engine.models(), &within) {
            if nodes.contains(&status.target) {
                affected.entry(status.target).or_default()[side] = status.affected_by;
            }
        }
    }
    affected.into_iter().map(|(node, [before, after])| TargetContributors { node, before, after }).collect()
}
