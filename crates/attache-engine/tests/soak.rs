//! The memory of an incremental engine does not grow with the number of changes.
//! `SOAK=5000000 cargo test --release -p attache-engine --test soak -- --nocapture` makes five million changes.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/dice.rs"]
mod dice;

use std::collections::BTreeMap;
use std::sync::Arc;

use attache_engine::kinds::{Settings, built_in};
use attache_engine::{Edit, Engine, IncrementalEngine};
use attache_engine::{Object, ObjectRef, Objects};
use attache_gen::{
    ALL, BlockStrategy, ManifestShape, PolicyBlock, PolicyCount, PolicyLevel, edited, generate, object_from,
};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

use dice::Dice;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The number of times that the first objects are restored, to compare the memory.
const ROUNDS: usize = 20;

/// The maximum number of bytes in use after all objects are deleted, compared with an empty engine.
const TOLERANCE: usize = 64 << 10;

fn shape() -> ManifestShape {
    let policies = [
        (PolicyLevel::Namespace, 3),
        (PolicyLevel::Gateway, ALL),
        (PolicyLevel::Listener, 2),
        (PolicyLevel::Route, 50),
        (PolicyLevel::Rule, 20),
        (PolicyLevel::Service, 5),
    ];
    ManifestShape {
        gateways: 4,
        listeners: 2,
        routes: 200,
        parents: 2,
        pinned: 50,
        services: 40,
        namespaces: 10,
        hostnames: 10,
        policies: policies.map(|(level, count)| PolicyCount { level, count }).to_vec(),
        blocks: vec![
            PolicyBlock::Bare,
            PolicyBlock::Defaults(BlockStrategy::Patch),
            PolicyBlock::Overrides(BlockStrategy::Merge),
        ],
        kinds: 2,
        ..ManifestShape::default()
    }
}

