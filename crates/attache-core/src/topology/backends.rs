//! Rules and their backends.

use super::api::{self, RouteKind};
use super::delegation::{self, Delegation};
use super::index::{Found, Index, Refusal, dedup_after};
use super::reference::Reference;
use super::routes::is_mesh_only;
use super::{Level, Node, NodeId, Topology, sections, why};
use crate::object::{Object, ObjectId, Objects};
use crate::value::{Path, Value};

/// Finds the rules of a route, and links each to its backends.
pub fn link<'o>(index: &Index<'o>, id: ObjectId, route: &'o Object, found: &mut Found) {
    let home = route.id.namespace.as_str();
    let may_delegate = route.id.kind == RouteKind::Http.name();
    for (position, rule) in route.spec().list_at("rules").iter().enumerate() {
        let number = found.rules.len() as u32;
        let name = sections::name(Level::RouteRule, rule, position);
        found.rules.push(Node::section(Level::RouteRule, id, name, None));
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
            match resolve(index.objects, index.topology, route, &backend) {
                Ok((service, port)) => {
                    found.backends.push((number, service));
                    found.ports.extend(port.map(|port| (port, number)));
                }
                Err(refusal) => found.refuse(asked("backendRefs", at), &route.id, backend, refusal),
            }
        }
        dedup_after(first.0, &mut found.backends);
        dedup_after(first.1, &mut found.ports);
        for (at, mirror) in mirrors(rule) {
            let Some(mirror) = Reference::backend(mirror, home) else { continue };
            if let Err(refusal) = resolve(index.objects, index.topology, route, &mirror) {
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

/// The node of the backend, and that of the port that is meant, if it has ports.
pub fn resolve(
    objects: &Objects,
    topology: &Topology,
    route: &Object,
    backend: &Reference,
) -> Result<(NodeId, Option<NodeId>), Refusal> {
    let &Reference { group, kind, namespace, name, .. } = backend;
    let there = backend.find(objects);
    let known = match api::level(group, kind) {
        Level::Backend => true,
        Level::Other => there.is_some() || !objects.of_kind(group, kind).is_empty(),
        _ => false,
    };
    if !known {
        return Err(why::unknown_kind(backend));
    }
    if !topology.grants.permit(objects, &route.id, group, kind, namespace, name) && !is_mesh_only(route) {
        return Err(why::not_granted(&route.id, backend));
    }
    let id = there.ok_or_else(|| why::no_such_backend(objects, backend))?;
    let node = NodeId::whole(id);
    let mut ports = topology.sections(node);
    if ports.len() == 0 || backend.port.is_none() {
        return Ok((node, None));
    }
    match ports.find(|port| topology.node(*port).port == backend.port) {
        None => Err(why::missing_backend_port(objects.get(id), backend)),
        port => Ok((node, port)),
    }
}
