//! Several controllers that share the work by GatewayClass.

use attache_testenv::{TestCluster, eventually};
use serde_json::{Value, json};

use crate::harness::{Controller, NAMESPACE, create_namespace};
use crate::world::{
    ancestors, become_lines, conditions, get, install_crds, install_kind, list, policy, policy_kind, statuses,
};

const API: &str = "gateway.networking.k8s.io/v1";

/// Two classes, each with a Gateway, a route and a Service of its own, and a Service that a route of each class uses.
fn topology(cluster: &TestCluster) {
    let namespaced = |api: &str, kind: &str, name: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec});
    let service = |name: &str| namespaced("v1", "Service", name, json!({"ports": [{"port": 80}]}));
    let route = |name: &str, gateway: &str, service: &str| {
        let backend = json!({"name": service, "port": 80});
        let spec = json!({"parentRefs": [{"name": gateway}], "rules": [{"backendRefs": [backend]}]});
        namespaced(API, "HTTPRoute", name, spec)
    };
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        service("shared"),
        service("unused"),
    ];
    for class in ["edge", "internal"] {
        let controller = json!({"controllerName": "example.io/gateways"});
        objects
            .push(json!({"apiVersion": API, "kind": "GatewayClass", "metadata": {"name": class}, "spec": controller}));
        let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
        objects.push(namespaced(API, "Gateway", class, json!({"gatewayClassName": class, "listeners": listeners})));
        objects.push(service(&format!("{class}-svc")));
        objects.push(route(&format!("{class}-own"), class, &format!("{class}-svc")));
        objects.push(route(&format!("{class}-shared"), class, "shared"));
    }
    cluster.apply(&list(objects));
}

fn apply(cluster: &TestCluster, kind: &str, name: &str, target: &str, fields: Value) {
    cluster.apply(&policy(kind, "shop", name, target, fields));
}

fn written(controller: &Controller) -> f64 {
    controller.metric("attache_status_writes_total{result=\"Written\"")
}

