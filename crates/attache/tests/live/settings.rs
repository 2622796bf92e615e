//! Settings of other controllers, and the requests for a question about one object.

use std::sync::{Arc, Mutex};

use attache_testenv::bakery::GATEWAY_POLICY;
use attache_testenv::{ClusterOptions, Fault, FaultProxy, TestCluster, eventually, open_bakery};
use serde_json::json;

use crate::{Watching, run};

const TRAFFIC_POLICIES: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trafficpolicies.gateway.kgateway.dev}
spec:
  group: gateway.kgateway.dev
  scope: Namespaced
  names: {plural: trafficpolicies, singular: trafficpolicy, kind: TrafficPolicy, listKind: TrafficPolicyList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

/// A policy that selects the route of another namespace, and the Deployment of its controller.
const POLICY: &str = r#"
apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
metadata: {name: global, namespace: infra}
spec: {targetSelectors: [{group: gateway.networking.k8s.io, kind: HTTPRoute, matchLabels: {}}], csrf: {percentageEnabled: 7}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kgateway, namespace: infra, labels: {kgateway: kgateway}}
spec:
  replicas: 0
  selector: {matchLabels: {kgateway: kgateway}}
  template:
    metadata: {labels: {kgateway: kgateway}}
    spec:
      containers:
      - {name: controller, image: kgateway, env: [{name: KGW_GLOBAL_POLICY_NAMESPACE, value: infra}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: infra}
spec:
  replicas: 0
  selector: {matchLabels: {app: other}}
  template: {metadata: {labels: {app: other}}, spec: {containers: [{name: c, image: c}]}}
"#;

fn cluster() -> Option<TestCluster> {
    let cluster = TestCluster::start()?;
    cluster.apply(TRAFFIC_POLICIES);
    // A class of that controller.
    open_bakery(&cluster, POLICY);
    let class = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: kgateway}\nspec: {controllerName: kgateway.dev/kgateway}\n";
    cluster.apply(class);
    let gateway = "/apis/gateway.networking.k8s.io/v1/namespaces/infra/gateways/shop";
    cluster.http().patch(gateway, &json!({"spec": {"gatewayClassName": "kgateway"}})).unwrap().expect_success();
    Some(cluster)
}

#[test]
fn settings_of_another_controller_are_read_followed_and_assumed_without_permission() {
    let Some(cluster) = cluster() else { return };
    let kubeconfig = cluster.kubeconfig();
    let text = run(kubeconfig, "effective httproute/cakes -n baker");
    assert!(text.contains("percentageEnabled: 7"), "{text}");
    let text = run(kubeconfig, "get kinds trafficpolicy -o wide");
    assert!(text.contains("globalNamespace: infra (Deployment/infra/kgateway)"), "{text}");
    // Only the Deployment with the setting is read.
    assert!(!run(kubeconfig, "topology -A -o json").contains("Deployment/infra/other"));

    let mut watching = Watching::start(&cluster, &["-A"]);
    let deployment = "/apis/apps/v1/namespaces/infra/deployments/kgateway";
    let environment = |value: &str| {
        let variable = json!([{"name": "KGW_GLOBAL_POLICY_NAMESPACE", "value": value}]);
        let container = json!([{"name": "controller", "image": "kgateway", "env": variable}]);
        json!({"spec": {"template": {"spec": {"containers": container}}}})
    };
    cluster.http().patch(deployment, &environment("elsewhere")).unwrap().expect_success();
    watching.expect("csrf.percentageEnabled: 7 → unset");
    cluster.http().patch(deployment, &environment("infra")).unwrap().expect_success();
    watching.expect("csrf.percentageEnabled: unset → 7");

    let user = cluster.user("no-deployments", None);
    cluster.allow_reading(&user, None, "gateway.networking.k8s.io", "*");
    cluster.allow_reading(&user, None, "gateway.kgateway.dev", "*");
    cluster.allow_reading(&user, None, "", "namespaces,services");
    let policies = "/apis/gateway.kgateway.dev/v1alpha1/trafficpolicies";
    eventually("the user may list policies and routes", || {
        let may = |path: &str| user.http().get(path).unwrap().status == 200;
        may(policies) && may("/apis/gateway.networking.k8s.io/v1/httproutes") && may("/api/v1/services")
    });
    let text = run(&user.kubeconfig, "effective httproute/cakes -n baker -o json");
    let message = "you may not list deployments.apps: settings of a controller are assumed to be its defaults";
    assert!(text.contains(message) && !text.contains("percentageEnabled"), "{text}");
}

/// The CRD and a policy of Istio, its root namespace, and deep merge in kgateway.
const OTHER_SETTINGS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: istio-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data: {mesh: "rootNamespace: mesh-root"}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: nobody, namespace: baker}
spec: {}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kgateway, namespace: infra, labels: {kgateway: kgateway}}
spec:
  replicas: 0
  selector: {matchLabels: {kgateway: kgateway}}
  template:
    metadata: {labels: {kgateway: kgateway}}
    spec:
      containers:
      - name: controller
        image: kgateway
        env: [{name: KGW_POLICY_MERGE, value: '{"trafficPolicy":{"extProc":"DeepMerge"}}'}]
