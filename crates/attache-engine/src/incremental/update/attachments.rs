//! Reattaches policies.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{NextEngine, UpdateContext};
use crate::attachment::{Attached, Attachment, TargetResolver, filters};
use crate::engine_parts::EngineParts;
use crate::incremental::dependents::DependencyKey;
use crate::incremental::rebuild;
use crate::object::{Object, ObjectId};
use crate::policy::{Policy, PolicyId};
use crate::topology::{Level, NeedsRebuild, NodeId};

/// A policy that was reattached.
#[derive(Debug)]
pub(super) struct Reattached {
    pub policy: PolicyId,
    /// Its attachments before.
    pub before: Attached,
}

impl Reattached {
    /// Whether the stacks that contain the policy must be rebuilt.
    pub fn changes_stacks(&self, context: &UpdateContext<'_>, next: &NextEngine) -> bool {
        let is_changed = context.changes.iter().any(|change| change.id == self.policy.0);
        is_changed || self.before.to != self.after(next).to
    }

    /// Its attachments after.
    pub fn after<'n>(&self, next: &'n NextEngine) -> &'n Attached {
        next.parts.attachments.for_policy(self.policy)
    }
}

/// Reads the changed policies, and resolves the targets of the affected policies again.
pub(super) fn update(
    context: &UpdateContext<'_>,
    next: &mut NextEngine,
    policies: BTreeSet<PolicyId>,
) -> Result<Vec<Reattached>, NeedsRebuild> {
    let EngineParts { kinds, policies: read, .. } = &mut next.parts;
    for change in context.changes {
        let id = change.reference();
        let Some(kind) = kinds.find(&id.group, &id.kind) else { continue };
        let policy = |object: &Arc<Object>| Policy::read(change.id, object, kind, kinds.get(kind));
        read.set(PolicyId(change.id), change.after().map(policy));
    }
    let mut attached = Vec::with_capacity(policies.len());
    let resolver = TargetResolver::new(&next.parts.objects, &next.parts.topology);
    for id in policies {
        let Some(policy) = next.parts.policies.get(id) else {
            attached.push((id, None));
            continue;
        };
        let kind = next.parts.kinds.get(policy.kind);
        rebuild::check_attached_kind(kind)?;
        let mut targets = resolver.attach(id, policy, kind);
        if kind.targets.extension_ref && policy.invalid.is_none() && !policy.deleted {
            targets.to.extend(attachments_by_filter(context, &next.parts, id));
        }
        attached.push((id, Some(targets)));
    }
    let reattach = |(policy, attached)| {
        next.parts.attachments.set(policy, attached);
        Reattached { policy, before: context.before.attachments().for_policy(policy).clone() }
    };
    Ok(attached.into_iter().map(reattach).collect())
}

/// The rules whose filters refer to a policy.
fn attachments_by_filter(context: &UpdateContext<'_>, next: &EngineParts, policy: PolicyId) -> Vec<Attachment> {
    let Some(object) = next.objects.get(policy.0) else { return Vec::new() };
    let dependents = context.dependencies.dependents(DependencyKey::from(&object.id));
    let routes: BTreeSet<ObjectId> = dependents.chain(context.changes.iter().map(|change| change.id)).collect();
    let rules = routes.into_iter().flat_map(|route| next.topology.sections(NodeId::whole(route)));
    let rules = rules.filter(|rule| next.topology[*rule].level == Level::RouteRule);
    let attachments = rules.flat_map(|rule| {
        let named = filters(&next.objects, &next.topology, rule).into_iter();
        named
            .filter(|(named, _)| *named == object.id)
            .map(move |(_, position)| Attachment::by_filter(policy, rule, position))
    });
    attachments.collect()
}