#[test]
fn controllers_share_the_work_by_class_and_write_what_one_alone_would_write() {
    let Some(cluster) = TestCluster::start() else { return };
    install_crds(&cluster);
    create_namespace(&cluster);
    let inherited = json!({"hierarchy": ["Gateway", "Route", "Backend"], "targets": ["Gateway", "Route", "Backend"],
        "effectiveTarget": "Backend", "strategies": ["atomic"]});
    for (kind, status) in
        [("ColorPolicy", json!({"ancestors": ancestors()})), ("DyePolicy", json!({"conditions": conditions()}))]
    {
        install_kind(&cluster, kind, &status);
        cluster.apply(&policy_kind(kind, inherited.clone()));
    }
    topology(&cluster);
    let requirement = json!({
        "apiVersion": "attache.dev/v1alpha1", "kind": "PolicyRequirement", "metadata": {"name": "dyes"},
        "spec": {"require": "DyePolicy", "level": "Route", "namespaces": {"names": ["shop"]}},
    });
    cluster.apply(&requirement.to_string());
    let edge = Controller::start(&cluster, &["--gateway-class", "edge"]);
    let default = Controller::start(&cluster, &["--except-gateway-class", "edge"]);
    for controller in [&edge, &default] {
        eventually("each leads, by a Lease of its own", || controller.metric("attache_leader") == 1.0);
    }
    let leases = cluster.kubectl(&["get", "leases", "-n", NAMESPACE, "-o", "name"]);
    assert_eq!(leases, "lease.coordination.k8s.io/attache\nlease.coordination.k8s.io/attache-edge\n");
    assert!(edge.metric("attache_objects") > 0.0 && default.metric("attache_objects") > 0.0);

    apply(&cluster, "ColorPolicy", "on-edge", "Gateway/edge", json!({"color": "red"}));
    apply(&cluster, "ColorPolicy", "on-internal", "Gateway/internal", json!({"color": "blue"}));
    apply(&cluster, "DyePolicy", "on-route", "HTTPRoute/edge-own", json!({"dye": "red"}));
    apply(&cluster, "DyePolicy", "on-shared", "Service/shared", json!({"dye": "blue"}));
    let all = || statuses(&cluster, "shop", "colorpolicies,dyepolicies,gateways,httproutes,services");
    become_lines(
        "
        ColorPolicy/on-edge > edge: Accepted=True Accepted (), Enforced=True Enforced ()
        ColorPolicy/on-internal > internal: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/on-route: Accepted=True Accepted (), Enforced=True Enforced ()
        DyePolicy/on-shared: Accepted=True Accepted (), Enforced=True Enforced ()
        Gateway/edge: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-edge])
        Gateway/internal: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        HTTPRoute/edge-own > edge: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-edge]), attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/on-route])
        HTTPRoute/edge-shared > edge: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-edge])
        HTTPRoute/internal-own > internal: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        HTTPRoute/internal-shared > internal: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        Service/edge-svc: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-edge]), attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/on-route])
        Service/internal-svc: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        Service/shared: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-edge shop/on-internal]), attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/on-shared])
        ",
        all,
    );
    // A requirement has a condition of each controller: what is in its part.
    let satisfied = || -> Vec<String> {
        let found: Value =
            serde_json::from_str(&cluster.kubectl(&["get", "policyrequirement/dyes", "-o", "json"])).unwrap();
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let line = |it: &Value| format!("{}={} ({})", it["type"], it["status"], it["message"]).replace('"', "");
        let mut lines: Vec<String> = conditions.iter().map(line).filter(|line| line.contains("Satisfied")).collect();
        lines.sort();
        lines
    };
    become_lines(
        "
        Satisfied=False (HTTPRoute/shop/internal-own)
        attache-edge/Satisfied=True ()
        ",
        satisfied,
    );
    // Nothing more is written: no object has two writers.
    edge.settled_writes();
    default.settled_writes();
    let before = (written(&edge), written(&default));
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!((written(&edge), written(&default)), before, "{}\n{}", edge.log(), default.log());

    // A change in one class is written by its controller alone.
    apply(&cluster, "DyePolicy", "on-route", "HTTPRoute/edge-own", json!({"dye": "green"}));
    eventually("the controller of the class writes", || written(&edge) == before.0 + 1.0);
    assert_eq!(written(&default), before.1);

    // What belongs to one class only from now on is written by the controller of that class, as it is then.
    cluster.kubectl(&["delete", "httproute/internal-shared", "-n", "shop"]);
    let shared = || {
        let services = get(&cluster, "shop", "services").into_iter();
        let mut lines: Vec<String> = services.flat_map(|it| crate::world::lines(&it)).collect();
        lines.retain(|line| line.starts_with("Service/shared"));
        lines
    };
    become_lines(
        "Service/shared: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-edge]), attache.dev/DyePolicyAffected=True Accepted (affected by DyePolicy [shop/on-shared])",
        shared,
    );
    eventually("the controller of the class has written it", || written(&edge) > before.0 + 1.0);

    // Without the default controller the class goes on, and the other way round.
    assert!(default.stop().success());
    cluster.kubectl(&["delete", "colorpolicy/on-edge", "colorpolicy/on-internal", "-n", "shop"]);
    become_lines(
        "
        Gateway/internal: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        HTTPRoute/internal-own > internal: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        Service/internal-svc: attache.dev/ColorPolicyAffected=True Accepted (affected by ColorPolicy [shop/on-internal])
        ",
        || {
            let mut lines = statuses(&cluster, "shop", "gateways,httproutes,services");
            lines.retain(|line| line.contains("ColorPolicy"));
            lines
        },
    );
    let default = Controller::start(&cluster, &["--except-gateway-class", "edge"]);
    become_lines("", || {
        let mut lines = all();
        lines.retain(|line| line.contains("ColorPolicy"));
        lines
    });
    // Both together withdraw everything.
    assert!(edge.stop().success() && default.stop().success());
    for arguments in [["--cleanup", "--gateway-class", "edge"], ["--cleanup", "--except-gateway-class", "edge"]] {
        let cleaning = Controller::spawn(&cluster, cluster.kubeconfig(), &arguments);
        eventually("it is done", || {
            cleaning.log().contains("removed everything that the controller wrote to statuses")
        });
    }
    become_lines("", all);
    become_lines("", satisfied);
}