#[test]
fn memory_does_not_grow_with_the_number_of_changes() {
    let changes = std::env::var("SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let kinds = built_in().0;
    // Allocates what is allocated once per process.
    drop(IncrementalEngine::new(Objects::new(generate(&shape())), &kinds, Settings::default()));
    let outside = MEMORY.current_usage();
    let empty = IncrementalEngine::new(Objects::default(), &kinds, Settings::default());
    let least = MEMORY.current_usage() - outside;
    drop(empty);

    let first = generate(&shape());
    let mut soak = Soak {
        incremental: IncrementalEngine::new(Objects::new(first.clone()), &kinds, Settings::default()),
        now: first.iter().map(|object| (object.id.clone(), object.clone())).collect(),
        first,
        kept: Vec::new(),
        dice: Dice(0),
        count: 0,
    };
    let mut sizes = Vec::new();
    for round in 1..=ROUNDS {
        while soak.count < round * changes / ROUNDS {
            soak.change();
        }
        soak.restore();
        soak.kept.clear();
        soak.query();
        sizes.push(MEMORY.current_usage() - outside);
        println!("after {:>9} changes: {:>9} bytes", soak.count, sizes[round - 1]);
    }
    // Hash tables reach their final size in the first rounds.
    let usual = *sizes[..ROUNDS / 4].iter().max().unwrap();
    let most = *sizes.iter().max().unwrap();
    assert!(most <= usual + usual / 20, "memory grows: {sizes:?}");

    let all: Vec<Edit> = soak.now.keys().cloned().map(Edit::Delete).collect();
    let Soak { mut incremental, now, first, kept, .. } = soak;
    drop((now, first, kept));
    drop(incremental.apply(all));
    assert_eq!(incremental.now().objects().len(), 0);
    let left = MEMORY.current_usage() - outside;
    println!("after all is deleted: {left} bytes, {least} in an empty engine");
    assert!(left <= least + TOLERANCE, "{left} bytes are in use, {least} in an empty engine");
}

struct Soak {
    incremental: IncrementalEngine,
    first: Vec<Object>,
    now: BTreeMap<ObjectRef, Object>,
    /// Older snapshots that are still in use.
    kept: Vec<Arc<Engine>>,
    dice: Dice,
    count: usize,
}

impl Soak {
    /// Makes one batch of changes.
    fn change(&mut self) {
        let size = if self.dice.one_in(4) { 1 + self.dice.below(5) } else { 1 };
        let batch: Vec<Edit> = (0..size).filter_map(|_| self.edit()).collect();
        self.count += batch.len();
        self.apply(batch);
        if self.dice.one_in(10) {
            self.query();
        }
        if self.dice.one_in(50) {
            self.kept.push(Arc::clone(self.incremental.now()));
        }
        if self.dice.one_in(50) {
            self.kept.clear();
        }
    }

    fn apply(&mut self, batch: Vec<Edit>) {
        for edit in &batch {
            match edit {
                Edit::Put(object) => self.now.insert(object.id.clone(), object.clone()),
                Edit::Delete(id) => self.now.remove(id),
            };
        }
        let report = self.incremental.apply(batch);
        if !report.is_empty() && self.dice.one_in(10) {
            report.effective();
        }
    }

    /// Computes everything that is computed on demand.
    fn query(&self) {
        self.incremental.now().fold_all();
        self.incremental.now().policy_statuses();
        self.incremental.now().target_statuses();
    }

    /// Restores the first objects.
    fn restore(&mut self) {
        let known: BTreeMap<&ObjectRef, &Object> = self.first.iter().map(|object| (&object.id, object)).collect();
        let others = self.now.keys().filter(|id| !known.contains_key(id)).cloned().map(Edit::Delete);
        let batch = others.chain(self.first.iter().cloned().map(Edit::Put)).collect();
        self.apply(batch);
        // A new map: the size of the old one depends on its history.
        self.now = self.first.iter().map(|object| (object.id.clone(), object.clone())).collect();
    }

    /// A change with names that were not used before, a deletion, or one of the first objects again.
    fn edit(&mut self) -> Option<Edit> {
        let new = format!("new-{}", self.count);
        let ids: Vec<&ObjectRef> = self.now.keys().collect();
        let id = (*self.dice.choose(&ids)?).clone();
        let object = self.now.get(&id)?.clone();
        let put = |edit: &dyn Fn(&mut Value)| Some(Edit::Put(edited(&object, edit)));
        match (self.dice.below(12), id.kind.as_str()) {
            (0, _) => Some(Edit::Delete(id)),
            (1..4, _) => Some(Edit::Put(self.dice.choose(&self.first)?.clone())),
            (4, "HTTPRoute" | "Service") | (4..6, "LimitPolicy" | "AuthPolicy") => {
                put(&|it| it["metadata"]["name"] = json!(new))
            }
            (5, "HTTPRoute") => put(&|it| it["spec"]["hostnames"] = json!([format!("{new}.example.com")])),
            (6, "HTTPRoute") => {
                put(&|it| it["spec"]["rules"] = json!([{"backendRefs": [{"name": new, "port": 8080}]}]))
            }
            (7, "HTTPRoute") => put(&|it| it["spec"]["rules"] = json!([{"name": new}])),
            (6..8, "LimitPolicy" | "AuthPolicy") => {
                put(&|it| it["spec"]["defaults"] = json!({"limits": {new.as_str(): {"rate": new}}}))
            }
            (8, "LimitPolicy" | "AuthPolicy") => put(&|it| it["spec"]["targetRef"]["name"] = json!(new)),
            (5..8, "Gateway") => put(&|it| it["spec"]["listeners"][0]["name"] = json!(new)),
            (5..8, "Service") => put(&|it| it["spec"]["ports"] = json!([{"name": new, "port": 8080}])),
            (8, "PolicyKind") => put(&|it| it["spec"]["whole"] = json!([new])),
            (9, _) => put(&|it| it["metadata"]["labels"] = json!({new.as_str(): new})),
            (10, _) => put(&|it| it["status"] = json!({"observed": new})),
            (11, _) => Some(Edit::Put(object_from(json!({
                "apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
                "metadata": {"name": new, "namespace": if id.namespace.is_empty() { "team-000" } else { &id.namespace }},
                "spec": {"from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": new}],
                         "to": [{"group": "", "kind": "Service"}]},
            })))),
            _ => Some(Edit::Put(object)),
        }
    }
}
