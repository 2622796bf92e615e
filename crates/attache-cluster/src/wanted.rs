//! Which kinds are read.

use std::collections::HashSet;

use attache_engine::Object;
use attache_engine::kinds::{KindName, LevelName, PolicyKind, Registry};
use attache_engine::text::described_kind;
use attache_engine::{Level, Value};

use crate::discovery::{ApiResource, Discovery};
use crate::list::Extent;

pub(crate) const CRD_GROUP: &str = "apiextensions.k8s.io";
pub(crate) const CRD_KIND: &str = "CustomResourceDefinition";

/// The label by which the CRD of a policy says that it is one.
pub(crate) const POLICY_LABEL: &str = "gateway.networking.k8s.io/policy";

/// The groups of which every kind is read.
const GATEWAY_API: [&str; 2] = ["gateway.networking.k8s.io", "gateway.networking.x-k8s.io"];

/// The kinds that run Pods.
const WORKLOADS: [(&str, &str, Extent); 5] = [
    ("", "Pod", Extent::Metadata),
    ("apps", "Deployment", Extent::Whole),
    ("apps", "StatefulSet", Extent::Whole),
    ("apps", "DaemonSet", Extent::Whole),
    ("batch", "Job", Extent::Whole),
];

/// Fields that refer to objects by kind and name. References to Secrets and ConfigMaps are in other fields, and
/// Secrets are never read.
const REFERENCES: [&str; 7] =
    ["targetRef", "targetRefs", "parentRef", "parentRefs", "backendRef", "backendRefs", "extensionRef"];

/// A kind that is read, and what of its objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) resource: ApiResource,
    pub(crate) extent: Extent,
    pub(crate) is_policy: bool,
}

/// The kinds that are read, each once.
#[derive(Debug, Default)]
pub(crate) struct WantedKinds {
    known: HashSet<(String, String)>,
}

impl WantedKinds {
    /// What is read in any case.
    pub(crate) fn first(&mut self, discovery: &Discovery, kinds: &[PolicyKind], all_crds: bool) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        // Policy kinds first: others would be taken for something else.
        for kind in kinds {
            if let Some(resource) = discovery.find(&kind.group, &kind.kind, &kind.versions) {
                self.add(resource, Extent::Whole, true, &mut wanted);
            }
        }
        for resource in GATEWAY_API.iter().flat_map(|group| discovery.of_group(group)) {
            self.add(resource, Extent::Whole, false, &mut wanted);
        }
        let crds = if all_crds { Extent::Whole } else { Extent::Labelled(POLICY_LABEL) };
        for (group, kind, extent) in [
            ("", "Namespace", Extent::Metadata),
            ("", "Service", Extent::Whole),
            (CRD_GROUP, CRD_KIND, crds),
            ("attache.dev", "PolicyKind", Extent::Whole),
        ] {
            if let Some(resource) = discovery.find(group, kind, &[""; 0]) {
                self.add(resource, extent, false, &mut wanted);
            }
        }
        wanted
    }

    /// What else is read because of what has been read: kinds of policies, and what policies and routes refer to.
    pub(crate) fn more<'o>(
        &mut self,
        discovery: &Discovery,
        registry: &Registry,
        objects: impl Iterator<Item = &'o Object> + Clone,
    ) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for (_, kind) in registry.iter() {
            if let Some(resource) = discovery.find(&kind.group, &kind.kind, &kind.versions) {
                self.add(resource, Extent::Whole, true, &mut wanted);
            }
        }
        let mut references: HashSet<(&str, &str)> = HashSet::new();
        let mut in_use: HashSet<(&str, &str)> = HashSet::new();
        for object in objects {
            in_use.insert((&object.id.group, &object.id.kind));
            collect_references(object.spec(), &mut references);
        }
        for (group, kind) in references {
            if let Some(resource) = discovery.find(group, kind, &[""; 0]) {
                self.add(resource, Extent::Whole, false, &mut wanted);
            }
        }
        for (_, kind) in registry.iter().filter(|(_, kind)| in_use.contains(&(&*kind.group, &*kind.kind))) {
            self.add_levels(discovery, kind, &mut wanted);
        }
        wanted.sort_by(|a, b| a.resource.cmp(&b.resource));
        wanted
    }

    /// The kinds that policies of a kind select, are bound by, or are placed on.
    fn add_levels(&mut self, discovery: &Discovery, kind: &PolicyKind, wanted: &mut Vec<Wanted>) {
        let levels = || {
            [&kind.hierarchy.levels[..], &kind.targets.allowed, &kind.hierarchy.effective_targets].into_iter().flatten()
        };
        if levels().any(|level| level.level() == Level::Workload) {
            for (group, kind, extent) in WORKLOADS {
                if let Some(resource) = discovery.find(group, kind, &[""; 0]) {
                    self.add(resource, extent, false, wanted);
                }
            }
        }
        let named = levels().filter_map(|level| match level {
            LevelName::Kind(name) => Some(name),
            LevelName::Level(_) => None,
        });
        let bindings = kind.targets.bindings.iter().flat_map(|bindings| {
            let places = &bindings.placements;
            let own = [&bindings.kind, &places.kind, &places.decisions, &places.targets, &places.set_bindings];
            own.into_iter().chain(bindings.sets.as_ref().map(|sets| &sets.kind))
        });
        for name in named.chain(bindings) {
            for resource in discovery.of_kind(&name.kind).filter(|it| is_named(name, it)) {
                self.add(resource, Extent::Whole, false, wanted);
            }
        }
    }

    fn add(&mut self, resource: &ApiResource, extent: Extent, is_policy: bool, wanted: &mut Vec<Wanted>) {
        let is_secret = resource.group.is_empty() && resource.kind == "Secret";
        if !is_secret && self.known.insert((resource.group.clone(), resource.kind.clone())) {
            wanted.push(Wanted { resource: resource.clone(), extent, is_policy });
        }
    }

    /// Forgets a kind that is not installed any more.
    pub(crate) fn forget(&mut self, resource: &ApiResource) {
        self.known.remove(&(resource.group.clone(), resource.kind.clone()));
    }
}

fn is_named(name: &KindName, resource: &ApiResource) -> bool {
    name.is(&resource.group, &resource.kind)
}

/// The kinds that the references in a value name.
fn collect_references<'v>(value: &'v Value, found: &mut HashSet<(&'v str, &'v str)>) {
    for (key, child) in value.entries() {
        if REFERENCES.contains(&key.as_str()) {
            for reference in std::iter::once(child).chain(child.items()) {
                if let Some(kind) = reference.get_str("kind") {
                    found.insert((reference.get_str("group").unwrap_or_default(), kind));
                }
            }
        }
        collect_references(child, found);
    }
    for item in value.items() {
        collect_references(item, found);
    }
}

/// The CRDs that say more about a policy kind, by their names.
pub(crate) fn crds_of_policies<'w>(wanted: &'w [Wanted], objects: &[Object]) -> Vec<&'w ApiResource> {
    let described: HashSet<(&str, &str)> =
        objects.iter().filter(|object| object.id.kind == CRD_KIND).filter_map(described_kind).collect();
    let policies = wanted.iter().filter(|it| it.is_policy).map(|it| &it.resource);
    // Kinds of Kubernetes itself have no CRDs.
    policies
        .filter(|it| it.group.contains('.') && it.group != "networking.k8s.io")
        .filter(|it| !described.contains(&(&*it.group, &*it.kind)))
        .collect()
}
