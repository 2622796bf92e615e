//! The chart, installed by Helm into a real API server, and the controller as its Deployment runs it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use attache_testenv::{ClusterOptions, Helm, TestCluster, eventually};
use serde_json::{Value, json};

use crate::chart::repository;
use crate::harness::{Controller, NAMESPACE};

/// What the tests need: ports that everybody may listen on, and a policy kind of their own.
pub const VALUES: &str = r#"
service: {webhookPort: 9443, apiPort: 9444}
permissions: {policies: [{group: example.io, resources: [retrypolicies]}]}
"#;

/// The requests of the controller are logged, and nobody else's.
const AUDIT: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, users: ["system:serviceaccount:attache-system:attache"]}, {level: None}]
"#;

/// A cluster in which the chart is installed.
pub struct Release {
    pub cluster: TestCluster,
    helm: Helm,
    audit: tempfile::TempDir,
    /// The length of the audit log when the requests so far were forgotten.
    forgotten: AtomicU64,
}

/// A request of the controller, or a permission to send it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    pub verb: String,
    pub group: String,
    /// With the subresource, as in `gateways/status`.
    pub resource: String,
}

impl Release {
    /// Installs the chart. `None` if Helm or an API server is not available on this machine.
    pub fn install() -> Option<Release> {
        Release::install_chart(&repository("deploy/chart"), VALUES)
    }

    /// Installs a chart with these values.
    pub fn install_chart(chart: &Path, values: &str) -> Option<Release> {
        let helm = Helm::find()?;
        let audit = tempfile::tempdir().unwrap();
        fs::write(audit.path().join("policy.yaml"), AUDIT).unwrap();
        let file = |name: &str| audit.path().join(name).display().to_string();
        let cluster = ClusterOptions::new()
            .with_controllers()
            .apiserver_flag(&format!("--audit-policy-file={}", file("policy.yaml")))
            .apiserver_flag(&format!("--audit-log-path={}", file("audit.log")))
            .apiserver_flag("--audit-log-mode=blocking")
            .start()?;
        let release = Release { cluster, helm, audit, forgotten: AtomicU64::new(0) };
        release.helm_chart(chart, &["install", "--create-namespace"], values);
        release.add_endpoints("attache");
        Some(release)
    }

    /// Runs `helm COMMAND attache deploy/chart` with these values.
    #[track_caller]
    pub fn helm(&self, command: &[&str], values: &str) {
        self.helm_chart(&repository("deploy/chart"), command, values);
    }

    #[track_caller]
    fn helm_chart(&self, chart: &Path, command: &[&str], values: &str) {
        let file = self.cluster.folder().join("values.yaml");
        fs::write(&file, values).unwrap();
        let chart = chart.display().to_string();
        let file = file.display().to_string();
        self.run_helm(&[command, &["attache", &chart, "--values", &file]].concat());
    }

    /// Runs Helm in the namespace of the controller.
    #[track_caller]
    pub fn run_helm(&self, arguments: &[&str]) {
        let kubeconfig = self.cluster.kubeconfig().display().to_string();
        let arguments = [arguments, &["--namespace", NAMESPACE, "--kubeconfig", &kubeconfig]].concat();
        let output = self.helm.run(&arguments);
        assert!(output.status.success(), "helm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The API server calls a Service only if it has endpoints, which no kubelet reports here. Their address does not
    /// matter: the API server connects to that of the Service.
    pub fn add_endpoints(&self, service: &str) {
        self.cluster.apply(&format!(
            r#"
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {service}-test, namespace: {NAMESPACE}, labels: {{kubernetes.io/service-name: {service}}}}}
addressType: IPv4
ports: [{{name: api, port: 9444}}, {{name: webhook, port: 9443}}]
endpoints: [{{addresses: [192.0.2.1], conditions: {{ready: true}}}}]
"#
        ));
    }

    /// Runs a Deployment: its arguments, with the token of its ServiceAccount, on the address of its Service.
    pub fn run(&self, deployment: &str) -> Controller {
        self.run_with(deployment, &[])
    }

    /// The same, with arguments that replace those of the Deployment. Its permissions are in force when it starts.
    pub fn run_with(&self, deployment: &str, more: &[&str]) -> Controller {
        let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{deployment}");
        let spec = self.get(&path)["spec"]["template"]["spec"].take();
        // A Service is called like its Deployment.
        let service = self.get(&format!("/api/v1/namespaces/{NAMESPACE}/services/{deployment}"));
        let address = service["spec"]["clusterIP"].as_str().unwrap();
        let arguments = spec["containers"][0]["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        let is_replaced = |argument: &&str| argument.split('=').next().is_some_and(|flag| more.contains(&flag));
        let arguments = arguments.skip(1).filter(|it| !is_replaced(it)).flat_map(|argument| argument.split('='));
        let arguments: Vec<String> = arguments
            .map(|argument| match argument {
                "0.0.0.0:8080" => "127.0.0.1:0".to_owned(),
                _ => argument.replace("0.0.0.0", address),
            })
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let account = self.cluster.service_account(NAMESPACE, spec["serviceAccountName"].as_str().unwrap());
        let granted = self.roles().iter().flat_map(|(path, rules)| reviews(path, rules)).collect();
        self.wait_for_permissions(granted, Vec::new());
        Controller::spawn(&self.cluster, &account.kubeconfig, &arguments)
    }

    /// An object of the API server.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.cluster.http().get(path).unwrap().expect_success().json()
    }

