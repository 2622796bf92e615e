//! Links between custom kinds of targets.

use hashbrown::{HashMap, HashSet};

use crate::kinds::TargetLinks;
use crate::level::Level;
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::problem::Problem;

use super::super::api;

/// The links of all objects.
#[derive(Debug, Default)]
pub struct OwnLinks {
    /// From parent to child.
    pub links: Vec<(ObjectId, ObjectId)>,
    /// The length of the longest path to each child.
    pub depths: HashMap<ObjectId, u32>,
    pub faults: Vec<LinkFault>,
}

/// A link that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// The parent is not among the objects.
    MissingParent {
        /// The object that names the parent.
        child: ObjectRef,
        /// The parent.
        parent: ObjectRef,
    },
    /// The parent is below its child.
    Circular {
        /// The object that names the parent.
        child: ObjectRef,
        /// The parent.
        parent: ObjectRef,
    },
}

impl LinkFault {
    /// The problem of the object that names the parent.
    pub(crate) fn problem(&self, objects: &Objects) -> Problem {
        let (LinkFault::MissingParent { child, parent } | LinkFault::Circular { child, parent }) = self;
        let problem = match self {
            LinkFault::MissingParent { .. } => Problem::warning(format!(
                "its parent `{parent}` is not in the input: the policies that `{child}` inherits from `{parent}` are unknown"
            ))
            .help(format!("add `{parent}` to the input, or correct the reference")),
            LinkFault::Circular { .. } => Problem::error(format!(
                "`{parent}` is its parent, and is also below it: the link between them does not count"
            ))
            .help("remove one of the references"),
        };
        match objects.find(child).and_then(|id| objects.get(id)) {
            Some(child) => problem.about(child),
            None => problem,
        }
    }
}

impl OwnLinks {
    /// Finds the links of all objects. A link that closes a cycle is left out.
    pub fn find(objects: &Objects, links: &TargetLinks) -> OwnLinks {
        let mut own = OwnLinks::default();
        if links.is_empty() {
            return own;
        }
        let mut parents: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        let mut children: Vec<ObjectId> = Vec::new();
        // The Gateway API defines the parents of its own kinds.
        let is_child = |object: &Object| {
            let id = &object.id;
            api::level(&id.group, &id.kind) == Level::Other && links.have_child(&id.group, &id.kind)
        };
        for (id, child) in objects.iter().filter(|(_, object)| is_child(object)) {
            let found = links.parents(objects, child);
            let missing = found.missing.into_iter();
            own.faults.extend(missing.map(|parent| LinkFault::MissingParent { child: child.id.clone(), parent }));
            children.push(id);
            parents.insert(id, found.existing);
        }
        for child in children {
            own.visit(objects, child, &parents);
        }
        own
    }

    /// Computes the depth of an object and of all objects above it, without recursion.
    fn visit(&mut self, objects: &Objects, start: ObjectId, parents: &HashMap<ObjectId, Vec<ObjectId>>) {
        let parents_of = |id: ObjectId| parents.get(&id).map_or(&[][..], Vec::as_slice);
        let mut path: Vec<(ObjectId, usize, u32)> = Vec::new();
        let mut on_path: HashSet<ObjectId> = HashSet::new();
        if !self.depths.contains_key(&start) {
            path.push((start, 0, 0));
            on_path.insert(start);
        }
        while let Some((id, next, depth)) = path.last_mut() {
            let (child, at) = (*id, *next);
            let Some(&parent) = parents_of(child).get(at) else {
                let depth = *depth + u32::from(!parents_of(child).is_empty());
                self.depths.insert(child, depth);
                on_path.remove(&child);
                path.pop();
                continue;
            };
            if on_path.contains(&parent) {
                *next += 1;
                self.faults.extend(circular(objects, child, parent));
            } else if let Some(above) =
                self.depths.get(&parent).copied().or((!parents.contains_key(&parent)).then_some(0))
            {
                *next += 1;
                *depth = (*depth).max(above);
                self.links.push((parent, child));
            } else {
                path.push((parent, 0, 0));
                on_path.insert(parent);
            }
        }
    }
}

fn circular(objects: &Objects, child: ObjectId, parent: ObjectId) -> Option<LinkFault> {
    Some(LinkFault::Circular { child: objects.get(child)?.id.clone(), parent: objects.get(parent)?.id.clone() })
}
