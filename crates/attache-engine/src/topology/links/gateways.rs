//! Gateways: their GatewayClass, their ListenerSets, and whether their listeners are valid.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::listener_conflicts::ListenerClaims;
use super::{FoundLinks, LinkContext, certificates};
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::topology::api::{GATEWAY_API, LISTENER_SETS, Protocol};
use crate::topology::build::class_of;
use crate::topology::listeners::Listener;
use crate::topology::namespaces::{AllowedNamespaces, Namespace};
use crate::topology::reference::Reference;
use crate::topology::refusal::{
    ListenerConflict, ListenerRefusal, MissingObject, ParentRefusal, RefusalCause, Shortlist,
};
use crate::topology::{NodeId, NodeRef, Topology};
use crate::value::Path;

/// The node of the GatewayClass of a Gateway.
pub fn class(objects: &Objects, topology: &Topology, gateway: &Object) -> Option<NodeId> {
    topology.find(objects, &class_of(gateway)?)
}

/// The Gateway that a ListenerSet names.
pub fn parent(set: &Object) -> Option<Reference<'_>> {
    Reference::parent(set.spec().get("parentRef")?, &set.id.namespace)
}

/// The Gateway of a ListenerSet, if it exists.
pub fn gateway_of(objects: &Objects, set: &Object) -> Option<ObjectId> {
    let parent = parent(set).filter(|parent| parent.group == GATEWAY_API && parent.kind == "Gateway")?;
    parent.find(objects)
}

/// The ListenerSets of each Gateway, the oldest first. Those whose Gateway does not exist are refused.
pub fn listener_sets(context: &LinkContext, found: &mut FoundLinks) -> HashMap<ObjectId, Vec<ObjectId>> {
    let mut sets: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    for (id, set) in LISTENER_SETS.iter().flat_map(|(group, kind)| context.objects.each_of_kind(group, kind)) {
        match gateway_of(context.objects, set) {
            Some(gateway) => sets.entry(gateway).or_default().push(id),
            None => refuse_orphan(context, id, found),
        }
    }
    for sets in sets.values_mut() {
        sets.sort_by(|a, b| context.objects[*a].by_age(&context.objects[*b]));
    }
    sets
}

/// Refuses a ListenerSet whose Gateway does not exist.
pub fn refuse_orphan(context: &LinkContext, id: ObjectId, found: &mut FoundLinks) {
    let set = &context.objects[id];
    if let Some(parent) = parent(set) {
        let refusal = ParentRefusal::NotFound(MissingObject::new(context.objects, &parent));
        found.refuse((id, parent_ref()), parent, &set.id, refusal);
    }
}

/// Links a Gateway to its ListenerSets, and validates the listeners of all of them.
pub fn link(context: &LinkContext, id: ObjectId, sets: &[ObjectId], found: &mut FoundLinks) {
    let gateway = &context.objects[id];
    let mut claims = ListenerClaims::default();
    let is_served = validate(context, id, gateway, &mut claims, found);
    if let Some(class) = gateway.spec().get_str("gatewayClassName").filter(|_| !is_served) {
        let class = ObjectRef::new(GATEWAY_API, "GatewayClass", "", class);
        found.refuse((id, listeners_field()), class, &gateway.id, no_valid_listener(gateway));
    }
    let allowed = gateway.spec().at(&["allowedListeners", "namespaces"]);
    let allowed = allowed.and_then(AllowedNamespaces::read).unwrap_or(AllowedNamespaces::None);
    for &set_id in sets {
        let set = &context.objects[set_id];
        if !allowed.allow(&gateway.id.namespace, &Namespace::named(context.objects, &set.id.namespace)) {
            let (gateway_id, allowed) = (gateway.id.clone(), allowed.cloned());
            let refusal = ParentRefusal::ListenerSetNotAllowed { gateway: gateway_id, allowed };
            found.refuse((set_id, parent_ref()), &gateway.id, &set.id, refusal);
        } else if validate(context, set_id, set, &mut claims, found) {
            found.links.push((NodeId::whole(id), NodeId::whole(set_id)));
        } else {
            found.refuse((set_id, listeners_field()), &gateway.id, &set.id, no_valid_listener(set));
        }
    }
}

/// Refuses what is wrong with the listeners of one object, and tells whether any of them is served. A listener loses
/// against `claims`, which are older. Of listeners of the same object that conflict, none is served.
fn validate<'o>(
    context: &LinkContext<'o>,
    id: ObjectId,
    owner: &'o Object,
    claims: &mut ListenerClaims<'o>,
    found: &mut FoundLinks,
) -> bool {
    let listeners = context.listeners(id);
    let older: Vec<Option<ListenerConflict>> = listeners.iter().map(|listener| claims.conflict(listener, 0)).collect();
    let mut own = ListenerClaims::default();
    for (listener, _) in listeners.iter().zip(&older).filter(|(_, older)| older.is_none()) {
        own.add(listener);
        claims.add(listener);
    }
    let mut is_served = false;
    for (position, (listener, older)) in listeners.iter().zip(older).enumerate() {
        let mut refuse = |cause: RefusalCause| {
            let child = NodeRef { object: owner.id.clone(), section: Some(listener.name.into()) };
            found.refuse((id, listeners_field().index(position)), &owner.id, child, cause);
        };
        let conflict = match older {
            Some(conflict) => Some(ListenerRefusal::ConflictsWithOlder { conflict, claim: listener.into() }),
            None => own.conflict(listener, 1).map(|conflict| ListenerRefusal::ConflictsWithin {
                conflict,
                claim: listener.into(),
                owner: owner.id.clone(),
            }),
        };
        let untrusted = certificates::check(context, owner, listener, |refusal| refuse(refusal.into()));
        let fault = conflict.or_else(|| unsupported_protocol(listener)).or(untrusted);
        let unsupported: Shortlist<SmolStr> = listener.unserved_kinds().map(Into::into).collect();
        if !unsupported.is_empty() {
            refuse(ListenerRefusal::UnsupportedRouteKinds(unsupported).into());
        }
        match fault {
            Some(fault) => {
                refuse(fault.into());
                found.unserved.push(context.section(id, position));
            }
            None => is_served = true,
        }
    }
    is_served
}

fn parent_ref() -> Path {
    Path::parse("spec.parentRef")
}

fn listeners_field() -> Path {
    Path::parse("spec.listeners")
}

fn no_valid_listener(owner: &Object) -> ListenerRefusal {
    match owner.spec().list_at("listeners") {
        [] => ListenerRefusal::NoListeners,
        _ => ListenerRefusal::NoneValid,
    }
}

fn unsupported_protocol(listener: &Listener) -> Option<ListenerRefusal> {
    let protocol = listener.spec.get_str("protocol").unwrap_or_default();
    (listener.protocol == Protocol::Unknown).then(|| ListenerRefusal::UnsupportedProtocol(protocol.into()))
}