"#;

#[test]
fn the_same_settings_are_found_in_the_cluster_and_in_files() {
    let Some(cluster) = TestCluster::start() else { return };
    let istio = TRAFFIC_POLICIES
        .replace("gateway.kgateway.dev", "security.istio.io")
        .replace("trafficpolic", "authorizationpolic")
        .replace("TrafficPolicy", "AuthorizationPolicy")
        .replace("v1alpha1", "v1");
    cluster.apply(&format!("{TRAFFIC_POLICIES}\n---\n{istio}"));
    open_bakery(&cluster, POLICY);
    cluster.apply(OTHER_SETTINGS);
    let file = cluster.folder().join("settings.yaml");
    std::fs::write(&file, format!("{TRAFFIC_POLICIES}\n---\n{istio}\n---\n{POLICY}\n---\n{OTHER_SETTINGS}")).unwrap();
    for source in [String::new(), format!(" -f {}", file.display())] {
        let text = run(cluster.kubeconfig(), &format!("get kinds authorizationpolicy -o wide{source}"));
        assert!(text.contains("rootNamespace: mesh-root (ConfigMap/istio-system/istio)"), "{text}");
        let text = run(cluster.kubeconfig(), &format!("get kinds trafficpolicy -o wide{source}"));
        assert!(text.contains("deepAtOneLevel: extProc (Deployment/infra/kgateway)"), "{text}");
    }
}

#[test]
fn a_question_about_one_object_asks_for_no_more_kinds_than_can_matter_to_it() {
    let Some(cluster) = ClusterOptions::new().start() else { return };
    cluster.apply(TRAFFIC_POLICIES);
    open_bakery(&cluster, GATEWAY_POLICY);
    let policy = json!({"metadata": {"name": "deny"}, "spec": {"podSelector": {}}});
    let path = "/apis/networking.k8s.io/v1/namespaces/baker/networkpolicies";
    cluster.http().post(path, &policy).unwrap().expect_success();
    let paths: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&paths);
    let proxy = FaultProxy::start(&cluster, move |path| {
        seen.lock().unwrap().push(path.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned());
        Fault::None
    });
    let asked = |line: &str| {
        paths.lock().unwrap().clear();
        let text = run(proxy.kubeconfig(), line);
        assert!(!text.contains("--- exit"), "{text}");
        paths.lock().unwrap().clone()
    };
    let has = |paths: &[String], wanted: &str| paths.iter().any(|path| path == wanted);
    let about_everything = asked("get policies -A");
    assert!(has(&about_everything, "pods") && has(&about_everything, "networkpolicies"), "{about_everything:?}");
    let about_route = asked("describe httproute/cakes -n baker");
    assert!(has(&about_route, "retrypolicies") && has(&about_route, "trafficpolicies"), "{about_route:?}");
    assert!(!has(&about_route, "pods") && !has(&about_route, "networkpolicies"), "{about_route:?}");
    let about_policy = asked("describe networkpolicy/deny -n baker");
    assert!(has(&about_policy, "pods") && has(&about_policy, "networkpolicies"), "{about_policy:?}");
    assert!(!has(&about_policy, "retrypolicies") && !has(&about_policy, "trafficpolicies"), "{about_policy:?}");
}
