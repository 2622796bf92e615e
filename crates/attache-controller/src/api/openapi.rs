//! The API as OpenAPI documents, so that `kubectl explain` works.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::error::json as answer;
use super::resource::Resource;
use super::{API_VERSION, GROUP, VERSION};

/// `/openapi/v2`: the API server adds it to its own.
pub fn v2() -> Response {
    let document = json!({
        "swagger": "2.0",
        "info": {"title": "Attaché", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths("#/definitions/"),
        "definitions": definitions("#/definitions/"),
    });
    answer(StatusCode::OK, "application/json", &document)
}

/// `/openapi/v3`: where the documents are.
pub fn v3_index() -> Response {
    let address = format!("/openapi/v3/apis/{API_VERSION}?hash={}", env!("CARGO_PKG_VERSION"));
    let document = json!({"paths": {format!("apis/{API_VERSION}"): {"serverRelativeURL": address}}});
    answer(StatusCode::OK, "application/json", &document)
}

/// `/openapi/v3/apis/GROUP/VERSION`.
pub fn v3() -> Response {
    answer(StatusCode::OK, "application/json", &v3_document())
}

/// The schemas of both kinds and their lists.
pub(super) fn v3_document() -> Value {
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Attaché", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths("#/components/schemas/"),
        "components": {"schemas": definitions("#/components/schemas/")},
    })
}

fn paths(references: &str) -> Value {
    let mut paths = Map::new();
    for resource in Resource::ALL {
        let path = |rest: String| format!("/apis/{API_VERSION}/{rest}");
        let plural = resource.plural();
        let (list, one) = (resource.list_kind(), resource.kind());
        for (path, kind, action) in [
            (path(plural.to_owned()), list, "list"),
            (path(format!("namespaces/{{namespace}}/{plural}")), list, "list"),
            (path(format!("namespaces/{{namespace}}/{plural}/{{name}}")), one, "get"),
        ] {
            let operation = operation(references, &path, resource, kind, action);
            paths.insert(path, operation);
        }
    }
    paths.into()
}

fn operation(references: &str, path: &str, resource: Resource, kind: &str, action: &str) -> Value {
    let schema = json!({"$ref": format!("{references}{}", definition_name(kind))});
    let is_v3 = references.starts_with("#/components");
    let answer = match is_v3 {
        true => json!({"description": "OK", "content": {"application/json": {"schema": schema}}}),
        false => json!({"description": "OK", "schema": schema}),
    };
    let parameters = ["namespace", "name"].into_iter().filter(|name| path.contains(&format!("{{{name}}}")));
    let parameter = |name: &str| match is_v3 {
        true => json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
        false => json!({"name": name, "in": "path", "required": true, "type": "string"}),
    };
    let scope = if path.contains("{namespace}") { "Namespaced" } else { "AllNamespaces" };
    json!({
        "get": {
            "operationId": format!("{action}EffectiveAttacheDevV1alpha1{scope}{}", resource.kind()),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": group_version_kind(resource.kind()),
            "responses": {"200": answer},
        },
        "parameters": parameters.map(parameter).collect::<Vec<_>>(),
    })
}

fn group_version_kind(kind: &str) -> Value {
    json!({"group": GROUP, "version": VERSION, "kind": kind})
}

fn definition_name(kind: &str) -> String {
    format!("dev.attache.effective.{VERSION}.{kind}")
}

fn definitions(references: &str) -> Value {
    let mut definitions = Map::new();
    for resource in Resource::ALL {
        let (about, spec, status) = match resource {
            Resource::EffectivePolicies => (EFFECTIVE_POLICY, effective_spec(), effective_status()),
            Resource::PolicyReaches => (POLICY_REACH, reach_spec(), reach_status()),
        };
        let schema = kind(about, resource.kind(), [("spec", spec), ("status", status)]);
        definitions.insert(definition_name(resource.kind()), schema);
        let item = json!({"$ref": format!("{references}{}", definition_name(resource.kind()))});
        let items = json!({"description": "The objects.", "type": "array", "items": item});
        let about = format!("A list of objects of the kind {}.", resource.kind());
        let schema = kind(&about, resource.list_kind(), [("items", items)]);
        definitions.insert(definition_name(resource.list_kind()), schema);
    }
    definitions.into()
}

const EFFECTIVE_POLICY: &str = "An EffectivePolicy says what the policies of one kind do on one object: which values are \
in force, which policy set each, and which policies were overridden. It is computed from the policies when it is read, and \
cannot be written.";

const POLICY_REACH: &str = "A PolicyReach says how far one policy reaches: in how many scopes it is in force, and which \
policies override it. It is computed when it is read, and cannot be written.";

fn kind<const N: usize>(description: &str, kind: &str, own: [(&str, Value); N]) -> Value {
    let mut properties = Map::new();
    properties.insert("apiVersion".into(), string("The version of the API: `effective.attache.dev/v1alpha1`."));
    properties.insert("kind".into(), string("The kind."));
    let metadata = "The name and namespace, and the labels and creation time of the object or policy.";
    properties.insert("metadata".into(), json!({"description": metadata, "type": "object"}));
    properties.extend(own.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "x-kubernetes-group-version-kind": [group_version_kind(kind)],
    })
}

fn string(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}

fn integer(description: &str) -> Value {
    json!({"description": description, "type": "integer", "format": "int64"})
}

