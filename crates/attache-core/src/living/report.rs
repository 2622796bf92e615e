//! What a batch made different.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::effects::{Affected, Effects};
use crate::change::{
    Change, StatusChange, TargetChange, changes_at, effective_changes, same_status, status_changes, target_changes,
};
use crate::engine::Engine;
use crate::model::Model;
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// What a batch made different. It is put into words when somebody looks.
#[derive(Debug)]
pub struct Report {
    pub before: Arc<Engine>,
    pub after: Arc<Engine>,
    /// What was followed step by step; without it the two are compared as a whole.
    effects: Option<Effects>,
}

impl Report {
    pub(super) fn nothing(engine: Arc<Engine>) -> Report {
        let effects = Effects { affected: Some(Vec::new()), ..Effects::default() };
        Report { before: Arc::clone(&engine), after: engine, effects: Some(effects) }
    }

    pub(super) fn of(before: Arc<Engine>, after: Arc<Engine>, effects: Effects) -> Report {
        Report { before, after, effects: Some(effects) }
    }

    /// Of two states that are built independently of one another.
    pub fn between(before: Arc<Engine>, after: Arc<Engine>) -> Report {
        Report { before, after, effects: None }
    }

    pub fn is_empty(&self) -> bool {
        match &self.effects {
            Some(effects) => !effects.any && effects.policies.is_empty() && self.targets().is_empty(),
            None => self.effective().is_empty() && self.policies().is_empty() && self.targets().is_empty(),
        }
    }

    /// Every scope that came, went, or has something else in force, grouped by what changes.
    pub fn effective(&self) -> Vec<Change> {
        let (before, after) = (&*self.before, &*self.after);
        let Some(effects) = &self.effects else { return effective_changes(before, after) };
        let of_kind = |(at, model): (usize, &Model)| {
            let models = [before.model(model.id), Some(model)];
            let moved = effects.targets.iter().filter(|(it, _)| *it == at);
            let mut targets: [Vec<NodeId>; 2] = Default::default();
            for (_, moved) in moved {
                targets.iter_mut().zip(moved).for_each(|(targets, moved)| targets.extend(moved));
            }
            for (_, refolded, others) in effects.refolded.iter().filter(|(it, ..)| *it == at) {
                let nodes = refolded.nodes(after, model, others);
                let namesakes = nodes.iter().flat_map(|node| after.topology.namesakes(*node));
                let nodes: BTreeSet<NodeId> = nodes.iter().copied().chain(namesakes).collect();
                for ((targets, engine), model) in targets.iter_mut().zip([before, after]).zip(models) {
                    let is_target = |node: &&NodeId| {
                        engine.topology.has(**node)
                            && model.is_some_and(|model| model.is_effective_target(engine.world(), **node))
                    };
                    targets.extend(nodes.iter().filter(is_target));
                }
            }
            changes_at(&model.kind.full_name(), [before, after], models, targets)
        };
        after.models().iter().enumerate().flat_map(of_kind).collect()
    }

    /// Every policy that came, went, or has another status, in the order of names.
    pub fn policies(&self) -> Vec<StatusChange> {
        let Some(effects) = &self.effects else { return status_changes(&self.before, &self.after) };
        let changed = effects.policies.iter().map(|policy| {
            let status = |engine: &Engine| engine.policies.get(*policy).map(|_| engine.policy_status(*policy));
            let (before, after) = (status(&self.before), status(&self.after));
            let engine = if after.is_some() { &self.after } else { &self.before };
            StatusChange { policy: engine.policy_id(*policy).to_string(), before, after }
        });
        let mut changed: Vec<StatusChange> = changed.collect();
        changed.sort_by(|a, b| a.policy.cmp(&b.policy));
        changed
    }

    /// Every target that other policies affect than before, in the order of names.
    pub fn targets(&self) -> Vec<TargetChange> {
        match self.effects.as_ref().and_then(|effects| effects.affected.as_deref()) {
            Some(affected) => targets(affected, &self.before, &self.after),
            None => target_changes(&self.before, &self.after),
        }
    }
}

impl Effects {
    /// Takes those of the policies whose attachments or conflicts may be others that have another status.
    pub(super) fn concern(&mut self, before: &Engine, after: &Engine, policies: BTreeSet<PolicyId>) {
        for policy in policies {
            let status = |engine: &Engine| engine.policies.get(policy).map(|_| engine.policy_status(policy));
            let is_same = match (status(before), status(after)) {
                (Some(was), Some(is)) => same_status(before, &was, after, &is),
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

/// Who is affected by others, by name: a node that was made anew may stand for the same as one that is gone.
fn targets(affected: &[Affected], before: &Engine, after: &Engine) -> Vec<TargetChange> {
    let mut targets: BTreeMap<String, [BTreeSet<String>; 2]> = BTreeMap::new();
    for it in affected {
        for (side, (engine, policies)) in [(before, &it.before), (after, &it.after)].into_iter().enumerate() {
            if !engine.topology.has(it.node) {
                continue;
            }
            let names = policies.iter().map(|policy| engine.policy_id(*policy).to_string());
            targets.entry(engine.topology.name(&engine.objects, it.node)).or_default()[side].extend(names);
        }
    }
    let changed = targets.into_iter().filter(|(_, [before, after])| before != after);
    changed.map(|(target, [before, after])| TargetChange::new(target, before, after)).collect()
}
