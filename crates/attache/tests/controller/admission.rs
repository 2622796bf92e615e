//! The admission webhook: what kubectl shows, and what it refuses.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use attache_testenv::{TestCluster, eventually};
use serde_json::Value;

use crate::api::base64;
use crate::harness::{Controller, NAMESPACE, create_namespace};

const BAKERY: [&str; 4] = ["kind.yaml", "gateway.yaml", "baker.yaml", "policies.yaml"];

/// The CRDs of the policies.
const KINDS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: retrypolicies.example.io, labels: {gateway.networking.k8s.io/policy: Inherited}}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: retrypolicies, singular: retrypolicy, kind: RetryPolicy, listKind: RetryPolicyList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificatepolicies.example.io, labels: {gateway.networking.k8s.io/policy: Direct}}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: certificatepolicies, singular: certificatepolicy, kind: CertificatePolicy, listKind: CertificatePolicyList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
"#;

const DIRECT: &str = r#"
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {name: certificatepolicies.example.io}
spec: {group: example.io, kind: CertificatePolicy, class: Direct, targets: [Service]}
---
apiVersion: example.io/v1
kind: CertificatePolicy
metadata: {name: first, namespace: baker}
spec: {targetRef: {kind: Service, name: cakes}, issuer: a}
"#;

/// A cluster with the bakery, and a Service through which its API server reaches the webhook.
struct Bakery {
    cluster: TestCluster,
    /// The address of the Service, which is one of loopback.
    address: String,
    port: String,
}

/// What kubectl did.
struct Output {
    succeeded: bool,
    stderr: String,
}

impl Bakery {
    /// `None` if there is no API server on this machine. Every test has another address.
    fn open(ip: &str) -> Option<Bakery> {
        let cluster = TestCluster::start()?;
        create_namespace(&cluster);
        let port = TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap().port().to_string();
        cluster.apply(&format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: attache, namespace: {NAMESPACE}}}, spec: {{clusterIP: {ip}, ports: [{{name: webhook, port: {port}}}]}}}}"
        ));
        let folder = format!("{}/../..", env!("CARGO_MANIFEST_DIR"));
        cluster.kubectl(&["apply", "--server-side", "-f", &format!("{folder}/deploy/chart/files/crds")]);
        cluster.apply(KINDS);
        cluster.wait_until_served();
        for file in BAKERY {
            let manifests = std::fs::read_to_string(format!("{folder}/examples/bakery/{file}")).unwrap();
            cluster.apply(&manifests);
        }
        cluster.apply(DIRECT);
        Some(Bakery { cluster, address: format!("{ip}:{port}"), port })
    }

    /// A controller, once the API server asks it.
    fn start(&self, arguments: &[&str]) -> Controller {
        let webhook = ["--webhook-listen", &self.address, "--webhook-port", &self.port];
        let controller = Controller::start(&self.cluster, &[&webhook, arguments].concat());
        self.wait_until_asked();
        controller
    }

    /// Waits until a change that changes something is answered with a warning.
    #[track_caller]
    fn wait_until_asked(&self) {
        eventually("the API server asks the webhook", || {
            let delete = ["delete", "retrypolicy", "be-patient", "-n", "baker", "--dry-run=server"];
            self.kubectl(&delete, "").stderr.contains("Warning")
        });
    }

    /// A certificate of a new authority. What the controller issues is as good as what anybody else does.
    fn issue(&self) -> Value {
        let options = ["--certificate-lifetime", "1000h", "--lease-name", "issuing", "--service", "attache"];
        // Without a webhook: its configuration is that of another controller.
        let api = ["--api-listen", "127.0.0.1:0"];
        let issuing = Controller::start(&self.cluster, &[&api[..], &options].concat());
        let content = "go-template={{index .data \"certificates.json\" | base64decode}}";
        let get = ["get", "secret", "attache-certificates", "-n", NAMESPACE, "-o", content];
        eventually("a certificate is issued", || self.cluster.try_kubectl(&get).is_ok());
        let issued = serde_json::from_str(&self.cluster.kubectl(&get)).unwrap();
        assert!(issuing.stop().success());
        self.cluster.kubectl(&["delete", "secret", "attache-certificates", "-n", NAMESPACE]);
        issued
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut kubectl = Command::new(&self.cluster.programs().kubectl);
        kubectl.arg("--kubeconfig").arg(self.cluster.kubeconfig()).args(arguments);
        kubectl.arg("--cache-dir").arg(self.cluster.folder().join("kubectl-cache"));
        let mut child = kubectl.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Output { succeeded: output.status.success(), stderr: String::from_utf8(output.stderr).unwrap() }
    }

    fn create(&self, manifest: &str) -> Output {
        self.kubectl(&["create", "-f", "-"], manifest)
    }

    /// The webhook as the API server has it.
    fn webhook(&self) -> Value {
        let json = self.cluster.kubectl(&["get", "validatingwebhookconfiguration", "attache", "-o", "json"]);
        serde_json::from_str::<Value>(&json).unwrap()["webhooks"][0].take()
    }
}

