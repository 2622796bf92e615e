//! Gateways: their GatewayClass, their ListenerSets, and whether their listeners are valid.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::listener_conflicts::ListenerClaims;
use super::{FoundLinks, LinkContext, certificates};
use crate::kinds::ControllerFeatures;
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
use crate::value::{Path, Value};

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

/// The namespaces whose ListenerSets a Gateway allows.
fn allowed_sets(gateway: &Object) -> AllowedNamespaces<&Value> {
    let allowed = gateway.spec().at(&["allowedListeners", "namespaces"]);
    allowed.and_then(AllowedNamespaces::read).unwrap_or(AllowedNamespaces::None)
}

/// The Gateway that a route reaches by a parentRef to `owner`: the Gateway itself, or the one that allows the ListenerSet.
pub fn admitting_gateway(objects: &Objects, owner: ObjectId) -> Option<ObjectId> {
    let object = &objects[owner];
    if object.id.kind == "Gateway" {
        return Some(owner);
    }
    let gateway = gateway_of(objects, object)?;
    let namespace = Namespace::named(objects, &object.id.namespace);
    let is_allowed = allowed_sets(&objects[gateway]).allow(&objects[gateway].id.namespace, &namespace);
    is_allowed.then_some(gateway)
}

/// The Gateway itself, or that of a ListenerSet.
pub fn gateway_of_owner(objects: &Objects, owner: ObjectId) -> Option<&Object> {
    let object = objects.get(owner)?;
    match object.id.kind.as_str() {
        "Gateway" => Some(object),
        _ => objects.get(gateway_of(objects, object)?),
    }
}

/// What the controller of a Gateway or ListenerSet supports.
pub fn controller_features<'t>(
    objects: &'t Objects,
    topology: &'t Topology,
    owner: ObjectId,
) -> Option<&'t ControllerFeatures> {
    let gateway = gateway_of_owner(objects, owner)?;
    Some(topology.controllers().gateway_owner(objects, gateway).supports())
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
    let is_served = validate(context, gateway, (id, gateway), &mut claims, found);
    if let Some(class) = gateway.spec().get_str("gatewayClassName").filter(|_| !is_served) {
        let class = ObjectRef::new(GATEWAY_API, "GatewayClass", "", class);
        found.refuse((id, listeners_field()), class, &gateway.id, no_valid_listener(gateway));
    }
    let allowed = allowed_sets(gateway);
    for &set_id in sets {
        let set = &context.objects[set_id];
        if !allowed.allow(&gateway.id.namespace, &Namespace::named(context.objects, &set.id.namespace)) {
            let (gateway_id, allowed) = (gateway.id.clone(), allowed.cloned());
            let refusal = ParentRefusal::ListenerSetNotAllowed { gateway: gateway_id, allowed };
            found.refuse((set_id, parent_ref()), &gateway.id, &set.id, refusal);
        } else if validate(context, gateway, (set_id, set), &mut claims, found) {
            found.links.push((NodeId::whole(id), NodeId::whole(set_id)));
        } else {
            found.refuse((set_id, listeners_field()), &gateway.id, &set.id, no_valid_listener(set));
        }
    }
}

/// Refuses invalid listeners of one object, and returns whether any of them is served. A listener loses to `claims`,
/// which are older. Of conflicting listeners of the same object, none is served. An invalid listener claims nothing.
fn validate<'o>(
    context: &LinkContext<'o>,
    gateway: &Object,
    (id, owner): (ObjectId, &'o Object),
    claims: &mut ListenerClaims<'o>,
    found: &mut FoundLinks,
) -> bool {
    let controller = context.topology.controllers().gateway_owner(context.objects, gateway);
    let supports = controller.supports();
    let listeners = context.listeners(id);
    let mut own = ListenerClaims::default();
    let mut faults: Vec<Option<ListenerRefusal>> = Vec::with_capacity(listeners.len());
    for (position, listener) in listeners.iter().enumerate() {
        let fault = own_fault(context, gateway, owner, listener, |cause| {
            refuse(id, owner, (position, listener), cause, found);
        });
        let is_second = || supports.first_stream_listener && own.has_stream(listener);
        let conflict = || {
            let conflict = claims.conflict(listener, 0);
            let conflict = conflict.or_else(|| is_second().then_some(ListenerConflict::Protocol))?;
            Some(ListenerRefusal::ConflictsWithOlder { conflict, claim: listener.into() })
        };
        let fault = fault.or_else(conflict);
        if fault.is_none() {
            own.add(listener);
        }
        faults.push(fault);
    }
    for (listener, _) in listeners.iter().zip(&faults).filter(|(_, fault)| fault.is_none()) {
        claims.add(listener);
    }
    let mut is_served = false;
    for (position, (listener, fault)) in listeners.iter().zip(faults).enumerate() {
        let within = || {
            let conflict = own.conflict(listener, 1)?;
            Some(ListenerRefusal::ConflictsWithin { conflict, claim: listener.into(), owner: owner.id.clone() })
        };
        match fault.or_else(within) {
            None => is_served = true,
            Some(fault) => {
                refuse(id, owner, (position, listener), fault.into(), found);
                found.unserved.push(context.section(id, position));
            }
        }
    }
    is_served
}

/// Why a listener is not served, regardless of the others. Other problems of it are passed to `refuse`.
fn own_fault(
    context: &LinkContext,
    gateway: &Object,
    owner: &Object,
    listener: &Listener,
    mut refuse: impl FnMut(RefusalCause),
) -> Option<ListenerRefusal> {
    let untrusted = certificates::check(context, owner, listener, |refusal| refuse(refusal.into()));
    let kinds: Shortlist<SmolStr> = listener.unserved_kinds().map(Into::into).collect();
    let mut unsupported = None;
    if !kinds.is_empty() {
        let controller = context.topology.controllers().gateway_owner(context.objects, gateway);
        let may_be_partial = controller.supports().partial_route_kinds;
        // It is unknown which kinds a custom protocol serves.
        let is_served = listener.protocol == Protocol::Unknown || may_be_partial && !listener.kinds.is_empty();
        let refusal = ListenerRefusal::UnsupportedRouteKinds { kinds, is_served };
        match is_served {
            true => refuse(refusal.into()),
            false => unsupported = Some(refusal),
        }
    }
    unsupported_protocol(context, gateway, listener).or(unsupported).or(untrusted)
}

/// Refuses a listener, or a link that it requests.
fn refuse(
    id: ObjectId,
    owner: &Object,
    (position, listener): (usize, &Listener),
    cause: RefusalCause,
    found: &mut FoundLinks,
) {
    let child = NodeRef { object: owner.id.clone(), section: Some(listener.name.into()) };
    found.refuse((id, listeners_field().index(position)), &owner.id, child, cause);
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

fn unsupported_protocol(context: &LinkContext, gateway: &Object, listener: &Listener) -> Option<ListenerRefusal> {
    let protocol = listener.spec.get_str("protocol").unwrap_or_default();
    let is_defined = || context.topology.controllers().define_protocol(context.objects, gateway, protocol);
    let is_unsupported = listener.protocol == Protocol::Unknown && !is_defined();
    is_unsupported.then(|| ListenerRefusal::UnsupportedProtocol(protocol.into()))
}
