//! The status of PolicyKinds and PolicyRequirements, events, and the end of it all.

use std::time::Instant;

use attache_testenv::{TestCluster, eventually};
use serde_json::{Value, json};

use crate::harness::{Controller, create_namespace};
use crate::world::{
    ancestors, become_lines, conditions, install_crds, install_kind, policy, policy_kind, statuses, text, topology,
};

fn document(cluster: &TestCluster, name: &str) -> Value {
    serde_json::from_str(&cluster.kubectl(&["get", name, "-o", "json"])).unwrap()
}

/// `Type=Status Reason` of the conditions of a document.
pub fn condition(cluster: &TestCluster, name: &str, kind: &str) -> String {
    let document = document(cluster, name);
    let found = document["status"]["conditions"].as_array().into_iter().flatten().find(|it| it["type"] == kind);
    found.map_or_else(String::new, |it| {
        format!("{} {}: {}", text(&it["status"]), text(&it["reason"]), text(&it["message"]))
    })
}

#[test]
fn policy_kinds_and_requirements_say_what_is_wrong() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    topology(&cluster, "shop", &["g1 > r1 > b1", "g1 > r2 > b2"]);
    let kind = |name: &str, kind: &str, fields: Value| {
        let mut document: Value = serde_json::from_str(&policy_kind(kind, fields)).unwrap();
        document["metadata"]["name"] = json!(name);
        cluster.apply(&document.to_string());
    };
    let targets = json!({"targets": ["Gateway", "Route"]});
    kind("a-colors", "ColorPolicy", targets.clone());
    kind("b-colors", "ColorPolicy", targets.clone());
    kind("absent", "AbsentPolicy", targets);
    let controller = Controller::start(&cluster, &[]);
    let becomes = |name: &str, kind: &str, expected: &str| {
        eventually(&format!("{kind} of {name} starts with {expected}"), || {
            condition(&cluster, name, kind).starts_with(expected)
        });
    };
    becomes("policykind/a-colors", "Accepted", "True Accepted: ");
    becomes("policykind/a-colors", "MatchesCRD", "True Matches: ");
    becomes("policykind/b-colors", "Accepted", "False Conflicted: `ColorPolicy.example.io` is described twice");
    becomes("policykind/absent", "MatchesCRD", "False NotInstalled: there is no CRD of AbsentPolicy");
    // What contradicts the CRD.
    kind("a-colors", "ColorPolicy", json!({"targets": ["Gateway", "Route"], "scope": "Cluster"}));
    becomes("policykind/a-colors", "MatchesCRD", "False OtherScope: ");
    kind("a-colors", "ColorPolicy", json!({"targets": ["Gateway", "Route"]}));
    cluster.kubectl(&["delete", "policykind/b-colors"]);
    becomes("policykind/a-colors", "MatchesCRD", "True Matches: ");

    // A requirement counts what lacks it.
    let requirement = json!({
        "apiVersion": "attache.dev/v1alpha1", "kind": "PolicyRequirement", "metadata": {"name": "colors"},
        "spec": {"require": "ColorPolicy:color", "level": "Route", "namespaces": {"names": ["shop"]}},
    });
    cluster.apply(&requirement.to_string());
    becomes("policyrequirement/colors", "Satisfied", "False Missing: HTTPRoute/shop/r1, HTTPRoute/shop/r2");
    assert_eq!(document(&cluster, "policyrequirement/colors")["status"]["checked"], 2);
    eventually("the metric says so", || controller.metric("attache_requirement_missing{requirement=\"colors\"") == 2.0);
    cluster.apply(&policy("ColorPolicy", "shop", "p1", "HTTPRoute/r1", json!({"color": "red"})));
    becomes("policyrequirement/colors", "Satisfied", "False Missing: HTTPRoute/shop/r2");
    assert_eq!(document(&cluster, "policyrequirement/colors")["status"]["lacking"], json!(["HTTPRoute/shop/r2"]));
    let mut excepted = requirement.clone();
    excepted["spec"]["exceptions"] =
        json!([{"object": "HTTPRoute/shop/r2", "reason": "has none", "until": "2999-01-01"}]);
    cluster.apply(&excepted.to_string());
    becomes("policyrequirement/colors", "Satisfied", "True InForce: ");
    assert_eq!(document(&cluster, "policyrequirement/colors")["status"]["excepted"], 1);
    let mut unknown = requirement;
    unknown["spec"]["require"] = json!("NoSuchPolicy");
    cluster.apply(&unknown.to_string());
    becomes("policyrequirement/colors", "Accepted", "False Invalid: ");

    // Events say what became of a policy.
    let events = || {
        cluster.kubectl(&[
            "get",
            "events",
            "-n",
            "shop",
            "-o",
            "jsonpath={range .items[*]}{.reason} {.message}{\"\\n\"}{end}",
        ])
    };
    eventually("there is an event", || events().contains("Enforced Enforced: in force on 1 routes"));
    cluster.apply(&policy("ColorPolicy", "shop", "p2", "Gateway/g1", json!({"overrides": {"color": "blue"}})));
    eventually("there is another event", || {
        events().contains("Overridden Overridden, was Enforced, by ColorPolicy/shop/p2")
    });
    eventually("policies are counted", || {
        controller.metric("attache_policies{kind=\"ColorPolicy.example.io\",enforcement=\"Overridden\"") == 1.0
    });
}

