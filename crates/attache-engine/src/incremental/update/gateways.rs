//! Relinks Gateways with their ListenerSets. Together they determine which of their listeners are served.

use std::collections::BTreeSet;

use hashbrown::HashSet;

use super::{NextEngine, UpdateContext};
use crate::engine_parts::EngineParts;
use crate::incremental::dependents::{Affected, DependencyKey};
use crate::kinds::{ClassOwner, PolicyKind};
use crate::object::{ObjectId, ObjectRef};
use crate::policy::PolicyId;
use crate::topology::build::class_of;
use crate::topology::gateways::gateway_of;
use crate::topology::{Level, LinkSides, NeedsRebuild, NodeId, TopologyEditor, api};

/// Gateways and ListenerSets that are relinked.
#[derive(Debug, Default)]
struct LinkedGateways {
    gateways: BTreeSet<ObjectId>,
    listener_sets: BTreeSet<ObjectId>,
}

/// Relinks the affected Gateways and ListenerSets, and adds the objects that depend on them.
pub(super) fn relink(
    context: &UpdateContext<'_>,
    next: &mut NextEngine,
    affected: &mut Affected,
) -> Result<(), NeedsRebuild> {
    if affected.gateways.is_empty() {
        return Ok(());
    }
    let linked = LinkedGateways::find(context, &next.parts, &affected.gateways);
    linked.check_controllers(context, &next.parts)?;
    let EngineParts { objects, topology, .. } = &mut next.parts;
    let sets_of = |gateway: Option<ObjectId>| {
        let own = linked.listener_sets.iter().filter(|set| gateway_of(objects, &objects[**set]) == gateway);
        let mut own: Vec<ObjectId> = own.copied().collect();
        own.sort_by(|a, b| {
            let [a, b] = [a, b].map(|id| &objects[*id]);
            a.by_age(b).then_with(|| a.id.cmp(&b.id))
        });
        own
    };
    let existing = linked.gateways.iter().filter(|id| objects.shared(**id).is_some());
    let groups: Vec<(ObjectId, Vec<ObjectId>)> = existing.map(|id| (*id, sets_of(Some(*id)))).collect();
    let without_gateway = sets_of(None);
    TopologyEditor::new(topology, objects, &mut next.edits).relink_gateways(&groups, &without_gateway);
    linked.add_routes(context, next, affected);
    linked.add_policies(context, &next.parts, affected);
    affected.gateways.extend(linked.gateways.into_iter().chain(linked.listener_sets));
    Ok(())
}

impl LinkedGateways {
    /// The affected Gateways, those of the affected ListenerSets, and all existing ListenerSets of these Gateways.
    fn find(context: &UpdateContext<'_>, next: &EngineParts, affected: &BTreeSet<ObjectId>) -> LinkedGateways {
        let LinkedGateways { mut gateways, mut listener_sets } = LinkedGateways::default();
        for &id in affected {
            for objects in [context.before.objects(), &next.objects] {
                let Some(object) = objects.shared(id) else { continue };
                match api::level(&object.id.group, &object.id.kind) {
                    Level::Gateway => drop(gateways.insert(id)),
                    _ => {
                        listener_sets.insert(id);
                        gateways.extend(gateway_of(objects, object));
                    }
                }
            }
        }
        for &id in &gateways {
            let gateway = reference(context, next, id);
            let key = DependencyKey::ListenerSets(&gateway.namespace, &gateway.name);
            listener_sets.extend(context.dependencies.dependents(key));
        }
        listener_sets.retain(|set| next.objects.shared(*set).is_some());
        LinkedGateways { gateways, listener_sets }
    }

    /// Whether all Gateways keep their controllers, as far as they are known.
    fn check_controllers(&self, context: &UpdateContext<'_>, next: &EngineParts) -> Result<(), NeedsRebuild> {
        let before = context.before.objects();
        let controllers = next.kinds.controllers();
        let is_kept = |id: &ObjectId| {
            let (Some(was), Some(is)) = (before.shared(*id), next.objects.shared(*id)) else { return true };
            let was = controllers.gateway_owner(before, was);
            let is = controllers.gateway_owner(&next.objects, is);
            was == is || [was, is].iter().all(|owner| matches!(owner, ClassOwner::Unknown { .. }))
        };
        if self.gateways.iter().all(is_kept) { Ok(()) } else { Err(NeedsRebuild::Controllers) }
    }

