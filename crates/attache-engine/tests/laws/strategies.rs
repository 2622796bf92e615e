//! Strategies that implement the public trait.

use std::hash::{DefaultHasher, Hash, Hasher};

use attache_engine::Engine;
use attache_engine::Objects;
use attache_engine::Value as EngineValue;
use attache_engine::kinds::{Decision, Granularity, MergeStrategy, Overlap, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::answer::answer;
use crate::folds::each_scope;
use crate::reference::at;
use crate::world::{World, worlds};
use crate::{config, keys, objects};

/// A second implementation of `merge`.
#[derive(Debug)]
struct OwnMerge;

/// A second implementation of `patch`.
#[derive(Debug)]
struct OwnPatch;

/// Decides by a hash of the path.
#[derive(Debug)]
struct AnyDecision(u64);

impl MergeStrategy for OwnMerge {
    fn name(&self) -> &str {
        "own-merge"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        if overlap.is_unit() { overlap.preferred() } else { Decision::Fields }
    }

    fn granularity(&self) -> Granularity {
        Granularity::Entry
    }
}

impl MergeStrategy for OwnPatch {
    fn name(&self) -> &str {
        "own-patch"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        if overlap.both_maps() && !overlap.is_whole() { Decision::Fields } else { overlap.preferred() }
    }
}

impl MergeStrategy for AnyDecision {
    fn name(&self) -> &str {
        "any-decision"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        let mut hasher = DefaultHasher::new();
        (self.0, overlap.path()).hash(&mut hasher);
        match hasher.finish() % 6 {
            0 => Decision::Keep,
            1 => Decision::Take,
            2 => Decision::Combine(EngineValue::Int(7)),
            _ => Decision::Fields,
        }
    }
}

/// An engine of the input, with `atomic` as the first strategy of each kind and others replaced.
fn engine(world: &World, settings: Settings, replaced: impl Fn(&str) -> String) -> Engine {
    let mut documents = world.0.clone();
    let is_replaced = |name: &&str| !["atomic", "none"].contains(name);
    for document in &mut documents {
        let spec = &mut document["spec"];
        if let Some(strategies) = spec["strategies"].as_array() {
            let others = strategies.iter().filter_map(Value::as_str).filter(is_replaced).map(&replaced);
            spec["strategies"] = std::iter::once("atomic".to_owned()).chain(others).collect();
        }
        for block in ["defaults", "overrides"] {
            if let Some(name) = spec[block]["strategy"].as_str().filter(is_replaced) {
                spec[block]["strategy"] = json!(replaced(name));
            }
        }
        if let Some(name) = spec["strategy"].as_str().filter(is_replaced) {
            spec["strategy"] = json!(replaced(name));
        }
        // Indexing adds what is missing.
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
            for block in ["defaults", "overrides"] {
                if let Some(fields) = fields.get_mut(block).and_then(Value::as_object_mut) {
                    fields.retain(|key, value| key != "strategy" || !value.is_null());
                }
            }
        }
    }
    Engine::new(Objects::new(objects(&documents)), &[], settings)
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn merge_and_patch_written_anew_do_what_the_built_in_ones_do(world in worlds()) {
        let mut settings = Settings::default();
        settings.strategies.register(OwnMerge).unwrap();
        settings.strategies.register(OwnPatch).unwrap();
        // Problems contain columns, which depend on the length of names.
        let lines = |engine: &Engine| -> Vec<String> {
            let lines = answer(engine).into_iter().filter(|line| !line.starts_with("problem"));
            lines.map(|line| line.replace("own-", "")).collect()
        };
        let built_in = engine(&world, Settings::default(), str::to_owned);
        let own = engine(&world, settings, |name| format!("own-{name}"));
        prop_assert_eq!(lines(&own), lines(&built_in));
    }

    #[test]
    fn whatever_a_strategy_decides_each_value_is_in_force_or_superseded(world in worlds(), seed in any::<u64>()) {
        let mut settings = Settings::default();
        settings.strategies.register(AnyDecision(seed)).unwrap();
        let engine = engine(&world, settings, |_| "any-decision".to_owned());
        each_scope(&engine, |reference, scope, effective| {
            for attachment in reference.levels(scope).into_iter().flatten() {
                for block in reference.blocks(attachment.policy) {
                    // A policy on several targets does not lose to itself.
                    let whose = (attachment.policy, block.which);
                    for leaf in reference.leaves(&block.spec) {
                        if matches!(at(&block.spec, &leaf), Value::Null) || at(&block.spec, &leaf) == &json!({}) {
                            continue;
                        }
                        // A strategy may decide field by field on a map that the kind replaces as a whole.
                        let is_leaf = |path: &attache_engine::Path| {
                            let path = keys(path);
                            leaf.starts_with(&path) || path.starts_with(&leaf)
                        };
                        let kept = effective
                            .origins
                            .iter()
                            .filter(|it| (it.policy, it.block) == whose && is_leaf(&it.path));
                        let lost = effective
                            .superseded
                            .iter()
                            .filter(|it| (it.policy, it.block) == whose && is_leaf(&it.path));
                        let (kept, lost) = (kept.count(), lost.count());
                        let who = engine.policy_id(attachment.policy);
                        prop_assert!(kept + lost >= 1, "{leaf:?} of {who} {:?} is nowhere", block.which);
                    }
                }
            }
            Ok(())
        })?;
    }
}
