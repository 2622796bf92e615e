//! Who looks at what: whose links and attachments depend on which other objects.
//!
//! Keys are hashes. Should two be the same, somebody is looked at once too often, and that is all.

use std::collections::BTreeSet;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use crate::engine::Engine;
use crate::object::{Object, ObjectId, ObjectRef};
use crate::persistent::hash;
use crate::policy::{NamespaceSelection, PolicyId, TargetSpec};
use crate::topology::api::{GATEWAY_API, RouteKind};
use crate::topology::build::class_of;
use crate::topology::reference::Reference;
use crate::topology::{Level, NodeId, api, delegation, gateways, routes};

/// Something that can be looked at.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Key<'a> {
    /// One object: whether it is there, and what it says.
    Object(&'a str, &'a str, &'a str, &'a str),
    /// Which objects of a kind there are in a namespace.
    Among(&'a str, &'a str, &'a str),
    /// Whether there are objects of a kind.
    Kind(&'a str, &'a str),
    /// Who may refer to what is in a namespace.
    Grants(&'a str),
    /// The labels of a namespace.
    Namespace(&'a str),
    /// The ListenerSets of a Gateway.
    Sets(&'a str, &'a str),
    /// The labels of all objects of a kind.
    Labels(&'a str, &'a str),
    /// The labels of all namespaces, and who may refer to what is in them.
    Namespaces,
    /// Routes of a kind that have a hostname,
    Host(RouteKind, &'a str),
    /// or one that ends like this and begins with a wildcard,
    Wildcard(RouteKind, &'a str),
    /// or any that ends like this.
    Below(RouteKind, &'a str),
}

impl<'a> Key<'a> {
    pub fn of(id: &'a ObjectRef) -> Key<'a> {
        Key::Object(&id.group, &id.kind, &id.namespace, &id.name)
    }
}

#[derive(Debug, Default)]
pub struct DependencyIndex {
    /// Each behind a key.
    by_key: BTreeSet<(u64, ObjectId)>,
    /// Policies that choose their targets among all that there is.
    choosers: BTreeSet<ObjectId>,
    /// Routes that delegate to whatever is there, or has a label.
    delegates_by_label: BTreeSet<ObjectId>,
    /// Whether there are HTTPRoutes beside GRPCRoutes. Only then their hostnames are noted.
    have_rivals: bool,
}

/// How an object looks at others.
#[derive(Debug, Default)]
pub struct Dependencies {
    keys: Vec<u64>,
    chooses: bool,
    delegates_by_label: bool,
}

impl DependencyIndex {
    pub fn of(engine: &Engine) -> DependencyIndex {
        let objects = engine.objects();
        let is_there = |kind: RouteKind| !objects.of_kind(GATEWAY_API, kind.name()).is_empty();
        let have_rivals = is_there(RouteKind::Http) && is_there(RouteKind::Grpc);
        let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| id).collect();
        let looks: Vec<(ObjectId, Dependencies)> = ids
            .into_par_iter()
            .map(|id| (id, Dependencies::of(engine, id, have_rivals)))
            .filter(|(_, look)| !look.keys.is_empty() || look.chooses)
            .collect();
        let mut dependency_index = DependencyIndex { have_rivals, ..DependencyIndex::default() };
        looks.iter().for_each(|(id, look)| dependency_index.note(*id, look));
        let mut by_key: Vec<(u64, ObjectId)> =
            looks.iter().flat_map(|(id, look)| look.keys.iter().map(|key| (*key, *id))).collect();
        by_key.par_sort_unstable();
        dependency_index.by_key = by_key.into_iter().collect();
        dependency_index
    }

    /// Who looks at something, in the order of ids.
    pub fn at(&self, key: Key<'_>) -> impl Iterator<Item = ObjectId> {
        let key = hash(&key);
        self.by_key.range((key, ObjectId(0))..=(key, ObjectId(u32::MAX))).map(|(_, id)| *id)
    }

    pub fn choosers(&self) -> impl Iterator<Item = ObjectId> {
        self.choosers.iter().copied()
    }

    /// Whether some route delegates to whatever is there, or has a label.
    pub fn any_delegates_by_label(&self) -> bool {
        !self.delegates_by_label.is_empty()
    }

    /// Whether routes are found by their hostnames.
    pub fn have_rivals(&self) -> bool {
        self.have_rivals
    }

    /// Takes note of how an object looks at others now, and no more as before.
    pub fn update(&mut self, before: &Engine, after: &Engine, id: ObjectId) {
        let [was, is] = [before, after].map(|engine| {
            let mut look = Dependencies::of(engine, id, self.have_rivals);
            look.keys.sort_unstable();
            look
        });
        for key in was.keys.iter().filter(|key| is.keys.binary_search(key).is_err()) {
            self.by_key.remove(&(*key, id));
        }
        let new = is.keys.iter().filter(|key| was.keys.binary_search(key).is_err());
        self.by_key.extend(new.map(|key| (*key, id)));
        self.note(id, &is);
    }

    fn note(&mut self, id: ObjectId, look: &Dependencies) {
        note(&mut self.choosers, id, look.chooses);
        note(&mut self.delegates_by_label, id, look.delegates_by_label);
    }
}

fn note(ids: &mut BTreeSet<ObjectId>, id: ObjectId, is_one: bool) {
    match is_one {
        true => ids.insert(id),
        false => ids.remove(&id),
    };
}

impl Dependencies {
    fn of(engine: &Engine, id: ObjectId, has_rivals: bool) -> Dependencies {
        let mut look = Dependencies::default();
        let Some(object) = engine.objects().shared(id) else { return look };
        if engine.policies.get(PolicyId(id)).is_some() {
            look.policy(engine, id, object);
        } else {
            match engine.topology()[NodeId::whole(id)].level {
                Level::Route => {
                    look.route(object);
                    if has_rivals {
                        look.compete(object);
                    }
                }
                Level::Gateway | Level::ListenerSet => look.gateway(object),
                _ => {}
            }
        }
        look
    }

    pub fn at(&mut self, key: Key<'_>) {
        self.keys.push(hash(&key));
    }

    /// At an object that is named, and at what decides whether it may be.
    fn named(&mut self, home: &str, (group, kind, namespace, name): (&str, &str, &str, &str), in_vain: bool) {
        self.at(Key::Object(group, kind, namespace, name));
        if namespace != home {
            self.at(Key::Grants(namespace));
        }
        if in_vain {
            // Whoever asks in vain is told what there is instead.
            self.at(Key::Among(group, kind, namespace));
            self.at(Key::Kind(group, kind));
        }
    }

    fn route(&mut self, route: &Object) {
        let home = route.id.namespace.as_str();
        self.at(Key::Namespace(home));
        for it in routes::parents(route) {
            self.at(Key::Object(it.group, it.kind, it.namespace, it.name));
        }
        let rules = route.spec().list_at("rules");
        let of_rules = rules.iter().flat_map(|rule| {
            let mirrors = rule.list_at("filters").iter().filter_map(|it| it.at(&["requestMirror", "backendRef"]));
            rule.list_at("backendRefs").iter().chain(mirrors).filter_map(|it| Reference::backend(it, home))
        });
        for it in of_rules {
            self.delegates_by_label |= delegation::is_by_query(&it);
            // What is said of delegation in vain is said at once, and not when somebody asks.
            self.named(home, (it.group, it.kind, it.namespace, it.name), delegation::is_delegation(&it));
        }
        let filters = rules.iter().flat_map(|rule| rule.list_at("filters"));
        for it in filters.filter_map(|filter| filter.get("extensionRef")) {
            let text = |key| it.get_str(key).unwrap_or_default();
            self.at(Key::Object(text("group"), text("kind"), home, text("name")));
        }
    }

    /// At its GatewayClass or Gateway, and at everything that its listeners may name.
    fn gateway(&mut self, gateway: &Object) {
        let home = gateway.id.namespace.as_str();
        self.at(Key::Namespace(home));
        if let Some(class) = class_of(gateway) {
            self.at(Key::of(&class));
        }
        if let Some(it) = gateways::parent(gateway) {
            self.named(home, (it.group, it.kind, it.namespace, it.name), true);
            self.at(Key::Sets(it.namespace, it.name));
        }
        let mut todo = vec![gateway.spec()];
        while let Some(value) = todo.pop() {
            todo.extend(value.items());
            todo.extend(value.entries().iter().map(|(_, value)| value));
            let Some(name) = value.get_str("name") else { continue };
            let text = |key| value.get_str(key).filter(|text| !text.is_empty());
            let namespace = text("namespace").unwrap_or(home);
            let group = text("group").unwrap_or_default();
            for kind in text("kind").map_or(vec!["Secret", "ConfigMap"], |kind| vec![kind]) {
                self.named(home, (group, kind, namespace, name), true);
            }
        }
    }

    fn policy(&mut self, engine: &Engine, id: ObjectId, object: &Object) {
        let policy = engine.policy(PolicyId(id));
        let home = object.id.namespace.as_str();
        let in_vain = !engine.attachments().for_policy(PolicyId(id)).refused.is_empty();
        for target in &policy.targets {
            match &target.spec {
                TargetSpec::Object { group, kind, namespace, name, .. } => {
                    // It may be cluster-scoped: that depends on what is there.
                    for namespace in [namespace.as_deref().unwrap_or(home), ""] {
                        self.named(home, (group, kind, namespace, name), in_vain);
                    }
                }
                TargetSpec::Selected(selector) => {
                    self.at(Key::Labels(&selector.group, &selector.kind));
                    if !matches!(selector.namespaces, NamespaceSelection::Same) {
                        self.at(Key::Namespaces);
                    }
                }
                TargetSpec::OwnNamespace | TargetSpec::Chosen(_) | TargetSpec::Host(_) => self.chooses = true,
            }
        }
    }
}

/// Whether an object is one of what policies choose their targets among.
pub fn is_choosable(id: &ObjectRef) -> bool {
    matches!(api::level(&id.group, &id.kind), Level::Workload | Level::Gateway | Level::Backend | Level::Namespace)
}
