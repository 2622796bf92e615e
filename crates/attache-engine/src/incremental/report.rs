//! Stage 5: what a batch changed, computed on demand.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::batch_edits::{BatchEdits, LintRegion};
use super::changed::ObjectChange;
use super::compare::{Differences, KindDifferences, TargetContributors, status, uncounted_nodes};
use super::update::Update;
use crate::chain::SetId;
use crate::change::{
    AffectedObjects, AffectedTargets, EffectiveChange, EffectiveOutline, Impact, StatusChange, TargetChange,
    changes_at, changes_of_targets, effective_changes, status_changes, target_changes,
};
use crate::conditions::has_target_relations;
use crate::engine::Engine;
use crate::model::RefCounts;
use crate::object::ObjectRef;
use crate::order::Stack;
use crate::policy::PolicyId;
use crate::topology::{NeedsRebuild, NodeId};

/// What a batch of edits changed. The changes are computed when they are requested.
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
    /// The engine was updated, and the update recorded what differs.
    Updated {
        /// The engines before and after the batch, with the models that were updated.
        sides: [Arc<Engine>; 2],
        differences: Box<Differences>,
        edits: Box<BatchEdits>,
        /// The use counts of the chains of each side, by model. `None` if they were not recorded.
        ref_counts: Option<[Vec<RefCounts>; 2]>,
    },
    /// The engines were built independently, and are compared as a whole.
    Whole { reason: Option<NeedsRebuild> },
}

impl Report {
    /// Nothing changed that other objects depend on.
    pub(super) fn unchanged(before: Arc<Engine>, after: Arc<Engine>, changes: Vec<ObjectChange>) -> Report {
        let sides = [Arc::clone(&before), Arc::clone(&after)];
        let differences = Box::new(Differences::none(true));
        let edits = Box::new(BatchEdits { changes, ..BatchEdits::default() });
        Report { before, after, comparison: Comparison::Updated { sides, differences, edits, ref_counts: None } }
    }

    /// The batch was applied incrementally.
    pub(super) fn updated(
        before: Arc<Engine>,
        after: Arc<Engine>,
        update: Update,
        changes: Vec<ObjectChange>,
    ) -> Report {
        let Update { sides, differences, edits, ref_counts, .. } = update;
        let (differences, edits) = (Box::new(differences), Box::new(BatchEdits { changes, ..edits }));
        Report { before, after, comparison: Comparison::Updated { sides, differences, edits, ref_counts } }
    }

    /// Everything was rebuilt.
    pub(super) fn rebuilt(before: Arc<Engine>, after: Arc<Engine>, reason: NeedsRebuild) -> Report {
        Report { before, after, comparison: Comparison::Whole { reason: Some(reason) } }
    }

    /// Compares two independently built engines.
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

    /// The same changes, as far as possible by target and not by scope. It is much faster than to list all scopes.
    pub fn effective_outline(&self) -> EffectiveOutline {
        let Comparison::Updated { sides, differences, .. } = &self.comparison else {
            return EffectiveOutline { targets: Vec::new(), scopes: self.effective() };
        };
        let mut outline = EffectiveOutline::default();
        for kind in &differences.kinds {
            add_outline(sides, kind, &mut outline);
        }
        outline
    }

