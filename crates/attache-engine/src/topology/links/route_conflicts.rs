//! HTTPRoutes and GRPCRoutes that compete for a hostname on one listener: only the older one is attached.

use std::collections::BTreeMap;

use hashbrown::HashSet;

use super::routes::{ParentRequest, RouteView};
use super::{FoundLinks, LinkContext, gateways};
use crate::object::{ObjectId, Objects};
use crate::topology::api::RouteKind;
use crate::topology::hostname::{suffixes, wildcard};
use crate::topology::listeners::Listener;
use crate::topology::refusal::ParentRefusal;
use crate::topology::{NodeId, Topology};
use crate::value::Path;

/// Whether HTTPRoutes and GRPCRoutes compete on the listeners of a Gateway or ListenerSet.
fn compete(context: &LinkContext, owner: ObjectId) -> bool {
    let gateway = gateways::gateway_of_owner(context.objects, owner);
    let controllers = context.topology.controllers();
    let owner = gateway.map(|gateway| controllers.gateway_owner(context.objects, gateway));
    !owner.is_some_and(|owner| owner.supports().shared_hostnames)
}

/// Whether a route may compete with routes of the other kind at one of its parents.
pub fn competes(objects: &Objects, topology: &Topology, route: ObjectId) -> bool {
    let kind = objects.get(route).and_then(|route| RouteKind::named(&route.id.kind));
    if !matches!(kind, Some(RouteKind::Http | RouteKind::Grpc)) {
        return false;
    }
    let owners: Vec<ObjectId> = ParentRequest::all(objects, route).filter_map(|request| request.owner()).collect();
    let context = LinkContext::for_owners(objects, topology, owners.iter().copied());
    owners.iter().any(|owner| compete(&context, *owner))
}

/// Removes the links of HTTPRoutes and GRPCRoutes that lose to an older route of the other kind. `found` must contain
/// the links of all routes that may compete with each other.
pub fn settle(context: &LinkContext, found: &mut FoundLinks) {
    let LinkContext { objects, topology, .. } = context;
    let kind = |route: NodeId| RouteKind::named(&topology.id(objects, route).kind);
    let mut competing: BTreeMap<NodeId, Vec<ObjectId>> = BTreeMap::new();
    for &(listener, route) in &found.links {
        if kind(route) == Some(RouteKind::Grpc) {
            competing.entry(listener).or_default().extend(route.object());
        }
    }
    for &(listener, route) in &found.links {
        if kind(route) == Some(RouteKind::Http)
            && let Some(routes) = competing.get_mut(&listener)
        {
            routes.extend(route.object());
        }
    }
    let mut lost = HashSet::new();
    for (node, routes) in competing {
        let Some(owner) = topology[node].owner.object().filter(|owner| compete(context, *owner)) else { continue };
        let position = topology.position(node);
        let Some(listener) = position.and_then(|at| context.listeners(owner).get(at)) else { continue };
        for (route, refusal) in losers(context, (node, listener), routes) {
            lost.insert((node, NodeId::whole(route)));
            let asked = (route, Path::parse("spec.hostnames"));
            found.refuse(asked, topology.node_ref(objects, node), &objects[route].id, refusal);
        }
    }
    found.links.retain(|link| !lost.contains(link));
}

/// The routes on a listener that lose to older ones.
fn losers(
    context: &LinkContext,
    (node, listener): (NodeId, &Listener),
    mut routes: Vec<ObjectId>,
) -> Vec<(ObjectId, ParentRefusal)> {
    routes.sort_by(|a, b| context.objects[*a].by_age(&context.objects[*b]));
    let mut http = HostnameSet::default();
    let mut grpc = HostnameSet::default();
    let mut losers = Vec::new();
    for id in routes {
        let Some(view) = RouteView::new(context, &context.objects[id]) else { continue };
        let (own, others, older) = match view.kind {
            RouteKind::Http => (&mut http, &grpc, RouteKind::Grpc),
            _ => (&mut grpc, &http, RouteKind::Http),
        };
        let hosts = view.hostnames_on(context.topology, node, listener);
        match hosts.iter().find(|host| others.intersects(host)) {
            None => hosts.iter().for_each(|host| own.insert(host)),
            Some(host) => {
                let (hostname, listener) = ((*host).into(), listener.name.into());
                losers.push((id, ParentRefusal::Conflicted { older, hostname, listener }));
            }
        }
    }
    losers
}

/// A set of hostnames that is searched quickly for an intersection with another hostname.
#[derive(Debug, Default)]
struct HostnameSet<'o> {
    exact: HashSet<&'o str>,
    /// The suffixes after the `*`; empty for any hostname.
    wildcards: HashSet<&'o str>,
    /// Every `.suffix` of all hostnames, and the empty one.
    suffixes: HashSet<&'o str>,
}

impl<'o> HostnameSet<'o> {
    fn insert(&mut self, host: &'o str) {
        match wildcard(host) {
            Some(suffix) => {
                self.wildcards.insert(suffix);
                self.suffixes.extend(suffixes(suffix));
            }
            None => {
                self.exact.insert(host);
                self.suffixes.extend(suffixes(host));
            }
        }
    }

    fn intersects(&self, host: &str) -> bool {
        match wildcard(host) {
            Some(suffix) => {
                self.suffixes.contains(suffix) || suffixes(suffix).any(|above| self.wildcards.contains(above))
            }
            None => self.exact.contains(host) || suffixes(host).any(|above| self.wildcards.contains(above)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::hostname::intersect;

    #[test]
    fn a_set_intersects_with_a_hostname_if_one_of_its_hostnames_does() {
        let hostnames = ["", "x.com", "a.x.com", "*.x.com", "*.a.x.com", "b.com", "*.com"];
        for inside in hostnames {
            let mut set = HostnameSet::default();
            assert!(!set.intersects(inside));
            set.insert(inside);
            for other in hostnames {
                assert_eq!(set.intersects(other), intersect(inside, other), "{inside} and {other}");
            }
        }
    }
}
