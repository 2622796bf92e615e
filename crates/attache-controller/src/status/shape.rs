//! Where objects of a kind have their status, according to discovery and CRDs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::{Object, ObjectRef};
use kube::Client;
use serde_json::Value as Json;
use smol_str::SmolStr;
use tokio::sync::Mutex;

use crate::requests::{self, ApiServerError};

/// The time after which a shape is read again: a CRD may have changed.
const EXPIRES: Duration = Duration::from_secs(300);

/// The longest pause before the API server is asked again after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Kinds of Kubernetes itself that have no `status.conditions`.
const WITHOUT_CONDITIONS: [&str; 4] = ["ConfigMap", "Secret", "ServiceAccount", "Endpoints"];

/// Where the objects of a kind have their status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// `apis/GROUP/VERSION`, or `api/v1`.
    prefix: String,
    /// The plural name in paths.
    plural: String,
    is_namespaced: bool,
    /// How a policy has its status.
    pub policy: PolicyForm,
    /// How a target has its status.
    pub target: TargetForm,
}

/// How a policy has its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyForm {
    /// `status.ancestors`.
    Ancestors,
    /// `status.conditions`.
    Conditions {
        /// Whether it is a map by type for the API server, and not one value.
        is_map: bool,
    },
    /// It has none.
    None,
}

/// How a target has its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// `status.conditions`.
    Conditions {
        /// Whether it is a map by type for the API server, and not one value.
        is_map: bool,
    },
    /// An entry in `status.parents` for each parent of a route.
    Parents,
    /// An annotation.
    Annotation,
}

impl Shape {
    /// The path of an object.
    pub fn path(&self, id: &ObjectRef) -> String {
        let (Shape { prefix, plural, .. }, name) = (self, path_segment(&id.name));
        match self.is_namespaced {
            true => format!("/{prefix}/namespaces/{}/{plural}/{name}", id.namespace),
            false => format!("/{prefix}/{plural}/{name}"),
        }
    }
}

/// A name as a part of a path. Most names are DNS names, but those of roles, for example, are nearly free.
fn path_segment(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte);
    name.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Group, version and kind.
type Kind = (SmolStr, SmolStr, SmolStr);

/// The shapes of kinds, read on demand and cached.
pub struct Shapes {
    client: Client,
    known: Mutex<HashMap<Kind, KnownShape>>,
}

/// What the API server said of a kind, and until when it is not asked again.
struct KnownShape {
    shape: Result<Arc<Shape>, ApiServerError>,
    failures: u32,
    until: Instant,
}

impl Shapes {
    /// No shape is known yet.
    pub fn new(client: Client) -> Shapes {
        Shapes { client, known: Mutex::default() }
    }

    /// The shape of the kind of an object.
    pub async fn get(&self, object: &Object) -> Result<Arc<Shape>, ApiServerError> {
        let key = (object.id.group.clone(), object.version.clone(), object.id.kind.clone());
        let mut known = self.known.lock().await;
        let before = known.get(&key);
        if let Some(answer) = before.filter(|answer| Instant::now() < answer.until) {
            return answer.shape.clone();
        }
        let failures = before.map_or(0, |answer| answer.failures);
        let shape = read(&self.client, &object.id.group, &object.version, &object.id.kind).await.map(Arc::new);
        let (failures, pause) = match &shape {
            Ok(_) => (0, EXPIRES),
            Err(error) => {
                tracing::warn!(kind = %object.id.kind, "cannot find out where objects of this kind have their status: {error}; retrying");
                (failures + 1, Duration::from_secs(1 << failures.min(6)).min(LONGEST_PAUSE))
            }
        };
        known.insert(key, KnownShape { shape: shape.clone(), failures, until: Instant::now() + pause });
        shape
    }

    /// Forgets the shapes of a group, because a CRD of it has changed.
    pub async fn forget(&self, group: &str) {
        self.known.lock().await.retain(|(known, _, _), _| known != group);
    }
}

