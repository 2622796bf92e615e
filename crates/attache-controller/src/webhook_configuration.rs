//! The objects by which the API server finds the controller's servers: the ValidatingWebhookConfiguration, with the kinds that
//! can change effective policies, and the CA bundle of the APIService. The leader keeps both current.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::text::described_kind;
use attache_engine::{Engine, plural};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::admission::ADMISSION_PATH;
use crate::certificates::TrustBundle;
use crate::complaints::Complaints;
use crate::context::Context;
use crate::error::ControllerError;
use crate::metrics::RegistrationLabels;
use crate::options::ControllerOptions;

/// The name of the APIService.
const API_SERVICE: &str = "v1alpha1.effective.attache.dev";
/// The pause after a failed write.
const RETRY: Duration = Duration::from_secs(5);
/// The interval at which unchanged objects are written again, in case somebody else has changed or deleted them.
const REPEAT: Duration = Duration::from_secs(60);

/// Kinds of the Gateway API that link targets of policies, and kinds of documents that describe policies.
const FIXED: [(&str, &[&str]); 3] = [
    ("attache.dev", &["gatewaycontrollers", "policykinds", "policyrequirements", "targetkinds"]),
    (
        "gateway.networking.k8s.io",
        &[
            "gatewayclasses",
            "gateways",
            "grpcroutes",
            "httproutes",
            "listenersets",
            "referencegrants",
            "tcproutes",
            "tlsroutes",
            "udproutes",
        ],
    ),
    ("gateway.networking.x-k8s.io", &["xlistenersets"]),
];

/// Groups with policy kinds that are part of Kubernetes, and have no CustomResourceDefinition.
const WITHOUT_CRDS: [&str; 1] = ["networking.k8s.io"];

/// Keeps the objects current until the shutdown.
pub(crate) async fn keep(
    context: Context,
    mut leader: watch::Receiver<bool>,
    mut trust: watch::Receiver<TrustBundle>,
) -> Result<(), ControllerError> {
    let mut states = context.state.clone();
    // What was last tried to write, and when it is written again.
    let mut tried: Option<DesiredConfiguration> = None;
    let mut due = Instant::now();
    let mut complaints = Complaints::default();
    loop {
        tokio::select! {
            () = context.shutdown.requested() => return Ok(()),
            Some(_) = states.next() => {}
            Ok(()) = trust.changed() => {}
            Ok(()) = leader.changed() => {}
            () = tokio::time::sleep_until(due.into()) => {}
        }
        let (state, bundle) = (context.state.latest(), trust.borrow_and_update().clone());
        let is_leader = *leader.borrow_and_update();
        let (Some(state), Some(bundle), true) = (state, bundle, is_leader) else {
            // The leader says whether it fails.
            context.metrics.registration_failed.clear();
            (tried, due) = (None, Instant::now() + REPEAT);
            continue;
        };
        let desired = DesiredConfiguration { rules: rules(&state.snapshot.engine), bundle };
        if tried.as_ref() == Some(&desired) && Instant::now() < due {
            continue;
        }
        let failures = desired.write(&context).await;
        let wait = if failures.is_empty() { REPEAT } else { RETRY };
        match failures.is_empty() {
            true => complaints.clear(),
            false => complaints.add(failures.join("; ")),
        }
        (tried, due) = (Some(desired), Instant::now() + wait);
    }
}

/// The desired content of the objects.
#[derive(Debug, PartialEq)]
struct DesiredConfiguration {
    rules: Value,
    bundle: Arc<str>,
}

impl DesiredConfiguration {
    /// Writes all objects, and returns what failed.
    async fn write(&self, context: &Context) -> Vec<String> {
        let bundle = json!(ByteString(self.bundle.as_bytes().to_vec()));
        let mut failures = Vec::new();
        let mut finish = |object: &str, written: Result<(), kube::Error>| {
            let labels = RegistrationLabels { object: object.to_owned() };
            context.metrics.registration_failed.get_or_create(&labels).set(i64::from(written.is_err()));
            if let Err(error) = written {
                failures.push(format!(
                    "cannot write {object}: {error}. If it was deleted, `helm upgrade` or `kubectl apply` creates it again"
                ));
            }
        };
        if context.options.webhook_listen.is_some() {
            let configurations: Api<ValidatingWebhookConfiguration> = Api::all(context.client.clone());
            let patch = Patch::Apply(configuration(&context.options, &self.rules, &bundle));
            // The configuration, and the manager of its fields, are called like the Service.
            let name = context.options.service.as_str();
            let applied = configurations.patch(name, &PatchParams::apply(name).force(), &patch).await;
            finish(&format!("ValidatingWebhookConfiguration/{name}"), applied.map(|_| ()));
        }
        if context.options.api_listen.is_some() {
            let services: Api<APIService> = Api::all(context.client.clone());
            let patch = Patch::Merge(json!({"spec": {"caBundle": bundle}}));
            let patched = services.patch(API_SERVICE, &PatchParams::default(), &patch).await;
            finish(&format!("APIService/{API_SERVICE}"), patched.map(|_| ()));
        }
        failures
    }
}

