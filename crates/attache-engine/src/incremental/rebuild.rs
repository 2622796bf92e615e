//! Changes that are not applied incrementally. They are rare, and following them would cost more than it saves.
//!
//! [`IncrementalEngine::apply`](super::IncrementalEngine::apply) rebuilds everything if a stage returns a
//! [`NeedsRebuild`], and the report says so. Reasons that are evident from the changed objects are found here, before
//! anything is updated. All others are found while the topology is edited.

use super::changed::ObjectChange;
use super::update::UpdateContext;
use crate::attachment::virtual_backends;
use crate::kinds::{Crd, KindId, PolicyKind};
use crate::object::{ObjectRef, Objects};
use crate::order::is_rejected_everywhere;
use crate::policy::{Policy, TargetSpec};
use crate::topology::api::{self, GATEWAY_API, RouteKind};
use crate::topology::conventions::Conventions;
use crate::topology::{Level, NeedsRebuild};

/// Whether all changes can be applied incrementally. `objects` are those after the changes.
pub(super) fn check_changes(context: &UpdateContext<'_>, objects: &Objects) -> Result<(), NeedsRebuild> {
    let has_kind = |kind: RouteKind| context.objects.has_kind(GATEWAY_API, kind.name());
    if !context.dependencies.has_hostnames() && has_kind(RouteKind::Http) && has_kind(RouteKind::Grpc) {
        return Err(NeedsRebuild::FirstCompetingRoute);
    }
    let kinds = context.before.kinds();
    let uses = |is_special: fn(&PolicyKind) -> bool| context.kinds_in_use().any(|kind| is_special(kinds.get(kind)));
    if context.changes.iter().any(|it| it.fields.any()) && uses(|kind| !kind.merging.merges_into.is_empty()) {
        return Err(NeedsRebuild::MergedFields);
    }
    if context.changes.iter().any(can_change_routes) && uses(|kind| kind.targets.own_paths) {
        return Err(NeedsRebuild::SharedPaths);
    }
    if context.changes.iter().any(can_change_controllers) && uses(is_rejected_everywhere) {
        return Err(NeedsRebuild::UsedTargets);
    }
    if context.changes.iter().any(can_change_backends) && uses(|kind| kind.order.conflicts_if_used) {
        return Err(NeedsRebuild::UsedTargets);
    }
    context.changes.iter().try_for_each(|change| check_change(context, objects, change))
}

/// Whether a change can concern the places where routes are reached.
fn can_change_routes(change: &ObjectChange) -> bool {
    let id = change.reference();
    let level = api::level(&id.group, &id.kind);
    change.fields.any()
        && matches!(level, Level::GatewayClass | Level::Gateway | Level::ListenerSet | Level::Namespace | Level::Route)
}

/// Whether a change can concern the controller of a Gateway.
fn can_change_controllers(change: &ObjectChange) -> bool {
    let id = change.reference();
    change.fields.any() && matches!(api::level(&id.group, &id.kind), Level::GatewayClass | Level::Gateway)
}

/// Whether a change can concern the backends that routes lead to.
fn can_change_backends(change: &ObjectChange) -> bool {
    let id = change.reference();
    let is_backend = api::level(&id.group, &id.kind) == Level::Backend;
    can_change_routes(change) || change.fields.any() && (is_backend || id.kind == "ReferenceGrant")
}

