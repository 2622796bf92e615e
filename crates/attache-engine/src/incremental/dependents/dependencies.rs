//! The dependencies of the links of a route or a Gateway, and of the attachments of a policy.

use super::competing_routes::add_hostnames;
use super::index::DependencyKey;
use crate::engine_parts::EngineParts;
use crate::kinds::GatewayPods;
use crate::object::{Object, ObjectId};
use crate::persistent::hash;
use crate::policy::{NamespaceSelection, Policy, PolicyId, TargetSpec};
use crate::topology::build::class_of;
use crate::topology::reference::Reference;
use crate::topology::{Level, NodeId, delegation, gateways, routes};

/// The dependencies of one object.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    /// The hashes of [`DependencyKey`]s.
    pub keys: Vec<u64>,
    /// Whether it is a policy that selects its targets from all objects.
    pub chooses_targets: bool,
    /// Whether it is a route that delegates to routes by label or namespace.
    pub delegates_by_label: bool,
}

/// A reference to an object, by group, kind, namespace and name.
type ObjectKey<'k> = (&'k str, &'k str, &'k str, &'k str);

impl Dependencies {
    /// The dependencies of an object. None if it is neither a route nor a Gateway nor a policy, or does not exist.
    pub fn new(parts: &EngineParts, id: ObjectId, with_hostnames: bool) -> Dependencies {
        let mut dependencies = Dependencies::default();
        let Some(object) = parts.objects.shared(id) else { return dependencies };
        if let Some(policy) = parts.policies.get(PolicyId(id)) {
            let is_refused = !parts.attachments.for_policy(PolicyId(id)).refused.is_empty();
            dependencies.add_policy(policy, object, is_refused);
            let hierarchy = &parts.kinds.get(policy.kind).hierarchy;
            dependencies.chooses_targets |= hierarchy.gateway_pods == GatewayPods::Gateway;
            return dependencies;
        }
        match parts.topology[NodeId::whole(id)].level {
            Level::Route => {
                dependencies.add_route(object);
                if with_hostnames {
                    add_hostnames(object, |key| dependencies.add(key));
                }
            }
            Level::Gateway => dependencies.add_gateway(object),
            Level::ListenerSet => {
                dependencies.add_parent(object);
                dependencies.add_gateway(object);
            }
            _ => {}
        }
        dependencies
    }

    fn add(&mut self, key: DependencyKey<'_>) {
        self.keys.push(hash(&key));
    }

    /// Adds a dependency on an object that is referred to from the namespace `from`, and on the grant that the
    /// reference needs. If the reference can be refused, the other objects of the kind are added too: the refusal
    /// suggests them.
    fn add_reference(&mut self, from: &str, (group, kind, namespace, name): ObjectKey<'_>, suggests_others: bool) {
        self.add(DependencyKey::Object(group, kind, namespace, name));
        if namespace != from {
            self.add(DependencyKey::Grants(namespace));
        }
        if suggests_others {
            self.add(DependencyKey::KindInNamespace(group, kind, namespace));
            self.add(DependencyKey::Kind(group, kind));
        }
    }

    fn add_route(&mut self, route: &Object) {
        let namespace = route.id.namespace.as_str();
        self.add(DependencyKey::NamespaceLabels(namespace));
        for it in routes::parents(route) {
            self.add(DependencyKey::Object(it.group, it.kind, it.namespace, it.name));
        }
        let rules = route.spec().list_at("rules");
        let backends = rules.iter().flat_map(|rule| {
            let mirrors = rule.list_at("filters").iter().filter_map(|it| it.at(&["requestMirror", "backendRef"]));
            rule.list_at("backendRefs").iter().chain(mirrors).filter_map(|it| Reference::backend(it, namespace))
        });
        for it in backends {
            self.delegates_by_label |= delegation::is_by_query(&it);
            // Refused delegations are stored with their suggestions, other refusals are computed on demand.
            self.add_reference(namespace, (it.group, it.kind, it.namespace, it.name), delegation::is_delegation(&it));
        }
        let filters = rules.iter().flat_map(|rule| rule.list_at("filters"));
        for it in filters.filter_map(|filter| filter.get("extensionRef")) {
            let text = |key| it.get_str(key).unwrap_or_default();
            self.add(DependencyKey::Object(text("group"), text("kind"), namespace, text("name")));
        }
    }

    /// A ListenerSet depends on its Gateway.
    fn add_parent(&mut self, listener_set: &Object) {
        if let Some(it) = gateways::parent(listener_set) {
            self.add_reference(&listener_set.id.namespace, (it.group, it.kind, it.namespace, it.name), true);
            self.add(DependencyKey::ListenerSets(it.namespace, it.name));
        }
    }

    /// A Gateway or a ListenerSet depends on its GatewayClass, and on everything that its listeners refer to.
    fn add_gateway(&mut self, gateway: &Object) {
        let from = gateway.id.namespace.as_str();
        self.add(DependencyKey::NamespaceLabels(from));
        if let Some(class) = class_of(gateway) {
            self.add(DependencyKey::from(&class));
            // Lint suggests other classes.
            self.add(DependencyKey::KindInNamespace(&class.group, &class.kind, ""));
        }
        let mut todo = vec![gateway.spec()];
        while let Some(value) = todo.pop() {
            todo.extend(value.items());
            todo.extend(value.entries().iter().map(|(_, value)| value));
            let text = |key| value.get_str(key).filter(|text| !text.is_empty());
            // A reference without a name is refused, and the reason depends on the grants of the namespace.
            if text("name").or(text("namespace")).is_none() {
                continue;
            }
            let (name, namespace) = (text("name").unwrap_or_default(), text("namespace").unwrap_or(from));
            let group = text("group").unwrap_or_default();
            for kind in text("kind").map_or(vec!["Secret", "ConfigMap"], |kind| vec![kind]) {
                self.add_reference(from, (group, kind, namespace, name), true);
            }
        }
    }

    fn add_policy(&mut self, policy: &Policy, object: &Object, is_refused: bool) {
        let from = object.id.namespace.as_str();
        for target in &policy.targets {
            match &target.spec {
                TargetSpec::Object { group, kind, namespace, name, .. } => {
                    // The target may be cluster-scoped.
                    for namespace in [namespace.as_deref().unwrap_or(from), ""] {
                        self.add_reference(from, (group, kind, namespace, name), is_refused);
                    }
                }
                TargetSpec::Selected(selector) => {
                    self.add(DependencyKey::KindLabels(&selector.group, &selector.kind));
                    if !matches!(selector.namespaces, NamespaceSelection::Same) {
                        self.add(DependencyKey::AllNamespaces);
                    }
                }
                TargetSpec::OwnNamespace | TargetSpec::Chosen(_) | TargetSpec::Host(_) => self.chooses_targets = true,
            }
        }
    }
}
