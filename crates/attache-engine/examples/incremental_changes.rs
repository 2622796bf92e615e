//! A loop that takes edits and prints what each one changes, as a controller would.
//! `cargo run -p attache-engine --example incremental_changes`

use std::error::Error;

use attache_engine::text;
use attache_engine::{Edit, Engine, Object, ObjectRef};
use serde_json::json;

const MANIFESTS: &str = "
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {name: timeoutpolicies.example.io}
spec: {group: example.io, kind: TimeoutPolicy, hierarchy: [Gateway, Route], effectiveTarget: Route}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec: {parentRefs: [{name: web}]}
";

fn policy(name: &str, kind: &str, target: &str, timeout: &str) -> Result<Object, Box<dyn Error>> {
    Ok(Object::from_json(&json!({
        "apiVersion": "example.io/v1",
        "kind": "TimeoutPolicy",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": kind, "name": target},
            "timeout": timeout,
        },
    }))?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let objects = text::read(&"shop.yaml".into(), MANIFESTS).objects;
    let mut engine = Engine::builder().objects(objects).build_incremental();
    // In a controller the edits come from watches of the API server.
    let edits = [
        Edit::Put(policy("patient", "Gateway", "web", "10s")?),
        Edit::Put(policy("quick", "HTTPRoute", "cart", "1s")?),
        Edit::Put(policy("patient", "Gateway", "web", "20s")?),
        Edit::Delete(ObjectRef::new("example.io", "TimeoutPolicy", "shop", "quick")),
    ];
    for edit in edits {
        println!("{}", edit.id());
        let report = engine.apply([edit]);
        for change in report.effective() {
            for leaf in &change.leaves {
                let value = |side: &Option<attache_engine::Leaf>| match side {
                    Some(leaf) => serde_json::to_string(&leaf.value),
                    None => Ok("nothing".to_owned()),
                };
                let target = change.scopes.first().and_then(|scope| scope.target()).map(ToString::to_string);
                let target = target.unwrap_or_default();
                println!("  {target}: {} was {}, is {}", leaf.path, value(&leaf.before)?, value(&leaf.after)?);
            }
        }
        for change in report.policies() {
            let enforcement = change.after.as_ref().map_or("deleted", |status| status.enforcement.name());
            println!("  {}: {enforcement}", change.policy);
        }
    }
    Ok(())
}
