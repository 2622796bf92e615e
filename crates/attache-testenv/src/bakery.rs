//! A small cluster for tests: a Gateway of the platform team, a route of a baker, and a policy kind that only its CRD
//! describes.

use crate::TestCluster;

/// The namespaces and the CRD.
pub const KINDS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: infra, labels: {team: platform}}
---
apiVersion: v1
kind: Namespace
metadata: {name: baker, labels: {team: baker}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: retrypolicies.example.io
  labels: {gateway.networking.k8s.io/policy: Inherited}
spec:
  group: example.io
  scope: Namespaced
  names: {plural: retrypolicies, singular: retrypolicy, kind: RetryPolicy, listKind: RetryPolicyList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;

/// The objects, except policies.
pub const OBJECTS: &str = r#"
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: oven}
spec: {controllerName: example.io/oven}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shop, namespace: infra}
spec:
  gatewayClassName: oven
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: baker}}}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cakes, namespace: baker}
spec:
  parentRefs: [{name: shop, namespace: infra}]
  rules: [{backendRefs: [{name: cakes, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cakes, namespace: baker}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: recipe, namespace: baker}
stringData: {flour: lots}
"#;

/// A policy of the platform team, by which requests to the cakes of the baker are retried.
pub const GATEWAY_POLICY: &str = r#"
apiVersion: example.io/v1
kind: RetryPolicy
metadata: {name: be-patient, namespace: infra}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: shop}
  retries: 5
"#;

/// Creates the bakery in a cluster, with a policy.
pub fn open_bakery(cluster: &TestCluster, policy: &str) {
    cluster.apply(KINDS);
    cluster.wait_until_served();
    cluster.apply(&format!("{OBJECTS}\n---\n{policy}"));
}
