//! Namespaces and their labels, and which of them a listener or a Gateway lets in.

use super::api::NAMESPACE_NAME;
use crate::object::Objects;
use crate::selector::selects;
use crate::value::Value;

/// A namespace in which something lives. It may have no Namespace object: then its name is its only label.
#[derive(Clone, Copy, Debug)]
pub struct Namespace<'o> {
    pub name: &'o str,
    labels: &'o Value,
}

impl<'o> Namespace<'o> {
    pub fn named(objects: &'o Objects, name: &'o str) -> Self {
        let object = objects.lookup("", "Namespace", "", name);
        Namespace { name, labels: object.map_or(&Value::Null, |id| objects[id].labels()) }
    }

    pub fn label(&self, key: &str) -> Option<&'o str> {
        if key == NAMESPACE_NAME { Some(self.name) } else { self.labels.get_str(key) }
    }
}

/// From which namespaces somebody lets others in: `namespaces` of `allowedRoutes` and `allowedListeners`.
#[derive(Clone, Copy, Debug)]
pub enum Allowed<'o> {
    All,
    Same,
    Nobody,
    Selector(&'o Value),
}

impl<'o> Allowed<'o> {
    /// Reads `{from, selector}`; `None` when it says nothing that can be understood.
    pub fn read(namespaces: &'o Value) -> Option<Self> {
        match namespaces.get_str("from")? {
            "All" => Some(Allowed::All),
            "Same" => Some(Allowed::Same),
            "None" => Some(Allowed::Nobody),
            "Selector" => Some(Allowed::Selector(namespaces.get("selector").unwrap_or(&Value::Null))),
            _ => None,
        }
    }

    /// Whether the owner, who lives in `home`, lets in what lives in `guest`.
    pub fn lets_in(self, home: &str, guest: &Namespace) -> bool {
        match self {
            Allowed::All => true,
            Allowed::Same => home == guest.name,
            Allowed::Nobody => false,
            Allowed::Selector(selector) => selects(selector, |key| guest.label(key)),
        }
    }

    /// Completes "lets in … from".
    pub fn describe(self, home: &str) -> String {
        match self {
            Allowed::All => "all namespaces".to_owned(),
            Allowed::Same => format!("namespace `{home}` only"),
            Allowed::Nobody => "no namespace".to_owned(),
            Allowed::Selector(selector) => {
                format!("namespaces with labels `{}` only", serde_json::to_string(selector).unwrap_or_default())
            }
        }
    }
}
