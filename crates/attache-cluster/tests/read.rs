//! Which objects are read from a cluster with which permissions, and the messages if it cannot be read.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use attache_cluster::{ClientOptions, Cluster, ClusterError};
use attache_testenv::{ClusterOptions, eventually};
use common::{interest, names, options, read_as, read_with, shared, unseen};
use serde_json::json;

#[test]
fn everything_that_matters_is_read_and_secrets_are_not() {
    let Some(cluster) = shared() else { return };
    let reading = read_with(&options(cluster.kubeconfig())).unwrap();
    assert_eq!(unseen(&reading), [""; 0]);
    assert_eq!(names(&reading, "GatewayClass"), ["GatewayClass/oven"]);
    assert_eq!(names(&reading, "Gateway"), ["Gateway/infra/shop"]);
    assert_eq!(names(&reading, "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    assert_eq!(names(&reading, "RetryPolicy"), ["RetryPolicy/baker/be-patient"]);
    assert!(names(&reading, "Service").contains(&"Service/baker/cakes".into()));
    assert!(names(&reading, "Namespace").contains(&"Namespace/baker".into()));
    assert_eq!(names(&reading, "Secret"), [""; 0]);
    assert_eq!(names(&reading, "Pod"), [""; 0]);
    // Only CRDs of policy kinds are read.
    let crds = names(&reading, "CustomResourceDefinition");
    assert!(crds.contains(&"CustomResourceDefinition/retrypolicies.example.io".into()), "{crds:?}");
    assert!(!crds.iter().any(|it| it.contains("httproutes")), "{crds:?}");
    let namespace = reading.objects.iter().find(|it| it.id.kind == "Namespace" && it.id.name == "baker").unwrap();
    assert_eq!(namespace.labels().get_str("team"), Some("baker"));
    let policy = reading.objects.iter().find(|it| it.id.kind == "RetryPolicy").unwrap();
    assert!(policy.created.is_some());
    assert!(policy.body.at(&["metadata", "managedFields"]).is_none());
    let problems: Vec<String> = reading.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, [""; 0]);
}

#[test]
fn the_number_of_requests_does_not_depend_on_the_number_of_objects() {
    let Some(cluster) = ClusterOptions::new().start() else { return };
    let before = read_with(&options(cluster.kubeconfig())).unwrap();
    for i in 0..300 {
        let service = json!({"metadata": {"name": format!("s{i}")}, "spec": {"ports": [{"port": 80}]}});
        cluster.http().post("/api/v1/namespaces/default/services", &service).unwrap().expect_success();
    }
    let after = read_with(&options(cluster.kubeconfig())).unwrap();
    assert_eq!(after.objects.len(), before.objects.len() + 300);
    assert_eq!(after.requests, before.requests);
}

#[test]
fn pods_are_read_when_a_policy_selects_them() {
    let Some(cluster) = ClusterOptions::new().start() else { return };
    let pod = |name: &str, owners: serde_json::Value| json!({"metadata": {"name": name, "ownerReferences": owners}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "1", "controller": true}]);
    for pod in [pod("alone", json!([])), pod("made", owner)] {
        cluster.http().post("/api/v1/namespaces/default/pods", &pod).unwrap().expect_success();
    }
    assert_eq!(names(&read_with(&options(cluster.kubeconfig())).unwrap(), "Pod"), [""; 0]);
    let policy = json!({"metadata": {"name": "deny"}, "spec": {"podSelector": {}}});
    let path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
    cluster.http().post(path, &policy).unwrap().expect_success();
    // Pods that a workload creates are left out: policies select both by the same labels.
    assert_eq!(names(&read_with(&options(cluster.kubeconfig())).unwrap(), "Pod"), ["Pod/default/alone"]);
}

#[test]
fn a_user_without_permissions_sees_which_kinds_are_hidden() {
    let Some(cluster) = shared() else { return };
    let reading = read_as(&cluster.user("nobody", None));
    assert_eq!(reading.objects.len(), 0, "{:?}", reading.objects);
    let unseen = unseen(&reading);
    for expected in [
        "you may not list gatewayclasses.gateway.networking.k8s.io: which controller handles a Gateway is not known",
        "you may not list namespaces: what selects namespaces by their labels may select more than is shown",
        "you may not list httproutes.gateway.networking.k8s.io: HTTPRoutes may exist that are not shown, and what depends on \
         them",
        "you may not list networkpolicies.networking.k8s.io: NetworkPolicies may affect what is shown",
        "you may not list customresourcedefinitions.apiextensions.k8s.io: policy kinds that only their CRD describes, and \
         defaults of fields, are not known",
    ] {
        assert!(unseen.iter().any(|it| it == expected), "{expected}\n{}", unseen.join("\n"));
    }
}

