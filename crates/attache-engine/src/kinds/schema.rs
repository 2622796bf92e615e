//! The schema of PolicyKind documents.

use serde_json::Value as Json;

use super::PolicyKind;
use crate::document::{CustomResource, FieldValue, reference};

/// The API group of Attaché's own documents.
pub const GROUP: &str = "attache.dev";
/// The version of PolicyKind documents.
pub const VERSION: &str = "v1alpha1";
/// The kind of PolicyKind documents.
pub const KIND: &str = "PolicyKind";

/// The CustomResourceDefinition of PolicyKind, by which a cluster can store PolicyKind documents.
pub fn custom_resource_definition() -> Json {
    let resource = CustomResource {
        group: GROUP,
        version: VERSION,
        kind: KIND,
        plural: "policykinds",
        description: "A PolicyKind describes one kind of policy to Attaché: what policies of the kind target, along which \
                      hierarchy they are inherited, and how several of them merge.",
        columns: &[("Group", ".spec.group"), ("Kind", ".spec.kind"), ("Class", ".spec.class")],
    };
    resource.definition(&PolicyKind::schema())
}

/// The reference documentation of PolicyKind documents: Markdown tables of all fields below `spec`.
pub fn field_reference() -> String {
    reference(&PolicyKind::object_schema(), "The kind")
}
