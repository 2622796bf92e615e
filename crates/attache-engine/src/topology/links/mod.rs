//! Finds the links of objects, by the rules of the Gateway API.
//!
//! ```text
//! gateways ─→ certificates, listener_conflicts ─┐
//! routes (to their parents) ────────────────────┼─→ FoundLinks ─→ route_conflicts, delegation ─→ FoundLinks
//! backends (of their rules) ────────────────────┘
//! ```
//!
//! The links of each object are found on their own. What several objects decide together comes after that: HTTPRoutes and
//! GRPCRoutes that compete for a hostname, and routes that delegate to each other. The links of kinds that the Gateway API
//! does not know are in `own_kinds`.

pub(super) mod backends;
mod certificates;
mod context;
pub(crate) mod delegation;
mod found;
pub(crate) mod gateways;
mod listener_conflicts;
mod own_kinds;
pub(super) mod route_conflicts;
pub(crate) mod routes;

use hashbrown::HashMap;
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use super::api::{self, GATEWAY_API, RouteKind};
use super::{NodeId, Topology};
use crate::object::{ObjectId, Objects};
use routes::{ParentRequest, RouteAttacher};

pub(super) use context::LinkContext;
pub(super) use found::FoundLinks;
pub use own_kinds::LinkFault;
pub(super) use own_kinds::OwnLinks;

/// Routes are linked in parallel, this many at a time.
const CHUNK: usize = 512;

/// Finds the links of all objects, and how many routes delegate to each other above each route.
pub fn find_all(objects: &Objects, topology: &Topology) -> (FoundLinks, HashMap<ObjectId, u32>) {
    let context = &LinkContext::new(objects, topology);
    let (mut found, of_routes) = rayon::join(|| find_gateway_links(context), || find_route_links(context));
    found.append_all(of_routes);
    let exists = |kind: RouteKind| !objects.of_kind(GATEWAY_API, kind.name()).is_empty();
    if exists(RouteKind::Http) && exists(RouteKind::Grpc) {
        route_conflicts::settle(context, &mut found);
    }
    let depths = delegation::settle(objects, &mut found);
    (found, depths)
}

fn find_gateway_links(context: &LinkContext) -> FoundLinks {
    let mut found = FoundLinks::default();
    let sets = gateways::listener_sets(context, &mut found);
    for (id, gateway) in context.objects.each_of_kind(GATEWAY_API, "Gateway") {
        let class = gateways::class(context.objects, context.topology, gateway);
        found.links.extend(class.map(|class| (class, NodeId::whole(id))));
        gateways::link(context, id, sets.get(&id).map_or(&[], Vec::as_slice), &mut found);
    }
    found
}

fn find_route_links(context: &LinkContext) -> Vec<FoundLinks> {
    let mut routes: Vec<ObjectId> = api::routes(context.objects).collect();
    // The links of each parent are then sorted, too.
    routes.sort();
    let chunks = routes.par_chunks(CHUNK).map(|routes| {
        let mut found = FoundLinks::default();
        let mut attacher = RouteAttacher::new(context);
        for &id in routes {
            attacher.attach(id, ParentRequest::all(context.objects, id), &mut found);
            backends::link(context, id, &context.objects[id], &mut found);
        }
        found
    });
    chunks.collect()
}
