//! A real API server with many objects, and statistics.

#![allow(dead_code)]

use std::time::{Duration, Instant};

use attache_testenv::TestCluster;
use serde_json::{Value, json};

/// The number of requests in flight while objects are created.
const CLIENTS: usize = 6;

/// The objects of a cluster. Routes and Gateways are spread over the namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub routes: usize,
    pub services: usize,
    pub gateways: usize,
    pub policies: usize,
    /// How many of the policies target Gateways. The others target routes.
    pub on_gateways: usize,
    /// The kinds of these policies: `P0Policy`, `P1Policy` and so on, of the group `bench.io`.
    pub kinds: usize,
    pub namespaces: usize,
}

impl Size {
    pub fn namespace(&self, number: usize) -> String {
        format!("ns-{}", number % self.namespaces)
    }

    /// The path of a policy.
    pub fn policy(&self, number: usize) -> String {
        format!("{}/p-{number}", self.policies_of(number))
    }

    /// The path of a route.
    pub fn route(&self, number: usize) -> String {
        format!("{}/route-{number}", gateway_api(&self.namespace(number), "httproutes"))
    }

    fn policies_of(&self, number: usize) -> String {
        format!(
            "/apis/bench.io/v1/namespaces/{}/p{}policies",
            self.namespace(self.target(number).1),
            number % self.kinds
        )
    }

    /// Kind and number of the target of a policy.
    fn target(&self, number: usize) -> (&'static str, usize) {
        match number.checked_sub(self.on_gateways) {
            None => ("Gateway", number % self.gateways),
            Some(number) => ("HTTPRoute", number % self.routes),
        }
    }

    /// Creates the objects.
    pub fn fill(&self, cluster: &TestCluster) {
        let start = Instant::now();
        post(cluster, self.kinds, &|i| ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions".into(), crd(i)));
        post(cluster, self.namespaces, &|i| {
            ("/api/v1/namespaces".into(), json!({"metadata": {"name": self.namespace(i)}}))
        });
        cluster.wait_until_served();
        let class = json!({"metadata": {"name": "bench"}, "spec": {"controllerName": "bench.io/gateways"}});
        post(cluster, 1, &|_| {
            ("/apis/gateway.networking.k8s.io/v1/gatewayclasses".into(), gateway_object("GatewayClass", &class))
        });
        post(cluster, self.gateways, &|i| {
            let listener = json!({"name": "http", "port": 80, "protocol": "HTTP",
                "allowedRoutes": {"namespaces": {"from": "All"}}});
            let gateway = json!({"metadata": {"name": format!("gw-{i}")},
                "spec": {"gatewayClassName": "bench", "listeners": [listener]}});
            (gateway_api(&self.namespace(i), "gateways"), gateway_object("Gateway", &gateway))
        });
        post(cluster, self.services, &|i| {
            let service = json!({"metadata": {"name": format!("svc-{i}")},
                "spec": {"clusterIP": "None", "ports": [{"port": 80}]}});
            (format!("/api/v1/namespaces/{}/services", self.namespace(i)), service)
        });
        post(cluster, self.routes, &|i| {
            let gateway = i % self.gateways;
            let parent = json!({"name": format!("gw-{gateway}"), "namespace": self.namespace(gateway)});
            let matched = json!({"path": {"type": "PathPrefix", "value": format!("/{i}")}});
            let backend = json!({"name": format!("svc-{}", i % self.services), "port": 80});
            let route = json!({"metadata": {"name": format!("route-{i}")}, "spec": {
                "parentRefs": [parent], "hostnames": [format!("h{i}.example.com")],
                "rules": [{"matches": [matched], "backendRefs": [backend]}]}});
            (gateway_api(&self.namespace(i), "httproutes"), gateway_object("HTTPRoute", &route))
        });
        post(cluster, self.policies, &|i| {
            let (kind, target) = self.target(i);
            let name = if kind == "Gateway" { format!("gw-{target}") } else { format!("route-{target}") };
            let reference = json!({"group": "gateway.networking.k8s.io", "kind": kind, "name": name});
            let policy = json!({"apiVersion": "bench.io/v1", "kind": format!("P{}Policy", i % self.kinds),
                "metadata": {"name": format!("p-{i}")},
                "spec": {"targetRef": reference, "limit": i, "burst": {"size": i, "unit": "s"}}});
            (self.policies_of(i), policy)
        });
        println!("{self:?} created in {:.0?}", start.elapsed());
    }
}

fn crd(i: usize) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("p{i}policies.bench.io"), "labels": {"gateway.networking.k8s.io/policy": "Inherited"}},
        "spec": {"group": "bench.io", "scope": "Namespaced", "names": {"plural": format!("p{i}policies"),
            "singular": format!("p{i}policy"), "kind": format!("P{i}Policy"), "listKind": format!("P{i}PolicyList")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

fn gateway_api(namespace: &str, plural: &str) -> String {
    format!("/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/{plural}")
}

fn gateway_object(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!("gateway.networking.k8s.io/v1");
    object["kind"] = json!(kind);
    object
}

/// Creates objects. `make` returns the path and the body of each.
fn post(cluster: &TestCluster, count: usize, make: &(dyn Fn(usize) -> (String, Value) + Sync)) {
    std::thread::scope(|scope| {
        for part in 0..CLIENTS.min(count) {
            scope.spawn(move || {
                let http = cluster.fresh_http();
                for i in (part..count).step_by(CLIENTS) {
                    let (path, body) = make(i);
                    http.post(&path, &body).unwrap().expect_success();
                }
            });
        }
    });
}

/// The duration below which this share of the durations is.
pub fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// The value of a line in `/proc/PID/status`, in bytes. Zero if the process has ended.
pub fn memory(process: u32, line: &str) -> usize {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let value = text.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(':'));
    let kilobytes = value.and_then(|value| value.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.unwrap_or_default() << 10
}

/// The time that a process has spent on a CPU.
pub fn cpu(process: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The fields after the name of the program, which is in parentheses.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}
