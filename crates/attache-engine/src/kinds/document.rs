//! The document that describes a kind, to copy and change.

use serde_json::{Value as Json, json};

use super::schema::{GROUP, KIND};
use super::{KindOrigin, PolicyKind, built_in};
use crate::object::{ObjectRef, Objects};
use crate::text::to_yaml;
use crate::value::Value;

impl PolicyKind {
    /// Its PolicyKind document as YAML: as it was written, or as it could be for a kind that a CRD tells of.
    pub fn document(&self, objects: &Objects) -> String {
        let written = match &self.origin {
            KindOrigin::BuiltIn(file) => built_in::document(file, &self.name),
            KindOrigin::Given(_) => {
                let id = objects.find(&ObjectRef::new(GROUP, KIND, "", &self.name));
                id.map(|id| to_yaml(&objects[id].body))
            }
            KindOrigin::Inferred(_) => None,
        };
        written.unwrap_or_else(|| to_yaml(&Value::from(self.described())))
    }

    /// What a CRD can tell of a kind.
    fn described(&self) -> Json {
        let names = |names: &[super::LevelName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let strategies: Vec<&str> = self.strategies.iter().map(|strategy| strategy.name()).collect();
        json!({
            "apiVersion": "attache.dev/v1alpha1",
            "kind": KIND,
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "kind": self.kind,
                "shortNames": self.short_names,
                "scope": if self.cluster_scoped { "Cluster" } else { "Namespaced" },
                "class": format!("{:?}", self.class),
                "hierarchy": names(&self.hierarchy),
                "targets": names(&self.targets),
                "sameLevel": format!("{:?}", self.same_level),
                "strategies": strategies,
                "whole": self.whole.iter().map(ToString::to_string).collect::<Vec<_>>(),
            },
        })
    }
}
