//! Deviations of implementations from the Gateway API, and extensions of it: data in `kinds/conventions.yaml`.

use std::sync::LazyLock;

use smol_str::SmolStr;

use crate::object::Object;
use crate::text;
use crate::value::{Path, Value};

/// Deviations and extensions that determine which objects are linked.
#[derive(Debug, Default)]
pub struct Conventions {
    /// The labels by which rules select routes to delegate to.
    pub delegation_labels: Vec<DelegationLabel>,
    /// Annotations with which a route inherits the matches of the rule that delegates to it.
    pub inherit_matches: Vec<SmolStr>,
    backends: Vec<BackendKind>,
    workloads: Vec<(SmolStr, SmolStr)>,
    /// The kinds whose objects create Secrets.
    pub secret_makers: Vec<SecretMaker>,
    /// Annotations of Gateways and ListenerSets with which the Secrets of their listeners are created.
    secret_annotations: Vec<SmolStr>,
}

/// A kind whose objects create Secrets.
#[derive(Debug)]
pub struct SecretMaker {
    pub group: SmolStr,
    pub kind: SmolStr,
    /// The field with the name of the Secret. Without it, the Secret has the name of the object.
    field: Option<Path>,
}

impl SecretMaker {
    /// The name of the Secret that an object of the kind creates.
    pub fn secret<'o>(&self, object: &'o Object) -> Option<&'o str> {
        let field = self.field.as_ref().and_then(|field| field.resolve(&object.body)?.as_str());
        field.or(Some(object.id.name.as_str()))
    }
}

/// A backend of kind `label` in `group` stands for all routes that have `label` with its name as the value.
#[derive(Debug)]
pub struct DelegationLabel {
    pub group: SmolStr,
    pub label: SmolStr,
}

/// A kind whose objects are backends.
#[derive(Debug)]
struct BackendKind {
    group: SmolStr,
    kind: SmolStr,
    /// Whether mesh routes may have it as their parent.
    frontend: bool,
    /// Whether it has no objects, and exists because a route refers to it.
    is_virtual: bool,
    /// Whether its sections are the ports of its endpoints, by number.
    has_endpoints: bool,
}

impl Conventions {
    /// The built-in conventions.
    pub fn built_in() -> &'static Conventions {
        static BUILT_IN: LazyLock<Conventions> = LazyLock::new(|| {
            let document = text::read_value(include_str!("../../../../kinds/conventions.yaml"));
            // A test reads the document.
            document.map(|document| Conventions::read(&document)).unwrap_or_default()
        });
        &BUILT_IN
    }

    fn read(document: &Value) -> Conventions {
        let text = |value: &Value, field: &str| SmolStr::from(value.get_str(field).unwrap_or_default());
        let flag = |value: &Value, field: &str| matches!(value.get(field), Some(Value::Bool(true)));
        let texts = |list: &[Value]| list.iter().filter_map(Value::as_str).map(SmolStr::from).collect();
        let delegation = document.get("delegation").unwrap_or(&Value::Null);
        let labels = delegation.list_at("labels").iter();
        let backends = document.list_at("backends").iter().map(|it| BackendKind {
            group: text(it, "group"),
            kind: text(it, "kind"),
            frontend: flag(it, "frontend"),
            is_virtual: flag(it, "virtual"),
            has_endpoints: flag(it, "endpoints"),
        });
        let workloads = document.list_at("workloads").iter();
        let secrets = document.get("secrets").unwrap_or(&Value::Null);
        Conventions {
            delegation_labels: labels
                .map(|it| DelegationLabel { group: text(it, "group"), label: text(it, "label") })
                .collect(),
            inherit_matches: texts(delegation.list_at("inheritMatches")),
            backends: backends.collect(),
            workloads: workloads.map(|it| (text(it, "group"), text(it, "kind"))).collect(),
            secret_makers: secrets
                .list_at("madeBy")
                .iter()
                .map(|it| SecretMaker {
                    group: text(it, "group"),
                    kind: text(it, "kind"),
                    field: it.get_str("field").map(Path::parse),
                })
                .collect(),
            secret_annotations: texts(secrets.list_at("annotations")),
        }
    }

    /// Whether objects of a kind create Secrets.
    pub fn makes_secrets(&self, group: &str, kind: &str) -> bool {
        self.secret_makers.iter().any(|it| it.kind == kind && it.group == group)
    }

    /// Whether a Gateway or ListenerSet has an annotation with which the Secrets of its listeners are created.
    pub fn has_secrets_made(&self, owner: &Object) -> bool {
        let annotations = owner.body.at(&["metadata", "annotations"]);
        annotations.is_some_and(|annotations| self.secret_annotations.iter().any(|it| annotations.get(it).is_some()))
    }

    /// Whether objects of a kind are backends.
    pub fn is_backend(&self, group: &str, kind: &str) -> bool {
        self.backends.iter().any(|it| it.kind == kind && it.group == group)
    }

    /// Whether mesh routes may have objects of a kind as their parent.
    pub fn is_frontend(&self, group: &str, kind: &str) -> bool {
        self.backends.iter().any(|it| it.frontend && it.kind == kind && it.group == group)
    }

    /// Whether backends of a kind have no objects, and exist because a route refers to them.
    pub fn is_virtual_backend(&self, group: &str, kind: &str) -> bool {
        self.backends.iter().any(|it| it.is_virtual && it.kind == kind && it.group == group)
    }

    /// Whether the sections of objects of a kind are the ports of their endpoints, by number.
    pub fn has_endpoints(&self, group: &str, kind: &str) -> bool {
        self.backends.iter().any(|it| it.has_endpoints && it.kind == kind && it.group == group)
    }

    /// Whether objects of a kind are workloads.
    pub fn is_workload(&self, group: &str, kind: &str) -> bool {
        self.workloads.iter().any(|it| it.1 == kind && it.0 == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_conventions_are_read() {
        let document = text::read_value(include_str!("../../../../kinds/conventions.yaml")).unwrap_or_default();
        let fields: Vec<&str> = document
            .as_map()
            .map(|map| map.entries().iter().map(|(key, _)| key.as_str()).collect())
            .unwrap_or_default();
        assert_eq!(fields, ["backends", "clusterScoped", "delegation", "secrets", "workloads"]);
        let Conventions { delegation_labels, inherit_matches, backends, workloads, secret_makers, secret_annotations } =
            Conventions::built_in();
        assert!(!secret_makers.is_empty() && !secret_annotations.is_empty());
        assert!(!delegation_labels.is_empty() && !inherit_matches.is_empty());
        assert!(delegation_labels.iter().all(|it| !it.group.is_empty() && !it.label.is_empty()));
        assert!(backends.iter().all(|it| !it.group.is_empty() && !it.kind.is_empty()));
        assert!(workloads.iter().all(|(group, kind)| !group.is_empty() && !kind.is_empty()));
        assert!(backends.iter().any(|it| it.frontend) && backends.iter().any(|it| !it.frontend));
    }
}