fn configuration(options: &ControllerOptions, rules: &Value, bundle: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": options.service},
        "webhooks": [{
            "name": "admission.attache.dev",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            // A controller that is down must not block changes.
            "failurePolicy": "Ignore",
            "timeoutSeconds": 2,
            "matchPolicy": "Equivalent",
            "clientConfig": {
                "service": {
                    "name": options.service,
                    "namespace": options.namespace,
                    "path": ADMISSION_PATH,
                    "port": options.webhook_port,
                },
                "caBundle": bundle,
            },
            "rules": rules,
        }],
    })
}

/// The kinds that can change effective policies: one rule for each group.
fn rules(engine: &Engine) -> Value {
    let mut resources: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let fixed = FIXED.iter().flat_map(|(group, names)| names.iter().map(move |name| ((*group).into(), (*name).into())));
    for (group, name) in fixed.chain(policy_resources(engine)) {
        resources.entry(group).or_default().insert(name);
    }
    let rule = |(group, names): (&String, &BTreeSet<String>), operations: &[&str]| {
        json!({
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": operations,
            "resources": names,
            "scope": "*",
        })
    };
    let mut rules: Vec<Value> = resources.iter().map(|it| rule(it, &["CREATE", "UPDATE", "DELETE"])).collect();
    // A new Namespace has nothing in it.
    rules.push(rule((&String::new(), &BTreeSet::from(["namespaces".to_owned()])), &["UPDATE", "DELETE"]));
    Value::Array(rules)
}

/// Group and plural of the policy kinds that are installed.
fn policy_resources(engine: &Engine) -> Vec<(String, String)> {
    let crds = engine.objects().each_of_kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let installed = crds.filter_map(|(_, crd)| {
        let (group, kind) = described_kind(crd)?;
        engine.kinds().find(group, kind)?;
        Some((group.to_owned(), crd.spec().at(&["names", "plural"])?.as_str()?.to_owned()))
    });
    let of_kubernetes = engine.kinds().iter().filter(|(_, kind)| WITHOUT_CRDS.contains(&kind.group.as_str()));
    let of_kubernetes = of_kubernetes.map(|(_, kind)| (kind.group.to_string(), plural(&kind.kind.to_lowercase())));
    installed.chain(of_kubernetes).collect()
}

#[cfg(test)]
mod tests {
    use attache_engine::text;

    use super::*;

    #[test]
    fn rules_have_the_kinds_that_are_installed() {
        let manifests = "
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: colors.example.io, labels: {gateway.networking.k8s.io/policy: Inherited}},
 spec: {group: example.io, scope: Namespaced, names: {kind: ColorPolicy, plural: colors}, versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {properties: {targetRef: {type: object}}}}}}}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: cakes.example.io},
 spec: {group: example.io, scope: Namespaced, names: {kind: Cake, plural: cakes}, versions: [{name: v1}]}}
";
        let objects = text::read(&"manifests.yaml".into(), manifests).objects;
        let engine = Engine::builder().objects(objects).build();
        let rules = rules(&engine);
        let resources = |group: &str| {
            let rules = rules.as_array().into_iter().flatten();
            rules.filter(|rule| rule["apiGroups"][0] == group).map(|rule| rule["resources"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(resources("example.io"), [json!(["colors"])]);
        assert_eq!(resources(""), [json!(["namespaces"])]);
        assert_eq!(resources("networking.k8s.io"), [json!(["networkpolicies"])]);
        assert!(resources("kuadrant.io").is_empty(), "{rules}");
        assert!(
            resources("gateway.networking.k8s.io")[0].as_array().is_some_and(|it| it.contains(&json!("httproutes")))
        );
    }
}
