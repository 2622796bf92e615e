//! The CustomResourceDefinitions in `deploy/chart/files/crds` on a real API server.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use attache_testenv::TestCluster;

#[test]
fn an_api_server_takes_the_crds_and_every_built_in_kind() {
    let Some(cluster) = TestCluster::start() else { return };
    for crd in yaml_files("deploy/chart/files/crds") {
        cluster.apply(&crd);
    }
    cluster.wait_until_served();
    let conditions = "jsonpath={.status.conditions[?(@.type=='NonStructuralSchema')].message}";
    assert_eq!(cluster.kubectl(&["get", "crd", "policykinds.attache.dev", "-o", conditions]), "");
    for kinds in yaml_files("kinds").iter().filter(|text| text.contains("\nkind: PolicyKind\n")) {
        cluster.apply(kinds);
    }
    let stored = cluster.kubectl(&["get", "policykinds", "-o", "name"]);
    assert!(stored.lines().count() > 40, "{stored}");
    // The short form is stored as it is.
    let priority =
        ["get", "policykind", "trafficpolicies.gateway.kgateway.dev", "-o", "jsonpath={.spec.priority.order}"];
    assert_eq!(cluster.kubectl(&priority), "Descending");
}

#[test]
fn an_api_server_refuses_a_wrong_kind() {
    let Some(cluster) = TestCluster::start() else { return };
    yaml_files("deploy/chart/files/crds").iter().for_each(|crd| cluster.apply(crd));
    cluster.wait_until_served();
    let folder = cluster.folder().join("wrong.yaml");
    let wrong = "{apiVersion: attache.dev/v1alpha1, kind: PolicyKind, metadata: {name: as.example.io}, spec: {group: example.io, class: Sometimes}}";
    fs::write(&folder, wrong).unwrap();
    let error = cluster.try_kubectl(&["apply", "-f", folder.to_str().unwrap()]).unwrap_err().to_string();
    assert!(error.contains("spec.kind: Required value"), "{error}");
    assert!(error.contains("spec.class: Unsupported value: \"Sometimes\""), "{error}");
}

/// The contents of the YAML files in a folder of the repository.
fn yaml_files(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let yaml = files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    yaml.map(|file| fs::read_to_string(file).unwrap()).collect()
}
