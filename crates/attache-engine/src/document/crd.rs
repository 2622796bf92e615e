//! The CustomResourceDefinition of a document.

use serde_json::{Value as Json, json};

use super::Schema;

/// A cluster-scoped kind of document that can be stored in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct CustomResource {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub description: &'static str,
    /// Columns of `kubectl get`: their titles and the JSON paths of their values.
    pub columns: &'static [(&'static str, &'static str)],
}

impl CustomResource {
    pub fn definition(&self, spec: &Schema) -> Json {
        let CustomResource { group, version, kind, plural, .. } = self;
        let own = self.columns.iter().map(|(name, path)| column(name, "string", path));
        let columns: Vec<Json> = own.chain([column("Age", "date", ".metadata.creationTimestamp")]).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "scope": "Cluster",
                "names": {
                    "kind": kind,
                    "listKind": format!("{kind}List"),
                    "plural": plural,
                    "singular": kind.to_lowercase(),
                },
                "versions": [{
                    "name": version,
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": self.schema(spec)},
                }],
            },
        })
    }

    /// The schema of a whole document.
    fn schema(&self, spec: &Schema) -> Json {
        json!({
            "type": "object",
            "description": self.description,
            "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
                "spec": spec.to_json(),
                "status": status(),
            },
        })
    }
}

fn column(name: &str, r#type: &str, path: &str) -> Json {
    json!({"name": name, "type": r#type, "jsonPath": path})
}

/// The status that a controller writes: conditions, as everywhere in Kubernetes.
fn status() -> Json {
    json!({
        "type": "object",
        "description": "Whether the document is used.",
        "properties": {
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
                    "properties": {
                        "type": {"type": "string", "maxLength": 316},
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                        "lastTransitionTime": {"type": "string", "format": "date-time"},
                        "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
                        "message": {"type": "string", "maxLength": 32768},
                    },
                },
            },
        },
    })
}
