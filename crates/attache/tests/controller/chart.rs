//! The Helm chart in `deploy/chart`, rendered by Helm: what an API server makes of it, and which values it takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use attache_engine::kinds::built_in;
use attache_engine::text::read_value;
use attache_testenv::{ClusterOptions, Crds, Helm, TestCluster};
use serde_json::{Value, json};

/// Values that switch everything on.
pub const ALL_OPTIONS: &str = r#"
status: {qps: 5, burst: 10, writeTargets: [BackendTrafficPolicy.gateway.envoyproxy.io]}
classControllers: [{name: edge, gatewayClasses: [edge, edge.internal], replicas: 3, resources: {limits: {memory: 2Gi}}}]
webhook: {rejectConflicts: true}
certManager: {enabled: true}
permissions:
  policies: [{group: example.io, resources: [retrypolicies]}]
  targets: [{group: example.io, resources: [buckets]}, {group: "", resources: [configmaps], annotate: true}]
image: {digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
imagePullSecrets: [{name: pull}]
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{operator: Exists}]
affinity: {podAntiAffinity: {}}
podAnnotations: {example.io/note: kept}
serviceAccount: {annotations: {example.io/note: kept}}
networkPolicy: {metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
dashboard: {enabled: true}
"#;

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Renders the chart with these values in YAML, or says why Helm refuses them.
pub fn try_render(helm: &Helm, values: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    fs::write(&file, values).unwrap();
    let chart = repository("deploy/chart");
    let (chart, file) = (chart.to_str().unwrap(), file.to_str().unwrap());
    let output = helm.run(["template", "attache", chart, "--namespace", "attache-system", "--values", file]);
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

/// Renders the chart with these values in YAML.
#[track_caller]
pub fn render(helm: &Helm, values: &str) -> String {
    try_render(helm, values).unwrap()
}

#[test]
fn install_yaml_is_the_rendered_chart() {
    let Some(helm) = Helm::find() else { return };
    let head = "# The chart in deploy/chart with its default values: do not edit.\n\
                # UPDATE_DEPLOY=1 cargo test -p attache --test controller install_yaml\n";
    let rendered = format!("{head}{}", render(&helm, "createNamespace: true"));
    let file = repository("deploy/install.yaml");
    if std::env::var_os("UPDATE_DEPLOY").is_some() {
        fs::write(&file, &rendered).unwrap();
    }
    assert!(
        fs::read_to_string(&file).unwrap_or_default() == rendered,
        "deploy/install.yaml is not current: its head says how to rewrite it"
    );
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let Some(helm) = Helm::find() else { return };
    for (values, message) in [
        ("replica: 2", "additional properties 'replica' not allowed"),
        ("classControllers: [{name: edge}]", "at '/classControllers/0': missing property 'gatewayClasses'"),
        ("replicas: 0", "at '/replicas': minimum: got 0, want 1"),
        ("image: {digest: abc}", "at '/image/digest': 'abc' does not match pattern"),
        ("permissions: {systems: [itsio]}", "at '/permissions/systems/0': value must be one of 'envoy-gateway'"),
        (
            "permissions: {policies: [{group: example.io, resources: [RetryPolicy]}]}",
            "'RetryPolicy' does not match pattern",
        ),
        ("status: {qps: fast}", "at '/status/qps': got string, want number"),
        ("status: {qps: 0}", "at '/status/qps': exclusiveMinimum"),
        ("webhook: on", "at '/webhook': got boolean, want object"),
        ("service: {apiPort: 99999}", "at '/service/apiPort': maximum"),
        ("serviceMonitor: {interval: often}", "at '/serviceMonitor/interval': 'often' does not match pattern"),
    ] {
        let error = try_render(&helm, values).expect_err(values);
        assert!(error.contains(message), "{values}: {error}");
    }
}

#[test]
fn every_value_has_a_default_and_a_description() {
    let schema: Value =
        serde_json::from_slice(&fs::read(repository("deploy/chart/values.schema.json")).unwrap()).unwrap();
    let text = fs::read_to_string(repository("deploy/chart/values.yaml")).unwrap();
    let values = serde_json::to_value(read_value(&text).unwrap()).unwrap();
    // Helm adds this one where the chart is a part of another chart.
    let mut missing = walk(&schema, &values, "");
    missing.retain(|path| !path.starts_with(".global"));
    assert_eq!(missing, Vec::<String>::new());
}

/// The paths that a schema has and values do not, and those without a description.
fn walk(schema: &Value, values: &Value, at: &str) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object() else {
        return if schema["description"].is_string() { vec![] } else { vec![format!("{at} has no description")] };
    };
    let children = properties.iter().flat_map(|(name, schema)| {
        let path = format!("{at}.{name}");
        match values.get(name) {
            None => vec![format!("{path} has no default")],
            Some(value) if value.as_object().is_some_and(serde_json::Map::is_empty) => vec![],
            Some(value) => walk(schema, value, &path),
        }
    });
    children.collect()
}

#[test]
fn the_permissions_cover_every_built_in_kind() {
    let Some(helm) = Helm::find() else { return };
    let readable: BTreeSet<String> = documents(&render(&helm, ""))
        .iter()
        .filter(|document| document["kind"] == "ClusterRole")
        .flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default())
        .filter(|rule| rule["verbs"].as_array().is_some_and(|verbs| verbs.contains(&json!("list"))))
        .flat_map(|rule| rule["apiGroups"].as_array().cloned().unwrap())
        .map(|group| group.as_str().unwrap().to_owned())
        .collect();
    let (kinds, _) = built_in();
    let needed: BTreeSet<String> = kinds
        .iter()
        .flat_map(|kind| {
            let bindings = kind.targets.bindings.iter().flat_map(|bindings| {
                [
                    &bindings.kind,
                    &bindings.placements.kind,
                    &bindings.placements.decisions,
                    &bindings.placements.targets,
                ]
            });
            let groups = bindings.filter_map(|name| name.group.as_ref().map(ToString::to_string));
            groups.chain([kind.group.to_string()]).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(needed.difference(&readable).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn an_api_server_takes_the_chart_with_and_without_options() {
    let (Some(helm), Some(cluster)) = (Helm::find(), ClusterOptions::new().with_controllers().start()) else { return };
    cluster.apply(&fs::read_to_string(repository("deploy/install.yaml")).unwrap());
    every_pod_is_admitted(&cluster, &["attache"]);
    cluster.install_crds(Crds::CertManager);
    cluster.install_crds(Crds::PrometheusOperator);
    cluster.apply(&render(&helm, ALL_OPTIONS));
    every_pod_is_admitted(&cluster, &["attache", "attache-edge"]);
    let names = cluster.kubectl(&[
        "get",
        "certificates,issuers,servicemonitors,prometheusrules,configmaps",
        "-n",
        "attache-system",
        "-o",
        "name",
    ]);
    for name in [
        "certificate.cert-manager.io/attache\n",
        "issuer.cert-manager.io/attache\n",
        "servicemonitor.monitoring.coreos.com/attache\n",
        "prometheusrule.monitoring.coreos.com/attache\n",
        "configmap/attache-dashboards\n",
    ] {
        assert!(names.contains(name), "{names}");
    }
    // Nothing of what is optional is there without the option.
    let minimal = "{webhook: {enabled: false}, api: {enabled: false}, crds: {install: false}, networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}, permissions: {systems: [], workloads: false}}";
    let kinds: BTreeMap<String, usize> =
        documents(&render(&helm, minimal)).iter().fold(BTreeMap::new(), |mut kinds, it| {
            *kinds.entry(it["kind"].as_str().unwrap().to_owned()).or_default() += 1;
            kinds
        });
    let kinds: Vec<&str> = kinds.keys().map(String::as_str).collect();
    assert_eq!(
        kinds,
        ["ClusterRole", "ClusterRoleBinding", "Deployment", "Role", "RoleBinding", "Service", "ServiceAccount"]
    );
}

/// The API server admits the Pods of the Deployments, which run in a namespace that enforces the standard `restricted`.
fn every_pod_is_admitted(cluster: &TestCluster, deployments: &[&str]) {
    let listed = cluster.http().get("/apis/apps/v1/namespaces/attache-system/deployments").unwrap().json();
    let listed = listed["items"].as_array().unwrap();
    let names: Vec<&str> = listed.iter().map(|it| it["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, deployments);
    for deployment in listed {
        let mut pod = deployment["spec"]["template"].clone();
        pod["metadata"]["name"] = deployment["metadata"]["name"].clone();
        let path = "/api/v1/namespaces/attache-system/pods?dryRun=All";
        cluster.http().post(path, &pod).unwrap().expect_success();
    }
}

/// The documents of a rendered chart.
fn documents(rendered: &str) -> Vec<Value> {
    let texts = rendered.split("\n---\n").map(|text| read_value(text).unwrap());
    texts.filter(|it| !it.is_null()).map(|value| serde_json::to_value(value).unwrap()).collect()
}
