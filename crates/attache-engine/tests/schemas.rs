//! The files that are generated from the definition of PolicyKind are current, and known valid documents are valid
//! against the schema. `UPDATE_SCHEMAS=1` rewrites the files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_engine::Value;
use attache_engine::kinds::{
    custom_resource_definition, field_reference, gateway_controller_definition, gateway_controller_reference,
    policy_requirement_definition, policy_requirement_reference, target_kind_definition, target_kind_reference,
};
use attache_engine::text;
use serde_json::Value as Json;

const CRD: &str = "deploy/chart/files/crds/policykinds.attache.dev.yaml";
const TARGET_KIND_CRD: &str = "deploy/chart/files/crds/targetkinds.attache.dev.yaml";
const GATEWAY_CONTROLLER_CRD: &str = "deploy/chart/files/crds/gatewaycontrollers.attache.dev.yaml";
const POLICY_REQUIREMENT_CRD: &str = "deploy/chart/files/crds/policyrequirements.attache.dev.yaml";
const DOCUMENTATION: &str = "docs/policy-kinds.md";
const UPDATE: &str = "UPDATE_SCHEMAS=1 cargo test -p attache-engine --test schemas";

#[test]
fn the_crds_are_current() {
    for (file, definition) in [
        (CRD, custom_resource_definition()),
        (TARGET_KIND_CRD, target_kind_definition()),
        (GATEWAY_CONTROLLER_CRD, gateway_controller_definition()),
        (POLICY_REQUIREMENT_CRD, policy_requirement_definition()),
    ] {
        let header = format!("# Generated from crates/attache-engine/src/kinds: do not edit.\n# {UPDATE}\n");
        assert_current(file, &(header + &text::to_yaml(&Value::from(definition))));
    }
}

#[test]
fn the_documentation_of_fields_is_current() {
    for (kind, reference) in [
        ("PolicyKind", field_reference()),
        ("TargetKind", target_kind_reference()),
        ("GatewayController", gateway_controller_reference()),
        ("PolicyRequirement", policy_requirement_reference()),
    ] {
        let begin = format!("<!-- {kind}: generated from crates/attache-engine/src/kinds. {UPDATE} -->\n\n");
        let end = "<!-- End of the generated part. -->\n";
        let text = fs::read_to_string(repository().join(DOCUMENTATION)).unwrap();
        let (before, rest) =
            text.split_once(&begin).expect("the documentation has no mark where the generated part begins");
        let (_, after) = rest.split_once(end).expect("the documentation has no mark where the generated part ends");
        assert_current(DOCUMENTATION, &[before, &begin, &reference, end, after].concat());
    }
}

#[test]
fn built_in_kinds_are_valid() {
    let checked = check_documents("kinds", |_| true);
    assert!(checked > 40, "only {checked} PolicyKinds");
}

#[test]
fn the_kinds_of_examples_and_tests_are_valid() {
    let examples = check_documents("examples", |_| true);
    assert!(examples > 0, "no PolicyKinds");
    // In files, not in a cluster, a list of one may be written without brackets.
    let tests = check_documents("conformance", |error| !error.ends_with("is no array"));
    assert!(tests > 20, "only {tests} PolicyKinds");
}

#[test]
fn mistakes_are_rejected_by_the_schema() {
    let schema = schema();
    let spec = |yaml: &str| {
        let text =
            format!("apiVersion: attache.dev/v1alpha1\nkind: PolicyKind\nmetadata: {{name: a.b}}\nspec: {yaml}\n");
        json(&text::read(&Arc::from("test.yaml"), &text).objects[0].body)
    };
    let errors = |yaml: &str| {
        let mut errors = Vec::new();
        validate(&schema, &spec(yaml), "", &mut errors);
        errors
    };
    assert_eq!(errors("{group: g, kind: K, effectiveTarget: Backend, priority: {rank: 1}}"), [""; 0]);
    assert_eq!(errors("{group: g}"), [".spec: `kind` is missing"]);
    assert_eq!(errors("{group: g, kind: K, clas: Direct}"), [".spec: unknown field `clas`"]);
    assert_eq!(errors("{group: g, kind: K, class: direct}"), [".spec.class: \"direct\" is not in the enum"]);
    assert_eq!(errors("{group: g, kind: K, sections: 1}"), [".spec.sections: 1 is no boolean"]);
    assert_eq!(errors("{group: g, kind: K, targets: [1]}"), [".spec.targets[0]: 1 is no string"]);
    assert_eq!(errors("{group: g, kind: K, keys: {a: 1}}"), [".spec.keys.a: 1 is no string"]);
}

