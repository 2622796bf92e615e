//! Input that makes no sense, or is very large: a condition or a message says so, and the rest goes on.

use std::time::{Duration, Instant};

use attache_testenv::{TestCluster, eventually};
use serde_json::{Value, json};

use crate::documents::condition;
use crate::harness::{Controller, create_namespace};
use crate::world::{
    ancestors, become_lines, conditions, get, install_crds, install_kind, list, policy, policy_kind, statuses, topology,
};

#[test]
fn a_policy_kind_that_contradicts_its_crd_says_so_and_one_that_is_deleted_takes_its_statuses_along() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    install_kind(&cluster, "DyePolicy", &json!({"conditions": conditions()}));
    let targets = json!({"targets": ["Gateway", "Route"]});
    cluster.apply(&policy_kind("ColorPolicy", targets.clone()));
    cluster.apply(&policy_kind("DyePolicy", targets));
    topology(&cluster, "shop", &["g1 > r1 > b1"]);
    cluster.apply(&policy("ColorPolicy", "shop", "color", "HTTPRoute/r1", json!({"color": "red"})));
    cluster.apply(&policy("DyePolicy", "shop", "dye", "HTTPRoute/r1", json!({"dye": "red"})));
    let _controller = Controller::start(&cluster, &[]);
    let becomes = |name: &str, expected: &str| {
        eventually(&format!("MatchesCRD of {name} is {expected}"), || {
            condition(&cluster, &format!("policykind/{name}"), "MatchesCRD").starts_with(expected)
        });
    };
    let all = || statuses(&cluster, "shop", "colorpolicies,dyepolicies,gateways,httproutes,services");
    let both = "
        ColorPolicy/color > g1: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/dye: Accepted=True Accepted (), Enforced=True Enforced ()
        HTTPRoute/r1 > g1: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/color]), attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/dye])
        ";
    become_lines(both, all);
    becomes("colorpolicy.example.io", "True Matches: ");

    // Each contradiction has a reason. The policies of the other kind are not touched by it.
    for (fields, expected) in [
        (json!({"scope": "Cluster"}), "False OtherScope: the scope of the CRD is `Namespaced`"),
        (json!({"versions": ["v7"]}), "False OtherVersions: the CRD serves v1, but the PolicyKind lists v7"),
    ] {
        cluster.apply(&policy_kind("ColorPolicy", fields));
        becomes("colorpolicy.example.io", expected);
        let line = || {
            let mut lines = all();
            lines.retain(|line| line.starts_with("DyePolicy"));
            lines
        };
        become_lines("DyePolicy/dye: Accepted=True Accepted (), Enforced=True Enforced ()", line);
    }
    cluster.kubectl(&["delete", "policykind/colorpolicy.example.io"]);
    cluster.apply(&policy_kind("ColorPolicy", json!({"targets": ["Gateway", "Route"]})));
    become_lines(both, all);

    // Without the subresource, or without the CRD, there is nothing to write to.
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/colorpolicies.example.io";
    let set_subresources = |subresources: Value| {
        let mut versions = cluster.http().get(crd).unwrap().expect_success().json()["spec"]["versions"].take();
        versions[0]["subresources"] = subresources;
        // A patch, because the API server changes the status of the CRD at the same time.
        cluster.http().patch(crd, &json!({"spec": {"versions": versions}})).unwrap().expect_success();
    };
    set_subresources(json!({}));
    becomes("colorpolicy.example.io", "False NoStatus: ");
    set_subresources(json!({"status": {}}));
    becomes("colorpolicy.example.io", "True Matches: ");

    // Policies outlive their PolicyKind: what was written is withdrawn, and the policies can still be changed.
    cluster.kubectl(&["delete", "policykind/colorpolicy.example.io"]);
    become_lines(
        "
        DyePolicy/dye: Accepted=True Accepted (), Enforced=True Enforced ()
        HTTPRoute/r1 > g1: attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/dye])
        ",
        all,
    );
    cluster.apply(&policy("ColorPolicy", "shop", "color", "HTTPRoute/r1", json!({"color": "blue"})));
    cluster.apply(&policy_kind("ColorPolicy", json!({"targets": ["Gateway", "Route"]})));
    become_lines(both, all);
}

