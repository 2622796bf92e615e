//! Upgrades and the end of a release, and controllers for some GatewayClasses, as the chart installs them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use attache_testenv::{Helm, eventually};
use serde_json::Value;

use crate::chart::repository;
use crate::deploy::{API_SERVICE, WEBHOOK, is_served, kubectl_warnings, open_bakery, policy_is_accepted};
use crate::harness::{Controller, NAMESPACE};
use crate::release::{Release, VALUES};

/// The values of the first version, with which every later one must be content.
const FIRST_VALUES: &str = include_str!("values-0.1.0.yaml");

/// A chart as the first version had it, as far as that matters for an upgrade: its values.
fn first_chart(folder: &Path) {
    let copied = Command::new("cp").arg("-rL").arg(repository("deploy/chart")).arg(folder).status().unwrap();
    assert!(copied.success());
    let chart = folder.join("chart");
    fs::write(chart.join("values.yaml"), FIRST_VALUES).unwrap();
    fs::remove_file(chart.join("values.schema.json")).unwrap();
}

fn run(release: &Release) -> Controller {
    let controller = release.run("attache");
    eventually("the status of a policy is written", || policy_is_accepted(release));
    eventually("the webhook is registered", || {
        release.get(WEBHOOK)["webhooks"][0]["clientConfig"]["caBundle"].is_string()
    });
    eventually("effective policies are served", || is_served(release));
    controller
}

