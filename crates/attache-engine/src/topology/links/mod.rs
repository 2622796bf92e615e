//! Finds the links of objects, by the rules of the Gateway API.
//!
//! ```text
//! gateways ─→ certificates, listener_conflicts ─→ isolation
//!                                                    ↓
//!             routes (to their parents) ──┬─→ FoundLinks ─→ route_conflicts, delegation, stream_routes
//!             backends (of their rules) ──┘
//! ```
//!
//! First the links of each object are found separately. Then links are resolved that depend on several objects:
//! HTTPRoutes and GRPCRoutes that compete for a hostname, routes that delegate to each other, and TCPRoutes or
//! UDPRoutes on one listener. The links of custom kinds are in `own_kinds`.

pub(super) mod backends;
mod certificates;
mod context;
pub(crate) mod delegation;
mod found;
pub(crate) mod gateways;
pub(super) mod isolation;
mod listener_conflicts;
mod own_kinds;
pub(super) mod route_conflicts;
pub(crate) mod routes;
pub(super) mod stream_routes;

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

/// The number of routes that are linked in one parallel task.
const CHUNK: usize = 512;

/// Finds the links of Gateways and ListenerSets, and which listeners are served.
pub fn find_of_gateways(objects: &Objects, topology: &Topology) -> FoundLinks {
    find_gateway_links(&LinkContext::new(objects, topology))
}

/// Adds the links of routes to those of Gateways. It must be known which listeners are served. Also returns the depth
/// of delegation of each route.
pub fn find_of_routes(
    objects: &Objects,
    topology: &Topology,
    mut found: FoundLinks,
) -> (FoundLinks, HashMap<ObjectId, u32>) {
    let context = &LinkContext::new(objects, topology);
    found.append_all(find_route_links(context));
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
    // The links of each parent are then sorted as well.
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
