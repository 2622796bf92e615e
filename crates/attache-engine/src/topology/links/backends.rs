//! The rules of routes, and their backends.

use super::delegation::{self, Delegation};
use super::routes::is_mesh_only;
use super::{FoundLinks, LinkContext, found};
use crate::object::{Object, ObjectId, Objects};
use crate::topology::api::{self, RouteKind};
use crate::topology::conventions::Conventions;
use crate::topology::reference::Reference;
use crate::topology::refusal::{BackendRefusal, MissingGrant, MissingObject, MissingPort, RefusedLink, StoredRefusal};
use crate::topology::sections::{self, Section};
use crate::topology::{Level, NodeId, Topology};
use crate::value::{Path, Value};

const BACKENDS: &str = "backendRefs";
const FILTERS: &str = "filters";
const MIRROR: [&str; 2] = ["requestMirror", "backendRef"];

/// Finds the rules of a route, and links each to its backends.
pub fn link<'o>(context: &LinkContext<'o>, id: ObjectId, route: &'o Object, found: &mut FoundLinks) {
    let own_namespace = route.id.namespace.as_str();
    let may_delegate = route.id.kind == RouteKind::Http.name();
    let (first_rule, mut are_named) = (found.rules.len(), false);
    for (position, rule) in sections::rules(route).iter().enumerate() {
        let number = found.rules.len() as u32;
        let own_name = sections::own_name(rule);
        are_named |= own_name.is_some();
        let (level, name) = (Level::RouteRule, own_name.cloned().unwrap_or_else(|| sections::rule(position)));
        found.rules.push(Section { level, owner: id, name, port: None, shares_name: false });
        let first = (found.backends.len(), found.ports.len());
        let refusal = |field, at| (id, StoredRefusal::Backend { rule: position as u32, field, at: at as u32 });
        for (at, backend) in rule.list_at(BACKENDS).iter().enumerate() {
            let Some(backend) = Reference::backend(backend, own_namespace) else { continue };
            if may_delegate && delegation::is_delegation(&backend) {
                match delegation::children(context, route, rule, &backend) {
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
            match resolve(context.objects, context.topology, route, &backend) {
                Ok((service, port)) => {
                    found.backends.push((number, service));
                    found.ports.extend(port.map(|port| (port, number)));
                }
                Err(_) => found.refusals.push(refusal(BACKENDS, at)),
            }
        }
        found::dedup_after(first.0, &mut found.backends);
        found::dedup_after(first.1, &mut found.ports);
        for (at, mirror) in mirrors(rule) {
            let Some(mirror) = Reference::backend(mirror, own_namespace) else { continue };
            if resolve(context.objects, context.topology, route, &mirror).is_err() {
                found.refusals.push(refusal(FILTERS, at));
            }
        }
    }
    if are_named {
        sections::mark_shared_names(sections::rules(route), &mut found.rules[first_rule..]);
    }
}

/// The backends to which a rule mirrors requests. They are resolved like backends, but not linked: their responses are
/// ignored.
fn mirrors(rule: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let filters = rule.list_at(FILTERS).iter().enumerate();
    filters.filter_map(|(at, filter)| Some((at, filter.at(&MIRROR)?)))
}

/// Why a backend cannot be used, as a code without details.
#[derive(Clone, Copy, Debug)]
pub enum BackendFaultCode {
    InvalidKind,
    NotGranted,
    NotFound,
    NoSuchPort,
}

/// Explains why a rule cannot use a backend. `path` leads to an item of `field`, which refers to it.
pub fn explain(context: &LinkContext, by: ObjectId, field: &str, path: Path) -> Option<RefusedLink> {
    let route = context.objects.get(by)?;
    let named = path.resolve(&route.body)?;
    let named = if field == FILTERS { named.at(&MIRROR)? } else { named };
    let backend = Reference::backend(named, &route.id.namespace)?;
    let refusal = find(context.objects, context.topology, route, &backend).err()?;
    Some(RefusedLink { parent: (&route.id).into(), child: backend.into(), cause: refusal.into(), by, path })
}

/// The node of a backend, and that of the port that is named, if the backend has ports.
fn resolve(
    objects: &Objects,
    topology: &Topology,
    route: &Object,
    backend: &Reference,
) -> Result<(NodeId, Option<NodeId>), BackendFaultCode> {
    let &Reference { group, kind, namespace, name, .. } = backend;
    let found = backend.find(objects).map(NodeId::whole).or_else(|| topology.find_implied(&backend.object_ref()));
    let is_valid_kind = match api::level(group, kind) {
        Level::Backend => true,
        Level::Other => found.is_some() || !objects.of_kind(group, kind).is_empty(),
        _ => false,
    };
    if !is_valid_kind {
        return Err(BackendFaultCode::InvalidKind);
    }
    if !topology.grants.permit(objects, &route.id, group, kind, namespace, name) && !is_mesh_only(route) {
        return Err(BackendFaultCode::NotGranted);
    }
    let node = found.ok_or(BackendFaultCode::NotFound)?;
    let mut ports = topology.sections(node);
    if ports.len() == 0 || backend.port.is_none() {
        return Ok((node, None));
    }
    match ports.find(|port| topology[*port].port == backend.port) {
        // The endpoints of such a backend have ports of their own.
        None if Conventions::built_in().has_endpoints(group, kind) => Ok((node, None)),
        None => Err(BackendFaultCode::NoSuchPort),
        port => Ok((node, port)),
    }
}

/// The nodes of a backend of a route and of the port that the route names, or why the backend cannot be used.
pub fn find(
    objects: &Objects,
    topology: &Topology,
    route: &Object,
    backend: &Reference,
) -> Result<(NodeId, Option<NodeId>), BackendRefusal> {
    let not_found = || BackendRefusal::NotFound(MissingObject::new(objects, backend));
    resolve(objects, topology, route, backend).map_err(|unusable| match unusable {
        BackendFaultCode::InvalidKind => BackendRefusal::InvalidKind {
            group: backend.group.into(),
            kind: backend.kind.into(),
            none_exists: api::level(backend.group, backend.kind) == Level::Other,
        },
        BackendFaultCode::NotGranted => BackendRefusal::NotGranted(MissingGrant::new(&route.id, backend)),
        BackendFaultCode::NotFound => not_found(),
        BackendFaultCode::NoSuchPort => {
            MissingPort::new(objects, backend).map_or_else(not_found, BackendRefusal::NoSuchPort)
        }
    })
}
