//! Which policies have a changed status, and which targets have a changed set of affecting policies.

use std::collections::{BTreeMap, BTreeSet};

use super::{StatusChange, TargetChange};
use crate::engine::Engine;
use crate::object::ObjectRef;
use crate::policy::PolicyId;
use crate::status::PolicyStatus;
use crate::topology::{NodeId, NodeRef};

/// Compares the statuses of all policies.
pub(crate) fn status_changes(before: &Engine, after: &Engine) -> Vec<StatusChange> {
    let mut policies: BTreeMap<&ObjectRef, [Option<PolicyStatus>; 2]> = BTreeMap::new();
    for (side, engine) in [before, after].into_iter().enumerate() {
        for status in engine.policy_statuses() {
            let policy = engine.policy_id(status.policy);
            policies.entry(policy).or_default()[side] = Some(status);
        }
    }
    let is_same = |was: &Option<PolicyStatus>, is: &Option<PolicyStatus>| match (was, is) {
        (Some(was), Some(is)) => same_status([before, after], [was, is]),
        _ => false,
    };
    let changed = policies.into_iter().filter(|(_, [was, is])| !is_same(was, is));
    changed.map(|(policy, [before, after])| StatusChange { policy: policy.clone(), before, after }).collect()
}

/// Whether two statuses of a policy, one from each engine, are equivalent.
pub(crate) fn same_status(engines: [&Engine; 2], [was, is]: [&PolicyStatus; 2]) -> bool {
    // With the written form, which depends on whether another kind has the same name.
    fn names<'e>(engine: &'e Engine, status: &'e PolicyStatus) -> impl Iterator<Item = (&'e ObjectRef, bool)> {
        status.by.iter().map(|policy| engine.policy_id(*policy)).map(|id| (id, id.is_qualified))
    }
    (was.refused, was.enforcement, was.scopes) == (is.refused, is.enforcement, is.scopes)
        // Explanations can differ in facts that their messages do not show.
        && (was.explanation == is.explanation || was.message() == is.message())
        && names(engines[0], was).eq(names(engines[1], is))
}

/// Compares which policies affect each target.
pub(crate) fn target_changes(before: &Engine, after: &Engine) -> Vec<TargetChange> {
    let mut targets = AffectedTargets::default();
    for (side, engine) in [before, after].into_iter().enumerate() {
        for status in engine.target_statuses() {
            targets.add(side, engine, status.target, &status.affected_by);
        }
    }
    targets.changes()
}

/// The policies that affect each target on both sides. Nodes that have the same reference are one target.
#[derive(Default)]
pub(crate) struct AffectedTargets(BTreeMap<NodeRef, [BTreeSet<ObjectRef>; 2]>);

impl AffectedTargets {
    pub fn add(&mut self, side: usize, engine: &Engine, node: NodeId, policies: &[PolicyId]) {
        let target = self.0.entry(engine.topology().node_ref(engine.objects(), node)).or_default();
        target[side].extend(policies.iter().map(|policy| engine.policy_id(*policy).clone()));
    }

    /// The targets that differ, sorted.
    pub fn changes(self) -> Vec<TargetChange> {
        let changed = self.0.into_iter().filter(|(_, [before, after])| before != after);
        let sorted = |policies: BTreeSet<ObjectRef>| policies.into_iter().collect();
        changed
            .map(|(target, [before, after])| TargetChange { target, before: sorted(before), after: sorted(after) })
            .collect()
    }
}