impl Output {
    #[track_caller]
    fn refused(&self, why: &str) {
        let Output { succeeded, stderr } = self;
        assert!(
            !succeeded && stderr.contains("admission webhook \"admission.attache.dev\" denied the request"),
            "{stderr}"
        );
        assert!(stderr.contains(why), "{stderr}");
    }

    #[track_caller]
    fn admitted(&self) {
        assert!(self.succeeded, "{}", self.stderr);
    }
}

#[test]
fn kubectl_shows_warnings_and_works_without_the_controller() {
    let Some(bakery) = Bakery::open("127.10.77.1") else { return };
    let controller = bakery.start(&[]);
    let delete = ["delete", "retrypolicy", "be-patient", "-n", "baker"];
    let warning = "Warning: deleting RetryPolicy baker/be-patient changes what is in force on 4 routes and 5 services in 1 namespace (attache plan --delete retrypolicy/be-patient -n baker)\n";

    // A dry run says the same, and does nothing.
    let dry = bakery.kubectl(&[&delete[..], &["--dry-run=server"]].concat(), "");
    dry.admitted();
    assert_eq!(dry.stderr, warning);
    bakery.cluster.kubectl(&["get", "retrypolicy", "be-patient", "-n", "baker"]);

    let label = bakery.kubectl(&["label", "retrypolicy", "be-patient", "-n", "baker", "a=b"], "");
    label.admitted();
    assert_eq!(label.stderr, "");
    let route = bakery.kubectl(&["delete", "httproute", "pies", "-n", "baker", "--dry-run=server"], "");
    assert!(
        route.stderr.contains("deleting HTTPRoute baker/pies changes what is in force on 1 route"),
        "{}",
        route.stderr
    );
    // Deletions of all objects at once are asked one by one.
    let all = bakery.kubectl(&["delete", "retrypolicies", "--all", "-n", "baker", "--dry-run=server"], "");
    assert!(
        all.stderr.contains(warning.trim_end()) && all.stderr.contains("RetryPolicy baker/pay-once"),
        "{}",
        all.stderr
    );

    let deleted = bakery.kubectl(&delete, "");
    deleted.admitted();
    assert_eq!(deleted.stderr, warning);
    assert!(controller.metric("attache_webhook_seconds_count") >= 3.0);

    controller.kill();
    let invalid = "{apiVersion: attache.dev/v1alpha1, kind: PolicyKind, metadata: {name: cakes.example.io}, spec: {group: example.io, kind: Cake, sameLevel: RejectNewer, effectiveTarget: [Workload]}}";
    bakery.create(invalid).admitted();
    bakery.kubectl(&["delete", "retrypolicy", "pay-once", "-n", "baker"], "").admitted();
}

