//! Whole runs of the real program against a real API server.

#![allow(clippy::unwrap_used, clippy::panic)]

mod settings;
mod soak;
mod weather;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use attache_testenv::bakery::{GATEWAY_POLICY, KINDS, OBJECTS};
use attache_testenv::{Component, TestCluster, eventually};
use serde_json::{Value, json};

fn open_bakery(cluster: &TestCluster) {
    attache_testenv::open_bakery(cluster, GATEWAY_POLICY);
}

/// The cluster of the tests that do not change it.
fn shared() -> Option<&'static TestCluster> {
    static SHARED: OnceLock<Option<TestCluster>> = OnceLock::new();
    SHARED.get_or_init(|| TestCluster::start().inspect(open_bakery)).as_ref()
}

fn attache(kubeconfig: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
    command.env_clear().env("COLUMNS", "100").env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    command
}

/// The output of a command, its standard error and its exit code, with the server's address as `SERVER`.
fn run(kubeconfig: &Path, line: &str) -> String {
    let output = attache(kubeconfig).args(line.split_whitespace()).output().unwrap();
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.stderr.is_empty() {
        text += &format!("--- stderr\n{}", String::from_utf8_lossy(&output.stderr));
    }
    if output.status.code() != Some(0) {
        text += &format!("--- exit {}\n", output.status.code().unwrap());
    }
    let url = serde_json::from_str::<Value>(&std::fs::read_to_string(kubeconfig).unwrap()).unwrap();
    text.replace(url["clusters"][0]["cluster"]["server"].as_str().unwrap(), "SERVER")
}