    /// How many objects are in the scopes of [`Report::effective`]. It is much faster than to list them.
    pub fn impact(&self) -> Impact {
        let Comparison::Updated { sides, differences, .. } = &self.comparison else {
            return Impact::new(&self.effective());
        };
        let mut affected = AffectedObjects::default();
        for kind in &differences.kinds {
            add_affected_objects(sides, kind, &mut affected);
        }
        affected.count(Some(sides[1].view()))
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

    /// The policies whose report ([`Engine::policy_reports`]) can differ: existing and removed ones. `None` if every report can
    /// differ. A report can say which generation of a policy it is about, even if nothing else changes: such a policy is not
    /// among them.
    pub fn reported_policies(&self) -> Option<BTreeSet<ObjectRef>> {
        let Comparison::Updated { sides, differences, edits, .. } = &self.comparison else { return None };
        if differences.touches_all {
            return None;
        }
        let mut touched = differences.touched_policies(self.sides());
        let relinked = edits.relinked_nodes([sides[0].parts(), sides[1].parts()]);
        if !relinked.is_empty() {
            touched.extend(sides.iter().flat_map(|it| policies_on(it, &relinked).chain(refused_policies(it))));
        }
        let (mut found, mut whole_kinds) = (BTreeSet::new(), BTreeSet::new());
        for engine in sides {
            for policy in &touched {
                let Some(it) = engine.parts().policies.get(*policy) else { continue };
                found.insert(engine.policy_id(*policy).clone());
                if has_target_relations(engine.kinds().get(it.kind)) {
                    whole_kinds.insert(it.kind);
                }
            }
            let related = engine.parts().policies.iter().filter(|(_, it)| whole_kinds.contains(&it.kind));
            found.extend(related.map(|(policy, _)| engine.policy_id(policy).clone()));
        }
        Some(found)
    }

    /// The targets whose affecting policies changed, sorted.
    pub fn targets(&self) -> Vec<TargetChange> {
        let Comparison::Updated { sides, differences, .. } = &self.comparison else {
            return target_changes(&self.before, &self.after);
        };
        let Some(counted) = &differences.targets else { return target_changes(&self.before, &self.after) };
        if counted.is_empty() && differences.kinds.is_empty() {
            return Vec::new();
        }
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

    /// The objects and policies whose lint findings the batch can change. `None` if it can change all findings.
    pub(crate) fn lint_region(&self) -> Option<LintRegion> {
        let Comparison::Updated { sides, differences, edits, .. } = &self.comparison else { return None };
        let touched = differences.touched_policies(self.sides());
        Some(edits.lint_region([sides[0].parts(), sides[1].parts()], &touched))
    }

    /// The use counts of the chains of one side, by model.
    pub(crate) fn ref_counts(&self, side: usize) -> Cow<'_, [RefCounts]> {
        match &self.comparison {
            Comparison::Updated { ref_counts: Some(ref_counts), .. } => Cow::Borrowed(&ref_counts[side]),
            _ => {
                let engine = self.sides()[side];
                Cow::Owned(engine.models().par_iter().map(|model| RefCounts::new(model, engine.view())).collect())
            }
        }
    }
}

/// The policies with refused targets. They are in no chain, but which ancestors they report depends on the links of their
/// targets.
fn refused_policies(engine: &Engine) -> impl Iterator<Item = PolicyId> {
    let all = engine.parts().policies.iter().map(|(policy, _)| policy);
    all.filter(|policy| !engine.attachments().for_policy(*policy).refused.is_empty())
}

/// The policies on some nodes.
fn policies_on(engine: &Engine, nodes: &HashSet<NodeId>) -> impl Iterator<Item = PolicyId> {
    let stacks = nodes.iter().flat_map(|node| engine.models().iter().filter_map(|model| model.stack(*node)));
    stacks.flat_map(Stack::policies)
}

/// The changes of one kind, at its targets that can differ.
fn effective_changes_of(sides: &[Arc<Engine>; 2], kind: &KindDifferences) -> Vec<EffectiveChange> {
    let Some(model) = sides[1].models().get(kind.model) else { return Vec::new() };
    let refolded = kind.refolded.nodes(sides[1].view(), model, &kind.refolded_effective);
    changes_among(sides, kind, kind.targets.clone(), &refolded)
}

/// The changes of one kind at some targets of each side, and at `refolded` nodes.
fn changes_among(
    sides: &[Arc<Engine>; 2],
    kind: &KindDifferences,
    mut targets: [Vec<NodeId>; 2],
    refolded: &[NodeId],
) -> Vec<EffectiveChange> {
    let models = [0, 1].map(|side| sides[side].models().get(kind.model));
    let views = [0, 1].map(|side| sides[side].view());
    let same_named = refolded.iter().flat_map(|node| views[1].topology.same_named(*node));
    let refolded: BTreeSet<NodeId> = refolded.iter().copied().chain(same_named).collect();
    for ((targets, view), model) in targets.iter_mut().zip(views).zip(models) {
        let is_target = |node: &&NodeId| {
            view.topology.has(**node) && model.is_some_and(|model| model.is_effective_target(view, **node))
        };
        targets.extend(refolded.iter().filter(is_target));
    }
    changes_at(views, models, targets)
}

/// Adds the objects in scopes of one kind that change. Where all scopes of a target change, they need not be compared.
fn add_affected_objects(sides: &[Arc<Engine>; 2], kind: &KindDifferences, affected: &mut AffectedObjects) {
    let (view, Some(model)) = (sides[1].view(), sides[1].models().get(kind.model)) else { return };
    let was = sides[0].models().get(kind.model);
    let [before, after] = kind.targets.each_ref().map(|targets| targets.split_at(kind.changed_in_all_scopes));
    affected.add_scopes(view, model, after.0);
    let moved: HashSet<NodeId> = before.1.iter().chain(after.1).copied().collect();
    let mut sets: HashMap<SetId, bool> = HashMap::new();
    let all_changed = |set| model.chains_in_set(set).iter().all(|(chain, _)| kind.refolded_effective.contains(chain));
    let changes_whole = |node: &NodeId| {
        let set = model.set_reaching(*node);
        // A node can have got a refolded chain instead of another one with the same effective policy.
        was.is_some_and(|was| was.set_reaching(*node) == set)
            && set.is_some_and(|set| *sets.entry(set).or_insert_with(|| all_changed(set)))
            && !moved.contains(node)
            && view.topology.same_named(*node).next().is_none()
    };
    let refolded = kind.refolded.nodes(view, model, &kind.refolded_effective);
    let (mut whole, parted): (Vec<NodeId>, Vec<NodeId>) = refolded.into_iter().partition(changes_whole);
    whole.retain(|node| model.is_effective_target(view, *node));
    affected.add_scopes(view, model, &whole);
    affected.add_changes(&changes_among(sides, kind, [before.1.to_vec(), after.1.to_vec()], &parted));
}

/// Adds the changes of one kind.
fn add_outline(sides: &[Arc<Engine>; 2], kind: &KindDifferences, outline: &mut EffectiveOutline) {
    let models = [0, 1].map(|side| sides[side].models().get(kind.model));
    let [Some(was), Some(is)] = models else {
        outline.scopes.extend(effective_changes_of(sides, kind));
        return;
    };
    let views = [sides[0].view(), sides[1].view()];
    let has_one_chain = |node: &NodeId| {
        [(was, views[0]), (is, views[1])].into_iter().all(|(model, view)| match model.chains_at(view, *node) {
            [(chain, _)] => !model.links(*chain).any(|link| link.consumer().is_some()),
            _ => false,
        })
    };
    let mut listed = kind.targets.each_ref().map(|targets| targets[kind.changed_in_all_scopes..].to_vec());
    let moved: HashSet<NodeId> = kind.targets.iter().flatten().copied().collect();
    let (mut whole, parted): (Vec<NodeId>, Vec<NodeId>) =
        kind.targets[1][..kind.changed_in_all_scopes].iter().copied().partition(has_one_chain);
    listed.iter_mut().for_each(|listed| listed.extend(&parted));
    let is_alone = |node: &NodeId| {
        has_one_chain(node) && !moved.contains(node) && views[1].topology.same_named(*node).next().is_none()
    };
    let refolded = kind.refolded.nodes(views[1], is, &kind.refolded_effective);
    // A node can have got another chain, which was refolded, too.
    let decided: HashSet<NodeId> = whole.iter().copied().collect();
    let refolded = refolded.into_iter().filter(|node| !decided.contains(node));
    let (alone, parted): (Vec<NodeId>, Vec<NodeId>) = refolded.partition(is_alone);
    whole.extend(alone.into_iter().filter(|node| is.is_effective_target(views[1], *node)));
    outline.targets.extend(changes_of_targets(views, [was, is], whole));
    outline.scopes.extend(changes_among(sides, kind, listed, &parted));
}

/// The targets without contribution counts whose contributing policies can differ.
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