#[test]
fn invalid_changes_are_refused() {
    let Some(bakery) = Bakery::open("127.10.77.2") else { return };
    let controller = bakery.start(&["--reject-conflicts"]);
    let retry = |spec: &str| {
        format!(
            "{{apiVersion: example.io/v1, kind: RetryPolicy, metadata: {{name: p, namespace: baker}}, spec: {{targetRef: {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: pies}}, {spec}}}}}"
        )
    };
    let kind = "{apiVersion: attache.dev/v1alpha1, kind: PolicyKind, metadata: {name: cakes.example.io}, spec: {group: example.io, kind: Cake, validations: [{rule: 'spec.a ==', message: wrong}]}}";
    bakery.create(kind).refused("PolicyKind cakes.example.io is not valid: spec.validations[0].rule: ");
    let twice = "{apiVersion: attache.dev/v1alpha1, kind: PolicyKind, metadata: {name: again}, spec: {group: example.io, kind: RetryPolicy}}";
    bakery.create(twice).refused("PolicyKind retrypolicies.example.io describes `RetryPolicy.example.io` already");
    bakery.create(&retry("defaults: {when: 'target.kind ==', timeout: 1s}")).refused("spec.defaults.when: ");
    bakery
        .create(&retry("defaults: {strategy: mix, timeout: 1s}"))
        .refused("RetryPolicy has no strategy `mix`, only atomic, patch");
    let conflict = "{apiVersion: example.io/v1, kind: CertificatePolicy, metadata: {name: second, namespace: baker}, spec: {targetRef: {kind: Service, name: cakes}, issuer: b}}";
    bakery.create(conflict).refused("CertificatePolicy baker/second is in conflict: ");
    bakery.create(&conflict.replace("name: cakes", "name: pies")).admitted();
    bakery.create(&retry("defaults: {strategy: patch, timeout: 1s}")).admitted();

    // What breaks an enforced requirement, as long as it is enforced.
    let requirement = "{apiVersion: attache.dev/v1alpha1, kind: PolicyRequirement, metadata: {name: retries}, spec: {require: 'RetryPolicy:retry.attempts', level: Route, enforce: true}}";
    let delete = ["delete", "retrypolicy", "be-patient", "-n", "baker", "--dry-run=server"];
    bakery.kubectl(&delete, "").admitted();
    bakery.create(requirement).admitted();
    let refusal = "PolicyRequirement retries is enforced, and 3 targets would no longer meet it: HTTPRoute/baker/";
    eventually("a deletion is refused", || bakery.kubectl(&delete, "").stderr.contains(refusal));
    bakery.kubectl(&delete, "").refused(refusal);
    let enforce = r#"{"spec": {"enforce": false}}"#;
    bakery.kubectl(&["patch", "policyrequirement", "retries", "--type=merge", "-p", enforce], "").admitted();
    eventually("a deletion is admitted", || bakery.kubectl(&delete, "").succeeded);
    eventually("refusals are counted", || controller.metric("attache_webhook_refusals_total") >= 5.0);
}

#[test]
fn a_guarded_policy_can_be_changed_after_confirmation() {
    let Some(bakery) = Bakery::open("127.10.77.3") else { return };
    let _controller = bakery.start(&[]);
    let annotate =
        |annotation: &str| bakery.kubectl(&["annotate", "retrypolicy", "be-patient", "-n", "baker", annotation], "");
    let delete = || bakery.kubectl(&["delete", "retrypolicy", "be-patient", "-n", "baker"], "");
    annotate("attache.dev/guard=3").admitted();
    delete().refused("this change affects 4 routes, and RetryPolicy/baker/be-patient is guarded");
    annotate("attache.dev/confirm=2").admitted();
    delete().refused("first annotate it with attache.dev/confirm=\"4\"");
    let patch = r#"{"metadata": {"annotations": {"attache.dev/guard": null}}, "spec": {"defaults": {"retry": {"attempts": 2}, "timeout": "50s"}}}"#;
    let patch = ["patch", "retrypolicy", "be-patient", "-n", "baker", "--type=merge", "-p", patch];
    bakery.kubectl(&patch, "").admitted();
    annotate("attache.dev/guard=2").admitted();
    bakery
        .kubectl(&["annotate", "retrypolicy", "be-patient", "-n", "baker", "--overwrite", "attache.dev/confirm=4"], "")
        .admitted();
    delete().admitted();
}

