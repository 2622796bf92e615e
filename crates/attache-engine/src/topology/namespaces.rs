//! Namespaces with their labels, and the namespaces that a listener or a Gateway allows.

use super::api::NAMESPACE_NAME;
use crate::object::Objects;
use crate::selector::selects;
use crate::value::Value;

/// A namespace with its labels. Without a Namespace object, its name is its only label.
#[derive(Clone, Copy, Debug)]
pub struct Namespace<'o> {
    /// The name of the namespace.
    pub name: &'o str,
    labels: &'o Value,
}

impl<'o> Namespace<'o> {
    /// The namespace of this name.
    pub fn named(objects: &'o Objects, name: &'o str) -> Self {
        let object = objects.lookup("", "Namespace", "", name);
        Namespace { name, labels: object.map_or(&Value::Null, |id| objects[id].labels()) }
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'o str> {
        if key == NAMESPACE_NAME { Some(self.name) } else { self.labels.get_str(key) }
    }
}

/// The namespaces from which a listener allows routes, or a Gateway ListenerSets: `namespaces` of `allowedRoutes` and of
/// `allowedListeners`. `S` is a label selector, owned or borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllowedNamespaces<S = Value> {
    /// Every namespace.
    All,
    /// The namespace of the listener or Gateway.
    Same,
    /// No namespace.
    None,
    /// The namespaces whose labels this selector matches.
    Selector(S),
}

impl<'o> AllowedNamespaces<&'o Value> {
    /// Reads `{from, selector}`; `None` if `from` is missing or unknown.
    pub(super) fn read(namespaces: &'o Value) -> Option<Self> {
        match namespaces.get_str("from")? {
            "All" => Some(AllowedNamespaces::All),
            "Same" => Some(AllowedNamespaces::Same),
            "None" => Some(AllowedNamespaces::None),
            "Selector" => Some(AllowedNamespaces::Selector(namespaces.get("selector").unwrap_or(&Value::Null))),
            _ => None,
        }
    }

    /// Whether an owner in namespace `own` allows objects of namespace `other`.
    pub(crate) fn allow(self, own: &str, other: &Namespace) -> bool {
        match self {
            AllowedNamespaces::All => true,
            AllowedNamespaces::Same => own == other.name,
            AllowedNamespaces::None => false,
            AllowedNamespaces::Selector(selector) => selects(selector, |key| other.label(key)),
        }
    }

    pub(super) fn cloned(self) -> AllowedNamespaces {
        match self {
            AllowedNamespaces::All => AllowedNamespaces::All,
            AllowedNamespaces::Same => AllowedNamespaces::Same,
            AllowedNamespaces::None => AllowedNamespaces::None,
            AllowedNamespaces::Selector(selector) => AllowedNamespaces::Selector(selector.clone()),
        }
    }
}

impl AllowedNamespaces {
    /// Completes the sentence "lets in … from", for an owner in namespace `own`.
    pub(super) fn describe(&self, own: &str) -> String {
        match self {
            AllowedNamespaces::All => "all namespaces".to_owned(),
            AllowedNamespaces::Same => format!("namespace `{own}` only"),
            AllowedNamespaces::None => "no namespace".to_owned(),
            AllowedNamespaces::Selector(selector) => {
                format!("namespaces with labels `{}` only", serde_json::to_string(selector).unwrap_or_default())
            }
        }
    }
}