#[test]
fn a_route_of_the_cluster_is_described() {
    let Some(cluster) = shared() else { return };
    let text = run(cluster.kubeconfig(), "effective httproute/cakes -n baker");
    insta::assert_snapshot!(text, @r"
    RetryPolicy.example.io   on Service/baker/cakes#http
      retries: 5   RetryPolicy/infra/be-patient   on Gateway/infra/shop
    ");
    let text = run(cluster.kubeconfig(), "describe httproute/cakes -n baker");
    assert!(text.contains("inherited   RetryPolicy/infra/be-patient"), "{text}");
}

#[test]
fn the_namespace_of_the_context_is_the_one_that_is_meant() {
    let Some(cluster) = shared() else { return };
    let text = run(cluster.kubeconfig(), "describe httproute/cakes");
    assert!(text.contains("exit 2"), "{text}");
    assert!(run(cluster.kubeconfig(), "get policies -A -o name").contains("RetryPolicy/infra/be-patient"));
    assert!(!run(cluster.kubeconfig(), "get policies").contains("be-patient"));
    let config = cluster.folder().join("baker.kubeconfig");
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    std::fs::write(&config, text.replace("\"namespace\": \"default\"", "\"namespace\": \"baker\"")).unwrap();
    assert!(run(&config, "describe httproute/cakes").starts_with("HTTPRoute/baker/cakes"));
}

#[test]
fn a_plan_is_made_against_the_cluster() {
    let Some(cluster) = shared() else { return };
    insta::assert_snapshot!(run(cluster.kubeconfig(), "plan --delete retrypolicy/be-patient -n infra"), @r"
    effective policies change in 1 scope: 1 route, 1 backend, 1 namespace

    RetryPolicy.example.io   on Service/baker/cakes#http
      - retries: 5   RetryPolicy/infra/be-patient

    scope: one path from a Gateway to a route rule or backend; the policies along it are merged

    POLICY                         BEFORE     AFTER
    RetryPolicy/infra/be-patient   Enforced   gone
    --- exit 1
    ");
    let file = cluster.folder().join("strict.yaml");
    let policy = "apiVersion: example.io/v1\nkind: RetryPolicy\nmetadata: {name: strict}\nspec:\n  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cakes}\n  retries: 1\n";
    std::fs::write(&file, policy).unwrap();
    // Like kubectl, objects without a namespace are created in that of `-n`.
    let text = run(cluster.kubeconfig(), &format!("plan --apply {} -n baker", file.display()));
    assert!(text.contains("RetryPolicy/baker/strict"), "{text}");
    assert!(text.contains("5 → 1") || text.contains("retries: 1"), "{text}");
}

#[test]
fn unseen_kinds_are_named_after_the_answer() {
    let Some(cluster) = shared() else { return };
    let user = cluster.user("routes-only", None);
    cluster.allow_reading(&user, None, "gateway.networking.k8s.io", "*");
    cluster.allow_reading(&user, None, "", "namespaces,services");
    let may = |path: &str| user.http().get(path).unwrap().status != 403;
    eventually("the user may list routes and Services", || {
        may("/api/v1/services") && may("/apis/gateway.networking.k8s.io/v1/gateways")
    });
    let text = run(&user.kubeconfig, "effective -A");
    assert!(
        text.contains("warning: you may not list networkpolicies.networking.k8s.io: NetworkPolicies may affect"),
        "{text}"
    );
    assert!(text.contains("you may not list customresourcedefinitions.apiextensions.k8s.io"), "{text}");
    assert!(!text.contains("--- exit"), "{text}");
    assert!(run(&user.kubeconfig, "effective httproute/cakes -n baker --strict").contains("--- exit 2"));
    let output = attache(&user.kubeconfig).args(["effective", "-A", "-o", "json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["kind"], "EffectivePolicyList");
    let unseen = document["unseen"].as_array().unwrap();
    let crds = unseen.iter().find(|it| it["kind"] == "CustomResourceDefinition").unwrap();
    assert_eq!(crds["resource"], "customresourcedefinitions.apiextensions.k8s.io");
    assert_eq!(crds["reason"], "Forbidden");
}

#[test]
fn a_user_without_permissions_gets_a_next_step() {
    let Some(cluster) = shared() else { return };
    let text = run(&cluster.user("stranger", None).kubeconfig, "get policies -A");
    assert!(text.contains("error: there is nothing in the cluster at SERVER that you may read"), "{text}");
    assert!(text.contains("--- exit 2"), "{text}");
}

#[test]
fn an_object_that_may_not_be_read_is_not_said_to_be_missing() {
    let Some(cluster) = shared() else { return };
    let user = cluster.user("services-only", None);
    cluster.allow_reading(&user, None, "", "namespaces,services");
    eventually("the user may list Services", || user.http().get("/api/v1/services").unwrap().status != 403);
    let text = run(&user.kubeconfig, "describe httproute/cakes -n baker");
    let expected = "error: cannot read HTTPRoute `cakes` in namespace `baker`: you may not list \
                    httproutes.gateway.networking.k8s.io";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("--- exit 2"), "{text}");
}

#[test]
fn errors_of_the_cluster_have_a_next_step() {
    let Some(cluster) = shared() else { return };
    insta::assert_snapshot!(run(cluster.kubeconfig(), "get policies --context prod"), @r"
    --- stderr
    error: there is no context `prod` in the kubeconfig
      help: there are `test`
    --- exit 2
    ");
    insta::assert_snapshot!(run(&cluster.expired_user("old").kubeconfig, "get policies"), @r"
    --- stderr
    error: SERVER does not accept your credentials
      help: the credentials are wrong or have expired: log in again, then try `kubectl auth whoami`
    --- exit 2
    ");
}

#[test]
fn kubectl_runs_it_as_a_plugin_and_completes_live_names() {
    let Some(cluster) = shared() else { return };
    let folder = cluster.folder().join("plugins");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["kubectl-attache", "kubectl_complete-attache"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_attache"), folder.join(name)).unwrap();
    }
    let kubectl = |arguments: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let mut command = Command::new(&cluster.programs().kubectl);
        command.env_clear().env("PATH", path).env("KUBECONFIG", cluster.kubeconfig()).args(arguments);
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let text = kubectl(&["attache", "effective", "httproute/cakes", "-n", "baker"]);
    assert!(text.contains("RetryPolicy/infra/be-patient"), "{text}");
    let text = kubectl(&["__complete", "attache", "describe", "-n", "baker", "httproute/"]);
    assert!(text.contains("httproute/cakes"), "{text}");
    let text = kubectl(&["__complete", "attache", "describe", "retry"]);
    assert!(text.contains("retrypolicy/"), "{text}");
    let text = kubectl(&["__complete", "attache", "describe", "-n", "ba"]);
    assert!(text.contains("baker"), "{text}");
}

#[test]
fn a_policy_says_who_changed_it_last_and_what_manages_it() {
    let Some(cluster) = shared() else { return };
    let text = run(cluster.kubeconfig(), "describe retrypolicy/be-patient -n infra");
    assert!(text.contains("last changed by kubectl at "), "{text}");
    assert!(!text.contains("managed by"), "{text}");
    let text = run(cluster.kubeconfig(), "explain httproute/cakes -n baker");
    assert!(text.contains("last changed by kubectl at "), "{text}");
    let output = attache(cluster.kubeconfig())
        .args(["describe", "retrypolicy/be-patient", "-n", "infra", "-o", "json"])
        .output();
    let document: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(document["lastChanged"]["manager"], "kubectl");
    // The same from files, with the labels of a tool.
    let file = cluster.folder().join("helm.yaml");
    let marks = "annotations: {meta.helm.sh/release-name: bakery, meta.helm.sh/release-namespace: shop}";
    let marked = GATEWAY_POLICY
        .replace("{name: be-patient, namespace: infra}", &format!("{{name: be-patient, namespace: infra, {marks}}}"));
    std::fs::write(&file, format!("{KINDS}\n---\n{OBJECTS}\n---\n{marked}")).unwrap();
    let text = run(cluster.kubeconfig(), &format!("describe retrypolicy/be-patient -f {}", file.display()));
    assert!(text.contains("managed by Helm release shop/bakery"), "{text}");
}

/// A run of `watch`, and its output.
struct Watching {
    child: Child,
    /// Changes, on standard output.
    changes: Lines,
    /// What else there is to say, on standard error.
    notices: Lines,
}

/// The lines of one stream. The order of the lines of two streams is not known.
struct Lines {
    receiver: Receiver<String>,
    seen: Vec<String>,
}

impl Lines {
    fn new(stream: impl Read + Send + 'static) -> Lines {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            BufReader::new(stream).lines().map_while(Result::ok).for_each(|line| _ = sender.send(line));
        });
        Lines { receiver, seen: Vec::new() }
    }

    /// Waits for a line that contains this, and comes after the previous one.
    fn expect(&mut self, text: &str) -> Result<String, String> {
        let until = Instant::now() + PATIENCE;
        while let Ok(line) = self.receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.seen.push(line.clone());
            if line.contains(text) {
                return Ok(line);
            }
        }
        Err(format!("no line with `{text}` among:\n{}", self.seen.join("\n")))
    }
}

/// The maximum time until a line is printed, also on a busy machine whose API server has just restarted.
const PATIENCE: Duration = Duration::from_secs(180);

impl Watching {
    fn start(cluster: &TestCluster, arguments: &[&str]) -> Watching {
        Watching::start_as(cluster.kubeconfig(), arguments)
    }

    fn start_as(kubeconfig: &Path, arguments: &[&str]) -> Watching {
        let mut command = attache(kubeconfig);
        command.arg("watch").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (changes, notices) = (Lines::new(child.stdout.take().unwrap()), Lines::new(child.stderr.take().unwrap()));
        let mut watching = Watching { child, changes, notices };
        watching.expect_notice("watching ");
        watching
    }

    /// Waits for a line about a change.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        let line = self.changes.expect(text);
        line.unwrap_or_else(|error| panic!("{error}\n--- stderr\n{}", self.notices.seen.join("\n")))
    }

    /// Waits for a line on standard error.
    #[track_caller]
    fn expect_notice(&mut self, text: &str) -> String {
        self.notices.expect(text).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn policy(name: &str, retries: u32) -> Value {
    json!({"apiVersion": "example.io/v1", "kind": "RetryPolicy", "metadata": {"name": name}, "spec": {
        "targetRef": {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "cakes"}, "retries": retries}})
}

const POLICIES: &str = "/apis/example.io/v1/namespaces/baker/retrypolicies";

#[test]
fn changes_of_the_cluster_are_shown_as_they_happen_also_across_restarts() {
    let Some(mut cluster) = TestCluster::start() else { return };
    open_bakery(&cluster);
    let mut watching = Watching::start(&cluster, &["-A"]);
    cluster.http().post(POLICIES, &policy("mine", 2)).unwrap().expect_success();
    watching.expect("retries: 5 → 2");
    cluster.kill(Component::ApiServer);
    watching.expect_notice("disconnected: the cluster at");
    cluster.start_again(Component::ApiServer);
    watching.expect_notice("reconnected:");
    cluster.http().patch(&format!("{POLICIES}/mine"), &json!({"spec": {"retries": 7}})).unwrap().expect_success();
    watching.expect("retries: 2 → 7");
    cluster.http().delete(&format!("{POLICIES}/mine")).unwrap().expect_success();
    watching.expect("retries: 7 → 5");
    // A new kind is followed, and removed with its CRD.
    cluster.kubectl(&["delete", "crd", "retrypolicies.example.io", "--timeout=180s"]);
    watching.expect_notice("retrypolicies.example.io were removed");
    open_bakery(&cluster);
    watching.expect_notice("retrypolicies.example.io are installed, and now watched");
    watching.expect("RetryPolicy/infra/be-patient");
}

#[test]
fn an_interrupt_ends_watching_at_once() {
    let Some(cluster) = shared() else { return };
    let mut watching = Watching::start(cluster, &["-A"]);
    let status = Command::new("kill").args(["-INT", &watching.child.id().to_string()]).status().unwrap();
    assert!(status.success());
    assert_eq!(watching.child.wait().unwrap().code(), Some(0));
}
