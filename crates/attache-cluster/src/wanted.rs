//! Selects the kinds that are read.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use attache_engine::kinds::{KindName, LevelName, PolicyKind, Registry, SettingObject, Settings};
use attache_engine::text::described_kind;
use attache_engine::{Level, Object};

use crate::discovery::{ApiResource, Discovery};
use crate::list::{ListExtent, ListForm};
use crate::mentions::Mentions;
use crate::relevance::Relevance;
use crate::subject::Subject;
use crate::unseen::ObjectRole;

pub(crate) const CRD_GROUP: &str = "apiextensions.k8s.io";
pub(crate) const CRD_KIND: &str = "CustomResourceDefinition";

/// The label that marks the CRD of a policy kind.
pub(crate) const POLICY_LABEL: &str = "gateway.networking.k8s.io/policy";

/// The groups of which every kind is read.
const GATEWAY_API: [&str; 2] = ["gateway.networking.k8s.io", "gateway.networking.x-k8s.io"];

/// The kinds that run Pods.
const WORKLOADS: [(&str, &str, ListExtent); 5] = [
    ("", "Pod", ListExtent::Metadata),
    ("apps", "Deployment", ListExtent::Whole),
    ("apps", "StatefulSet", ListExtent::Whole),
    ("apps", "DaemonSet", ListExtent::Whole),
    ("batch", "Job", ListExtent::Whole),
];

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct Interest {
    /// The policy kinds that are known without the cluster's help.
    pub kinds: Vec<PolicyKind>,
    /// The settings of the engine.
    pub settings: Settings,
    /// A namespace to read if not all of them may be read, beside those of the kubeconfig.
    pub namespace: Option<String>,
    /// The object that the question concerns. Kinds that cannot matter to it are not read, and objects that cannot matter to
    /// it are left out.
    pub about: Option<Subject>,
    /// Whether the statuses of all targets are read, as a controller that writes them needs. Without it, only the
    /// metadata of Namespaces is read.
    pub statuses: bool,
}

impl Interest {
    /// The form in which objects are kept until it is known which of them matter.
    pub(crate) fn form(&self, resource: &ApiResource, extent: &ListExtent) -> ListForm {
        let is_about_one = self.about.as_ref().is_some_and(|subject| subject.name.is_some());
        let is_needed = matches!(extent, ListExtent::Settings(_)) || always_matters(&resource.group, &resource.kind);
        if is_about_one && !is_needed { ListForm::Text } else { ListForm::Objects }
    }
}

/// Whether all objects of a kind can matter to any object.
pub(crate) fn always_matters(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Namespace") | (_, "GatewayClass" | "ReferenceGrant") | (CRD_GROUP, _) | ("attache.dev", _)
    )
}

/// A kind that is read, and which part of its objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) resource: ApiResource,
    pub(crate) extent: ListExtent,
    pub(crate) role: ObjectRole,
}

impl Wanted {
    /// Whether its objects describe policy kinds.
    pub(crate) fn describes_kinds(&self) -> bool {
        describes_kind(&self.resource.group, &self.resource.kind)
    }
}

/// Whether objects of a kind describe policy kinds.
pub(crate) fn describes_kind(group: &str, kind: &str) -> bool {
    matches!((group, kind), (CRD_GROUP, CRD_KIND) | ("attache.dev", "PolicyKind"))
}

/// The part of the objects of a kind that is always read.
pub(crate) fn extent(group: &str, kind: &str, interest: &Interest) -> ListExtent {
    match (group, kind) {
        ("", "Namespace") if !interest.statuses => ListExtent::Metadata,
        (CRD_GROUP, CRD_KIND) if !interest.settings.infer_unlabelled => ListExtent::Labelled(POLICY_LABEL),
        _ => ListExtent::Whole,
    }
}

/// The kinds that are read, each once.
#[derive(Debug, Default)]
pub(crate) struct WantedKinds {
    known: HashSet<(String, String)>,
    settings: HashSet<SettingObject>,
    relevance: Relevance,
}

