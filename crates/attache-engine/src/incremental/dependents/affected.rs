//! The routes, Gateways and policies that depend on what a batch changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::index::{DependencyIndex, DependencyKey};
use crate::attachment::filters;
use crate::engine_parts::EngineParts;
use crate::incremental::changed::{ChangedFields, ObjectChange};
use crate::incremental::update::UpdateContext;
use crate::object::{Object, ObjectId, ObjectRef};
use crate::policy::{PolicyId, TargetSpec};
use crate::selector::selects;
use crate::topology::api::{self, GATEWAY_API};
use crate::topology::{Level, LinkSides, NodeId};

/// The objects whose links or attachments are recomputed.
#[derive(Debug, Default)]
pub(in crate::incremental) struct Affected {
    /// Routes, each with the links that are recomputed. A route can occur several times.
    pub routes: Vec<(ObjectId, LinkSides)>,
    /// Gateways and ListenerSets, removed ones too.
    pub gateways: BTreeSet<ObjectId>,
    pub policies: BTreeSet<PolicyId>,
}

impl Affected {
    /// Finds the objects that depend on the changes of a batch. `replaced` are Namespaces and GatewayClasses whose node
    /// was replaced or removed.
    pub fn find(context: &UpdateContext<'_>, next: &EngineParts, replaced: &[ObjectRef]) -> Affected {
        let mut dependents: Vec<(ObjectId, LinkSides)> = Vec::new();
        let mut affected = Affected::default();
        for change in context.changes {
            let (id, fields) = (change.reference(), change.fields);
            if next.kinds.find(&id.group, &id.kind).is_some() {
                affected.policies.insert(PolicyId(change.id));
            }
            if !fields.any() {
                continue;
            }
            if fields.content() || fields.creation_time {
                match api::level(&id.group, &id.kind) {
                    Level::Route => affected.routes.push((change.id, LinkSides::BOTH)),
                    Level::Gateway | Level::ListenerSet => drop(affected.gateways.insert(change.id)),
                    _ => {}
                }
            }
            add_dependents(context.dependencies, id, fields, &mut dependents);
            let selecting = context.dependencies.dependents(DependencyKey::KindLabels(&id.group, &id.kind));
            let selecting = selecting.map(PolicyId).filter(|policy| selects_object(context, *policy, change));
            affected.policies.extend(selecting);
            if can_be_chosen(id) {
                affected.policies.extend(context.dependencies.choosing_policies().map(PolicyId));
            }
        }
        for id in replaced {
            add_dependents(context.dependencies, id, ChangedFields::ALL, &mut dependents);
            affected.policies.extend(context.dependencies.choosing_policies().map(PolicyId));
            if id.kind == "Namespace" {
                // Policies that apply only to requests from their own Namespace refer to the new node.
                let in_namespace = context.objects.in_namespace(&id.name).map(PolicyId);
                affected.policies.extend(in_namespace.filter(|policy| next.policies.get(*policy).is_some()));
            }
        }
        dependents.into_iter().for_each(|(id, sides)| affected.add(next, id, sides));
        affected
    }

    /// Adds an object that depends on a change, unless it is removed.
    pub fn add(&mut self, next: &EngineParts, id: ObjectId, sides: LinkSides) {
        if next.objects.shared(id).is_none() {
            return;
        }
        match next.topology[NodeId::whole(id)].level {
            Level::Route => self.routes.push((id, sides)),
            Level::Gateway | Level::ListenerSet => drop(self.gateways.insert(id)),
            _ => drop(self.policies.insert(PolicyId(id))),
        }
    }
}

/// Finds the objects that depend on changed fields of an object, and the links that do if they are routes.
fn add_dependents(
    index: &DependencyIndex,
    id: &ObjectRef,
    fields: ChangedFields,
    found: &mut Vec<(ObjectId, LinkSides)>,
) {
    let mut find = |key: DependencyKey<'_>, sides: LinkSides| {
        found.extend(index.dependents(key).map(|dependent| (dependent, sides)));
    };
    if fields.content() {
        let sides = match api::level(&id.group, &id.kind) {
            Level::Gateway | Level::ListenerSet => LinkSides::PARENTS,
            _ => LinkSides::BOTH,
        };
        find(DependencyKey::from(id), sides);
    }
    if fields.existence {
        find(DependencyKey::KindInNamespace(&id.group, &id.kind, &id.namespace), LinkSides::BOTH);
        find(DependencyKey::Kind(&id.group, &id.kind), LinkSides::BOTH);
    }
    match (id.group.as_str(), id.kind.as_str()) {
        (GATEWAY_API, "ReferenceGrant") => {
            find(DependencyKey::Grants(&id.namespace), LinkSides::BACKENDS);
            find(DependencyKey::AllNamespaces, LinkSides::BACKENDS);
        }
        ("", "Namespace") if fields.labels => {
            find(DependencyKey::NamespaceLabels(&id.name), LinkSides::PARENTS);
            find(DependencyKey::AllNamespaces, LinkSides::PARENTS);
        }
        _ => {}
    }
}

/// Whether a policy selects an object by its labels, before or after the change.
fn selects_object(context: &UpdateContext<'_>, policy: PolicyId, change: &ObjectChange) -> bool {
    let is_selected = |spec: &TargetSpec| match spec {
        TargetSpec::Selected(it) => {
            change.states().any(|object: &Arc<Object>| selects(&it.labels, |key| object.labels().get_str(key)))
        }
        _ => false,
    };
    context.before.policy(policy).targets.iter().any(|target| is_selected(&target.spec))
}

/// Whether policies that select their targets from all objects can select this object.
fn can_be_chosen(id: &ObjectRef) -> bool {
    matches!(api::level(&id.group, &id.kind), Level::Workload | Level::Gateway | Level::Backend | Level::Namespace)
}

/// The policies that filters of changed routes refer to, before or after the change.
pub(in crate::incremental) fn policies_named_by_filters(
    context: &UpdateContext<'_>,
    next: &EngineParts,
) -> BTreeSet<PolicyId> {
    let before = context.before.parts();
    let mut found = BTreeSet::new();
    for change in context.changes.iter().filter(|change| change.fields.content()) {
        for parts in [before, next] {
            for rule in parts.topology.sections(NodeId::whole(change.id)) {
                let named = filters(&parts.objects, &parts.topology, rule);
                found.extend(named.iter().filter_map(|(name, _)| parts.objects.find(name)).map(PolicyId));
            }
        }
    }
    found.retain(|policy| before.policies.get(*policy).or(next.policies.get(*policy)).is_some());
    found
}