#[test]
fn a_kind_that_may_not_be_listed_everywhere_is_listed_where_it_may_be() {
    let Some(cluster) = shared() else { return };
    let user = cluster.user("berta", None);
    cluster.allow_reading(&user, Some("baker"), "gateway.networking.k8s.io", "httproutes");
    cluster.allow_reading(&user, None, "", "namespaces");
    eventually("berta may list namespaces", || user.http().get("/api/v1/namespaces").unwrap().status == 200);
    let path = "/apis/gateway.networking.k8s.io/v1/namespaces/baker/httproutes";
    eventually("berta may list routes", || user.http().get(path).unwrap().status == 200);
    let reading = read_as(&user);
    assert_eq!(names(&reading, "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    assert_eq!(names(&reading, "Gateway"), [""; 0]);
    let expected = "you may list httproutes.gateway.networking.k8s.io only in `baker`: HTTPRoutes may exist that are not \
                    shown, and what depends on them";
    assert!(unseen(&reading).iter().any(|it| it == expected), "{:#?}", unseen(&reading));
}

#[test]
fn without_namespaces_those_of_the_kubeconfig_and_of_the_query_are_read() {
    let Some(cluster) = shared() else { return };
    let user = cluster.user("carl", None);
    cluster.allow_reading(&user, Some("baker"), "gateway.networking.k8s.io", "httproutes");
    let path = "/apis/gateway.networking.k8s.io/v1/namespaces/baker/httproutes";
    eventually("carl may list routes", || user.http().get(path).unwrap().status == 200);
    assert_eq!(names(&read_as(&user), "HTTPRoute"), [""; 0]);
    let connected = Cluster::connect(&options(&user.kubeconfig)).unwrap();
    let mut asked = interest();
    asked.namespace = Some("baker".into());
    assert_eq!(names(&connected.read(&asked, |_| ()).unwrap(), "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
    let text =
        fs::read_to_string(&user.kubeconfig).unwrap().replace("\"namespace\": \"default\"", "\"namespace\": \"baker\"");
    fs::write(&user.kubeconfig, text).unwrap();
    assert_eq!(names(&read_as(&user), "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
}

#[test]
fn impersonation_uses_the_permissions_of_the_other_user() {
    let Some(cluster) = shared() else { return };
    let mut as_nobody = options(cluster.kubeconfig());
    as_nobody.impersonate = Some("someone".into());
    as_nobody.impersonate_groups = vec!["nobodies".into()];
    assert!(unseen(&read_with(&as_nobody).unwrap()).len() > 5);
}

#[test]
fn a_service_account_reads_with_its_token() {
    let Some(cluster) = shared() else { return };
    let robot = cluster.service_account("default", "reader");
    cluster.allow_reading(&robot, None, "gateway.networking.k8s.io", "*");
    let path = "/apis/gateway.networking.k8s.io/v1/httproutes";
    eventually("the robot may list routes", || robot.http().get(path).unwrap().status == 200);
    assert_eq!(names(&read_as(&robot), "HTTPRoute"), ["HTTPRoute/baker/cakes"]);
}

#[test]
fn the_documented_cluster_role_allows_all_that_is_read() {
    let Some(cluster) = shared() else { return };
    let page = include_str!("../../../docs/cluster.md");
    let role = page.split("```yaml").nth(1).unwrap().split("```").next().unwrap();
    let own = "- apiGroups: [example.io]\n  resources: [\"*\"]\n  verbs: [get, list, watch]\n";
    cluster.apply(&(role.to_owned() + own));
    let robot = cluster.service_account("default", "documented");
    cluster.kubectl(&[
        "create",
        "clusterrolebinding",
        "attache-reader",
        "--clusterrole=attache-reader",
        "--serviceaccount=default:documented",
    ]);
    eventually("the role allows everything", || unseen(&read_as(&robot)).is_empty());
    assert_eq!(names(&read_as(&robot), "RetryPolicy"), ["RetryPolicy/baker/be-patient"]);
}

#[test]
fn a_cluster_without_the_gateway_api_says_so() {
    let Some(cluster) = ClusterOptions::new().without_gateway_api().start() else { return };
    let reading = read_with(&options(cluster.kubeconfig())).unwrap();
    let problems: Vec<String> = reading.problems.iter().map(|it| it.message.clone()).collect();
    assert_eq!(problems, [format!("the cluster at {} has no CRDs of the Gateway API", cluster.url())]);
}

#[test]
fn expired_credentials_are_called_that() {
    let Some(cluster) = shared() else { return };
    for user in [cluster.expired_user("eve").kubeconfig, {
        let user = cluster.service_account("default", "former");
        let text = fs::read_to_string(&user.kubeconfig).unwrap();
        let token = user.token.unwrap();
        fs::write(&user.kubeconfig, text.replace(&token, &token[..token.len() - 4])).unwrap();
        user.kubeconfig
    }] {
        let error = read_with(&options(&user)).unwrap_err();
        assert_eq!(error, ClusterError::Unauthorized { server: cluster.url().into() });
        assert!(error.problem().help.unwrap().contains("log in again"));
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = kubeconfig(&json!({"server": format!("http://127.0.0.1:{port}")}), &json!({}));
    let error = read_with(&options(file.path())).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the cluster at http://127.0.0.1:{port} cannot be reached: nothing listens at this address")
    );
}

#[test]
fn a_server_that_does_not_answer_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let file = kubeconfig(&json!({"server": server}), &json!({}));
    let mut options = options(file.path());
    options.request_timeout = Some(Duration::from_millis(300));
    let error = read_with(&options).unwrap_err();
    assert_eq!(error, ClusterError::Timeout { server, after: Duration::from_millis(300) });
}

#[test]
fn a_certificate_of_another_authority_is_not_accepted() {
    let Some(cluster) = shared() else { return };
    let other = cluster.folder().join("certificates/front-proxy-ca.crt");
    let file = kubeconfig(&json!({"server": cluster.url(), "certificate-authority": other}), &json!({}));
    let error = read_with(&options(file.path())).unwrap_err();
    assert!(matches!(error, ClusterError::Certificate { .. }), "{error}");
}

#[test]
fn a_broken_exec_plugin_is_named() {
    let exec = |command: &str, args: &[&str]| {
        let user = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command, "args": args,
            "interactiveMode": "Never"}});
        let file = kubeconfig(&json!({"server": "http://127.0.0.1:1"}), &user);
        read_with(&options(file.path())).unwrap_err()
    };
    let error = exec("/nowhere/login", &[]);
    assert!(
        matches!(&error, ClusterError::Credentials { message } if message.contains("cannot be started")),
        "{error}"
    );
    let error = exec("sh", &["-c", "echo 'token expired, run login' >&2; exit 3"]);
    assert!(matches!(&error, ClusterError::Credentials { message } if message.contains("token expired")), "{error}");
    let error = exec("sh", &["-c", "echo nonsense"]);
    assert!(matches!(&error, ClusterError::Credentials { .. }), "{error}");
}

#[test]
fn an_exec_plugin_that_works_is_used() {
    let Some(cluster) = shared() else { return };
    let robot = cluster.service_account("default", "executive");
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": robot.token}});
    let user = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "sh",
        "args": ["-c", format!("echo '{credential}'")], "interactiveMode": "Never"}});
    let server = json!({"server": cluster.url(), "certificate-authority": cluster.authority()});
    let file = kubeconfig(&server, &user);
    assert!(unseen(&read_with(&options(file.path())).unwrap()).len() > 5);
}

