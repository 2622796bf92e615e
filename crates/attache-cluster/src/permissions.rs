//! What a user may list in a namespace.

use serde::Deserialize;
use serde_json::json;

use crate::ApiResource;
use crate::connection::{Connection, RequestError};

/// The permissions of the user in a namespace, according to the server.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    rules: Vec<ResourceRule>,
    /// Whether the server may not know all permissions, as with authorization by a webhook.
    incomplete: bool,
}

impl Permissions {
    /// Asks the server. A user who may not ask may still try to list.
    pub(crate) async fn read(connection: &Connection, namespace: &str) -> Result<Permissions, crate::ClusterError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        });
        let unknown = Permissions { rules: Vec::new(), incomplete: true };
        match connection.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &review).await {
            Ok(answer) => Ok(serde_json::from_slice::<Review>(&answer).map_or(unknown, |review| Permissions {
                rules: review.status.resource_rules,
                incomplete: review.status.incomplete,
            })),
            Err(RequestError::Refused { .. }) => Ok(unknown),
            Err(RequestError::Cluster(error)) => Err(error),
        }
    }

    /// Whether it is worth trying to list a kind.
    pub(crate) fn may_list(&self, resource: &ApiResource) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|it| it == "*" || it == wanted);
        self.incomplete
            || self.rules.iter().any(|rule| {
                rule.resource_names.is_empty()
                    && has(&rule.verbs, "list")
                    && has(&rule.api_groups, &resource.group)
                    && has(&rule.resources, &resource.plural)
            })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Review {
    status: ReviewStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReviewStatus {
    resource_rules: Vec<ResourceRule>,
    incomplete: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
}