impl WantedKinds {
    /// The kinds that are always read.
    pub(crate) fn first(&mut self, discovery: &Discovery, interest: &Interest) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        self.relevance = Relevance::new(interest.about.as_ref(), &interest.kinds, discovery);
        // Policy kinds come first, so that they get the role of policies.
        for kind in interest.kinds.iter().filter(|kind| self.relevance.matters(kind)).collect::<Vec<_>>() {
            self.add_policies(discovery, kind, &mut wanted);
        }
        let is_policy =
            |it: &ApiResource| interest.kinds.iter().any(|kind| kind.group == it.group && kind.kind == it.kind);
        for resource in GATEWAY_API.iter().flat_map(|group| discovery.of_group(group)).filter(|it| !is_policy(it)) {
            self.add(resource, ListExtent::Whole, &mut wanted);
        }
        for (group, kind) in [
            ("", "Namespace"),
            ("", "Service"),
            (CRD_GROUP, CRD_KIND),
            ("attache.dev", "PolicyKind"),
            ("attache.dev", "PolicyRequirement"),
            ("attache.dev", "TargetKind"),
            ("attache.dev", "GatewayController"),
        ] {
            if let Some(resource) = discovery.find(group, kind, &[""; 0]) {
                self.add(resource, extent(group, kind, interest), &mut wanted);
            }
        }
        wanted
    }

    /// Further kinds that are read because of the objects read so far: policy kinds, and kinds that policies and routes
    /// refer to.
    pub(crate) fn more(&mut self, discovery: &Discovery, registry: &Registry, mentions: &Mentions) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for (_, kind) in registry.iter().filter(|(_, kind)| self.relevance.matters(kind)).collect::<Vec<_>>() {
            self.add_policies(discovery, kind, &mut wanted);
        }
        for (group, kind) in mentions.references() {
            if let Some(resource) = discovery.find(group, kind, &[""; 0]) {
                self.add(resource, ListExtent::Whole, &mut wanted);
            }
        }
        let in_use = || registry.iter().filter(|(_, kind)| mentions.has(&kind.group, &kind.kind));
        for (_, kind) in in_use() {
            self.add_levels(discovery, kind, &mut wanted);
        }
        self.add_settings(discovery, in_use().map(|(_, kind)| kind), &mut wanted);
        wanted.sort_by(|a, b| a.resource.cmp(&b.resource));
        wanted
    }

    /// The kinds that policies of a kind select, are bound by, or are placed on.
    fn add_levels(&mut self, discovery: &Discovery, kind: &PolicyKind, wanted: &mut Vec<Wanted>) {
        let levels = || {
            [&kind.hierarchy.levels[..], &kind.targets.allowed, &kind.hierarchy.effective_targets].into_iter().flatten()
        };
        if self.relevance.has_workloads() && levels().any(|level| level.level() == Level::Workload) {
            for (group, kind, extent) in WORKLOADS {
                if let Some(resource) = discovery.find(group, kind, &[""; 0]) {
                    self.add(resource, extent, wanted);
                }
            }
        }
        let named = levels().filter_map(|level| match level {
            LevelName::Kind(name) => Some(name),
            LevelName::Level(_) => None,
        });
        let bindings = kind.targets.bindings.iter().flat_map(|bindings| {
            let places = &bindings.placements;
            let own = [
                &bindings.kind,
                &places.kind,
                &places.decisions,
                &places.targets,
                &places.sets.kind,
                &places.sets.bindings,
            ];
            own.into_iter().chain(bindings.sets.as_ref().map(|sets| &sets.kind))
        });
        for name in named.chain(bindings) {
            for resource in discovery.of_kind(&name.kind).filter(|it| is_named(name, it)) {
                self.add(resource, ListExtent::Whole, wanted);
            }
        }
    }

    /// The objects with the settings of the controllers that handle policies of these kinds.
    fn add_settings<'k>(
        &mut self,
        discovery: &Discovery,
        kinds: impl Iterator<Item = &'k PolicyKind>,
        wanted: &mut Vec<Wanted>,
    ) {
        let mut fields: BTreeMap<&SettingObject, Vec<&'static str>> = BTreeMap::new();
        for setting in kinds.flat_map(|kind| &kind.settings) {
            fields.entry(&setting.object).or_default().push(setting.sets.name());
        }
        for (object, mut fields) in fields {
            let Some(resource) = discovery.find(&object.group, &object.kind, &[""; 0]) else { continue };
            let is_whole = self.known.contains(&(resource.group.clone(), resource.kind.clone()));
            if !is_whole && !is_secret(resource) && self.settings.insert(object.clone()) {
                fields.sort_unstable();
                fields.dedup();
                let (extent, role) = (ListExtent::Settings(Arc::new(object.clone())), ObjectRole::Settings(fields));
                wanted.push(Wanted { resource: resource.clone(), extent, role });
            }
        }
    }

    fn add_policies(&mut self, discovery: &Discovery, kind: &PolicyKind, wanted: &mut Vec<Wanted>) {
        if let Some(resource) = discovery.find(&kind.group, &kind.kind, &kind.versions) {
            self.add_as(resource, ListExtent::Whole, ObjectRole::Policies, wanted);
        }
    }

    fn add(&mut self, resource: &ApiResource, extent: ListExtent, wanted: &mut Vec<Wanted>) {
        self.add_as(resource, extent, ObjectRole::Others, wanted);
    }

    fn add_as(&mut self, resource: &ApiResource, extent: ListExtent, role: ObjectRole, wanted: &mut Vec<Wanted>) {
        if !is_secret(resource) && self.known.insert((resource.group.clone(), resource.kind.clone())) {
            wanted.push(Wanted { resource: resource.clone(), extent, role });
        }
    }

    /// Removes a kind that is no longer installed.
    pub(crate) fn forget(&mut self, wanted: &Wanted) {
        match &wanted.extent {
            ListExtent::Settings(object) => _ = self.settings.remove(&**object),
            ListExtent::Whole | ListExtent::Metadata | ListExtent::Labelled(_) => {
                self.known.remove(&(wanted.resource.group.clone(), wanted.resource.kind.clone()));
            }
        }
    }
}

fn is_secret(resource: &ApiResource) -> bool {
    resource.group.is_empty() && resource.kind == "Secret"
}

fn is_named(name: &KindName, resource: &ApiResource) -> bool {
    name.is(&resource.group, &resource.kind)
}

/// The names of the CRDs that describe policy kinds.
pub(crate) fn crds_of_policies<'w>(wanted: &'w [Wanted], objects: &[Object]) -> Vec<&'w ApiResource> {
    let described: HashSet<(&str, &str)> =
        objects.iter().filter(|object| object.id.kind == CRD_KIND).filter_map(described_kind).collect();
    let policies = wanted.iter().filter(|it| it.role == ObjectRole::Policies).map(|it| &it.resource);
    // Kinds of Kubernetes itself have no CRDs.
    policies
        .filter(|it| it.group.contains('.') && it.group != "networking.k8s.io")
        .filter(|it| !described.contains(&(&*it.group, &*it.kind)))
        .collect()
}