    /// The requests of the controller so far that the API server answered with success, and those that it refused
    /// because of permissions.
    pub fn requests(&self) -> (BTreeSet<Permission>, BTreeSet<Permission>) {
        let mut log = String::new();
        if let Ok(mut file) = fs::File::open(self.audit.path().join("audit.log")) {
            file.seek(SeekFrom::Start(self.forgotten.load(Ordering::Relaxed))).unwrap();
            file.read_to_string(&mut log).unwrap();
        }
        let (mut granted, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for line in log.lines() {
            // The last line may not be complete.
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let object = &event["objectRef"];
            if object.is_null() {
                continue;
            }
            let subresource = object["subresource"].as_str().map(|name| format!("/{name}")).unwrap_or_default();
            let request = Permission {
                verb: text(&event["verb"]),
                group: text(&object["apiGroup"]),
                resource: text(&object["resource"]) + &subresource,
            };
            match event["responseStatus"]["code"].as_u64() {
                Some(403) => refused.insert(request),
                Some(200..300) => granted.insert(request),
                _ => false,
            };
        }
        (granted, refused)
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        let length = fs::metadata(self.audit.path().join("audit.log")).map_or(0, |log| log.len());
        self.forgotten.store(length, Ordering::Relaxed);
    }

    /// The roles of the controller: paths, and rules as the chart has them.
    pub fn roles(&self) -> Vec<(String, Value)> {
        let base = "/apis/rbac.authorization.k8s.io/v1";
        let paths = [
            format!("{base}/clusterroles/attache"),
            format!("{base}/clusterroles/attache-policy-kinds"),
            format!("{base}/namespaces/{NAMESPACE}/roles/attache"),
        ];
        paths.map(|path| (path.clone(), self.get(&path)["rules"].take())).into()
    }

    /// Removes permissions from roles, and waits until that is in force.
    pub fn remove_permissions(&self, roles: &[(String, Value)], is_removed: impl Fn(&Permission) -> bool) {
        let (mut granted, mut removed) = (Vec::new(), Vec::new());
        for (path, rules) in roles {
            let kept = without(rules, &is_removed);
            self.cluster.http().patch(path, &json!({"rules": kept})).unwrap().expect_success();
            granted.extend(reviews(path, &kept));
            removed.extend(reviews(path, &without(rules, |permission| !is_removed(permission))));
        }
        self.wait_for_permissions(granted, removed);
    }

    /// Waits until the API server allows the controller what is granted, and nothing of what is removed: roles are aggregated
    /// by a controller, and the API server follows them by watches.
    fn wait_for_permissions(&self, granted: Vec<Value>, removed: Vec<Value>) {
        let user = format!("system:serviceaccount:{NAMESPACE}:attache");
        let expected = granted.into_iter().map(|it| (it, true)).chain(removed.into_iter().map(|it| (it, false)));
        let mut left: Vec<(Value, bool)> = expected.collect();
        eventually("the roles are in force", || {
            left.retain(|(attributes, expected)| self.cluster.is_allowed(&user, attributes) != *expected);
            left.is_empty()
        });
    }
}

impl Permission {
    /// What rules of a role allow, one by one.
    pub fn of_rules(rules: &Value) -> BTreeSet<Permission> {
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()).collect()
        };
        let mut found = BTreeSet::new();
        for rule in rules.as_array().into_iter().flatten() {
            for verb in texts(&rule["verbs"]) {
                for group in texts(&rule["apiGroups"]) {
                    for resource in texts(&rule["resources"]) {
                        found.insert(Permission { verb: verb.clone(), group: group.clone(), resource });
                    }
                }
            }
        }
        found
    }

    /// Whether this permission, which can have a wildcard, allows a request.
    pub fn allows(&self, request: &Permission) -> bool {
        let (wanted, sub) = request.resource.split_once('/').unwrap_or((&request.resource, ""));
        let (allowed, allowed_sub) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        self.verb == request.verb
            && self.group == request.group
            && (allowed == "*" || allowed == wanted)
            && allowed_sub == sub
    }
}

/// What the rules of a role allow, as the attributes of SubjectAccessReviews.
fn reviews(role: &str, rules: &Value) -> Vec<Value> {
    let namespace = role.split_once("/namespaces/").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    let mut reviews = Vec::new();
    for rule in rules.as_array().into_iter().flatten() {
        let names = rule["resourceNames"].as_array().cloned().unwrap_or_else(|| vec![json!("")]);
        for permission in Permission::of_rules(&json!([rule])) {
            let (resource, subresource) = permission.resource.split_once('/').unwrap_or((&permission.resource, ""));
            reviews.extend(names.iter().map(|name| {
                json!({"verb": permission.verb, "group": permission.group, "resource": resource, "subresource": subresource,
                    "namespace": namespace, "name": name})
            }));
        }
    }
    reviews
}

/// Rules without a permission that `is_removed`. A rule that allows nothing any more is left out.
pub fn without(rules: &Value, is_removed: impl Fn(&Permission) -> bool) -> Value {
    let mut kept = Vec::new();
    for rule in rules.as_array().into_iter().flatten() {
        for permission in Permission::of_rules(&json!([rule])).into_iter().filter(|it| !is_removed(it)) {
            let mut single = rule.clone();
            single["verbs"] = json!([permission.verb]);
            single["apiGroups"] = json!([permission.group]);
            single["resources"] = json!([permission.resource]);
            kept.push(single);
        }
    }
    Value::Array(kept)
}
