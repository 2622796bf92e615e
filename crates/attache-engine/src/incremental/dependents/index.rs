//! All objects by the keys that they depend on.
//!
//! Keys are stored as hashes. If two keys have the same hash, an object is updated although nothing changes for it.

use std::collections::BTreeSet;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use super::dependencies::Dependencies;
use crate::engine_parts::EngineParts;
use crate::object::{ObjectId, ObjectRef};
use crate::persistent::{PersistentSet, hash};
use crate::topology::api::{GATEWAY_API, RouteKind};

/// A fact that the links of a route or a Gateway, or the attachments of a policy, can depend on.
#[derive(Clone, Copy, Debug, Hash)]
pub(in crate::incremental) enum DependencyKey<'k> {
    /// One object by group, kind, namespace and name: whether it exists, and its spec.
    Object(&'k str, &'k str, &'k str, &'k str),
    /// Which objects of a group and kind exist in a namespace.
    KindInNamespace(&'k str, &'k str, &'k str),
    /// Whether objects of a group and kind exist.
    Kind(&'k str, &'k str),
    /// The ReferenceGrants of a namespace.
    Grants(&'k str),
    /// The labels of a namespace.
    NamespaceLabels(&'k str),
    /// The ListenerSets of a Gateway, by its namespace and name.
    ListenerSets(&'k str, &'k str),
    /// The labels of all objects of a group and kind.
    KindLabels(&'k str, &'k str),
    /// The labels and ReferenceGrants of all namespaces.
    AllNamespaces,
    /// The routes of a kind that have this hostname.
    Hostname(RouteKind, &'k str),
    /// The routes of a kind that have a wildcard hostname with this suffix.
    WildcardHostname(RouteKind, &'k str),
    /// The routes of a kind that have any hostname with this suffix.
    HostnameBelow(RouteKind, &'k str),
}

impl<'k> From<&'k ObjectRef> for DependencyKey<'k> {
    fn from(id: &'k ObjectRef) -> DependencyKey<'k> {
        DependencyKey::Object(&id.group, &id.kind, &id.namespace, &id.name)
    }
}

/// All objects by the keys that they depend on.
#[derive(Clone, Debug, Default)]
pub(in crate::incremental) struct DependencyIndex {
    by_key: PersistentSet<(u64, ObjectId)>,
    /// Policies that select their targets from all objects.
    choosing_policies: BTreeSet<ObjectId>,
    /// Routes that delegate to routes by label or namespace.
    delegating_by_label: BTreeSet<ObjectId>,
    /// Whether there are both HTTPRoutes and GRPCRoutes. Hostnames are indexed only then.
    has_hostnames: bool,
}

impl DependencyIndex {
    pub fn new(parts: &EngineParts) -> DependencyIndex {
        let objects = &parts.objects;
        let has_kind = |kind: RouteKind| !objects.of_kind(GATEWAY_API, kind.name()).is_empty();
        let has_hostnames = has_kind(RouteKind::Http) && has_kind(RouteKind::Grpc);
        let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| id).collect();
        let all: Vec<(ObjectId, Dependencies)> = ids
            .into_par_iter()
            .map(|id| (id, Dependencies::new(parts, id, has_hostnames)))
            .filter(|(_, dependencies)| !dependencies.keys.is_empty() || dependencies.chooses_targets)
            .collect();
        let mut index = DependencyIndex { has_hostnames, ..DependencyIndex::default() };
        all.iter().for_each(|(id, dependencies)| index.set_flags(*id, dependencies));
        let keys = all.iter().flat_map(|(id, dependencies)| dependencies.keys.iter().map(|key| (*key, *id)));
        let mut by_key: Vec<(u64, ObjectId)> = keys.collect();
        by_key.par_sort_unstable();
        by_key.dedup();
        index.by_key = PersistentSet::from_sorted(&by_key);
        index
    }

    /// The objects that depend on a key, sorted by id.
    pub fn dependents(&self, key: DependencyKey<'_>) -> impl Iterator<Item = ObjectId> {
        let key = hash(&key);
        self.by_key.range((key, ObjectId(0)), (key, ObjectId(u32::MAX))).map(|(_, id)| id)
    }

    /// The policies that select their targets from all objects, sorted by id.
    pub fn choosing_policies(&self) -> impl Iterator<Item = ObjectId> {
        self.choosing_policies.iter().copied()
    }

    /// Whether any route delegates to routes by label or namespace.
    pub fn has_delegation_by_label(&self) -> bool {
        !self.delegating_by_label.is_empty()
    }

    /// Whether routes are indexed by their hostnames.
    pub fn has_hostnames(&self) -> bool {
        self.has_hostnames
    }

    /// Replaces the dependencies of an object.
    pub fn update(&mut self, before: &EngineParts, after: &EngineParts, id: ObjectId) {
        let [before, after] = [before, after].map(|parts| {
            let mut dependencies = Dependencies::new(parts, id, self.has_hostnames);
            dependencies.keys.sort_unstable();
            dependencies
        });
        for key in before.keys.iter().filter(|key| after.keys.binary_search(key).is_err()) {
            self.by_key.remove((*key, id));
        }
        for key in after.keys.iter().filter(|key| before.keys.binary_search(key).is_err()) {
            self.by_key.insert((*key, id));
        }
        self.set_flags(id, &after);
    }

    fn set_flags(&mut self, id: ObjectId, dependencies: &Dependencies) {
        set_member(&mut self.choosing_policies, id, dependencies.chooses_targets);
        set_member(&mut self.delegating_by_label, id, dependencies.delegates_by_label);
    }
}

fn set_member(ids: &mut BTreeSet<ObjectId>, id: ObjectId, is_member: bool) {
    match is_member {
        true => ids.insert(id),
        false => ids.remove(&id),
    };
}
