//! HTTPRoutes and GRPCRoutes whose hostnames meet: who comes or goes may make a difference to those of the other kind, and
//! they to others in turn.

use std::borrow::Cow;

use hashbrown::HashSet;

use super::dependency_index::{Dependencies, DependencyIndex, Key};
use super::step::Step;
use crate::object::{Object, ObjectId, ObjectRef};
use crate::topology::api::{GATEWAY_API, RouteKind};
use crate::topology::hostname::{suffixes, wildcard};
use crate::topology::{LinkSides, NeedsRebuild, routes};
use crate::value::Value;

/// Routes of this kind compete with those of that.
fn rival(id: &ObjectRef) -> Option<(RouteKind, RouteKind)> {
    match RouteKind::named(&id.kind).filter(|_| id.group == GATEWAY_API)? {
        RouteKind::Http => Some((RouteKind::Http, RouteKind::Grpc)),
        RouteKind::Grpc => Some((RouteKind::Grpc, RouteKind::Http)),
        _ => None,
    }
}

/// The hostnames of a route, the empty one if it is for any host.
fn hostnames(route: &Object) -> impl Iterator<Item = Cow<'_, str>> {
    let hostnames = route.spec().list_at("hostnames").iter().filter_map(Value::as_str);
    let any = if hostnames.clone().next().is_none() { Some("") } else { None };
    hostnames.chain(any).map(|hostname| match wildcard(hostname) {
        // A wildcard that is none is as good as any.
        Some(suffix) if !suffix.starts_with('.') => Cow::Borrowed(""),
        _ if hostname.bytes().any(|it| it.is_ascii_uppercase()) => Cow::Owned(hostname.to_ascii_lowercase()),
        _ => Cow::Borrowed(hostname),
    })
}

impl Dependencies {
    /// Takes note of where routes of the other kind find it.
    pub fn compete(&mut self, route: &Object) {
        let Some((kind, _)) = rival(&route.id) else { return };
        for hostname in hostnames(route) {
            let suffix = match wildcard(&hostname) {
                Some(suffix) => {
                    self.at(Key::Wildcard(kind, suffix));
                    suffix
                }
                None => {
                    self.at(Key::Host(kind, &hostname));
                    &hostname
                }
            };
            suffixes(suffix).filter(|suffix| !suffix.is_empty()).for_each(|suffix| self.at(Key::Below(kind, suffix)));
        }
    }
}

impl DependencyIndex {
    /// The routes with which one may compete.
    fn rivals(&self, route: &Object, mut found: impl FnMut(ObjectId)) {
        let Some((_, rival)) = rival(&route.id) else { return };
        let mut at = |key: Key<'_>| self.at(key).for_each(&mut found);
        for hostname in hostnames(route) {
            match wildcard(&hostname) {
                // Whoever asks for the same parents.
                Some("") => {
                    routes::parents(route).for_each(|it| at(Key::Object(it.group, it.kind, it.namespace, it.name)))
                }
                Some(suffix) => at(Key::Below(rival, suffix)),
                None => at(Key::Host(rival, &hostname)),
            }
            suffixes(&hostname).for_each(|suffix| at(Key::Wildcard(rival, suffix)));
        }
    }
}

impl Step<'_> {
    /// Adds the routes with which some routes may compete, and those with which they may in turn.
    pub(super) fn add_rivals(&self, routes: &mut Vec<(ObjectId, LinkSides)>) -> Result<(), NeedsRebuild> {
        let is_there = |kind: RouteKind| self.object_counts.count(GATEWAY_API, kind.name()) > 0;
        if !self.dependency_index.have_rivals() {
            return match is_there(RouteKind::Http) && is_there(RouteKind::Grpc) {
                true => Err(NeedsRebuild::FirstCompetingRoute),
                false => Ok(()),
            };
        }
        let asking = routes.iter().filter(|(_, sides)| sides.parents).map(|(id, _)| *id);
        let mut known: HashSet<ObjectId> = asking.clone().collect();
        let mut todo: Vec<ObjectId> = self.touched.iter().map(|it| it.id).chain(asking).collect();
        while let Some(id) = todo.pop() {
            for engine in self.engines() {
                let Some(route) = engine.objects.shared(id) else { continue };
                if rival(&route.id).is_some() && engine.topology.competes(&engine.objects, id) {
                    self.dependency_index.rivals(route, |it| {
                        let is_there = self.next.objects.shared(it).is_some_and(|it| rival(&it.id).is_some());
                        if is_there && known.insert(it) {
                            routes.push((it, LinkSides::PARENTS));
                            todo.push(it);
                        }
                    });
                }
            }
        }
        Ok(())
    }
}
