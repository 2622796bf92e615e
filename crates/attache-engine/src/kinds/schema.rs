//! The schemas of PolicyKind, TargetKind, GatewayController and PolicyRequirement documents.

use serde_json::{Value as Json, json};

use super::{
    GATEWAY_CONTROLLER, GatewayController, POLICY_REQUIREMENT, PolicyKind, PolicyRequirement, TARGET_KIND, TargetKind,
};
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

/// The CustomResourceDefinition of GatewayController, by which a cluster can store GatewayController documents.
pub fn gateway_controller_definition() -> Json {
    let resource = CustomResource {
        group: GROUP,
        version: VERSION,
        kind: GATEWAY_CONTROLLER,
        plural: "gatewaycontrollers",
        description: "A GatewayController describes a controller of Gateways to Attaché: the names by which GatewayClasses \
                      refer to it, and what it supports.",
        columns: &[("Title", ".spec.title")],
    };
    resource.definition(&GatewayController::schema())
}

/// The CustomResourceDefinition of PolicyRequirement, by which a cluster can store PolicyRequirement documents.
pub fn policy_requirement_definition() -> Json {
    let resource = CustomResource {
        group: GROUP,
        version: VERSION,
        kind: POLICY_REQUIREMENT,
        plural: "policyrequirements",
        description: "A PolicyRequirement says which policy, or which rule of one, must be in force on what. Its status \
                      counts what lacks it.",
        columns: &[("Require", ".spec.require"), ("Checked", ".status.checked"), ("Missing", ".status.missing")],
    };
    let mut definition = resource.definition(&PolicyRequirement::schema());
    let count = |description: &str| json!({"type": "integer", "format": "int64", "description": description});
    let status =
        &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    status["checked"] = count("On how many targets the policy is required.");
    status["missing"] = count("How many targets lack it.");
    status["excepted"] = count("How many targets lack it, and need not have it.");
    status["lacking"] = json!({
        "type": "array",
        "maxItems": 20,
        "items": {"type": "string"},
        "description": "The first targets that lack it.",
    });
    definition
}

/// The reference documentation of PolicyRequirement documents: Markdown tables of all fields below `spec`.
pub fn policy_requirement_reference() -> String {
    reference(&PolicyRequirement::object_schema(), "The requirement")
}

/// The reference documentation of GatewayController documents: Markdown tables of all fields below `spec`.
pub fn gateway_controller_reference() -> String {
    reference(&GatewayController::object_schema(), "The controller")
}

/// The reference documentation of TargetKind documents: Markdown tables of all fields below `spec`.
pub fn target_kind_reference() -> String {
    reference(&TargetKind::object_schema(), "The kind")
}

/// The reference documentation of PolicyKind documents: Markdown tables of all fields below `spec`.
pub fn field_reference() -> String {
    reference(&PolicyKind::object_schema(), "The kind")
}