async fn read(client: &Client, group: &str, version: &str, kind: &str) -> Result<Shape, ApiServerError> {
    let prefix = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
    let list = requests::get(client, &format!("/{prefix}")).await?;
    let resources = list["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_kind = |it: &&Json| it["kind"] == kind && it["name"].as_str().is_some_and(|name| !name.contains('/'));
    let Some(resource) = resources.iter().find(is_kind) else {
        return Err(ApiServerError { code: Some(404), message: format!("`{kind}` is not served in {prefix}") });
    };
    let plural = resource["name"].as_str().unwrap_or_default().to_owned();
    let has_status = resources.iter().any(|it| it["name"] == format!("{plural}/status"));
    let is_namespaced = resource["namespaced"] == true;
    let (policy, target) = match group.contains('.') && has_status {
        true => match requests::get(client, &crd_path(&plural, group)).await {
            Ok(crd) => forms(&crd, version),
            // A kind of Kubernetes itself, or of an aggregated API, has no CRD.
            Err(ApiServerError { code: Some(404), .. }) => (PolicyForm::None, TargetForm::Conditions { is_map: true }),
            Err(error) => return Err(error),
        },
        false if has_status && !WITHOUT_CONDITIONS.contains(&kind) => {
            (PolicyForm::None, TargetForm::Conditions { is_map: true })
        }
        false => (PolicyForm::None, TargetForm::Annotation),
    };
    Ok(Shape { prefix, plural, is_namespaced, policy, target })
}

fn crd_path(plural: &str, group: &str) -> String {
    format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}")
}

/// The forms according to the schema of a CRD. If the schema allows any field, policies have ancestors, as the Gateway API
/// recommends.
fn forms(crd: &Json, version: &str) -> (PolicyForm, TargetForm) {
    let versions = crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let served = versions.iter().find(|it| it["name"] == version).unwrap_or(&Json::Null);
    let schema = &served["schema"]["openAPIV3Schema"];
    let status = &schema["properties"]["status"];
    let keeps_unknown = |schema: &Json| schema["x-kubernetes-preserve-unknown-fields"] == true;
    let keeps = keeps_unknown(status) || (status.is_null() && keeps_unknown(schema));
    let fields = &status["properties"];
    let is_map = fields["conditions"]["x-kubernetes-list-type"] == "map";
    let has_conditions = !fields["conditions"].is_null();
    let policy = match () {
        () if !fields["ancestors"].is_null() => PolicyForm::Ancestors,
        () if has_conditions => PolicyForm::Conditions { is_map },
        () if keeps => PolicyForm::Ancestors,
        () => PolicyForm::None,
    };
    let target = match () {
        () if has_conditions => TargetForm::Conditions { is_map },
        () if !fields["parents"].is_null() => TargetForm::Parents,
        () if keeps => TargetForm::Conditions { is_map: false },
        () => TargetForm::Annotation,
    };
    (policy, target)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn forms_of_schema(schema: Json) -> (PolicyForm, TargetForm) {
        let version = json!({"name": "v1", "schema": {"openAPIV3Schema": schema}});
        forms(&json!({"spec": {"versions": [version]}}), "v1")
    }

    #[test]
    fn names_are_escaped_in_paths() {
        assert_eq!(path_segment("cakes.example-1.io"), "cakes.example-1.io");
        assert_eq!(path_segment("team:bread & cakes?"), "team:bread%20%26%20cakes%3F");
    }

    #[test]
    fn the_schema_says_where_the_status_is() {
        let status = |fields: Json| json!({"properties": {"status": {"properties": fields}}});
        let map = json!({"type": "array", "x-kubernetes-list-type": "map"});
        let list = json!({"type": "array"});
        assert_eq!(
            forms_of_schema(status(json!({"ancestors": list}))),
            (PolicyForm::Ancestors, TargetForm::Annotation)
        );
        assert_eq!(
            forms_of_schema(status(json!({"conditions": map}))),
            (PolicyForm::Conditions { is_map: true }, TargetForm::Conditions { is_map: true })
        );
        assert_eq!(
            forms_of_schema(status(json!({"conditions": list}))),
            (PolicyForm::Conditions { is_map: false }, TargetForm::Conditions { is_map: false })
        );
        assert_eq!(forms_of_schema(status(json!({"parents": list}))), (PolicyForm::None, TargetForm::Parents));
        assert_eq!(forms_of_schema(json!({"properties": {"spec": {}}})), (PolicyForm::None, TargetForm::Annotation));
        let any = json!({"x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(forms_of_schema(any), (PolicyForm::Ancestors, TargetForm::Conditions { is_map: false }));
    }
}
