//! Refusals as a topology keeps them: most are a position in the object that asks, and are explained when they are listed.

use super::{RefusalCause, RefusedLink};
use crate::object::{ObjectId, Objects};
use crate::topology::Topology;
use crate::topology::links::{LinkContext, backends, routes};
use crate::value::Path;

/// What an object asks for and does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredRefusal {
    /// The parentRef of a route at this position.
    Parent(u32),
    /// The backend that a rule names, at this position of this field.
    Backend { rule: u32, field: &'static str, at: u32 },
    /// A refusal that is rare, or that several objects decide together.
    Explained(Box<RefusedLink>),
}

impl StoredRefusal {
    /// Whether a route asks for a backend, and not for a parent.
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

/// All refusals of a topology, in no order that means anything.
pub fn explain_all<'t>(topology: &'t Topology, objects: &'t Objects) -> impl Iterator<Item = RefusedLink> + 't {
    let context = LinkContext::new(objects, topology);
    let by_object = topology.refusals.iter().enumerate().map(|(at, refusals)| (ObjectId(at as u32), refusals));
    by_object
        .flat_map(move |(by, refusals)| refusals.iter().filter_map(|it| it.explain(&context, by)).collect::<Vec<_>>())
}