/// Everything in the cluster that says something about itself or others: all statuses and annotations.
fn statuses(release: &Release) -> Vec<Value> {
    let kinds = "retrypolicies,httproutes,gateways,services,policykinds,policyrequirements,gatewayclasses,namespaces";
    let text = release.cluster.kubectl(&["get", kinds, "-A", "-o", "json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    let items = found["items"].as_array().unwrap().iter();
    items
        .map(|it| {
            let mut annotations = it["metadata"]["annotations"].clone();
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            }
            serde_json::json!([it["kind"], it["metadata"]["name"], it["status"], annotations])
        })
        .collect()
}

#[test]
fn an_upgrade_keeps_everything_and_an_uninstalled_release_leaves_nothing() {
    if Helm::find().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    first_chart(folder.path());
    let Some(release) = Release::install_chart(&folder.path().join("chart"), VALUES) else { return };
    open_bakery(&release);
    let controller = run(&release);
    controller.settled_writes();
    let (webhook, service, before) = (release.get(WEBHOOK), release.get(API_SERVICE), statuses(&release));

    // New values have their defaults, also if the old ones are reused.
    release.helm(&["upgrade", "--reuse-values"], "{}");
    assert_eq!(release.get(WEBHOOK)["webhooks"], webhook["webhooks"]);
    assert_eq!(release.get(API_SERVICE)["spec"], service["spec"]);
    eventually("effective policies are served", || is_served(&release));
    // The next process takes over, and writes nothing.
    let next = release.run_with("attache", &["--webhook-listen", "off", "--api-listen", "off"]);
    next.wait_until_ready();
    assert!(controller.stop().success());
    eventually("the next leads", || next.metric("attache_leader") == 1.0);
    eventually("it has looked at all statuses", || next.metric("attache_status_queue") == 0.0);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(next.metric("attache_status_writes_total"), 0.0, "{}", next.log());
    assert_eq!(statuses(&release), before);
    assert!(next.stop().success());

    // As docs/controller.md says it: first what was written, then what was installed.
    release.cluster.kubectl(&["delete", "deployment", "attache", "-n", NAMESPACE]);
    let cleaning = Controller::spawn(&release.cluster, release.cluster.kubeconfig(), &["--cleanup"]);
    eventually("everything is withdrawn", || {
        cleaning.log().contains("removed everything that the controller wrote to statuses")
    });
    for status in statuses(&release) {
        let text = status.to_string();
        assert!(!text.contains("Affected") && !text.contains("attache.dev/controller"), "{text}");
        assert!(
            !["RetryPolicy", "PolicyKind"].contains(&status[0].as_str().unwrap()) || !text.contains("Accepted"),
            "{text}"
        );
    }
    release.run_helm(&["uninstall", "attache"]);
    release.cluster.kubectl(&["delete", "secret/attache-certificates", "lease/attache", "-n", NAMESPACE]);
    for path in [WEBHOOK, API_SERVICE] {
        assert_eq!(release.cluster.http().get(path).unwrap().status, 404, "{path}");
    }
    let left = ["all,secrets,leases,configmaps,roles,rolebindings,serviceaccounts", "-n", NAMESPACE];
    let left = release.cluster.kubectl(&[&["get", "-o", "name"][..], &left].concat());
    assert!(!left.lines().any(|line| line.ends_with("/attache") || line.contains("attache-")), "{left}");
    // Nobody is in the way: policies can be changed, PolicyKinds stay, and namespaces can be deleted.
    release.cluster.kubectl(&["delete", "retrypolicy", "be-patient", "-n", "baker"]);
    release.cluster.kubectl(&["get", "policykind", "retrypolicies.example.io"]);
    release.cluster.kubectl(&["delete", "namespace", "baker", "--timeout=180s"]);
}

#[test]
fn controllers_for_classes_work_with_the_permissions_of_the_service_account() {
    let Some(release) = Release::install() else { return };
    open_bakery(&release);
    let class = release.get("/apis/gateway.networking.k8s.io/v1/namespaces/infra/gateways/main");
    let class = class["spec"]["gatewayClassName"].as_str().unwrap().to_owned();
    let controllers = format!("{VALUES}\nclassControllers: [{{name: edge, gatewayClasses: [{class}]}}]");
    release.helm(&["upgrade"], &controllers);
    release.add_endpoints("attache-edge");
    let edge = release.run("attache-edge");
    let default = release.run("attache");
    for controller in [&edge, &default] {
        controller.wait_until_ready();
        eventually("it leads", || controller.metric("attache_leader") == 1.0);
    }
    eventually("the status of a policy is written", || policy_is_accepted(&release));
    // Each has a webhook. The one of the class answers for what is in the class; a policy for a Namespace is in none.
    for name in ["attache", "attache-edge"] {
        let path = WEBHOOK.replace("/attache", &format!("/{name}"));
        eventually("the webhook is registered", || {
            release.get(&path)["webhooks"][0]["clientConfig"]["caBundle"].is_string()
        });
    }
    for (policy, routes) in [("be-patient", "4 routes and 5 services"), ("pay-once", "1 route and 1 service")] {
        let deleting = ["delete", "retrypolicy", policy, "-n", "baker", "--dry-run=server"];
        let mut warnings = String::new();
        eventually("kubectl shows what a deletion changes", || {
            warnings = kubectl_warnings(&release, &deleting);
            warnings.contains("Warning")
        });
        assert_eq!(warnings.matches(&format!("changes what is in force on {routes}")).count(), 1, "{warnings}");
    }
    release.cluster.kubectl(&["delete", "retrypolicy", "be-patient", "-n", "baker"]);
    eventually("the default controller leaves out the class", || {
        edge.metric("attache_objects") > default.metric("attache_objects")
    });
    // The API is one for all, and has the objects of all classes.
    eventually("effective policies are served", || is_served(&release));
    let listed = release.cluster.kubectl(&["get", "effectivepolicies", "-n", "baker"]);
    for object in ["HTTPRoute/cakes", "HTTPRoute/payments", "Service/bread"] {
        assert!(listed.contains(object), "{listed}\n{}", default.log());
    }
    let (_, refused) = release.requests();
    assert_eq!(refused, BTreeSet::new(), "{}\n{}", edge.log(), default.log());
    // Without the class controller its part is everybody's again.
    release.helm(&["upgrade"], VALUES);
    assert_eq!(release.cluster.http().get(&WEBHOOK.replace("/attache", "/attache-edge")).unwrap().status, 404);
}
