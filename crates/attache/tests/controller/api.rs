//! Effective policies as an API, through a real API server and kubectl.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use attache_testenv::bakery::GATEWAY_POLICY;
use attache_testenv::{ClusterOptions, HttpResponse, TestCluster, TestUser, eventually, open_bakery};

use crate::harness::{Controller, NAMESPACE, create_namespace};

/// Where the controller serves the API. The system gives ports of 127.0.0.1 to outgoing connections, but none of this one:
/// a restarted controller finds its port free.
const ADDRESS: &str = "127.11.0.1";

/// A cluster, a controller, and the registration of its API.
struct World {
    cluster: TestCluster,
    controller: Controller,
}

impl World {
    fn start() -> Option<World> {
        let cluster = ClusterOptions::new().with_controllers().start()?;
        open_bakery(&cluster, GATEWAY_POLICY);
        create_namespace(&cluster);
        let names = [ADDRESS, &format!("attache.{NAMESPACE}.svc")];
        let certificates = cluster.server_certificate(&names);
        let address = format!("{ADDRESS}:0");
        let arguments = ["--api-listen", &address, "--certificates", certificates.to_str().unwrap()];
        let controller = Controller::start(&cluster, &arguments);
        let world = World { cluster, controller };
        world.register();
        Some(world)
    }

    /// What the chart installs: the Service, the APIService, and a role for everybody who may view a namespace.
    fn register(&self) {
        let port = self.controller.address("effective policies").unwrap().port();
        let authority = std::fs::read(self.cluster.authority()).unwrap();
        self.cluster.apply(&format!(
            r#"
{{apiVersion: v1, kind: Service, metadata: {{name: attache, namespace: {NAMESPACE}}}, spec: {{type: ExternalName, externalName: {ADDRESS}}}}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1alpha1.effective.attache.dev}}
spec:
  group: effective.attache.dev
  version: v1alpha1
  groupPriorityMinimum: 100
  versionPriority: 100
  caBundle: {}
  service: {{name: attache, namespace: {NAMESPACE}, port: {port}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: attache-view
  labels: {{rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules:
- {{apiGroups: [effective.attache.dev], resources: [effectivepolicies, policyreaches], verbs: [get, list, watch]}}
"#,
            base64(&authority)
        ));
        eventually("the API is available", || {
            let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.effective.attache.dev";
            let service = self.cluster.http().get(path).unwrap().json();
            let mut conditions = service["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|it| it["type"] == "Available" && it["status"] == "True")
        });
        eventually("the API is found by kubectl", || self.objects().is_ok());
    }

    /// Reads a path of the API. The front proxy answers 503 until it has seen that the controller is available.
    fn get(&self, path: &str) -> HttpResponse {
        let mut answer = None;
        eventually("the API answers", || {
            let response = self.cluster.http().get(path).unwrap();
            let is_served = response.status != 503;
            answer = Some(response);
            is_served
        });
        answer.unwrap()
    }

    /// A user who may view the namespace `baker`, and nothing else.
    fn baker(&self) -> TestUser {
        let baker = self.cluster.user("baker", None);
        let arguments = ["create", "rolebinding", "baker", "--clusterrole=view", "--user=baker", "-n", "baker"];
        self.cluster.kubectl(&arguments);
        eventually("the role is aggregated to `view`", || {
            self.kubectl(&baker, &["auth", "can-i", "list", "effectivepolicies.effective.attache.dev", "-n", "baker"])
                .is_ok()
        });
        baker
    }

    /// What kubectl prints for a user, or why it fails. Repeats the command while the front proxy answers 503, or has not
    /// read what the controller serves.
    fn kubectl(&self, user: &TestUser, arguments: &[&str]) -> Result<String, String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut printed = Ok(String::new());
        eventually("the API answers", || {
            let output = self.command(user, arguments).output().unwrap();
            printed = if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) };
            let lags = ["ServiceUnavailable", "doesn't have a resource type", "couldn't find resource for"];
            !printed.as_ref().is_err_and(|error| lags.iter().any(|lag| error.contains(lag)))
        });
        printed
    }

    fn command(&self, user: &TestUser, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cluster.programs().kubectl);
        command.env_clear().arg("--kubeconfig").arg(&user.kubeconfig).args(arguments);
        command.arg("--cache-dir").arg(self.cluster.folder().join(format!("cache-{}", user.name)));
        command
    }

