//! A tracker that is told what changed desires the same as one that computes everything.

use attache_engine::kinds::{Settings, built_in};
use attache_engine::{Edit, IncrementalEngine, Objects};
use attache_gen::{BlockStrategy, ManifestShape, PolicyBlock, edited, generate};
use serde_json::{Value as Json, json};

use super::*;
use crate::options::GatewayClasses;

fn options() -> ControllerOptions {
    ControllerOptions {
        client: attache_cluster::ClientOptions::default(),
        settings: Settings::default(),
        gateway_classes: GatewayClasses::default(),
        identity: "a".to_owned(),
        namespace: "attache-system".to_owned(),
        lease_name: "attache".to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        status_qps: 20.0,
        status_burst: 50,
        write_targets: Vec::new(),
        webhook_listen: None,
        webhook_port: 443,
        reject_conflicts: false,
        api_listen: None,
        service: "attache".to_owned(),
        certificates: None,
        certificate_lifetime: Duration::from_secs(60),
    }
}

/// Policies of all strategies on Gateways and routes, several on each.
fn objects() -> Vec<Object> {
    let blocks = [BlockStrategy::Atomic, BlockStrategy::Merge, BlockStrategy::Patch];
    let blocks = blocks.into_iter().flat_map(|it| [PolicyBlock::Defaults(it), PolicyBlock::Overrides(it)]).collect();
    generate(&ManifestShape {
        gateways: 3,
        routes: 12,
        parents: 2,
        services: 6,
        blocks,
        duplicates: 1,
        ..ManifestShape::default()
    })
}

/// Pseudorandom numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Another content of an object: of a policy another target or other rules, of a route another parent.
fn change(object: &Object, dice: &mut Dice) -> Object {
    let (choice, number) = (dice.below(3), dice.below(12));
    edited(object, |document: &mut Json| {
        let generation = document["metadata"]["generation"].as_i64().unwrap_or(1);
        document["metadata"]["generation"] = json!(generation + 1);
        let spec = &mut document["spec"];
        match (object.id.kind.as_str(), choice) {
            ("HTTPRoute", _) => spec["parentRefs"][0]["name"] = json!(format!("gateway-{:03}", number % 3)),
            ("LimitPolicy", 0) => {
                let name = spec["targetRef"]["name"].as_str().unwrap_or_default().to_owned();
                let end = name.rfind('-').map_or(0, |at| at + 1);
                let width = name.len() - end;
                spec["targetRef"]["name"] = json!(format!("{}{:0width$}", &name[..end], number));
            }
            ("LimitPolicy", _) => {
                let block = ["defaults", "overrides"].into_iter().find(|name| !spec[*name].is_null());
                let limits = &mut spec[block.unwrap_or("defaults")]["limits"];
                *limits = json!({format!("limit-{}", number % 4): {"rate": number}, "limit-0": {"rate": 1}});
            }
            _ => {}
        }
    })
}

#[test]
fn what_is_desired_after_each_batch_is_what_a_new_tracker_desires() {
    let mut dice = Dice(7);
    let mut objects = objects();
    let mut engine = IncrementalEngine::new(Objects::new(objects.clone()), &built_in().0, Settings::default());
    let mut tracker = Tracker::new(&options());
    tracker.update(&[Arc::new(State::first(engine.clone(), Vec::new()))], true);
    assert!(tracker.desired.len() > 20, "{}", tracker.desired.len());
    let (mut removed, mut parts) = (Vec::new(), 0);
    for step in 0..150 {
        let mut states = Vec::new();
        for _ in 0..=dice.below(2) {
            let at = dice.below(objects.len());
            let edit = match (objects[at].id.kind.as_str(), dice.below(6)) {
                ("PolicyKind", _) => continue,
                (_, 0) => {
                    removed.push(objects.swap_remove(at));
                    Edit::Delete(removed[removed.len() - 1].id.clone())
                }
                (_, 1) if !removed.is_empty() => {
                    objects.push(removed.swap_remove(dice.below(removed.len())));
                    Edit::Put(objects[objects.len() - 1].clone())
                }
                _ => {
                    objects[at] = change(&objects[at], &mut dice);
                    Edit::Put(objects[at].clone())
                }
            };
            let edited = Arc::from([edit.id().clone()]);
            let report = engine.apply([edit]);
            parts += usize::from(report.reported_policies().is_some());
            let first = State::first(engine.clone(), Vec::new());
            states.push(Arc::new(State { report: Some(Arc::new(report)), edited, ..first }));
        }
        tracker.update(&states, false);
        let mut new = Tracker::new(&options());
        new.update(&[Arc::new(State::first(engine.clone(), Vec::new()))], true);
        for (id, desired) in &new.desired {
            assert_eq!(tracker.desired.get(id), Some(desired), "{id} after step {step}");
        }
        // What is deleted is forgotten when the queue is planned.
        let mut more = tracker.desired.keys().filter(|id| !new.desired.contains_key(*id));
        assert_eq!(more.find(|id| engine.now().objects().find(id).is_some()), None, "after step {step}");
    }
    assert!(parts > 50, "{parts} batches that concern some policies only");
}
