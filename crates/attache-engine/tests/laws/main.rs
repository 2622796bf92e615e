//! Properties that hold for every input. `PROPTEST_CASES=10000 cargo test --release --test laws` tries more cases.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/answer.rs"]
mod answer;
mod built_in_kinds;
mod causes;
mod changes;
mod counts;
mod folds;
mod order;
mod reference;
mod strategies;
mod wild;
#[path = "../common/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use attache_engine::kinds::Settings;
use attache_engine::text;
use attache_engine::{ChainId, EffectivePolicy, Engine, Link, ReachPart};
use attache_engine::{Model, Object, Objects};
use attache_engine::{NodeId, Path, Segment};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use reference::{Keys, Owner, Reference, Scope, at, plain};
use world::{World, worlds};

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn the_engine_does_what_the_reference_does(world in worlds()) {
        let engine = world.engine();
        for model in engine.models() {
            let reference = Reference::new(&engine, model);
            for (node, _) in engine.topology().nodes() {
                let listed = scopes(&engine, model, node);
                let found: BTreeSet<Scope> = listed.iter().map(|(scope, _)| scope.clone()).collect();
                prop_assert_eq!(listed.len(), found.len(), "a scope is listed twice at {}", name(&engine, node));
                prop_assert_eq!(show(&engine, &found), show(&engine, &reference.scopes(node)));
                for (scope, effective) in &listed {
                    agree(&reference, scope, effective)?;
                }
            }
        }
    }

    #[test]
    fn a_model_at_a_node_says_of_it_what_a_whole_one_says(world in worlds()) {
        let [unbuilt, built, whole] = [world.engine(), world.engine(), world.engine()];
        built.fold_all();
        for (engine, (node, _)) in [&unbuilt, &built].into_iter().flat_map(|it| it.topology().nodes().map(move |at| (it, at))) {
            let here = engine.models_at([node]);
            prop_assert_eq!(here.len(), whole.models().len());
            for (here, everywhere) in here.iter().zip(whole.models()) {
                let [found, expected] = [scopes(engine, here, node), scopes(&whole, everywhere, node)];
                prop_assert_eq!(found, expected, "at {}", name(engine, node));
                prop_assert_eq!(
                    here.chains_at(engine.view(), node).iter().map(|(_, scopes)| scopes).sum::<u64>(),
                    everywhere.chains_at(whole.view(), node).iter().map(|(_, scopes)| scopes).sum::<u64>()
                );
            }
        }
    }

    #[test]
    fn the_reach_of_a_policy_is_found_by_looking_at_every_scope(world in worlds()) {
        let engine = world.engine();
        for (policy, _) in engine.policies() {
            let Some(model) = engine.model(engine.policy(policy).kind) else { continue };
            let is_in = |chain: ChainId| {
                let stacks = model.links(chain).filter_map(Link::node).filter_map(|node| model.stack(node));
                stacks.flat_map(|stack| stack.all()).any(|it| it.policy == policy)
            };
            let (mut expected, mut ends) = (Vec::new(), Vec::new());
            for target in model.effective_targets(engine.view()) {
                model.scopes(engine.view(), target, &mut |scope| {
                    let effective = model.effective(engine.view(), scope.chain);
                    let is_in_force = effective.origins.iter().any(|it| it.policy == policy)
                        || effective.applied.iter().any(|it| it.policy == policy);
                    let is_lost = effective.superseded.iter().any(|it| it.policy == policy);
                    if is_in(scope.chain) && (is_in_force || is_lost) {
                        ends.push(target);
                        expected.push(scope.nodes);
                    }
                });
            }
            let reach = engine.reach(policy, None);
            let is_sorted = |part: &ReachPart| part.scopes.is_sorted_by_key(|scope| scope.end());
            prop_assert!(reach.parts.iter().all(is_sorted));
            let mut found: Vec<Vec<NodeId>> =
                reach.parts.iter().flat_map(|part| part.scopes.iter().map(|scope| scope.nodes.clone())).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected, "{}", engine.policy_id(policy));
        }
    }

    #[test]
    fn who_is_accepted_is_who_the_reference_accepts(world in worlds()) {
        let engine = world.engine();
        for status in engine.policy_statuses() {
            let model = engine.model(engine.policy(status.policy).kind).unwrap();
            let accepted = Reference::new(&engine, model).is_accepted(status.policy);
            prop_assert_eq!(status.refused.is_none(), accepted, "{}", engine.policy_id(status.policy));
        }
    }
}

impl World {
    fn engine(&self) -> Engine {
        Engine::new(Objects::new(objects(&self.0)), &[], Settings::default())
    }
}

fn objects(documents: &[Value]) -> Vec<Object> {
    let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
    text::read(&Arc::from("world"), &texts.join("\n---\n")).objects
}

/// By default always the same cases. With `PROPTEST_CASES`, that number of other ones.
fn config(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let rng_seed = if wanted.is_some() { RngSeed::Random } else { RngSeed::Fixed(0) };
    ProptestConfig { cases: wanted.unwrap_or(usual), rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

fn scopes<'e>(engine: &'e Engine, model: &'e Model, node: NodeId) -> Vec<(Scope, &'e EffectivePolicy)> {
    let mut found = Vec::new();
    model.scopes(engine.view(), node, &mut |scope| {
        let effective = model.effective(engine.view(), scope.chain);
        found.push((Scope { nodes: scope.nodes, from: scope.from }, &**effective));
    });
    found
}

fn name(engine: &Engine, node: NodeId) -> String {
    engine.topology().name(engine.objects(), node)
}

fn show<'s>(engine: &Engine, scopes: impl IntoIterator<Item = &'s Scope>) -> Vec<String> {
    let show = |scope: &Scope| {
        let nodes: Vec<String> = scope.nodes.iter().map(|node| name(engine, *node)).collect();
        format!("{} from {:?}", nodes.join(" > "), scope.from.map(|from| name(engine, from)))
    };
    scopes.into_iter().map(show).collect()
}

fn keys(path: &Path) -> Keys {
    let key = |segment: &Segment| match segment {
        Segment::Key(key) => key.to_string(),
        Segment::Index(index) => index.to_string(),
    };
    path.segments().iter().map(key).collect()
}

/// The same spec, and the same owner of each leaf.
fn agree(reference: &Reference, scope: &Scope, effective: &EffectivePolicy) -> Result<(), TestCaseError> {
    let expected = reference.effective(scope);
    let shown = show(reference.engine, [scope]);
    let spec = effective.spec.as_ref().map(plain);
    prop_assert_eq!(&spec, &expected.spec, "spec at {:?}", &shown);
    for (leaf, owner) in &expected.owners {
        let origins: Vec<Owner> = effective
            .origins
            .iter()
            .filter(|origin| leaf.starts_with(&keys(&origin.path)))
            .map(|origin| (origin.policy, origin.block, origin.target))
            .collect();
        prop_assert_eq!(origins.len(), 1, "origins of {:?} at {:?}", leaf, &shown);
        // Of two policies with an empty map, either may be the owner.
        if at(spec.as_ref().unwrap(), leaf) != &json!({}) {
            prop_assert_eq!(&origins, &[*owner], "origins of {:?} at {:?}", leaf, &shown);
        }
    }
    Ok(())
}
