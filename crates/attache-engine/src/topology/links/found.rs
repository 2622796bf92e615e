//! The found links and refusals.

use super::delegation::Delegation;
use crate::object::ObjectId;
use crate::topology::refusal::{RefusalCause, RefusedLink, StoredRefusal};
use crate::topology::sections::Section;
use crate::topology::{NodeId, NodeRef};
use crate::value::Path;

/// The links of some objects, and the refused ones.
#[derive(Debug, Default)]
pub struct FoundLinks {
    /// From parent to child.
    pub links: Vec<(NodeId, NodeId)>,
    /// The rules of routes. Those of one route are adjacent.
    pub rules: Vec<Section>,
    /// From one of the `rules`, by its index, to its backend.
    pub backends: Vec<(u32, NodeId)>,
    /// From the port of a backend to one of the `rules` that names it.
    pub ports: Vec<(NodeId, u32)>,
    /// A Service and a route whose parent it is.
    pub frontends: Vec<(ObjectId, NodeId)>,
    /// Delegations of rules.
    pub delegations: Vec<Delegation>,
    /// A parent route and the child that refers to it.
    pub parent_routes: Vec<(ObjectId, ObjectId)>,
    /// The listeners that are not served.
    pub unserved: Vec<NodeId>,
    /// With the object that requests the link.
    pub refusals: Vec<(ObjectId, StoredRefusal)>,
}

impl FoundLinks {
    /// Refuses the link that an object requests at a path.
    pub fn refuse(
        &mut self,
        (by, path): (ObjectId, Path),
        parent: impl Into<NodeRef>,
        child: impl Into<NodeRef>,
        cause: impl Into<RefusalCause>,
    ) {
        let refused = RefusedLink { parent: parent.into(), child: child.into(), cause: cause.into(), by, path };
        self.refusals.push((by, StoredRefusal::Explained(Box::new(refused))));
    }

    /// Appends others, in order.
    pub fn append_all(&mut self, mut others: Vec<FoundLinks>) {
        let sum = |len: fn(&FoundLinks) -> usize| others.iter().map(len).sum();
        self.links.reserve(sum(|it| it.links.len()));
        self.rules.reserve(sum(|it| it.rules.len()));
        self.backends.reserve(sum(|it| it.backends.len()));
        self.ports.reserve(sum(|it| it.ports.len()));
        others.iter_mut().for_each(|it| self.append(it));
    }

    pub fn append(&mut self, other: &mut FoundLinks) {
        let before = self.rules.len() as u32;
        other.backends.iter_mut().for_each(|(rule, _)| *rule += before);
        other.ports.iter_mut().for_each(|(_, rule)| *rule += before);
        other.delegations.iter_mut().for_each(|delegation| delegation.rule += before);
        join(&mut self.links, &mut other.links);
        join(&mut self.rules, &mut other.rules);
        join(&mut self.backends, &mut other.backends);
        join(&mut self.ports, &mut other.ports);
        join(&mut self.frontends, &mut other.frontends);
        join(&mut self.delegations, &mut other.delegations);
        join(&mut self.parent_routes, &mut other.parent_routes);
        join(&mut self.unserved, &mut other.unserved);
        join(&mut self.refusals, &mut other.refusals);
    }
}

/// Appends a list. An empty list takes the other one over without copying.
fn join<T>(list: &mut Vec<T>, other: &mut Vec<T>) {
    if list.capacity() == 0 { std::mem::swap(list, other) } else { list.append(other) }
}

/// Sorts the items after the first `start` and drops duplicates: two references may name the same object.
pub fn dedup_after<T: Ord>(start: usize, list: &mut Vec<T>) {
    if list.len() > start + 1 {
        let mut tail = list.split_off(start);
        tail.sort_unstable();
        tail.dedup();
        list.append(&mut tail);
    }
}
