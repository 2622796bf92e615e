//! Rules and their backends.

use super::api::{self, RouteKind};
use super::delegation::{self, Delegation};
use super::index::{Found, Index, Refusal, dedup_after};
use super::reference::Reference;
use super::routes::is_mesh_only;
use super::sections::{self, Sections};
use super::{Grants, Level, Node, NodeId, Owner, why};
use crate::object::{Object, ObjectId, Objects};
use crate::value::{Path, Value};

/// Finds the rules of a route, and links each to its backends.
pub fn link<'o>(index: &Index<'o>, id: ObjectId, route: &'o Object, found: &mut Found) {
    let home = route.id.namespace.as_str();
    let may_delegate = route.id.kind == RouteKind::Http.name();
    for (position, rule) in route.spec().list_at("rules").iter().enumerate() {
        let number = found.rules.len() as u32;
        let name = sections::name(Level::RouteRule, rule, position);
        found.rules.push(Node { level: Level::RouteRule, owner: Owner::Object(id), section: Some(name) });
        let first = (found.backends.len(), found.ports.len());
        let asked = |field: &str, at| (id, Path::parse("spec.rules").index(position).key(field).index(at));
        for (at, backend) in rule.list_at("backendRefs").iter().enumerate() {
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
                    Err(refusal) => found.refuse(asked("backendRefs", at), &route.id, backend, refusal),
                }
                continue;
            }
            match resolve(index.objects, index.sections, &index.grants, route, &backend) {
                Ok((service, port)) => {
                    found.backends.push((number, NodeId(service.0)));
                    found.ports.extend(port.map(|port| (index.sections.node(service, port), number)));
                }
                Err(refusal) => found.refuse(asked("backendRefs", at), &route.id, backend, refusal),
            }
        }
        dedup_after(first.0, &mut found.backends);
        dedup_after(first.1, &mut found.ports);
        for (at, mirror) in mirrors(rule) {
            let Some(mirror) = Reference::backend(mirror, home) else { continue };
            if let Err(refusal) = resolve(index.objects, index.sections, &index.grants, route, &mirror) {
                found.refuse(asked("filters", at), &route.id, mirror, refusal);
            }
        }
    }
}

/// Where a rule sends copies: resolved as backends are, but nobody's answer comes from there.
fn mirrors(rule: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let filters = rule.list_at("filters").iter().enumerate();
    filters.filter_map(|(at, filter)| Some((at, filter.at(&["requestMirror", "backendRef"])?)))
}

/// The backend, and the position of the port that is meant among those it has.
pub fn resolve(
    objects: &Objects,
    sections: &Sections,
    grants: &Grants,
    route: &Object,
    backend: &Reference,
) -> Result<(ObjectId, Option<usize>), Refusal> {
    let level = api::level(backend.group, backend.kind);
    let known = match level {
        Level::Backend => true,
        Level::Other => !objects.of_kind(backend.group, backend.kind).is_empty(),
        _ => false,
    };
    if !known {
        return Err(why::unknown_kind(backend));
    }
    let &Reference { group, kind, namespace, name, .. } = backend;
    if !grants.permit(&route.id, group, kind, namespace, name) && !is_mesh_only(route) {
        return Err(why::not_granted(&route.id, backend));
    }
    let id = backend.find(objects).ok_or_else(|| why::no_such_backend(objects, backend))?;
    let ports = sections.ports(id);
    if ports.is_empty() || backend.port.is_none() {
        return Ok((id, None));
    }
    match ports.iter().position(|port| *port == backend.port) {
        None => Err(why::missing_backend_port(objects.get(id), backend)),
        port => Ok((id, port)),
    }
}
