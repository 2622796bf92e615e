//! Refusals as a topology stores them: most are an index into the object that requests the link, and are explained when
//! they are listed.

use std::collections::BTreeSet;

use super::{RefusalCause, RefusedLink};
use crate::object::{ObjectId, Objects};
use crate::topology::links::{LinkContext, backends, routes, stream_routes};
use crate::topology::{NodeId, Topology};
use crate::value::Path;

/// A refused link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredRefusal {
    /// The parentRef of a route with this index.
    Parent(u32),
    /// The backend that a rule refers to, at this index of this field.
    Backend { rule: u32, field: &'static str, at: u32 },
    /// A refusal that is rare, or that depends on several objects.
    Explained(Box<RefusedLink>),
}

impl StoredRefusal {
    /// Whether the link is one to a backend, not to a parent.
    pub fn is_of_backend(&self) -> bool {
        match self {
            StoredRefusal::Parent(_) => false,
            StoredRefusal::Backend { .. } => true,
            StoredRefusal::Explained(refused) => {
                matches!(refused.cause, RefusalCause::Backend(_) | RefusalCause::Delegation(_))
            }
        }
    }

    fn explain(&self, context: &LinkContext, by: ObjectId) -> Option<RefusedLink> {
        match *self {
            StoredRefusal::Explained(ref refused) => Some((**refused).clone()),
            StoredRefusal::Parent(at) => {
                let path = Path::parse("spec.parentRefs").index(at as usize);
                routes::explain(context, by, at as usize, path)
            }
            StoredRefusal::Backend { rule, field, at } => {
                let path = Path::parse("spec.rules").index(rule as usize).key(field).index(at as usize);
                backends::explain(context, by, field, path)
            }
        }
    }
}

/// All refusals of a topology, unordered.
pub fn explain_all<'t>(topology: &'t Topology, objects: &'t Objects) -> impl Iterator<Item = RefusedLink> + 't {
    let context = LinkContext::new(objects, topology);
    let by_object = topology.refusals.iter().enumerate().map(|(at, refusals)| (ObjectId(at as u32), refusals));
    let stored = by_object
        .flat_map(move |(by, refusals)| refusals.iter().filter_map(|it| it.explain(&context, by)).collect::<Vec<_>>());
    let idle = topology.idle_links.iter();
    stored.chain(idle.filter_map(|(listener, route)| stream_routes::explain(objects, topology, *listener, *route)))
}

/// The refusals of links that some objects request, unordered.
pub fn explain_by<'t>(
    topology: &'t Topology,
    objects: &'t Objects,
    by: &'t BTreeSet<ObjectId>,
) -> impl Iterator<Item = RefusedLink> + 't {
    let context = LinkContext::new(objects, topology);
    let by_object = by.iter().map(|id| (*id, topology.refusals_of(*id)));
    let stored = by_object
        .flat_map(move |(by, refusals)| refusals.iter().filter_map(|it| it.explain(&context, by)).collect::<Vec<_>>());
    let is_wanted = |route: &NodeId| route.object().is_some_and(|route| by.contains(&route));
    let idle = topology.idle_links.iter().filter(move |(_, route)| is_wanted(route));
    stored.chain(idle.filter_map(|(listener, route)| stream_routes::explain(objects, topology, *listener, *route)))
}