/// Checks every PolicyKind in the YAML files of a folder, and returns their number.
fn check_documents(folder: &str, counts: fn(&String) -> bool) -> usize {
    let schema = schema();
    let mut checked = 0;
    for file in yaml_files(&repository().join(folder)) {
        let reading = text::read(&Arc::from(file.to_string_lossy()), &fs::read_to_string(&file).unwrap());
        // PolicyTests can contain PolicyKinds.
        let inline = |object: &attache_engine::Object| object.spec().list_at("objects").to_vec();
        let bodies = reading.objects.iter().flat_map(|object| [vec![object.body.clone()], inline(object)].concat());
        for body in bodies.filter(|body| body.get_str("kind") == Some("PolicyKind")) {
            let mut errors = Vec::new();
            validate(&schema, &json(&body), "", &mut errors);
            errors.retain(counts);
            assert!(errors.is_empty(), "{}: {errors:#?}", file.display());
            checked += 1;
        }
    }
    checked
}

/// Validates a value against the part of JSON schema that structural schemas of CRDs use here, and, more strictly than an
/// API server, against unknown fields. A keyword that is not handled is an error.
fn validate(schema: &Json, value: &Json, at: &str, errors: &mut Vec<String>) {
    for (keyword, argument) in schema.as_object().unwrap() {
        match (keyword.as_str(), argument) {
            ("type", Json::String(expected)) => {
                let found = match value {
                    Json::Null => "null",
                    Json::Bool(_) => "boolean",
                    Json::Number(number) if number.is_i64() => "integer",
                    Json::Number(_) => "number",
                    Json::String(_) => "string",
                    Json::Array(_) => "array",
                    Json::Object(_) => "object",
                };
                if found != expected {
                    errors.push(format!("{at}: {value} is no {expected}"));
                }
            }
            ("enum", Json::Array(allowed)) => {
                if !allowed.contains(value) {
                    errors.push(format!("{at}: {value} is not in the enum"));
                }
            }
            ("required", Json::Array(names)) => {
                for name in names.iter().filter_map(Json::as_str).filter(|name| value.get(name).is_none()) {
                    errors.push(format!("{at}: `{name}` is missing"));
                }
            }
            ("properties", Json::Object(properties)) => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    match properties.get(name) {
                        Some(schema) => validate(schema, value, &format!("{at}.{name}"), errors),
                        None => errors.push(format!("{at}: unknown field `{name}`")),
                    }
                }
            }
            ("additionalProperties", schema) => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    validate(schema, value, &format!("{at}.{name}"), errors);
                }
            }
            ("items", schema) => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(schema, item, &format!("{at}[{i}]"), errors);
                }
            }
            ("description" | "format" | "x-kubernetes-preserve-unknown-fields", _) => {}
            (keyword, _) => panic!("{at}: the keyword `{keyword}` is not handled"),
        }
    }
}

/// The schema of a PolicyKind document, with any metadata.
fn schema() -> Json {
    let mut schema = custom_resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    let properties = schema["properties"].as_object_mut().unwrap();
    properties.remove("status");
    properties["metadata"] = serde_json::json!({"type": "object"});
    schema
}

fn json(value: &Value) -> Json {
    serde_json::to_value(value).unwrap()
}

/// Fails if a file of the repository is not current, or writes it with `UPDATE_SCHEMAS`.
fn assert_current(file: &str, content: &str) {
    let path = repository().join(file);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == content, "{file} is not current: run `{UPDATE}`");
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| match path.is_dir() {
        true => yaml_files(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
