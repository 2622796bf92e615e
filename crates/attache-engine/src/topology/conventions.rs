//! What implementations of the Gateway API do in another way than it says, or beyond it: data in `kinds/conventions.yaml`.

use std::sync::LazyLock;

use smol_str::SmolStr;

use crate::text;
use crate::value::Value;

/// The conventions of implementations that decide which objects are linked to which.
#[derive(Debug, Default)]
pub struct Conventions {
    /// The starts of the names of controllers that attach HTTPRoutes and GRPCRoutes of the same hostname to one listener.
    shared_hostnames: Vec<SmolStr>,
    /// How rules choose routes by label, to delegate to them.
    pub delegation_labels: Vec<DelegationLabel>,
    /// The annotations by which a route inherits the matches of the rule that delegates to it.
    pub inherit_matches: Vec<SmolStr>,
    backends: Vec<BackendKind>,
    workloads: Vec<(SmolStr, SmolStr)>,
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
}

impl Conventions {
    /// Those that come with Attaché.
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
        let texts = |list: &[Value]| list.iter().filter_map(Value::as_str).map(SmolStr::from).collect();
        let delegation = document.get("delegation").unwrap_or(&Value::Null);
        let labels = delegation.list_at("labels").iter();
        let backends = document.list_at("backends").iter().map(|it| BackendKind {
            group: text(it, "group"),
            kind: text(it, "kind"),
            frontend: matches!(it.get("frontend"), Some(Value::Bool(true))),
        });
        let workloads = document.list_at("workloads").iter();
        Conventions {
            shared_hostnames: texts(document.list_at("sharedHostnames")),
            delegation_labels: labels
                .map(|it| DelegationLabel { group: text(it, "group"), label: text(it, "label") })
                .collect(),
            inherit_matches: texts(delegation.list_at("inheritMatches")),
            backends: backends.collect(),
            workloads: workloads.map(|it| (text(it, "group"), text(it, "kind"))).collect(),
        }
    }

    /// Whether a controller attaches HTTPRoutes and GRPCRoutes of the same hostname to one listener.
    pub fn shares_hostnames(&self, controller: &str) -> bool {
        self.shared_hostnames.iter().any(|start| controller.starts_with(start.as_str()))
    }

    /// Whether objects of a kind are backends.
    pub fn is_backend(&self, group: &str, kind: &str) -> bool {
        self.backends.iter().any(|it| it.kind == kind && it.group == group)
    }

    /// Whether mesh routes may have objects of a kind as their parent.
    pub fn is_frontend(&self, group: &str, kind: &str) -> bool {
        self.backends.iter().any(|it| it.frontend && it.kind == kind && it.group == group)
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
        assert_eq!(fields, ["backends", "delegation", "sharedHostnames", "workloads"]);
        let Conventions { shared_hostnames, delegation_labels, inherit_matches, backends, workloads } =
            Conventions::built_in();
        assert!(!shared_hostnames.is_empty() && !delegation_labels.is_empty() && !inherit_matches.is_empty());
        assert!(delegation_labels.iter().all(|it| !it.group.is_empty() && !it.label.is_empty()));
        assert!(backends.iter().all(|it| !it.group.is_empty() && !it.kind.is_empty()));
        assert!(workloads.iter().all(|(group, kind)| !group.is_empty() && !kind.is_empty()));
        assert!(backends.iter().any(|it| it.frontend) && backends.iter().any(|it| !it.frontend));
    }
}
