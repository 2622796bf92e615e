//! Tests of the test environment itself.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::{Command, Stdio};

use attache_testenv::{ClusterOptions, Component, TestCluster, eventually};
use serde_json::json;

#[test]
fn a_cluster_has_the_gateway_api_and_takes_objects() {
    let Some(cluster) = TestCluster::start() else { return };
    let kinds = cluster.kubectl(&["api-resources", "--api-group=gateway.networking.k8s.io", "-o", "name"]);
    for route in ["httproutes", "grpcroutes", "tcproutes", "tlsroutes", "udproutes"] {
        assert!(kinds.contains(&format!("{route}.gateway.networking.k8s.io")), "{kinds}");
    }
    cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: baker}}");
    assert_eq!(cluster.http().get("/api/v1/namespaces/baker").unwrap().status, 200);
    assert!(cluster.try_kubectl(&["get", "namespace", "nobody"]).is_err());
}

#[test]
fn users_may_do_what_roles_allow_and_nothing_else() {
    let Some(cluster) = TestCluster::start() else { return };
    let users = [cluster.user("alice", Some("bakers")), cluster.service_account("default", "robot")];
    for user in &users {
        assert_eq!(user.http().get("/api/v1/services").unwrap().status, 403, "{}", user.name);
        cluster.allow_reading(user, None, "", "services");
        cluster.allow_reading(user, Some("default"), "", "configmaps");
        let status = |path: &str| user.http().get(path).unwrap().status;
        // Roles take effect as soon as the API server's own watches have seen them.
        eventually("a user may do what a role allows", || {
            status("/api/v1/services") != 403 && status("/api/v1/namespaces/default/configmaps") != 403
        });
        assert_eq!(status("/api/v1/configmaps"), 403);
        assert_eq!(status("/api/v1/secrets"), 403);
    }
    assert_eq!(cluster.expired_user("bob").http().get("/api/v1/services").unwrap().status, 401);
}

#[test]
fn written_objects_survive_a_killed_server() {
    let Some(mut cluster) = TestCluster::start() else { return };
    for component in [Component::ApiServer, Component::Etcd] {
        let name = format!("{component:?}").to_lowercase();
        let created = cluster.http().post("/api/v1/namespaces", &json!({"metadata": {"name": name}}));
        created.unwrap().expect_success();
        cluster.restart(component);
        let path = format!("/api/v1/namespaces/{name}");
        // With a new etcd, the first answers may still be errors.
        eventually("the namespace is there", || cluster.http().get(&path).is_ok_and(|answer| answer.status == 200));
    }
}

#[test]
fn controllers_delete_namespaces_and_fill_aggregated_roles() {
    let Some(cluster) = ClusterOptions::new().with_controllers().start() else { return };
    cluster.kubectl(&["create", "namespace", "short-lived"]);
    cluster.kubectl(&["create", "configmap", "notes", "-n", "short-lived"]);
    cluster.kubectl(&["delete", "namespace", "short-lived", "--timeout=180s"]);
    eventually("the ClusterRole `view` has rules", || {
        !cluster.kubectl(&["get", "clusterrole", "view", "-o", "jsonpath={.rules}"]).is_empty()
    });
}

#[test]
fn nothing_is_left_when_a_cluster_is_dropped_or_a_test_panics() {
    let Some(cluster) = TestCluster::start() else { return };
    let folder = cluster.folder().to_owned();
    drop(cluster);
    assert!(!folder.exists());
    let cluster = TestCluster::start().unwrap();
    let folder = cluster.folder().to_owned();
    std::thread::spawn(move || {
        let _cluster = cluster;
        panic!("as a test does that fails");
    })
    .join()
    .unwrap_err();
    assert!(!folder.exists());
    assert!(!runs(&folder.display().to_string()));
}

#[test]
fn nothing_is_left_when_the_test_process_is_killed() {
    let Some(cluster) = TestCluster::start() else { return };
    drop(cluster);
    let mut process = Command::new(env!("CARGO_BIN_EXE_attache-testenv"))
        .arg("run")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(process.stdout.take().unwrap()), &mut line).unwrap();
    let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").unwrap();
    let folder = std::path::Path::new(kubeconfig).parent().unwrap().to_owned();
    assert!(runs(&folder.display().to_string()));
    process.kill().unwrap();
    process.wait().unwrap();
    eventually("nothing is left", || !folder.exists() && !runs(&folder.display().to_string()));
}

/// Whether there is a process with this text in its arguments.
fn runs(text: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let names = processes.flatten().filter(|it| it.file_name().to_string_lossy().parse::<u32>().is_ok());
    names.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok()).any(|arguments| {
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        arguments.contains(text) && !arguments.starts_with("sh ")
    })
}
