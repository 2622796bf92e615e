//! A Gateway with its ListenerSets, merged in order, and what is wrong with each listener.

use hashbrown::HashMap;
use smol_str::SmolStr;

use super::api::{GATEWAY_API, LISTENER_SETS, Protocol};
use super::claims::Claims;
use super::index::{Found, Index};
use super::listeners::Listener;
use super::namespaces::{AllowedNamespaces, Namespace};
use super::reference::Reference;
use super::refusal::{
    ListenerConflict, ListenerRefusal, MissingObject, ParentRefusal, RefusalCause, RefusedLink, Shortlist,
};
use super::{NodeId, NodeRef, Topology, certificates};
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::value::Path;

/// The Gateway that a ListenerSet names.
pub fn parent(set: &Object) -> Option<Reference<'_>> {
    Reference::parent(set.spec().get("parentRef")?, &set.id.namespace)
}

/// That Gateway, if it is there.
pub fn gateway_of(objects: &Objects, set: &Object) -> Option<ObjectId> {
    let parent = parent(set).filter(|parent| parent.group == GATEWAY_API && parent.kind == "Gateway")?;
    parent.find(objects)
}

/// Refuses a ListenerSet whose Gateway is not there.
pub fn refuse_orphan(index: &Index, id: ObjectId, found: &mut Found) {
    let set = &index.objects[id];
    if let Some(parent) = parent(set) {
        let refusal = ParentRefusal::NotFound(MissingObject::new(index.objects, &parent));
        found.refuse((id, parent_ref()), parent, &set.id, refusal);
    }
}

/// The ListenerSets of each Gateway, the oldest first.
pub fn listener_sets(index: &Index, found: &mut Found) -> HashMap<ObjectId, Vec<ObjectId>> {
    let mut sets: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    for (id, set) in LISTENER_SETS.iter().flat_map(|(group, kind)| index.objects.each_of_kind(group, kind)) {
        match gateway_of(index.objects, set) {
            Some(gateway) => sets.entry(gateway).or_default().push(id),
            None => refuse_orphan(index, id, found),
        }
    }
    for sets in sets.values_mut() {
        sets.sort_by(|a, b| index.objects[*a].by_age(&index.objects[*b]));
    }
    sets
}

/// Judges the listeners of a Gateway and of those of its ListenerSets that it lets in.
pub fn link(index: &Index, id: ObjectId, sets: &[ObjectId], found: &mut Found) {
    let gateway = &index.objects[id];
    let mut claims = Claims::default();
    let served = judge(index, id, gateway, &mut claims, found);
    if let Some(class) = gateway.spec().get_str("gatewayClassName").filter(|_| !served) {
        let class = ObjectRef::new(GATEWAY_API, "GatewayClass", "", class);
        found.refuse((id, listeners_field()), class, &gateway.id, no_valid_listener(gateway));
    }
    let allowed = gateway.spec().at(&["allowedListeners", "namespaces"]);
    let allowed = allowed.and_then(AllowedNamespaces::read).unwrap_or(AllowedNamespaces::None);
    for &set_id in sets {
        let set = &index.objects[set_id];
        if !allowed.allow(&gateway.id.namespace, &Namespace::named(index.objects, &set.id.namespace)) {
            let (gateway, allowed) = (gateway.id.clone(), allowed.cloned());
            let refusal = ParentRefusal::ListenerSetNotAllowed { gateway, allowed };
            found.refuse((set_id, parent_ref()), &index.objects[id].id, &set.id, refusal);
        } else if judge(index, set_id, set, &mut claims, found) {
            found.links.push((NodeId::whole(id), NodeId::whole(set_id)));
        } else {
            found.refuse((set_id, listeners_field()), &gateway.id, &set.id, no_valid_listener(set));
        }
    }
}

/// Says what is wrong with the listeners of one object, and whether any of them is served. Whoever comes later loses
/// against `claims`; inside one object nobody wins.
fn judge<'o>(index: &Index<'o>, id: ObjectId, owner: &'o Object, claims: &mut Claims<'o>, found: &mut Found) -> bool {
    let listeners = index.listeners(id);
    let lost: Vec<Option<ListenerConflict>> = listeners.iter().map(|listener| claims.conflict(listener, 0)).collect();
    let mut own = Claims::default();
    for (listener, _) in listeners.iter().zip(&lost).filter(|(_, lost)| lost.is_none()) {
        own.add(listener);
        claims.add(listener);
    }
    let mut served = false;
    for (position, (listener, lost)) in listeners.iter().zip(lost).enumerate() {
        let mut refuse = |refusal: RefusalCause| {
            let asked = (id, listeners_field().index(position));
            let child = NodeRef { object: owner.id.clone(), section: Some(listener.name.into()) };
            found.refuse(asked, &owner.id, child, refusal);
        };
        let conflict = match lost {
            Some(conflict) => Some(ListenerRefusal::ConflictsWithOlder { conflict, claim: listener.into() }),
            None => own.conflict(listener, 1).map(|conflict| ListenerRefusal::ConflictsWithin {
                conflict,
                claim: listener.into(),
                owner: owner.id.clone(),
            }),
        };
        let trust = certificates::check(index, owner, listener, |refusal| refuse(refusal.into()));
        let fault = conflict.or_else(|| unsupported_protocol(listener)).or(trust);
        let unserved: Shortlist<SmolStr> = listener.unserved_kinds().map(Into::into).collect();
        if !unserved.is_empty() {
            refuse(ListenerRefusal::UnsupportedRouteKinds(unserved).into());
        }
        match fault {
            Some(fault) => {
                refuse(fault.into());
                found.unserved.push(index.section(id, position));
            }
            None => served = true,
        }
    }
    served
}

impl Topology {
    /// Why a listener is not served.
    pub fn why_unserved(&self, objects: &Objects, listener: NodeId) -> Option<&RefusedLink> {
        if self.served(listener) {
            return None;
        }
        let node = &self[listener];
        let (owner, section) = (node.owner.object()?, node.section.as_ref());
        let is_of_listener = |it: &&RefusedLink| it.by == owner && it.child.section.as_ref() == section;
        let keeps_unserved =
            |it: &&RefusedLink| matches!(&it.cause, RefusalCause::Listener(refusal) if refusal.is_unserved());
        self.refused(objects).iter().filter(is_of_listener).find(keeps_unserved)
    }
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