    /// Adds the routes whose links depend on the spec of a Gateway or GatewayClass above them, or on whether requests
    /// reach their ListenerSet.
    fn add_routes(&self, context: &UpdateContext<'_>, next: &NextEngine, affected: &mut Affected) {
        let changed: HashSet<ObjectId> = context.changed_content().collect();
        let sides = [context.before.parts(), &next.parts];
        let is_changed = |gateway: &ObjectId| {
            let classes: Vec<ObjectRef> =
                sides.iter().filter_map(|it| class_of(it.objects.shared(*gateway)?)).collect();
            let classes = classes.iter().flat_map(|class| sides.iter().filter_map(|it| it.objects.find(class)));
            changed.contains(gateway) || classes.into_iter().any(|class| changed.contains(&class))
        };
        let live_edits: HashSet<NodeId> = next.edits.live_changed.iter().copied().collect();
        let has_changed_gateway = |set: &&ObjectId| {
            let mut gateways = sides.iter().filter_map(|it| gateway_of(&it.objects, it.objects.shared(**set)?));
            live_edits.contains(&NodeId::whole(**set)) || gateways.any(|gateway| is_changed(&gateway))
        };
        let gateways = self.gateways.iter().filter(|it| is_changed(it));
        let parents = gateways.chain(self.listener_sets.iter().filter(has_changed_gateway));
        let parents = parents.map(|id| DependencyKey::from(reference(context, &next.parts, *id)));
        for id in parents.flat_map(|parent| context.dependencies.dependents(parent)) {
            if context.before.topology().node(NodeId::whole(id)).is_some_and(|node| node.level == Level::Route) {
                affected.add(&next.parts, id, LinkSides::PARENTS);
            }
        }
        self.add_isolated_routes(context, next, affected);
        let below = next.edits.live_changed.iter().flat_map(|node| next.parts.topology.children(*node));
        for route in below.filter_map(|child| child.object()).collect::<Vec<_>>() {
            affected.add(&next.parts, route, LinkSides::PARENTS);
        }
    }

    /// Adds the routes that have a hostname which a different listener may now serve alone.
    fn add_isolated_routes(&self, context: &UpdateContext<'_>, next: &NextEngine, affected: &mut Affected) {
        for &owner in &next.edits.reisolated {
            let naming = DependencyKey::from(reference(context, &next.parts, owner));
            for id in context.dependencies.dependents(naming) {
                let Some(route) = next.parts.objects.get(id) else { continue };
                if api::level(&route.id.group, &route.id.kind) == Level::Route
                    && next.parts.topology.is_isolated_otherwise(context.before.topology(), owner, route)
                {
                    affected.add(&next.parts, id, LinkSides::PARENTS);
                }
            }
        }
    }

    /// Adds the policies that target a listener, if a kind in use attaches only to listeners that share no port.
    fn add_policies(&self, context: &UpdateContext<'_>, next: &EngineParts, affected: &mut Affected) {
        let is_used = |kind: &PolicyKind| context.objects.has_kind(&kind.group, &kind.kind);
        if !next.kinds.iter().any(|(_, kind)| kind.targets.own_port && is_used(kind)) {
            return;
        }
        for id in self.gateways.iter().chain(&self.listener_sets).map(|id| reference(context, next, *id)) {
            let naming = context.dependencies.dependents(DependencyKey::from(id));
            let selecting = context.dependencies.dependents(DependencyKey::KindLabels(&id.group, &id.kind));
            let policies = naming.chain(selecting).map(PolicyId);
            affected.policies.extend(policies.filter(|policy| next.policies.get(*policy).is_some()));
        }
    }
}

/// The reference of an object that exists before or after the changes.
fn reference<'u>(context: &UpdateContext<'u>, next: &'u EngineParts, id: ObjectId) -> &'u ObjectRef {
    match next.objects.get(id) {
        Some(object) => &object.id,
        None => &context.before.objects()[id].id,
    }
}
