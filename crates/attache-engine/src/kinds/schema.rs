//! The schemas of PolicyKind and TargetKind documents.

use serde_json::Value as Json;

use super::{PolicyKind, TARGET_KIND, TargetKind};
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

/// The CustomResourceDefinition of TargetKind, by which a cluster can store TargetKind documents.
pub fn target_kind_definition() -> Json {
    let resource = CustomResource {
        group: GROUP,
        version: VERSION,
        kind: TARGET_KIND,
        plural: "targetkinds",
        description: "A TargetKind links objects of a kind that the Gateway API does not know to their parents, so that \
                      policies are inherited along these links.",
        columns: &[("Group", ".spec.group"), ("Kind", ".spec.kind")],
    };
    resource.definition(&TargetKind::schema())
}

/// The reference documentation of TargetKind documents: Markdown tables of all fields below `spec`.
pub fn target_kind_reference() -> String {
    reference(&TargetKind::object_schema(), "The kind")
}

/// The reference documentation of PolicyKind documents: Markdown tables of all fields below `spec`.
pub fn field_reference() -> String {
    reference(&PolicyKind::object_schema(), "The kind")
}
