//! All links: those of each object on its own, then what the links of several decide together.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use super::api::{self, GATEWAY_API, RouteKind};
use super::build::class_of;
use super::delegation::Delegation;
use super::index::{Found, Index};
use super::refusal::{ParentRefusal, StoredRefusal};
use super::routes::{ParentRequest, RouteAttacher};
use super::{NodeId, NodeRef, Topology, backends, contest, delegation, gateways};
use crate::object::{Object, ObjectId, Objects};
use crate::value::Path;

/// Routes are linked in parallel, this many at a time.
const CHUNK: usize = 512;

/// The links, and how deep below another route each delegated one stands.
pub fn all(topology: &Topology, index: &Index) -> (Found, HashMap<ObjectId, u32>) {
    let (mut found, of_routes) = rayon::join(|| link_gateways(topology, index), || link_routes(index));
    found.append_all(of_routes);
    let is_there = |kind: RouteKind| !index.objects.of_kind(GATEWAY_API, kind.name()).is_empty();
    if is_there(RouteKind::Http) && is_there(RouteKind::Grpc) {
        settle_contests(topology, index, &mut found);
    }
    let depths = settle_delegations(index.objects, &mut found);
    (found, depths)
}

fn link_gateways(topology: &Topology, index: &Index) -> Found {
    let mut found = Found::default();
    let sets = gateways::listener_sets(index, &mut found);
    for (id, gateway) in index.objects.each_of_kind(GATEWAY_API, "Gateway") {
        found.links.extend(class(topology, index.objects, gateway).map(|class| (class, NodeId::whole(id))));
        gateways::link(index, id, sets.get(&id).map_or(&[], Vec::as_slice), &mut found);
    }
    found
}

/// The GatewayClass of a Gateway.
pub fn class(topology: &Topology, objects: &Objects, gateway: &Object) -> Option<NodeId> {
    topology.find(objects, &class_of(gateway)?)
}

fn link_routes(index: &Index) -> Vec<Found> {
    let mut routes: Vec<ObjectId> = api::routes(index.objects).collect();
    // So are the links of each node that they share.
    routes.sort();
    let chunks = routes.par_chunks(CHUNK).map(|routes| {
        let mut found = Found::default();
        let mut attacher = RouteAttacher::new(index);
        for &id in routes {
            attacher.attach(id, ParentRequest::by(index.objects, id), &mut found);
            backends::link(index, id, &index.objects[id], &mut found);
        }
        found
    });
    chunks.collect()
}

/// Takes back the links of HTTPRoutes and GRPCRoutes that lose against an older one of the other kind. All that may compete
/// with one of them are there.
pub fn settle_contests(topology: &Topology, index: &Index, found: &mut Found) {
    let kind = |route: NodeId| RouteKind::named(&topology.id(index.objects, route).kind);
    let mut contests: BTreeMap<NodeId, Vec<ObjectId>> = BTreeMap::new();
    for &(listener, route) in &found.links {
        if kind(route) == Some(RouteKind::Grpc) {
            contests.entry(listener).or_default().extend(route.object());
        }
    }
    for &(listener, route) in &found.links {
        if kind(route) == Some(RouteKind::Http)
            && let Some(routes) = contests.get_mut(&listener)
        {
            routes.extend(route.object());
        }
    }
    let mut lost = HashSet::new();
    for (node, routes) in contests {
        let Some(owner) = topology[node].owner.object().filter(|owner| contest::is_held(index, *owner)) else {
            continue;
        };
        let position = topology.position(node);
        let Some(listener) = position.and_then(|at| index.listeners(owner).get(at)) else { continue };
        for (route, refusal) in contest::losers(index, listener, routes) {
            lost.insert((node, NodeId::whole(route)));
            let asked = (route, Path::parse("spec.hostnames"));
            found.refuse(asked, topology.node_ref(index.objects, node), &index.objects[route].id, refusal);
        }
    }
    found.links.retain(|link| !lost.contains(link));
}

fn settle_delegations(objects: &Objects, found: &mut Found) -> HashMap<ObjectId, u32> {
    let mut delegations = std::mem::take(&mut found.delegations);
    delegations.sort_unstable();
    delegations.dedup();
    let mut unwanted = unwanted(objects, &delegations, found);
    found.append(&mut unwanted);
    if delegations.is_empty() {
        return HashMap::new();
    }
    let attached = found.links.iter().map(|(_, child)| *child);
    let attached: HashSet<NodeId> = attached.chain(found.frontends.iter().map(|(_, child)| *child)).collect();
    delegation::settle(objects, &delegations, |route| attached.contains(&NodeId::whole(route)), found)
}

/// Refuses the routes that name a parent route which does not delegate to them.
fn unwanted(objects: &Objects, delegations: &[Delegation], found: &Found) -> Found {
    let mut unwanted = Found::default();
    if found.adopted.is_empty() {
        return unwanted;
    }
    let given: HashSet<(ObjectId, ObjectId)> = delegations.iter().map(|one| (one.parent, one.child)).collect();
    let refused = found.denied.iter().filter_map(|(_, denied)| match denied {
        StoredRefusal::Explained(refused) => Some((&refused.parent, &refused.child)),
        _ => None,
    });
    let refused: HashSet<(&NodeRef, &NodeRef)> = refused.collect();
    for (parent, child_id) in found.adopted.iter().filter(|link| !given.contains(*link)) {
        let [parent, child] = [parent, child_id].map(|id| &objects[*id].id);
        if !refused.contains(&(&parent.into(), &child.into())) {
            let asked = (*child_id, Path::parse("spec.parentRefs"));
            unwanted.refuse(asked, parent, child, ParentRefusal::NotDelegated { parent: parent.clone() });
        }
    }
    unwanted
}
