//! Custom kinds of targets, a custom policy kind and a custom merge strategy, with which the longer retention time wins.
//! `cargo run -p attache-engine --example custom_strategy`

use std::error::Error;

use attache_engine::Engine;
use attache_engine::ObjectRef;
use attache_engine::kinds::{Decision, MergeStrategy, Overlap, StrategyRegistry, TargetLinks};
use attache_engine::text;
use attache_engine::{NodeRef, Value};

const GROUP: &str = "storage.acme.io";

const MANIFESTS: &str = "
apiVersion: attache.dev/v1alpha1
kind: PolicyKind
metadata: {name: retentionpolicies.storage.acme.io}
spec:
  group: storage.acme.io
  kind: RetentionPolicy
  hierarchy: [Store.storage.acme.io, Bucket.storage.acme.io]
  effectiveTarget: Bucket.storage.acme.io
  strategies: [longest]
---
{apiVersion: storage.acme.io/v1, kind: Store, metadata: {name: main, namespace: shop}}
---
{apiVersion: storage.acme.io/v1, kind: Bucket, metadata: {name: main-invoices, namespace: shop}}
---
apiVersion: storage.acme.io/v1
kind: RetentionPolicy
metadata: {name: by-law, namespace: shop}
spec: {targetRef: {group: storage.acme.io, kind: Store, name: main}, days: 3650, versions: 1}
---
apiVersion: storage.acme.io/v1
kind: RetentionPolicy
metadata: {name: by-team, namespace: shop}
spec: {targetRef: {group: storage.acme.io, kind: Bucket, name: main-invoices}, days: 30, versions: 5}
";

/// The longer retention time wins. For other fields, the policy with precedence wins.
#[derive(Debug)]
struct Longest;

impl MergeStrategy for Longest {
    fn name(&self) -> &str {
        "longest"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        match (overlap.held(), overlap.incoming()) {
            (Value::Map(_), Value::Map(_)) => Decision::Fields,
            (Value::Int(held), Value::Int(incoming)) if overlap.is_at("days") && incoming > held => Decision::Take,
            _ if overlap.is_at("days") => Decision::Keep,
            _ => overlap.preferred(),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut strategies = StrategyRegistry::default();
    strategies.register(Longest)?;
    // The name of a Bucket starts with the name of its Store.
    let mut links = TargetLinks::default();
    links.add("Bucket.storage.acme.io", "Store.storage.acme.io", |bucket| {
        let store = bucket.id.name.split('-').next().unwrap_or_default();
        vec![ObjectRef::new(GROUP, "Store", &bucket.id.namespace, store)]
    });

    let objects = text::read(&"storage.yaml".into(), MANIFESTS).objects;
    let engine = Engine::builder().objects(objects).strategies(strategies).links(links).build();
    let bucket = NodeRef::from(ObjectRef::new(GROUP, "Bucket", "shop", "main-invoices"));
    for policy in engine.effective_policies(&bucket) {
        println!("{}", serde_json::to_string(&policy.effective.spec)?);
        for origin in &policy.effective.origins {
            println!("  {} is set by {}", origin.path, engine.policy_id(origin.policy));
        }
        for lost in &policy.effective.superseded {
            let by = lost.by.map(|by| engine.policy_id(by).to_string()).unwrap_or_default();
            println!("  {} of {} lost to {by}", lost.path, engine.policy_id(lost.policy));
        }
    }
    Ok(())
}
