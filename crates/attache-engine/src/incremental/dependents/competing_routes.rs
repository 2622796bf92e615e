//! HTTPRoutes and GRPCRoutes that compete for a hostname: a listener serves only one of the two kinds for it. A route that
//! is added or removed can change the links of the routes that it competes with, and those the links of others.

use std::borrow::Cow;

use hashbrown::HashSet;

use super::index::{DependencyIndex, DependencyKey};
use crate::engine_parts::EngineParts;
use crate::incremental::update::UpdateContext;
use crate::object::{Object, ObjectId, ObjectRef};
use crate::topology::api::{GATEWAY_API, RouteKind};
use crate::topology::hostname::{suffixes, wildcard};
use crate::topology::{LinkSides, routes};
use crate::value::Value;

/// The kind of a route, and the kind that it competes with.
fn competing_kinds(id: &ObjectRef) -> Option<(RouteKind, RouteKind)> {
    match RouteKind::named(&id.kind).filter(|_| id.group == GATEWAY_API)? {
        RouteKind::Http => Some((RouteKind::Http, RouteKind::Grpc)),
        RouteKind::Grpc => Some((RouteKind::Grpc, RouteKind::Http)),
        _ => None,
    }
}

/// The hostnames of a route. A route without hostnames has the empty one, which means any host.
fn hostnames(route: &Object) -> impl Iterator<Item = Cow<'_, str>> {
    let hostnames = route.spec().list_at("hostnames").iter().filter_map(Value::as_str);
    let any = if hostnames.clone().next().is_none() { Some("") } else { None };
    hostnames.chain(any).map(|hostname| match wildcard(hostname) {
        // An invalid wildcard can match anything.
        Some(suffix) if !suffix.starts_with('.') => Cow::Borrowed(""),
        _ if hostname.bytes().any(|it| it.is_ascii_uppercase()) => Cow::Owned(hostname.to_ascii_lowercase()),
        _ => Cow::Borrowed(hostname),
    })
}

/// Adds the keys under which routes of the other kind find a route.
pub(super) fn add_hostnames(route: &Object, mut add: impl FnMut(DependencyKey<'_>)) {
    let Some((kind, _)) = competing_kinds(&route.id) else { return };
    for hostname in hostnames(route) {
        let suffix = match wildcard(&hostname) {
            Some(suffix) => {
                add(DependencyKey::WildcardHostname(kind, suffix));
                suffix
            }
            None => {
                add(DependencyKey::Hostname(kind, &hostname));
                &hostname
            }
        };
        let suffixes = suffixes(suffix).filter(|suffix| !suffix.is_empty());
        suffixes.for_each(|suffix| add(DependencyKey::HostnameBelow(kind, suffix)));
    }
}

/// The routes that a route can compete with.
fn competing_routes(index: &DependencyIndex, route: &Object, mut found: impl FnMut(ObjectId)) {
    let Some((_, other)) = competing_kinds(&route.id) else { return };
    let mut find = |key: DependencyKey<'_>| index.dependents(key).for_each(&mut found);
    for hostname in hostnames(route) {
        match wildcard(&hostname) {
            // For any host: all routes with the same parents.
            Some("") => routes::parents(route)
                .for_each(|it| find(DependencyKey::Object(it.group, it.kind, it.namespace, it.name))),
            Some(suffix) => find(DependencyKey::HostnameBelow(other, suffix)),
            None => find(DependencyKey::Hostname(other, &hostname)),
        }
        suffixes(&hostname).for_each(|suffix| find(DependencyKey::WildcardHostname(other, suffix)));
    }
}

/// Adds the routes that compete with any of the routes whose parents are relinked, transitively.
pub(in crate::incremental) fn add_competing_routes(
    context: &UpdateContext<'_>,
    next: &EngineParts,
    affected: &mut Vec<(ObjectId, LinkSides)>,
) {
    if !context.dependencies.has_hostnames() {
        return;
    }
    let linked = affected.iter().filter(|(_, sides)| sides.parents).map(|(id, _)| *id);
    let mut known: HashSet<ObjectId> = linked.clone().collect();
    let mut todo: Vec<ObjectId> = context.changes.iter().map(|it| it.id).chain(linked).collect();
    while let Some(id) = todo.pop() {
        for parts in [context.before.parts(), next] {
            let Some(route) = parts.objects.shared(id) else { continue };
            if competing_kinds(&route.id).is_some() && parts.topology.competes(&parts.objects, id) {
                competing_routes(context.dependencies, route, |it| {
                    let exists = next.objects.shared(it).is_some_and(|it| competing_kinds(&it.id).is_some());
                    if exists && known.insert(it) {
                        affected.push((it, LinkSides::PARENTS));
                        todo.push(it);
                    }
                });
            }
        }
    }
}