#[test]
fn the_webhook_follows_new_kinds_and_certificates_are_renewed() {
    let Some(bakery) = Bakery::open("127.10.77.4") else { return };
    let controller = bakery.start(&["--certificate-lifetime", "40s"]);
    let webhook = bakery.webhook();
    assert_eq!(webhook["failurePolicy"], "Ignore");
    assert_eq!(webhook["timeoutSeconds"], 2);
    let resources = || bakery.webhook()["rules"].to_string();
    assert!(resources().contains("retrypolicies") && !resources().contains("tintpolicies"));

    let crd =
        KINDS.split("---").next().unwrap().replace("retrypolic", "tintpolic").replace("RetryPolicy", "TintPolicy");
    bakery.cluster.apply(&crd);
    eventually("the webhook is for the new kind", || resources().contains("tintpolicies"));
    bakery.cluster.kubectl(&["delete", "crd", "tintpolicies.example.io"]);
    eventually("the webhook is not for the kind that is gone", || !resources().contains("tintpolicies"));

    // The authority is valid for 160 seconds: after 107 there is a new one, which signs after 8 more. Nobody notices.
    let bundle = || bakery.webhook()["clientConfig"]["caBundle"].as_str().unwrap_or_default().len();
    let renewals = || controller.log().matches("using a new certificate").count();
    let delete = ["delete", "retrypolicy", "be-patient", "-n", "baker", "--dry-run=server"];
    let (one, start) = (bundle(), Instant::now());
    let mut announced = None;
    while announced.is_none_or(|announced| renewals() < announced + 2) {
        assert!(start.elapsed() < Duration::from_secs(480), "{}", controller.log());
        let asked = bakery.kubectl(&delete, "");
        assert!(
            asked.stderr.contains("Warning"),
            "after {:?}: {}\n{}",
            start.elapsed(),
            asked.stderr,
            controller.log()
        );
        if announced.is_none() && bundle() > one {
            announced = Some(renewals());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn certificates_can_be_mounted() {
    let Some(bakery) = Bakery::open("127.10.77.5") else { return };
    let issued = bakery.issue();
    let folder = bakery.cluster.folder().join("mounted");
    let mount = |version: &str, issued: &Value| {
        std::fs::create_dir_all(folder.join(version)).unwrap();
        for (file, of, what) in
            [("tls.crt", "server", "certificate"), ("tls.key", "server", "key"), ("ca.crt", "authority", "certificate")]
        {
            std::fs::write(folder.join(version).join(file), issued[of][what].as_str().unwrap()).unwrap();
            let link = folder.join(file);
            if !link.is_symlink() {
                std::os::unix::fs::symlink(format!("..data/{file}"), link).unwrap();
            }
        }
        // As the kubelet does it: all files at once.
        std::os::unix::fs::symlink(version, folder.join("..new")).unwrap();
        std::fs::rename(folder.join("..new"), folder.join("..data")).unwrap();
    };
    mount("..1", &issued);
    let mounted = folder.to_string_lossy();
    // A short life of its own certificates makes it look for new files every second.
    let controller = bakery.start(&["--certificates", &mounted, "--certificate-lifetime", "20s"]);
    let secrets = bakery.cluster.kubectl(&["get", "secrets", "-n", NAMESPACE, "-o", "name"]);
    assert!(!secrets.contains("attache-certificates"), "{secrets}");

    // Another certificate of another authority, while it runs: the API server trusts it as soon as it is presented.
    let renewed = bakery.issue();
    mount("..2", &renewed);
    eventually("the new certificate is presented", || controller.log().matches("using a new certificate").count() == 2);
    let bundle = base64(renewed["authority"]["certificate"].as_str().unwrap().as_bytes());
    eventually("the new authority is trusted", || bakery.webhook()["clientConfig"]["caBundle"] == bundle.as_str());
    bakery.wait_until_asked();
    // Files that cannot be used are no reason to stop.
    std::fs::write(folder.join("..2/tls.crt"), "no certificate").unwrap();
    eventually("it says so", || controller.log().contains("ERROR"));
    bakery.wait_until_asked();
    assert!(controller.stop().success());
}
