//! Users of a cluster, and their kubeconfigs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::certificates::Identity;
use crate::http::{Credentials, HttpClient};
use crate::lag::{self, eventually};
use crate::{TestCluster, TestEnvError};

/// A user of the API server of a test.
#[derive(Debug)]
pub struct TestUser {
    /// The name in RBAC.
    pub name: String,
    /// A kubeconfig with the credentials of the user, whose context has the namespace `default`.
    pub kubeconfig: PathBuf,
    /// The token of a ServiceAccount. Users with certificates have none.
    pub token: Option<String>,
    client: HttpClient,
}

impl TestUser {
    /// A client for the user.
    pub fn http(&self) -> &HttpClient {
        &self.client
    }

    pub(crate) fn with_certificate(
        name: &str,
        folder: &Path,
        url: &str,
        authority: &Path,
        identity: &Identity,
    ) -> Result<TestUser, TestEnvError> {
        let user = json!({"client-certificate": identity.certificate, "client-key": identity.key});
        let kubeconfig = write_kubeconfig(name, folder, url, authority, &user)?;
        let client = HttpClient::new(url, authority, Credentials::Certificate(identity))?;
        Ok(TestUser { name: name.into(), kubeconfig, token: None, client })
    }

    pub(crate) fn with_token(
        name: &str,
        folder: &Path,
        url: &str,
        authority: &Path,
        token: String,
    ) -> Result<TestUser, TestEnvError> {
        let kubeconfig = write_kubeconfig(name, folder, url, authority, &json!({"token": token}))?;
        let client = HttpClient::new(url, authority, Credentials::Token(token.clone()))?;
        Ok(TestUser { name: name.into(), kubeconfig, token: Some(token), client })
    }
}

impl TestCluster {
    /// A user with a client certificate. The user has no permissions until a role is bound to the user or the group.
    pub fn user(&self, name: &str, group: Option<&str>) -> TestUser {
        self.certified_user(name, group, false)
    }

    /// A user whose client certificate has expired.
    pub fn expired_user(&self, name: &str) -> TestUser {
        self.certified_user(name, None, true)
    }

    /// Creates a ServiceAccount, if it does not exist yet, and a token for it.
    pub fn service_account(&self, namespace: &str, name: &str) -> TestUser {
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let created = self.http().post(&accounts, &json!({"metadata": {"name": name}}));
        let created = created.unwrap_or_else(|error| panic!("{error}"));
        assert!([201, 409].contains(&created.status), "{}", created.body);
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let answer = self.http().post(&format!("{accounts}/{name}/token"), &request);
        let answer = answer.unwrap_or_else(|error| panic!("{error}")).expect_success().json();
        let token = answer["status"]["token"].as_str().unwrap_or_default().to_owned();
        let user = format!("system:serviceaccount:{namespace}:{name}");
        TestUser::with_token(&user, self.folder(), self.url(), &self.authority(), token)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Lets a user list and watch `resources` of `group`, such as `pods,services`: everywhere, or in one namespace. Waits
    /// until the API server knows it.
    pub fn allow_reading(&self, user: &TestUser, namespace: Option<&str>, group: &str, resources: &str) {
        let name = format!(
            "{}-{}-{}",
            user.name.replace(':', "-"),
            group.replace('.', "-"),
            resources.replace([',', '*'], "-")
        );
        let resources: Vec<&str> = resources.split(',').collect();
        let rules = json!([{"apiGroups": [group], "resources": resources, "verbs": ["get", "list", "watch"]}]);
        let role_ref = |kind: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
        let subjects = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name}]);
        let base = "/apis/rbac.authorization.k8s.io/v1";
        let requests = match namespace {
            None => [
                (format!("{base}/clusterroles"), json!({"metadata": {"name": name}, "rules": rules})),
                (
                    format!("{base}/clusterrolebindings"),
                    json!({"metadata": {"name": name}, "roleRef": role_ref("ClusterRole"), "subjects": subjects}),
                ),
            ],
            Some(namespace) => [
                (format!("{base}/namespaces/{namespace}/roles"), json!({"metadata": {"name": name}, "rules": rules})),
                (
                    format!("{base}/namespaces/{namespace}/rolebindings"),
                    json!({"metadata": {"name": name}, "roleRef": role_ref("Role"), "subjects": subjects}),
                ),
            ],
        };
        for (path, body) in requests {
            self.http().post(&path, &body).unwrap_or_else(|error| panic!("{error}")).expect_success();
        }
        for resource in resources {
            let attributes = json!({"verb": "list", "group": group, "resource": resource, "namespace": namespace.unwrap_or_default()});
            eventually("the role is in force", || self.is_allowed(&user.name, &attributes));
        }
    }

    /// Whether the API server allows a user what the `resourceAttributes` of a SubjectAccessReview describe. A role takes
    /// effect when the API server's own watches have seen it.
    pub fn is_allowed(&self, user: &str, attributes: &Value) -> bool {
        lag::is_allowed(self.http(), user, attributes)
    }

    fn certified_user(&self, name: &str, group: Option<&str>, expired: bool) -> TestUser {
        let identity = self.sign_user(name, group, expired).unwrap_or_else(|error| panic!("{error}"));
        TestUser::with_certificate(name, self.folder(), self.url(), &self.authority(), &identity)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Writes a kubeconfig as JSON, which is also YAML.
fn write_kubeconfig(
    name: &str,
    folder: &Path,
    url: &str,
    authority: &Path,
    user: &serde_json::Value,
) -> Result<PathBuf, TestEnvError> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": authority}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name, "namespace": "default"}}],
        "current-context": "test",
    });
    let file = folder.join(format!("{}.kubeconfig", name.replace([':', '/'], "-")));
    fs::write(&file, format!("{config:#}\n"))
        .map_err(|error| TestEnvError::failed("cannot write a kubeconfig", error))?;
    Ok(file)
}
