//! Causes of losses: without the policies that a loss names, the value is in force, or loses to others for another
//! reason.

use std::collections::BTreeMap;

use attache_engine::kinds::{Participation, PolicyKind, Settings, built_in};
use attache_engine::{BlockKind, EffectivePolicy, Engine, Loss, Model, ObjectRef, Objects, Path, Superseded};
use proptest::prelude::*;
use serde_json::Value;

use crate::built_in_kinds::built_in_worlds;
use crate::world::{World, worlds};
use crate::{config, name, objects};

static BUILT_IN: std::sync::LazyLock<Vec<PolicyKind>> = std::sync::LazyLock::new(|| built_in().0);

/// A value of a policy: the policy, the block, the target and the path.
type Said = (ObjectRef, BlockKind, String, Path);

/// A scope by names: the kind of the policies, and the nodes.
type Place = (String, Vec<String>);

/// A block of a policy.
type Turn = (ObjectRef, BlockKind);

/// The effective policies of each scope, and the blocks in the order in which they are folded.
struct Answers<'e> {
    engine: &'e Engine,
    scopes: BTreeMap<Place, (&'e EffectivePolicy, Vec<Turn>)>,
}

impl<'e> Answers<'e> {
    fn new(engine: &'e Engine) -> Answers<'e> {
        let mut scopes = BTreeMap::new();
        for model in engine.models() {
            for (node, _) in engine.topology().nodes() {
                model.scopes(engine.view(), node, &mut |scope| {
                    let nodes = scope.nodes.iter().chain(&scope.from).map(|node| name(engine, *node)).collect();
                    let effective = &**model.effective(engine.view(), scope.chain);
                    let order = turns(engine, model, scope.chain);
                    scopes.insert((model.kind.full_name().to_string(), nodes), (effective, order));
                });
            }
        }
        Answers { engine, scopes }
    }

    fn said(&self, lost: &Superseded) -> Said {
        let policy = self.engine.policy_id(lost.policy).clone();
        (policy, lost.block, name(self.engine, lost.target), lost.path.clone())
    }

    fn rivals(&self, lost: &Superseded) -> Vec<ObjectRef> {
        lost.rivals().map(|policy| self.engine.policy_id(policy).clone()).collect()
    }

    /// Why a value is not in force, if it is not. A part of it may be.
    fn losses(&self, effective: &'e EffectivePolicy, said: &Said) -> Vec<&'e Superseded> {
        let is_it = |lost: &&Superseded| {
            let (policy, block, target, path) = self.said(lost);
            (&policy, block, &target) == (&said.0, said.1, &said.2) && path.overlaps(&said.3)
        };
        effective.superseded.iter().filter(is_it).collect()
    }
}

fn turns(engine: &Engine, model: &Model, chain: attache_engine::ChainId) -> Vec<Turn> {
    let trace = model.trace(engine.view(), chain, None);
    trace.blocks.iter().map(|turn| (engine.policy_id(turn.policy).clone(), turn.block)).collect()
}

fn engine(documents: &[Value]) -> Engine {
    Engine::new(Objects::new(objects(documents)), &BUILT_IN, Settings::default())
}

fn without(world: &World, policies: &[ObjectRef]) -> Vec<Value> {
    let is_named = |document: &Value| {
        policies.iter().any(|policy| {
            let metadata = &document["metadata"];
            document["kind"] == *policy.kind
                && metadata["name"] == *policy.name
                && metadata["namespace"].as_str().unwrap_or_default() == policy.namespace
        })
    };
    world.0.iter().filter(|document| !is_named(document)).cloned().collect()
}

/// Compares each loss with the result without the policies that it names.
fn check(world: &World) -> Result<(), TestCaseError> {
    let whole = engine(&world.0);
    let before = Answers::new(&whole);
    let mut by_rivals: BTreeMap<Vec<ObjectRef>, Vec<(&Place, &Superseded)>> = BTreeMap::new();
    for (place, (effective, _)) in &before.scopes {
        for lost in effective.superseded.iter().filter(|lost| lost.by.is_some()) {
            by_rivals.entry(before.rivals(lost)).or_default().push((place, lost));
        }
    }
    for (rivals, losses) in by_rivals {
        let rest = engine(&without(world, &rivals));
        let after = Answers::new(&rest);
        for (place, lost) in losses {
            let said = before.said(lost);
            prop_assert!(!rivals.contains(&said.0), "{:?} lost to itself at {:?}", said, place);
            let (effective, order) = &before.scopes[place];
            let Some((now, _)) = after.scopes.get(place) else { continue };
            for again in after.losses(now, &said) {
                for rival in after.rivals(again) {
                    prop_assert!(
                        stage(&before, place, again.reason) > stage(&before, place, lost.reason)
                            || is_another_reason(&before, effective, order, &said, again, &rival),
                        "at {:?}\n{:?}\nlost to {:?} ({:?}),\nand without them to {} ({:?})",
                        place,
                        said,
                        rivals,
                        lost.reason,
                        rival,
                        again.reason
                    );
                }
            }
        }
    }
    Ok(())
}

/// The steps in which policies lose: first on their target, then rules that others remove, then, for kinds whose
/// policies at one level are merged first, to others at the level, then to other levels.
fn stage(answers: &Answers<'_>, place: &Place, reason: Loss) -> u8 {
    let is_kind = |model: &&Model| model.kind.full_name() == place.0;
    let model = answers.engine.models().iter().find(is_kind).unwrap();
    let by_level = model.kind.participation() == Participation::MergedByLevel;
    match reason {
        Loss::Conflicted => 0,
        Loss::Removed => 1,
        Loss::Older | Loss::Newer | Loss::ByName | Loss::HigherPriority if by_level => 2,
        _ => 3,
    }
}

/// Whether a rival did not matter before: it comes later, or had itself lost something, did not count or was refused.
fn is_another_reason(
    before: &Answers<'_>,
    effective: &EffectivePolicy,
    order: &[Turn],
    said: &Said,
    again: &Superseded,
    rival: &ObjectRef,
) -> bool {
    let last = order.iter().rposition(|(policy, _)| *policy == said.0);
    // Only overrides beat overrides.
    let can_beat = |block: BlockKind| said.1 != BlockKind::Overrides || block == BlockKind::Overrides;
    let first = order.iter().position(|(policy, block)| policy == rival && can_beat(*block));
    let is_later = first > last || again.reason == Loss::Overridden;
    let had_lost = effective
        .outcomes
        .iter()
        .any(|(policy, outcome)| before.engine.policy_id(*policy) == rival && (outcome.lost || outcome.inactive));
    is_later || had_lost || first.is_none() || again.reason == Loss::Removed
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn without_those_that_it_lost_to_a_value_is_in_force_or_loses_for_another_reason(world in worlds()) {
        check(&world)?;
    }

    #[test]
    fn so_it_is_for_built_in_kinds(world in built_in_worlds(&BUILT_IN)) {
        check(&world)?;
    }
}
