//! A Gateway with its ListenerSets, merged in order, and what is wrong with each listener.

use hashbrown::HashMap;

use super::api::{GATEWAY_API, LISTENER_SETS, Protocol};
use super::claims::Claims;
use super::index::{Found, Index};
use super::listeners::Listener;
use super::namespaces::{Allowed, Namespace};
use super::reference::Reference;
use super::refusal::{Refusal, Refused};
use super::{NodeId, Topology, certificates, why};
use crate::object::{Object, ObjectId, Objects};
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
        found.refuse((id, parent_ref()), parent, &set.id, why::no_such_parent(index.objects, &parent));
    }
}

/// The ListenerSets of each Gateway, the oldest first.
pub fn listener_sets(index: &Index, found: &mut Found) -> HashMap<ObjectId, Vec<ObjectId>> {
    let mut sets: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    for (id, set) in LISTENER_SETS.iter().flat_map(|(group, kind)| index.objects.each(group, kind)) {
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
        let class = format!("GatewayClass/{class}");
        found.refuse((id, listeners_field()), class, &gateway.id, no_valid_listener(gateway));
    }
    let allowed = gateway.spec().at(&["allowedListeners", "namespaces"]);
    let allowed = allowed.and_then(Allowed::read).unwrap_or(Allowed::Nobody);
    for &set_id in sets {
        let set = &index.objects[set_id];
        if !allowed.lets_in(&gateway.id.namespace, &Namespace::named(index.objects, &set.id.namespace)) {
            let from = allowed.describe(&gateway.id.namespace);
            let message = format!("{} lets in listeners from {from}: see its `spec.allowedListeners`", gateway.id);
            let refusal = Refusal::new("NotAllowed", message);
            found.refuse((set_id, parent_ref()), &gateway.id, &set.id, refusal);
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
    let lost: Vec<Option<&'static str>> = listeners.iter().map(|listener| claims.conflict(listener, 0)).collect();
    let mut own = Claims::default();
    for (listener, _) in listeners.iter().zip(&lost).filter(|(_, lost)| lost.is_none()) {
        own.add(listener);
        claims.add(listener);
    }
    let mut served = false;
    for (position, (listener, lost)) in listeners.iter().zip(lost).enumerate() {
        let mut refuse = |refusal| {
            let asked = (id, listeners_field().index(position));
            found.refuse(asked, &owner.id, format!("{}#{}", owner.id, listener.name), refusal);
        };
        let conflict = match lost {
            Some(reason) => Some(Refusal::new(reason, format!("{} is taken by an older claim", claim(listener)))),
            None => own.conflict(listener, 1).map(|reason| {
                Refusal::new(
                    reason,
                    format!(
                        "more than one listener of {} claims {}: none of them is served",
                        owner.id,
                        claim(listener)
                    ),
                )
            }),
        };
        let trust = certificates::check(index, owner, listener, &mut refuse);
        let fault = conflict.or_else(|| unsupported_protocol(listener)).or(trust);
        let unserved: Vec<&str> = listener.unserved_kinds().collect();
        if !unserved.is_empty() {
            let message = format!("a listener of its protocol cannot serve {}", why::list(unserved.iter()));
            refuse(Refusal::new("InvalidRouteKinds", message));
        }
        match fault {
            Some(fault) => {
                refuse(fault);
                found.unserved.push(index.section(id, position));
            }
            None => served = true,
        }
    }
    served
}

/// The reasons for which a listener is not served. What else is wrong with one does not keep it from serving.
const UNSERVED: [&str; 4] = ["HostnameConflict", "ProtocolConflict", "UnsupportedProtocol", "NoValidCACertificate"];

impl Topology {
    /// Why a listener is not served.
    pub fn why_unserved(&self, objects: &Objects, listener: NodeId) -> Option<&Refused> {
        if self.served(listener) {
            return None;
        }
        let name = self.name(objects, listener);
        self.refused(objects).iter().find(|it| it.child == name && UNSERVED.contains(&it.reason))
    }
}

fn parent_ref() -> Path {
    Path::parse("spec.parentRef")
}

fn listeners_field() -> Path {
    Path::parse("spec.listeners")
}

fn no_valid_listener(owner: &Object) -> Refusal {
    let message = match owner.spec().list_at("listeners") {
        [] => "it has no listeners",
        _ => "none of its listeners is valid",
    };
    Refusal::new("ListenersNotValid", message)
}

fn unsupported_protocol(listener: &Listener) -> Option<Refusal> {
    let protocol = listener.spec.get_str("protocol").unwrap_or_default();
    let message = format!("protocol `{protocol}` is none of HTTP, HTTPS, TLS, TCP and UDP: no route can attach");
    (listener.protocol == Protocol::Unknown).then(|| Refusal::new("UnsupportedProtocol", message))
}

fn claim(listener: &Listener) -> String {
    let protocol = listener.spec.get_str("protocol").unwrap_or_default();
    match (listener.protocol.has_hostnames(), listener.hostname) {
        (false, _) => format!("port {} ({protocol})", listener.port),
        (true, "") => format!("port {} ({protocol}) for any hostname", listener.port),
        (true, hostname) => format!("port {} ({protocol}) for `{hostname}`", listener.port),
    }
}
