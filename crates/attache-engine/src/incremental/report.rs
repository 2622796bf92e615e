//! What a batch made different.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::contribution_counts::{TargetContributions, uncounted};
use super::effects::{Effects, OfKind};
use super::impact_region::ImpactRegion;
use crate::change::{
    AffectedTargets, Changes, EffectiveChange, StatusChange, TargetChange, changes_at, effective_changes, same_status,
    status_changes, target_changes,
};
use crate::engine::Engine;
use crate::lint::{Finding, lint, lint_region};
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// What a batch made different. It is put into words when somebody looks.
#[derive(Debug)]
pub struct Report {
    pub before: Arc<Engine>,
    pub after: Arc<Engine>,
    /// What was followed step by step; without it the two are compared as a whole.
    effects: Option<Effects>,
    /// Before and after, with the models with which it was followed: both have those of kinds of which only one has
    /// policies.
    sides: [Arc<Engine>; 2],
    /// What these models know of, unless it is everything.
    around: Option<ImpactRegion>,
}

impl Report {
    pub(super) fn nothing(engine: Arc<Engine>) -> Report {
        let effects = Effects { affected: Some(Vec::new()), ..Effects::default() };
        Report { effects: Some(effects), ..Report::between(Arc::clone(&engine), engine) }
    }

    pub(super) fn of(
        before: Arc<Engine>,
        after: Arc<Engine>,
        sides: [Arc<Engine>; 2],
        effects: Effects,
        around: Option<ImpactRegion>,
    ) -> Report {
        Report { before, after, effects: Some(effects), sides, around }
    }

    /// Of two states that are built independently of one another.
    pub fn between(before: Arc<Engine>, after: Arc<Engine>) -> Report {
        Report { sides: [Arc::clone(&before), Arc::clone(&after)], before, after, effects: None, around: None }
    }

    pub fn is_empty(&self) -> bool {
        match &self.effects {
            Some(effects) => !effects.any && effects.policies.is_empty() && self.targets().is_empty(),
            None => self.effective().is_empty() && self.policies().is_empty() && self.targets().is_empty(),
        }
    }

    /// Every scope that came, went, or has something else in force, grouped by what changes.
    pub fn effective(&self) -> Vec<EffectiveChange> {
        let Some(effects) = &self.effects else { return effective_changes(&self.before, &self.after) };
        let [before, after] = [&*self.sides[0], &*self.sides[1]];
        let of_kind = |it: &OfKind| {
            let model = &after.models()[it.at];
            let models = [before.model(model.id), Some(model)];
            let mut targets = it.targets.clone();
            let refolded = it.refolded.nodes(after, model, &it.others);
            let same_named = refolded.iter().flat_map(|node| after.topology.same_named(*node));
            let refolded: BTreeSet<NodeId> = refolded.iter().copied().chain(same_named).collect();
            for ((targets, engine), model) in targets.iter_mut().zip([before, after]).zip(models) {
                let is_target = |node: &&NodeId| {
                    engine.topology.has(**node)
                        && model.is_some_and(|model| model.is_effective_target(engine.view(), **node))
                };
                targets.extend(refolded.iter().filter(is_target));
            }
            changes_at([before, after], models, targets)
        };
        effects.kinds.par_iter().flat_map_iter(of_kind).collect()
    }

    /// Every policy that came, went, or has another status, in the order of names.
    pub fn policies(&self) -> Vec<StatusChange> {
        let Some(effects) = &self.effects else { return status_changes(&self.before, &self.after) };
        let changed = effects.policies.iter().map(|policy| {
            let status = |engine: &Engine| engine.policies.get(*policy).map(|_| engine.policy_status(*policy));
            let [before, after] = [0, 1].map(|side| status(&self.sides[side]));
            let engine = if after.is_some() { &self.after } else { &self.before };
            StatusChange { policy: engine.policy_id(*policy).clone(), before, after }
        });
        let mut changed: Vec<StatusChange> = changed.collect();
        changed.sort_by(|a, b| a.policy.cmp(&b.policy));
        changed
    }

