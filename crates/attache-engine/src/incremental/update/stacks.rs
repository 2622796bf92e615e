//! Rebuilds the stacks that contain reattached policies.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;

use super::attachments::Reattached;
use super::{NextEngine, UpdateContext};
use crate::attachment::Attachment;
use crate::engine_parts::EngineParts;
use crate::kinds::{DictatedBy, KindId};
use crate::model::Model;
use crate::order::{Stack, is_rejected_everywhere};
use crate::policy::PolicyId;
use crate::topology::NodeId;

/// The stacks that were rebuilt.
#[derive(Debug, Default)]
pub(super) struct UpdatedStacks {
    /// The nodes of each kind.
    pub nodes: BTreeMap<KindId, Vec<NodeId>>,
    /// The policies that are in the stacks, or were.
    pub policies: BTreeSet<PolicyId>,
}

impl UpdatedStacks {
    fn set(&mut self, model: &mut Model, node: NodeId, stack: Option<Stack>) {
        self.nodes.entry(model.id).or_default().push(node);
        let both = model.stack(node).into_iter().chain(&stack);
        self.policies.extend(both.flat_map(|stack| stack.all()).map(|it| it.policy));
        model.set_stack(node, stack);
    }
}

/// Rebuilds the stacks of all kinds where a policy was reattached, a node was removed, or an annotation for inheritance
/// changed.
pub(super) fn update(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    reattached: &[Reattached],
    models: &mut [Model],
) -> UpdatedStacks {
    let mut updated = UpdatedStacks::default();
    let reattached_policies: HashSet<PolicyId> = reattached.iter().map(|it| it.policy).collect();
    for (kind, nodes) in dirty_nodes(context, next, reattached) {
        let Some(model) = models.iter_mut().find(|model| model.id == kind) else { continue };
        if is_rejected_everywhere(&model.kind) {
            rebuild_all(&next.parts, model, nodes, &mut updated);
            continue;
        }
        for node in nodes {
            let stack = rebuild(context, &next.parts, model, node, &reattached_policies);
            updated.set(model, node, stack);
        }
    }
    updated
}

/// The nodes of each kind whose stacks have to be rebuilt.
fn dirty_nodes(
    context: &UpdateContext<'_>,
    next: &NextEngine,
    reattached: &[Reattached],
) -> BTreeMap<KindId, BTreeSet<NodeId>> {
    let mut dirty: BTreeMap<KindId, BTreeSet<NodeId>> = BTreeMap::new();
    let leader = |parts: &EngineParts, policy| Some(parts.kinds.leader(parts.policies.get(policy)?.kind));
    for it in reattached {
        let kind = leader(&next.parts, it.policy).or(leader(context.before.parts(), it.policy));
        if let Some(kind) = kind.filter(|_| it.changes_stacks(context, next)) {
            dirty.entry(kind).or_default().extend(it.before.to.iter().chain(&it.after(next).to).map(|it| it.node));
        }
    }
    let models = context.before.models();
    for model in models {
        let has_stack = |node: &NodeId| model.stack(*node).is_some();
        let removed: Vec<NodeId> = next.edits.removed.iter().copied().filter(has_stack).collect();
        if !removed.is_empty() {
            dirty.entry(model.id).or_default().extend(removed);
        }
        if matches!(model.kind.merging.dictated_by, DictatedBy::Annotation(_)) {
            let annotated = context.changes.iter().filter(|change| change.fields.annotations);
            let nodes = annotated.map(|change| NodeId::whole(change.id));
            let nodes = nodes.flat_map(|node| [node].into_iter().chain(next.parts.topology.sections(node)));
            dirty.entry(model.id).or_default().extend(nodes.filter(has_stack));
        }
    }
    // A kind that yields to another kind depends on the policies of that kind on the same nodes.
    let mut yielding: Vec<(KindId, BTreeSet<NodeId>)> = Vec::new();
    for model in models {
        for (kind, nodes) in &dirty {
            if model.kind.yields_to(next.parts.kinds.get(*kind)) {
                yielding.push((model.id, nodes.iter().copied().filter(|it| model.stack(*it).is_some()).collect()));
            }
        }
    }
    for (kind, nodes) in yielding {
        dirty.entry(kind).or_default().extend(nodes);
    }
    dirty
}

/// Builds the stack of a kind on a node from the policies that stayed there, and the reattached policies that are now
/// there.
fn rebuild(
    context: &UpdateContext<'_>,
    next: &EngineParts,
    model: &Model,
    node: NodeId,
    reattached: &HashSet<PolicyId>,
) -> Option<Stack> {
    if !next.topology.has(node) {
        return None;
    }
    let stayed = |kind: KindId| {
        let model = context.before.models().iter().find(|model| model.id == kind);
        let stack = model.and_then(|model| model.stack(node));
        stack.into_iter().flat_map(|stack| stack.all()).filter(|it| !reattached.contains(&it.policy))
    };
    let kind_of = |policy: PolicyId| next.policies.get(policy).map(|it| it.kind);
    let is_own = |policy: PolicyId| kind_of(policy).is_some_and(|kind| next.kinds.leader(kind) == model.id);
    let attached = |policy: PolicyId| next.attachments.for_policy(policy).to.iter().filter(|it| it.node == node);
    let mut policies: Vec<PolicyId> = reattached.iter().copied().filter(|policy| is_own(*policy)).collect();
    policies.sort_unstable();
    let here: Vec<&Attachment> = stayed(model.id).chain(policies.into_iter().flat_map(attached)).collect();
    if here.is_empty() {
        return None;
    }
    let mut yields: Vec<&Attachment> = Vec::new();
    for (other, _) in next.kinds.iter().filter(|(_, other)| model.kind.yields_to(other)) {
        let is_other = |it: &&Attachment| kind_of(it.policy) == Some(other);
        yields.extend(stayed(next.kinds.leader(other)).filter(is_other));
        yields.extend(reattached.iter().flat_map(|policy| attached(*policy)).filter(is_other));
    }
    Some(next.stack_builder().build(&model.kind, here.into_iter(), yields.into_iter()))
}

/// Rebuilds all stacks of a kind whose policies, if rejected on one target, are rejected on all. Sets the stacks that
/// differ, and those of `nodes`.
fn rebuild_all(next: &EngineParts, model: &mut Model, mut nodes: BTreeSet<NodeId>, updated: &mut UpdatedStacks) {
    let stacks = next.build_stacks(model.id);
    let both: BTreeSet<NodeId> = model.stacks().nodes().chain(stacks.nodes()).collect();
    nodes.extend(both.into_iter().filter(|node| model.stack(*node) != stacks.get(*node)));
    for node in nodes {
        updated.set(model, node, stacks.get(node).cloned());
    }
}