fn object(description: &str, properties: Value) -> Value {
    json!({"description": description, "type": "object", "properties": properties})
}

fn list(description: &str, items: Value) -> Value {
    json!({"description": description, "type": "array", "items": items})
}

/// Fields that depend on the kind of the policies.
fn any_fields(description: &str) -> Value {
    json!({"description": description, "type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn reference(description: &str) -> Value {
    let properties = json!({
        "group": string("The API group. Empty for the core group."),
        "kind": string("The kind."),
        "namespace": string("The namespace. Absent for a Namespace."),
        "name": string("The name."),
    });
    object(description, properties)
}

fn effective_spec() -> Value {
    let properties = json!({
        "object": reference("The object that policies are in force on."),
        "policyKind": string("The kind of the policies: `KIND.GROUP`."),
    });
    object("The object and the policy kind.", properties)
}

fn reach_spec() -> Value {
    object("The policy.", json!({"policy": reference("The policy.")}))
}

const PATH_OF_VALUE: &str = "The value: `retry.attempts`. Empty for the whole policy.";

fn origin() -> Value {
    json!({
        "path": string(PATH_OF_VALUE),
        "policy": string("The policy that sets it: `KIND/NAMESPACE/NAME`."),
        "block": string("The block of the policy: `defaults`, `rules` or `overrides`."),
        "target": string("What the policy is attached to."),
    })
}

fn effective_status() -> Value {
    let mut superseded = origin();
    superseded["by"] = string("The policy that it lost to. Absent if the target itself, or a condition, decides.");
    superseded["alsoBy"] = list("The other policies that it would have lost to.", json!({"type": "string"}));
    superseded["reason"] = string("Why it lost, such as `Overridden`, `MoreSpecific` or `Older`.");
    let origins = |description: &str| list(description, json!({"type": "object", "properties": origin()}));
    let applied = json!({
        "policy": string("The policy."),
        "target": string("What the policy is attached to."),
        "spec": any_fields("Its settings."),
    });
    let merged = json!({
        "object": string("The object."),
        "path": string("The field."),
        "value": any_fields("Its value."),
        "origins": origins("The origin of what policies set."),
    });
    let warning = json!({
        "policy": string("The policy."),
        "block": string("The block whose condition it is."),
        "message": string("What is wrong with it."),
    });
    let items = |properties: Value| json!({"type": "object", "properties": properties});
    let scope = json!({
        "path": list(
            "The objects and sections from a root, such as a GatewayClass, to the effective target.",
            json!({"type": "string"}),
        ),
        "from": string("The Namespace whose requests the scope applies to. Absent if it applies to all requests."),
        "spec": any_fields("The values that are in force. Values that the PolicyKind lists under `redact` are `<redacted>`."),
        "policies": list("For kinds whose policies all apply: each policy, in order.", items(applied)),
        "origins": origins("Which policy set each value."),
        "superseded": list("The values that lost.", items(superseded)),
        "objects": list("For kinds that merge into objects: the fields of objects after the merge.", items(merged)),
        "warnings": list("Conditions that could not be evaluated.", items(warning)),
    });
    let properties = json!({
        "scopeCount": integer("The number of scopes. At most 100 of them are listed."),
        "scopeCountIsMinimum": {"description": "Whether there may be more scopes than `scopeCount`.", "type": "boolean"},
        "scopes": list(
            "The effective policy of each scope. A scope is a path from a root, such as a GatewayClass, to an effective target; the policies along it are merged.",
            items(scope),
        ),
    });
    object("What is in force.", properties)
}

fn reach_status() -> Value {
    let accepted = json!({
        "status": string("`True` or `False`."),
        "reason": string("`Accepted`, or the reason for the rejection."),
        "message": string("More about the reason."),
    });
    let scopes = json!({
        "total": integer("The number of scopes that it reaches."),
        "enforced": integer("The number of scopes in which all of it is in force."),
        "partial": integer("The number of scopes in which a part of it is in force."),
        "overridden": integer("The number of scopes in which other policies override all of it."),
    });
    let targets = json!({
        "kind": string("Their kind, if it is the same for all: `Service`, `HTTPRoute rule`."),
        "total": integer("The number of effective targets."),
        "inForce": integer("The number on which some of the policy is in force."),
    });
    let rules = json!({
        "total": integer("The number of rules that could be in force somewhere."),
        "inForce": integer("The number of rules that are in force wherever some of the policy is."),
    });
    let superseded = json!({
        "by": string("The other policy. Absent if the target itself sets the parts."),
        "paths": list("The parts. An empty path is the whole policy.", json!({"type": "string"})),
    });
    let properties = json!({
        "accepted": object("Whether the policy is accepted.", accepted),
        "enforcement": string("`Enforced`, `PartiallyEnforced`, `Overridden` or `NotEnforced`."),
        "scopes": object("The scopes in which it is in force.", scopes),
        "effectiveTargets": object("The effective targets on which it is in force.", targets),
        "rules": object("Its rules that are in force.", rules),
        "by": list("The policies that override it, or a part of it.", json!({"type": "string"})),
        "superseded": list(
            "Which parts of it are overridden somewhere, and by which policy.",
            json!({"type": "object", "properties": superseded}),
        ),
    });
    object("Where the policy is in force.", properties)
}