#[test]
fn a_million_scopes_do_not_take_a_million_times_as_long() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"ancestors": ancestors()}));
    let kind = json!({"hierarchy": ["Gateway", "Listener", "Route", "RouteRule", "Backend"], "targets": ["Gateway", "Route"],
        "effectiveTarget": "Backend", "strategies": ["atomic"]});
    cluster.apply(&policy_kind("ColorPolicy", kind));
    topology(&cluster, "shop", &["g0 > calm > b0"]);
    // 32 Gateways with 64 listeners, and 2 routes to each with 16 rules with 16 backends: 1,048,576 scopes.
    let metadata = |name: String| json!({"name": name, "namespace": "shop"});
    let api = "gateway.networking.k8s.io/v1";
    let listeners: Vec<Value> =
        (0..64).map(|it| json!({"name": format!("l{it}"), "port": 8000 + it, "protocol": "HTTP"})).collect();
    let mut objects: Vec<Value> = (0..32)
        .map(|it| {
            json!({"apiVersion": api, "kind": "Gateway", "metadata": metadata(format!("g{it}")),
                "spec": {"gatewayClassName": "class", "listeners": listeners}})
        })
        .collect();
    objects.extend((0..16).map(|it| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata(format!("b{it}")), "spec": {"ports": [{"port": 80}]}})
    }));
    let parents: Vec<Value> = (0..32).map(|it| json!({"name": format!("g{it}")})).collect();
    let backends: Vec<Value> = (0..16).map(|it| json!({"name": format!("b{it}"), "port": 80})).collect();
    let rules = vec![json!({"backendRefs": backends}); 16];
    objects.extend((0..2).map(|it| {
        json!({"apiVersion": api, "kind": "HTTPRoute", "metadata": metadata(format!("r{it}")),
            "spec": {"parentRefs": parents, "rules": rules}})
    }));
    cluster.apply(&list(objects));
    let controller = Controller::start(&cluster, &["--status-qps", "1000", "--status-burst", "1000"]);
    let start = Instant::now();
    cluster.apply(&policy("ColorPolicy", "shop", "wide", "Gateway/g1", json!({"color": "red"})));
    cluster.apply(&policy("ColorPolicy", "shop", "narrow", "HTTPRoute/r0", json!({"color": "blue"})));
    cluster.apply(&policy("ColorPolicy", "shop", "calm", "HTTPRoute/calm", json!({"color": "green"})));
    let of = |name: &str| {
        let found =
            get(&cluster, "shop", "colorpolicies").into_iter().find(|it| it["metadata"]["name"] == name).unwrap();
        found["status"]["ancestors"].as_array().cloned().unwrap_or_default()
    };
    eventually("a policy in the whole is written", || of("wide").len() == 1);
    eventually("a policy with many ancestors has as many as there can be", || of("narrow").len() == 16);
    eventually("a small policy is written, too", || of("calm").len() == 1);
    let is_aggregated = |it: &Value| it["conditions"].to_string().contains("Aggregated");
    assert!(of("narrow").last().is_some_and(is_aggregated), "{:#?}", of("narrow").last());
    eprintln!("a million scopes: statuses written after {:.1?}", start.elapsed());
    let (batches, first) = (controller.metric("attache_batches_total"), Instant::now());
    cluster.apply(&policy("ColorPolicy", "shop", "calm", "HTTPRoute/calm", json!({"color": "white"})));
    eventually("the next change is followed", || controller.metric("attache_batches_total") > batches);
    eprintln!("and the next change is followed after {:.1?}", first.elapsed());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(controller.get("/livez").map(|(status, _)| status), Some(200));
}

#[test]
fn names_are_not_always_dns_names() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    install_kind(&cluster, "ColorPolicy", &json!({"conditions": conditions()}));
    let role = "Role.rbac.authorization.k8s.io";
    let kind = json!({"class": "Direct", "targets": [role, "Route"], "hierarchy": ["Route", role]});
    cluster.apply(&policy_kind("ColorPolicy", kind));
    let long = format!("long.{}", "a".repeat(248));
    topology(&cluster, "shop", &["g1 > www.example.com > b1", &format!("g1 > {long} > b1")]);
    let odd = "team:bread & cakes? 100#";
    cluster.apply(
        &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": odd, "namespace": "shop"}, "rules": []})
        .to_string(),
    );
    let _controller = Controller::start(&cluster, &[]);
    let mut on_role: Value =
        serde_json::from_str(&policy("ColorPolicy", "shop", "on-role", "Role/x", json!({"color": "red"}))).unwrap();
    on_role["spec"]["targetRefs"][0] = json!({"group": "rbac.authorization.k8s.io", "kind": "Role", "name": odd});
    cluster.apply(&on_role.to_string());
    cluster.apply(&policy("ColorPolicy", "shop", "on-long", &format!("HTTPRoute/{long}"), json!({"color": "red"})));
    cluster.apply(&policy("ColorPolicy", "shop", &long, "HTTPRoute/www.example.com", json!({"color": "red"})));
    eventually("a role with an odd name has its annotation", || {
        let roles = get(&cluster, "shop", "roles.rbac.authorization.k8s.io");
        roles[0]["metadata"]["annotations"]["attache.dev/ColorPolicyAffected"] == "true"
    });
    let written = || statuses(&cluster, "shop", "colorpolicies,httproutes").len();
    eventually("routes and policies with long names are written", || written() == 5);
}
