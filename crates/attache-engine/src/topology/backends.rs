//! Rules and their backends.

use super::api::{self, RouteKind};
use super::delegation::{self, Delegation};
use super::index::{Found, Index, dedup_after};
use super::reference::Reference;
use super::refusal::{BackendRefusal, MissingGrant, MissingObject, MissingPort, RefusedLink, StoredRefusal};
use super::routes::is_mesh_only;
use super::sections::{self, Section};
use super::{Level, NodeId, Topology};
use crate::object::{Object, ObjectId, Objects};
use crate::value::{Path, Value};

const BACKENDS: &str = "backendRefs";
const FILTERS: &str = "filters";
const MIRROR: [&str; 2] = ["requestMirror", "backendRef"];

/// Finds the rules of a route, and links each to its backends.
pub fn link<'o>(index: &Index<'o>, id: ObjectId, route: &'o Object, found: &mut Found) {
    let home = route.id.namespace.as_str();
    let may_delegate = route.id.kind == RouteKind::Http.name();
    let (first_rule, mut are_named) = (found.rules.len(), false);
    for (position, rule) in sections::rules(route).iter().enumerate() {
        let number = found.rules.len() as u32;
        let own_name = sections::own_name(rule);
        are_named |= own_name.is_some();
        let (level, name) = (Level::RouteRule, own_name.cloned().unwrap_or_else(|| sections::rule(position)));
        found.rules.push(Section { level, owner: id, name, port: None, shares_name: false });
        let first = (found.backends.len(), found.ports.len());
        let denied = |field, at| (id, StoredRefusal::Backend { rule: position as u32, field, at: at as u32 });
        for (at, backend) in rule.list_at(BACKENDS).iter().enumerate() {
            let Some(backend) = Reference::backend(backend, home) else { continue };
            if may_delegate && delegation::is_meant(&backend) {
                match delegation::children(index, route, rule, &backend) {
                    Ok(children) => {
                        found.delegations.extend(children.into_iter().map(|child| Delegation {
                            parent: id,
                            rule: number,
                            child,
                        }));
                    }
                    Err(refusal) => {
                        let path = Path::parse("spec.rules").index(position).key(BACKENDS).index(at);
                        found.refuse((id, path), &route.id, backend, refusal);
                    }
                }
                continue;
            }
            match resolve(index.objects, index.topology, route, &backend) {
                Ok((service, port)) => {
                    found.backends.push((number, service));
                    found.ports.extend(port.map(|port| (port, number)));
                }
                Err(_) => found.denied.push(denied(BACKENDS, at)),
            }
        }
        dedup_after(first.0, &mut found.backends);
        dedup_after(first.1, &mut found.ports);
        for (at, mirror) in mirrors(rule) {
            let Some(mirror) = Reference::backend(mirror, home) else { continue };
            if resolve(index.objects, index.topology, route, &mirror).is_err() {
                found.denied.push(denied(FILTERS, at));
            }
        }
    }
    if are_named {
        sections::tell_apart(&mut found.rules[first_rule..]);
    }
}

/// Where a rule sends copies: resolved as backends are, but nobody's answer comes from there.
fn mirrors(rule: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let filters = rule.list_at(FILTERS).iter().enumerate();
    filters.filter_map(|(at, filter)| Some((at, filter.at(&MIRROR)?)))
}

/// Why a backend cannot be used.
#[derive(Clone, Copy, Debug)]
pub enum Unusable {
    UnknownKind,
    NotGranted,
    NotThere,
    NoSuchPort,
}

/// Explains why the backend that a rule names, at that path, which ends in that field, cannot be used.
pub fn explain(index: &Index, by: ObjectId, field: &str, path: Path) -> Option<RefusedLink> {
    let route = index.objects.get(by)?;
    let named = path.resolve(&route.body)?;
    let named = if field == FILTERS { named.at(&MIRROR)? } else { named };
    let backend = Reference::backend(named, &route.id.namespace)?;
    let refusal = index.topology.backend(index.objects, route, &backend).err()?;
    Some(RefusedLink { parent: (&route.id).into(), child: backend.into(), cause: refusal.into(), by, path })
}

/// The node of the backend, and that of the port that is meant, if it has ports.
fn resolve(
    objects: &Objects,
    topology: &Topology,
    route: &Object,
    backend: &Reference,
) -> Result<(NodeId, Option<NodeId>), Unusable> {
    let &Reference { group, kind, namespace, name, .. } = backend;
    let there = backend.find(objects);
    let known = match api::level(group, kind) {
        Level::Backend => true,
        Level::Other => there.is_some() || !objects.of_kind(group, kind).is_empty(),
        _ => false,
    };
    if !known {
        return Err(Unusable::UnknownKind);
    }
    if !topology.grants.permit(objects, &route.id, group, kind, namespace, name) && !is_mesh_only(route) {
        return Err(Unusable::NotGranted);
    }
    let id = there.ok_or(Unusable::NotThere)?;
    let node = NodeId::whole(id);
    let mut ports = topology.sections(node);
    if ports.len() == 0 || backend.port.is_none() {
        return Ok((node, None));
    }
    match ports.find(|port| topology[*port].port == backend.port) {
        None => Err(Unusable::NoSuchPort),
        port => Ok((node, port)),
    }
}

impl Topology {
    /// What a route names as its backend: the node of it and of the port that is meant, or why it cannot be used.
    pub(crate) fn backend(
        &self,
        objects: &Objects,
        route: &Object,
        backend: &Reference,
    ) -> Result<(NodeId, Option<NodeId>), BackendRefusal> {
        let not_found = || BackendRefusal::NotFound(MissingObject::new(objects, backend));
        resolve(objects, self, route, backend).map_err(|unusable| match unusable {
            Unusable::UnknownKind => BackendRefusal::InvalidKind {
                group: backend.group.into(),
                kind: backend.kind.into(),
                none_exists: api::level(backend.group, backend.kind) == Level::Other,
            },
            Unusable::NotGranted => BackendRefusal::NotGranted(MissingGrant::new(&route.id, backend)),
            Unusable::NotThere => not_found(),
            Unusable::NoSuchPort => {
                MissingPort::new(objects, backend).map_or_else(not_found, BackendRefusal::NoSuchPort)
            }
        })
    }
}
