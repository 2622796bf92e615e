//! Namespaces and their labels, and which of them a listener or a Gateway lets in.

use hashbrown::HashMap;

use super::api::NAMESPACE_NAME;
use crate::object::{ObjectId, Objects};
use crate::selector::selects;
use crate::value::Value;

/// A namespace in which something lives. It may have no Namespace object: then its name is its only label.
#[derive(Clone, Copy, Debug)]
pub struct Namespace<'o> {
    pub name: &'o str,
    pub object: Option<ObjectId>,
    labels: &'o Value,
}

impl<'o> Namespace<'o> {
    pub fn label(&self, key: &str) -> Option<&'o str> {
        if key == NAMESPACE_NAME { Some(self.name) } else { self.labels.get_str(key) }
    }
}

#[derive(Debug)]
pub struct Namespaces<'o> {
    by_name: HashMap<&'o str, Namespace<'o>>,
}

impl<'o> Namespaces<'o> {
    pub fn of(objects: &'o Objects) -> Self {
        let written = objects.each("", "Namespace").map(|(id, object)| {
            let name = object.id.name.as_str();
            (name, Namespace { name, object: Some(id), labels: object.labels() })
        });
        let mut by_name: HashMap<&str, Namespace> = written.collect();
        // Objects are sorted by kind and namespace: most live where the one before does.
        let mut last = "";
        for (_, object) in objects.iter() {
            let name = object.id.namespace.as_str();
            if name != last && !name.is_empty() {
                by_name.entry(name).or_insert(Namespace { name, object: None, labels: &Value::Null });
                last = name;
            }
        }
        Namespaces { by_name }
    }

    pub fn get(&self, name: &'o str) -> Namespace<'o> {
        let unknown = Namespace { name, object: None, labels: &Value::Null };
        self.by_name.get(name).copied().unwrap_or(unknown)
    }

    /// Those that exist only because something lives in them, in no particular order.
    pub fn unwritten(&self) -> impl Iterator<Item = &'o str> {
        self.by_name.values().filter(|namespace| namespace.object.is_none()).map(|namespace| namespace.name)
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
