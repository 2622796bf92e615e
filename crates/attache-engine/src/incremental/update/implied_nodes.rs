//! Nodes of Namespaces and GatewayClasses that have no object. They exist because other objects are in the Namespace, or
//! because a Gateway names the class.

use std::collections::BTreeSet;

use super::{NextEngine, UpdateContext};
use crate::incremental::dependents::DependencyKey;
use crate::incremental::rebuild;
use crate::object::{ObjectId, ObjectRef};
use crate::topology::build::{class_of, namespace_of};
use crate::topology::{Level, NeedsRebuild, api};

/// Adds the nodes that are now implied, and removes those that no longer are. Returns the Namespaces and GatewayClasses
/// whose node was replaced or removed.
pub(super) fn update(context: &UpdateContext<'_>, next: &mut NextEngine) -> Result<Vec<ObjectRef>, NeedsRebuild> {
    let mut replaced = Vec::new();
    for id in candidates(context) {
        let is_implied = next.parts.objects.find(&id).is_none() && is_implied(context, next, &id);
        match (next.parts.topology.is_implied(&id), is_implied) {
            (false, true) => next.topology_editor().add_implied(id.clone()),
            (true, false) => next.topology_editor().remove_implied(&id),
            _ => {}
        }
        let [before, after] = [context.before.parts(), &next.parts].map(|it| it.topology.find(&it.objects, &id));
        if before != after {
            rebuild::check_replaced_node(context, &id)?;
            replaced.push(id.clone());
        }
        if id.kind == "Namespace" {
            let members: Vec<ObjectId> = match before != after {
                true => context.objects.in_namespace(&id.name).collect(),
                false => added_to(context, &id.name),
            };
            next.topology_editor().set_namespace(&members, &id.name, after);
        }
    }
    Ok(replaced)
}

/// The Namespaces and GatewayClasses that changed objects imply, and changed Namespaces and GatewayClasses.
fn candidates(context: &UpdateContext<'_>) -> BTreeSet<ObjectRef> {
    let mut found: BTreeSet<ObjectRef> = BTreeSet::new();
    for change in context.changes.iter().filter(|change| change.fields.content()) {
        for object in change.states() {
            let level = api::level(&object.id.group, &object.id.kind);
            found.extend(namespace_of(&object.id).filter(|_| change.fields.existence));
            found.extend(class_of(object).filter(|_| level == Level::Gateway));
            let can_be_implied = matches!(level, Level::Namespace | Level::GatewayClass);
            found.extend((can_be_implied && object.id.namespace.is_empty()).then(|| object.id.clone()));
        }
    }
    found
}

/// The objects that are added to a namespace.
fn added_to(context: &UpdateContext<'_>, namespace: &str) -> Vec<ObjectId> {
    let added = context.changes.iter().filter(|change| change.fields.existence);
    added.filter(|it| it.after().is_some_and(|it| it.id.namespace == namespace)).map(|it| it.id).collect()
}

/// Whether a Namespace has objects, or a Gateway names a GatewayClass.
fn is_implied(context: &UpdateContext<'_>, next: &NextEngine, id: &ObjectRef) -> bool {
    if id.kind == "Namespace" {
        return context.objects.has_namespace(&id.name) || next.parts.topology.has_implied_in(&id.name);
    }
    let dependents = context.dependencies.dependents(DependencyKey::from(id));
    let mut gateways = dependents.chain(context.changes.iter().map(|change| change.id));
    gateways.any(|gateway| {
        let Some(gateway) = next.parts.objects.get(gateway) else { return false };
        api::level(&gateway.id.group, &gateway.id.kind) == Level::Gateway && class_of(gateway).as_ref() == Some(id)
    })
}