    /// Starts kubectl for a user, and reads what it prints line by line.
    fn follow(&self, user: &TestUser, arguments: &[&str]) -> Lines {
        let mut child = self.command(user, arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = std::sync::mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Lines { child, lines }
    }

    fn objects(&self) -> Result<String, String> {
        let error = |error| format!("{error:?}");
        let list = self.cluster.try_kubectl(&["get", "effectivepolicies", "-A", "-o", "name"]).map_err(error)?;
        if list.is_empty() { Err("nothing".to_owned()) } else { Ok(list) }
    }
}

/// The lines of a command that goes on. It is ended when this value is dropped.
struct Lines {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Lines {
    /// Waits for a line with a text.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        let mut found = String::new();
        eventually(&format!("a line with `{text}`"), || {
            found = self.lines.try_iter().find(|line| line.contains(text)).unwrap_or_default();
            !found.is_empty()
        });
        found
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |number: u32, shift: u32| char::from(DIGITS[(number >> shift & 63) as usize]);
    let encode = |chunk: &[u8]| {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digits = [18, 12, 6, 0].map(|shift| digit(number, shift)).into_iter().take(chunk.len() + 1);
        digits.chain(std::iter::repeat('=')).take(4).collect::<String>()
    };
    bytes.chunks(3).map(encode).collect()
}

/// The parable of the standard: somebody who may not read RetryPolicies sees what retries the service.
#[test]
fn the_owners_of_a_namespace_see_what_is_in_force_on_their_objects() {
    let Some(world) = World::start() else { return };
    let baker = world.baker();
    assert!(world.kubectl(&baker, &["get", "retrypolicies", "-A"]).is_err());

    let table = world.kubectl(&baker, &["get", "effectivepolicies", "-n", "baker"]).unwrap();
    let header: Vec<&str> =
        table.lines().next().unwrap().split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(header, ["OBJECT", "POLICY KIND", "SETTINGS", "FROM", "AGE"]);
    let row = table.lines().find(|line| line.starts_with("HTTPRoute/cakes")).unwrap_or_default();
    for cell in ["RetryPolicy.example.io", "retries: 5", "RetryPolicy/infra/be-patient"] {
        assert!(row.contains(cell), "{row}");
    }
    let wide = world.kubectl(&baker, &["get", "effpol", "-n", "baker", "-o", "wide"]).unwrap();
    let name = "httproute.cakes.retrypolicy-example-io";
    assert!(wide.contains(name), "{wide}");

    let yaml = world.kubectl(&baker, &["get", "effectivepolicy", name, "-n", "baker", "-o", "yaml"]).unwrap();
    for line in ["kind: EffectivePolicy", "policyKind: RetryPolicy.example.io", "retries: 5", "- Gateway/infra/shop"] {
        assert!(yaml.contains(line), "{yaml}");
    }
    let described = world.kubectl(&baker, &["describe", "effectivepolicy", name, "-n", "baker"]).unwrap();
    assert!(described.contains("RetryPolicy/infra/be-patient"), "{described}");

    // Commands show what the controller reports of policies that the user may not read.
    world.cluster.allow_reading(&baker, Some("baker"), "gateway.networking.k8s.io", "httproutes");
    for command in ["effective", "describe"] {
        let mut attache = Command::new(env!("CARGO_BIN_EXE_attache"));
        attache.env_clear().env("KUBECONFIG", &baker.kubeconfig).args([command, "httproute/cakes", "-n", "baker"]);
        let texts =
            ["reported by the controller", "RetryPolicy.example.io", "retries: 5", "RetryPolicy/infra/be-patient"];
        eventually(&format!("{command} shows what the controller reports"), || {
            let answer = String::from_utf8(attache.output().unwrap().stdout).unwrap();
            texts.iter().all(|text| answer.contains(text))
        });
    }

    // The roles of the API server decide, and there is none for other namespaces.
    for arguments in [
        ["get", "effectivepolicies", "-n", "infra"].as_slice(),
        &["get", "effectivepolicies", "-A"],
        &["get", "policyreaches", "-n", "infra"],
        &["delete", "effectivepolicy", name, "-n", "baker"],
    ] {
        let refused = world.kubectl(&baker, arguments).unwrap_err();
        assert!(refused.contains("Forbidden") || refused.contains("forbidden"), "{refused}");
    }
    let missing = world.kubectl(&baker, &["get", "effectivepolicy", "nothing", "-n", "baker"]).unwrap_err();
    assert!(missing.contains("effectivepolicies.effective.attache.dev \"nothing\" not found"), "{missing}");
}

#[test]
fn selectors_pages_explanations_and_watches_work_with_kubectl() {
    let Some(world) = World::start() else { return };
    let (cluster, baker) = (&world.cluster, world.baker());
    cluster.kubectl(&["label", "httproute/cakes", "-n", "baker", "course=dessert"]);
    eventually("the label is there", || {
        let list =
            world.kubectl(&baker, &["get", "effectivepolicies", "-n", "baker", "-l", "course=dessert", "-o", "name"]);
        list.is_ok_and(|list| {
            list.trim() == "effectivepolicy.effective.attache.dev/httproute.cakes.retrypolicy-example-io"
        })
    });
    let gateways = ["get", "effectivepolicies", "-A", "--field-selector", "spec.object.kind=Gateway", "-o", "name"];
    let list = cluster.kubectl(&gateways);
    assert_eq!(list.trim(), "effectivepolicy.effective.attache.dev/gateway.shop.retrypolicy-example-io");
    let refused = cluster.try_kubectl(&["get", "effectivepolicies", "-A", "--field-selector", "spec.color=red"]);
    assert!(format!("{:?}", refused.unwrap_err()).contains("field label not supported: spec.color"));

    let whole = world.objects().unwrap();
    let pages = cluster.kubectl(&["get", "effectivepolicies", "-A", "-o", "name", "--chunk-size=1"]);
    assert_eq!(pages, whole);
    assert!(whole.lines().count() >= 2, "{whole}");

    let explained = world.kubectl(&baker, &["explain", "effectivepolicies.status"]).unwrap();
    for text in ["GROUP:      effective.attache.dev", "KIND:       EffectivePolicy", "scopes", "What is in force"] {
        assert!(explained.contains(text), "{explained}");
    }
    let explained = world.kubectl(&baker, &["explain", "policyreaches.status.scopes.overridden"]).unwrap();
    assert!(explained.contains("in which other policies override all of it"), "{explained}");

    let reaches = cluster.kubectl(&["get", "policyreaches", "-n", "infra"]);
    let row = reaches.lines().nth(1).unwrap_or_default().to_owned();
    for cell in ["RetryPolicy/be-patient", "Enforced", "1 of 1"] {
        assert!(row.contains(cell), "{reaches}");
    }

    let watch = world.follow(&baker, &["get", "effectivepolicies", "-n", "baker", "-w", "--output-watch-events"]);
    watch.wait_for("retries: 5");
    cluster.apply(&GATEWAY_POLICY.replace("retries: 5", "retries: 7"));
    let line = watch.wait_for("retries: 7");
    assert!(line.starts_with("MODIFIED"), "{line}");
    cluster.kubectl(&["delete", "retrypolicy", "be-patient", "-n", "infra"]);
    watch.wait_for("DELETED");
}

#[test]
fn a_restarted_controller_does_not_know_the_versions_of_the_one_before() {
    let Some(mut world) = World::start() else { return };
    let path = "/apis/effective.attache.dev/v1alpha1/effectivepolicies";
    let list = world.get(path).expect_success().json();
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let watch = format!("{path}?watch=true&timeoutSeconds=1&resourceVersion={version}");
    assert_eq!(world.get(&watch).status, 200);
    let certificates = world.cluster.folder().join("server");
    let address = world.controller.address("effective policies").unwrap().to_string();
    let arguments = ["--api-listen", &address, "--certificates", certificates.to_str().unwrap()];
    world.controller.kill();
    world.controller = Controller::start(&world.cluster, &arguments);
    let gone = world.get(&watch).json();
    assert_eq!((&gone["code"], &gone["reason"]), (&410.into(), &"Expired".into()), "{gone}");
}

#[test]
fn only_the_front_proxy_may_connect_also_after_its_certificates_are_rotated() {
    let Some(mut world) = World::start() else { return };
    let url = format!("https://{}", world.controller.address("effective policies").unwrap());
    let path = "/apis/effective.attache.dev/v1alpha1";
    let answer = |cluster: &TestCluster, name: &str, by_front_proxy: bool| {
        cluster.client_of(&url, name, by_front_proxy).get(path).map(|answer| answer.status)
    };
    assert!(matches!(answer(&world.cluster, "front-proxy-client", true), Ok(200)));
    // A user of the cluster, somebody with another name, and the API server's certificate for itself.
    assert!(answer(&world.cluster, "front-proxy-client", false).is_err());
    assert!(answer(&world.cluster, "somebody", true).is_err());
    assert!(answer(&world.cluster, "admin", false).is_err());
    let no_certificate = ureq::Agent::config_builder()
        .tls_config(ureq::tls::TlsConfig::builder().disable_verification(true).build())
        .build();
    assert!(ureq::Agent::new_with_config(no_certificate).get(format!("{url}{path}")).call().is_err());

    world.cluster.rotate_front_proxy();
    eventually("the controller accepts the new certificate", || {
        matches!(answer(&world.cluster, "front-proxy-client", true), Ok(200))
    });
    eventually("the API server is answered", || world.objects().is_ok());
}