#[test]
fn a_large_policy_is_no_obstacle_and_cleanup_leaves_nothing() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    topology(&cluster, "shop", &["g1 > r1 > b1"]);
    let controller = Controller::start(&cluster, &[]);
    // A kind that comes while the controller runs.
    install_kind(&cluster, "DyePolicy", &json!({"conditions": conditions()}));
    let established = Instant::now();
    eventually("a kind that is established is followed", || {
        controller.log().contains("watching a new kind kind=\"dyepolicies.example.io\"")
    });
    eprintln!("a new kind is followed {:.1?} after it was established", established.elapsed());
    cluster.apply(&policy_kind("DyePolicy", json!({"targets": ["Gateway", "Route"]})));
    let large = "x".repeat(1_000_000);
    cluster.apply(&policy("DyePolicy", "shop", "large", "HTTPRoute/r1", json!({"color": large})));
    let all = || statuses(&cluster, "shop", "dyepolicies,gateways,httproutes,services");
    become_lines(
        "
        DyePolicy/large: Accepted=True Accepted (), Enforced=True Enforced ()
        HTTPRoute/r1 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/large])
        ",
        all,
    );
    eventually("the PolicyKind is written", || {
        condition(&cluster, "policykind/dyepolicy.example.io", "MatchesCRD").starts_with("True Matches")
    });
    // The status of a policy whose value is edited is about the new generation, and no target is written.
    let before = controller.settled_writes();
    cluster.apply(&policy("DyePolicy", "shop", "large", "HTTPRoute/r1", json!({"color": "small"})));
    eventually("the policy is written", || controller.metric("attache_status_writes_total") > before);
    assert_eq!(controller.settled_writes(), before + 1.0, "{}", controller.log());
    assert!(controller.stop().success());
    let cleaning = Controller::spawn(&cluster, cluster.kubeconfig(), &["--cleanup"]);
    eventually("everything is withdrawn", || {
        cleaning.log().contains("removed everything that the controller wrote to statuses objects=3")
    });
    become_lines("", all);
}

#[test]
fn a_kind_that_is_removed_takes_its_conditions_along() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    topology(&cluster, "shop", &["g1 > r1 > b1"]);
    install_kind(&cluster, "DyePolicy", &json!({"conditions": conditions()}));
    cluster.apply(&policy_kind("DyePolicy", json!({"targets": ["Gateway", "Route"]})));
    cluster.apply(&policy("DyePolicy", "shop", "p1", "HTTPRoute/r1", json!({"color": "red"})));
    let controller = Controller::start(&cluster, &[]);
    let routes = || statuses(&cluster, "shop", "httproutes");
    become_lines(
        "HTTPRoute/r1 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/p1])",
        routes,
    );
    cluster.kubectl(&["delete", "crd/dyepolicies.example.io"]);
    let deleted = Instant::now();
    become_lines("", routes);
    eprintln!("the conditions of a removed kind are withdrawn after {:.1?}", deleted.elapsed());
    eventually("the PolicyKind says that its CRD is missing", || {
        condition(&cluster, "policykind/dyepolicy.example.io", "MatchesCRD").starts_with("False NotInstalled")
    });
    assert!(controller.log().contains("a kind was removed kind=\"dyepolicies.example.io\""), "{}", controller.log());
}