fn check_change(context: &UpdateContext<'_>, objects: &Objects, change: &ObjectChange) -> Result<(), NeedsRebuild> {
    let (id, fields, kinds) = (change.reference(), change.fields, context.before.kinds());
    if change.defines_kinds(context.before) {
        return Err(NeedsRebuild::PolicyKinds);
    }
    let (before, after) = (change.before().map(|it| &**it), change.after().map(|it| &**it));
    let mut settings = kinds.iter().flat_map(|(_, kind)| &kind.settings);
    if kinds.has_settings(&id.group, &id.kind) && settings.any(|setting| setting.is_changed_by(before, after)) {
        return Err(NeedsRebuild::ControllerSettings);
    }
    if fields.existence {
        // A CRD that may define a policy kind is reported only if it has objects.
        let mut unlabelled = kinds.unlabelled().iter().filter_map(|crd| Crd::read(objects.get(*crd)?));
        if unlabelled.any(|crd| crd.group() == id.group && crd.kind() == id.kind) {
            return Err(NeedsRebuild::PolicyKinds);
        }
        if [context.before.objects(), objects].into_iter().any(|it| kinds.is_ambiguous(it, &id.kind)) {
            return Err(NeedsRebuild::AmbiguousKinds);
        }
        if kinds.is_virtual(&id.group, &id.kind) || api::is_virtual_backend(&id.group, &id.kind) {
            return Err(NeedsRebuild::VirtualTarget);
        }
    }
    if !fields.any() {
        return Ok(());
    }
    if kinds.links().concern(&id.group, &id.kind) {
        return Err(NeedsRebuild::OwnLinks);
    }
    if makes_secrets(change) {
        return Err(NeedsRebuild::MadeSecrets);
    }
    if api::level(&id.group, &id.kind) == Level::Route
        && change.states().any(|route| !virtual_backends(route, kinds).is_empty())
    {
        return Err(NeedsRebuild::VirtualTarget);
    }
    match api::level(&id.group, &id.kind) {
        Level::GatewayClass | Level::Gateway | Level::Namespace if context.has_waypoints() => {
            Err(NeedsRebuild::Waypoints)
        }
        Level::Route if id.kind == RouteKind::Http.name() && context.dependencies.has_delegation_by_label() => {
            Err(NeedsRebuild::Delegation)
        }
        _ => match kinds.find(&id.group, &id.kind) {
            Some(kind) => check_policy(change, kind, kinds.get(kind)),
            None => Ok(()),
        },
    }
}

/// Whether the change concerns an object that creates Secrets, or its annotations.
fn makes_secrets(change: &ObjectChange) -> bool {
    let (id, conventions) = (change.reference(), Conventions::built_in());
    let is_annotated = || change.states().any(|object| conventions.has_secrets_made(object));
    conventions.makes_secrets(&id.group, &id.kind) || change.fields.annotations && is_annotated()
}

fn check_policy(change: &ObjectChange, id: KindId, kind: &PolicyKind) -> Result<(), NeedsRebuild> {
    check_attached_kind(kind)?;
    if kind.targets.virtual_targets.is_empty() {
        return Ok(());
    }
    let policies = change.states().map(|object| Policy::read(change.id, object, id, kind));
    let mut targets = policies.flat_map(|policy| policy.targets);
    let has_virtual_target = targets.any(|target| match &target.spec {
        TargetSpec::Object { group, kind: wanted, .. } => is_virtual_target(kind, group, wanted),
        _ => false,
    });
    if has_virtual_target { Err(NeedsRebuild::VirtualTarget) } else { Ok(()) }
}

fn is_virtual_target(kind: &PolicyKind, group: &str, name: &str) -> bool {
    kind.targets.virtual_targets.iter().any(|it| it.is(group, name))
}

/// Whether policies of a kind can be reattached one by one.
pub(super) fn check_attached_kind(kind: &PolicyKind) -> Result<(), NeedsRebuild> {
    if kind.targets.bindings.is_some() { Err(NeedsRebuild::Bindings) } else { Ok(()) }
}

/// Whether the node of a Namespace can be replaced: not if policies of a kind in it apply to the whole cluster.
pub(super) fn check_replaced_node(context: &UpdateContext<'_>, id: &ObjectRef) -> Result<(), NeedsRebuild> {
    let kinds = context.before.kinds();
    let mut roots = context.kinds_in_use().filter_map(|kind| kinds.get(kind).hierarchy.root_namespace.as_ref());
    let is_root = id.kind == "Namespace" && roots.any(|root| *root == id.name);
    if is_root { Err(NeedsRebuild::RootNamespace) } else { Ok(()) }
}
