//! Properties of every effective policy.

use attache_engine::{BlockKind, EffectivePolicy, Engine, Loss, NodeId, Path, PolicyId};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::reference::{Keys, Reference, Scope, at, plain, without_nulls};
use crate::world::{World, worlds};
use crate::{config, keys, name, scopes};

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn origins_cover_the_spec_and_say_what_the_policy_says(world in worlds()) {
        each_scope(&world.engine(), |reference, _, effective| {
            let spec = effective.spec.as_ref().map_or(json!({}), plain);
            let origins: Vec<Keys> = effective.origins.iter().map(|origin| keys(&origin.path)).collect();
            for leaf in reference.leaves(&spec) {
                let covering = origins.iter().filter(|path| leaf.starts_with(path)).count();
                // A map may be empty because everything in it was removed.
                let nothing = at(&spec, &leaf) == &json!({});
                prop_assert!(covering == 1 || covering == 0 && nothing, "{covering} origins for {leaf:?}");
            }
            for (origin, path) in effective.origins.iter().zip(&origins) {
                let block = said(reference, origin.policy, origin.block);
                prop_assert_eq!(&without_nulls(at(&block, path)), at(&spec, path), "{:?}", path);
                prop_assert!(reference.leaves(&spec).iter().any(|leaf| leaf.starts_with(path)), "{:?}", path);
            }
            Ok(())
        })?;
    }

    #[test]
    fn nothing_is_lost_without_being_superseded(world in worlds()) {
        each_scope(&world.engine(), |reference, scope, effective| {
            let attached: Vec<_> =
                reference.levels(scope).into_iter().flatten().chain(reference.rejected(scope)).collect();
            for attachment in &attached {
                for block in reference.blocks(attachment.policy) {
                    let whose = (attachment.policy, block.which, attachment.node);
                    let is_said = |it: (PolicyId, BlockKind), path: &Path, leaf: &Keys| {
                        it == (attachment.policy, block.which) && leaf.starts_with(&keys(path))
                    };
                    for leaf in reference.leaves(&block.spec) {
                        if matches!(at(&block.spec, &leaf), Value::Null) || at(&block.spec, &leaf) == &json!({}) {
                            continue;
                        }
                        let kept = effective.origins.iter().filter(|it| {
                            (it.policy, it.block, it.target) == whose && leaf.starts_with(&keys(&it.path))
                        });
                        let lost = effective.superseded.iter().filter(|it| {
                            (it.policy, it.block, it.target) == whose && leaf.starts_with(&keys(&it.path))
                        });
                        let (kept, lost) = (kept.count(), lost.count());
                        let who = reference.engine.policy_id(attachment.policy);
                        // A policy on several targets does not lose to itself.
                        let is_twice = attached.iter().filter(|it| it.policy == attachment.policy).count() > 1;
                        if is_twice && kept + lost == 0 {
                            let mut elsewhere = effective.origins.iter().map(|it| ((it.policy, it.block), &it.path));
                            let mut lost = effective.superseded.iter().map(|it| ((it.policy, it.block), &it.path));
                            let found = elsewhere.any(|(it, path)| is_said(it, path, &leaf))
                                || lost.any(|(it, path)| is_said(it, path, &leaf));
                            prop_assert!(found, "{leaf:?} of {who} {:?} is nowhere", block.which);
                            continue;
                        }
                        prop_assert!(kept + lost == 1, "{leaf:?} of {who} {:?}: {kept} kept, {lost} lost", block.which);
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn who_takes_something_is_of_the_chain_and_not_the_loser(world in worlds()) {
        each_scope(&world.engine(), |reference, scope, effective| {
            let accepted: Vec<(PolicyId, NodeId)> =
                reference.levels(scope).iter().flatten().map(|it| (it.policy, it.node)).collect();
            let rejected: Vec<(PolicyId, NodeId)> =
                reference.rejected(scope).iter().map(|it| (it.policy, it.node)).collect();
            for lost in &effective.superseded {
                let loser = (lost.policy, lost.target);
                let known = if lost.reason == Loss::Conflicted { &rejected } else { &accepted };
                prop_assert!(known.contains(&loser), "{:?}", lost);
                let to_none = [Loss::ConditionFalse, Loss::SamePolicy, Loss::NotHandled].contains(&lost.reason);
                prop_assert_eq!(lost.by.is_none(), to_none, "{:?}", lost);
                for by in lost.rivals() {
                    prop_assert!(by != lost.policy, "{:?} lost to itself", lost);
                    prop_assert!(accepted.iter().any(|(policy, _)| *policy == by), "{:?}", lost);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_became_of_a_policy_is_what_origins_and_losses_say(world in worlds()) {
        each_scope(&world.engine(), |reference, scope, effective| {
            let attached: Vec<PolicyId> = reference
                .levels(scope)
                .into_iter()
                .flatten()
                .chain(reference.rejected(scope))
                .map(|it| it.policy)
                .collect();
            let mut known: Vec<PolicyId> = attached.clone();
            known.sort();
            known.dedup();
            let outcomes: Vec<PolicyId> = effective.outcomes.iter().map(|(policy, _)| *policy).collect();
            prop_assert_eq!(outcomes, known);
            for (policy, outcome) in &effective.outcomes {
                let lost: Vec<_> = effective.superseded.iter().filter(|it| it.policy == *policy).collect();
                let inactive = lost.iter().any(|it| it.reason == Loss::ConditionFalse);
                prop_assert!(outcome.inactive || !inactive, "{}", reference.engine.policy_id(*policy));
                let contributes = effective.origins.iter().any(|it| it.policy == *policy);
                prop_assert!(outcome.contributes || !contributes);
                if lost.iter().all(|it| it.by.is_none()) && outcome.lost {
                    // It sets nothing that could be named.
                    let says = reference.blocks(*policy).iter().any(|block| !reference.leaves(&block.spec).is_empty());
                    prop_assert!(!says, "{}", reference.engine.policy_id(*policy));
                    continue;
                }
                let mut by: Vec<PolicyId> = lost.iter().flat_map(|it| it.rivals()).collect();
                by.sort();
                by.dedup();
                prop_assert_eq!(outcome.lost, !by.is_empty(), "{}", reference.engine.policy_id(*policy));
                prop_assert_eq!(&outcome.by, &by);
            }
            Ok(())
        })?;
    }

    #[test]
    fn an_atomic_override_at_the_top_is_never_changed_from_below(world in worlds()) {
        let top = |i: usize| json!({
            "apiVersion": "laws.io/v1", "kind": format!("Policy{i}"),
            "metadata": {
                "name": "top", "namespace": "a", "creationTimestamp": "2000-01-01T00:00:00Z",
                "annotations": {"priority": "9"},
            },
            "spec": {
                "targetRef": {"group": "gateway.networking.k8s.io", "kind": "GatewayClass", "name": "c"},
                "overrides": {"color": "top", "rules": {"a": {"x": "top"}}, "strategy": "atomic"},
            },
        });
        let engine = World(world.0.into_iter().chain([top(0), top(1)]).collect()).engine();
        each_scope(&engine, |reference, scope, effective| {
            let is_top = |policy: PolicyId| engine.policy_id(policy).name == "top";
            let accepted = reference.levels(scope).last().is_some_and(|it| it.iter().any(|it| is_top(it.policy)));
            if accepted && name(&engine, scope.nodes[0]) == "GatewayClass/c" && reference.kind.has_blocks() && !reference.is_unhandled(scope) {
                let expected = json!({"color": "top", "rules": {"a": {"x": "top"}}});
                prop_assert_eq!(effective.spec.as_ref().map(plain), Some(expected));
                prop_assert!(effective.origins.iter().all(|it| is_top(it.policy)));
            }
            Ok(())
        })?;
    }
}

/// Checks every scope of every node.
pub fn each_scope(
    engine: &Engine,
    mut check: impl FnMut(&Reference, &Scope, &EffectivePolicy) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for model in engine.models() {
        let reference = Reference::new(engine, model);
        for (node, _) in engine.topology().nodes() {
            for (scope, effective) in scopes(engine, model, node) {
                check(&reference, &scope, effective)?;
            }
        }
    }
    Ok(())
}

fn said(reference: &Reference, policy: PolicyId, which: BlockKind) -> Value {
    let blocks = reference.blocks(policy);
    blocks.into_iter().find(|block| block.which == which).unwrap().spec
}