    /// Everything that the batch changes, with the lint findings that it causes and fixes.
    pub fn changes(&self) -> Changes {
        let [before, after] = self.findings().map(unsuppressed);
        Changes {
            effective: self.effective(),
            statuses: self.policies().into_iter().filter(StatusChange::is_significant).collect(),
            new_findings: without(&after, &before),
            fixed_findings: without(&before, &after),
        }
    }

    /// What is wrong on each side; where that is known to be the same, it may be left out.
    fn findings(&self) -> [Vec<Finding>; 2] {
        let lint = |side: usize| match &self.around {
            Some(ImpactRegion { objects, policies, .. }) => lint_region(&self.sides[side], &objects[side], policies),
            None => lint(&self.sides[side], &[]),
        };
        rayon::join(|| lint(0), || lint(1)).into()
    }

    /// Every target that other policies affect than before, in the order of names.
    pub fn targets(&self) -> Vec<TargetChange> {
        let known = self.effects.as_ref().and_then(|effects| Some((effects, effects.affected.as_deref()?)));
        let Some((effects, affected)) = known else { return target_changes(&self.before, &self.after) };
        let mut affected = affected.to_vec();
        affected.extend(self.uncounted(effects));
        targets(&affected, &self.before, &self.after)
    }

    /// Who affects what lies below, where others may.
    fn uncounted(&self, effects: &Effects) -> Vec<TargetContributions> {
        let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
        for it in &effects.kinds {
            let after = &self.sides[1];
            let model = &after.models()[it.at];
            let mut shifted = it.refolded.nodes(after, model, &it.shifting);
            shifted.extend(&it.shifted);
            for engine in &self.sides {
                if let Some(model) = engine.model(model.id) {
                    nodes.extend(uncounted(engine.view(), model, shifted.iter().copied()));
                }
            }
        }
        if nodes.is_empty() {
            return Vec::new();
        }
        let mut affected: BTreeMap<NodeId, [Vec<PolicyId>; 2]> = BTreeMap::new();
        for (side, engine) in self.sides.iter().enumerate() {
            let there = nodes.iter().copied().filter(|node| engine.topology.has(*node));
            let within = engine.topology.below(there);
            for status in engine.target_statuses_within(engine.models(), &within) {
                if nodes.contains(&status.target) {
                    affected.entry(status.target).or_default()[side] = status.affected_by;
                }
            }
        }
        affected.into_iter().map(|(node, [before, after])| TargetContributions { node, before, after }).collect()
    }
}

impl Effects {
    /// Takes those of the policies whose attachments or conflicts may be others that have another status.
    pub(super) fn concern(&mut self, before: &Engine, after: &Engine, policies: BTreeSet<PolicyId>) {
        for policy in policies {
            let status = |engine: &Engine| engine.policies.get(policy).map(|_| engine.policy_status(policy));
            let is_same = match (status(before), status(after)) {
                (Some(was), Some(is)) => same_status([before, after], [&was, &is]),
                (None, None) => true,
                _ => false,
            };
            match is_same {
                true => self.policies.remove(&policy),
                false => self.policies.insert(policy),
            };
        }
    }
}

/// The targets that are affected by other policies than before.
fn targets(affected: &[TargetContributions], before: &Engine, after: &Engine) -> Vec<TargetChange> {
    let mut targets = AffectedTargets::default();
    for it in affected {
        for (side, (engine, policies)) in [(before, &it.before), (after, &it.after)].into_iter().enumerate() {
            if engine.topology.has(it.node) {
                targets.add(side, engine, it.node, policies);
            }
        }
    }
    targets.changes()
}

fn unsuppressed(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| finding.suppressed.is_none());
    findings
}

/// The findings that are not among `others`. A finding that occurs twice must be there twice.
fn without(findings: &[Finding], others: &[Finding]) -> Vec<Finding> {
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in others {
        *known.entry(finding.key()).or_default() += 1;
    }
    let is_new = |finding: &&Finding| match known.get_mut(&finding.key()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    findings.iter().filter(is_new).cloned().collect()
}