#[test]
fn a_kubeconfig_that_names_no_context_or_a_wrong_one_says_which_there_are() {
    let file = kubeconfig(&json!({"server": "http://127.0.0.1:1"}), &json!({}));
    let text = fs::read_to_string(file.path()).unwrap();
    fs::write(file.path(), text.replace("\"current-context\":\"test\"", "\"current-context\":\"\"")).unwrap();
    let error = read_with(&options(file.path())).unwrap_err();
    assert_eq!(error, ClusterError::NoCurrentContext { contexts: vec!["test".into()] });
    assert_eq!(error.problem().help.unwrap(), "choose one with `--context`: `test`");
    let ask = |change: fn(&mut ClientOptions)| {
        let mut options = options(file.path());
        options.context = Some("test".into());
        change(&mut options);
        read_with(&options).unwrap_err().to_string()
    };
    assert_eq!(ask(|it| it.context = Some("prod".into())), "there is no context `prod` in the kubeconfig");
    assert_eq!(ask(|it| it.cluster = Some("prod".into())), "there is no cluster `prod` in the kubeconfig");
    assert_eq!(ask(|it| it.user = Some("me".into())), "there is no user `me` in the kubeconfig");
    let broken = tempfile::NamedTempFile::new().unwrap();
    fs::write(broken.path(), "clusters: [").unwrap();
    assert!(matches!(read_with(&options(broken.path())).unwrap_err(), ClusterError::Kubeconfig { .. }));
    assert!(matches!(
        read_with(&options(std::path::Path::new("/nowhere/config"))).unwrap_err(),
        ClusterError::Kubeconfig { .. }
    ));
}

fn kubeconfig(cluster: &serde_json::Value, user: &serde_json::Value) -> tempfile::NamedTempFile {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), config.to_string()).unwrap();
    file
}
