//! Counts that are computed without listing scopes are equal to counts of the listed scopes.

use std::collections::{BTreeMap, BTreeSet};

use attache_engine::kinds::Class;
use attache_engine::{Attachment, ChainId, Engine};
use attache_engine::{Enforcement, Model, NodeId, PolicyId, ScopeCounts};
use proptest::prelude::*;

use crate::reference::Reference;
use crate::world::worlds;
use crate::{config, name, scopes};

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn the_listed_scopes_are_as_many_as_are_counted(world in worlds()) {
        let engine = world.engine();
        for model in engine.models() {
            for (node, _) in engine.topology().nodes() {
                let mut listed: BTreeMap<ChainId, u64> = BTreeMap::new();
                model.scopes(engine.view(), node, &mut |scope| *listed.entry(scope.chain).or_default() += 1);
                let counted: BTreeMap<ChainId, u64> = model.chains_at(engine.view(), node).iter().copied().collect();
                prop_assert_eq!(listed, counted, "at {}", name(&engine, node));
            }
        }
    }

    #[test]
    fn status_is_what_a_count_over_all_scopes_says(world in worlds()) {
        let engine = world.engine();
        for status in engine.policy_statuses() {
            let model = engine.model(engine.policy(status.policy).kind).unwrap();
            let (counts, enforcement, by) = recount(&engine, model, status.policy);
            let name = engine.policy_id(status.policy);
            prop_assert_eq!(status.scopes, counts, "{}", name);
            if status.refused.is_none() {
                prop_assert_eq!(status.enforcement, enforcement, "{}", name);
                prop_assert_eq!(status.by.into_iter().collect::<BTreeSet<_>>(), by, "{}", name);
            } else {
                prop_assert_eq!(status.enforcement, Enforcement::NotEnforced, "{}", name);
            }
        }
    }

    #[test]
    fn targets_are_affected_by_what_contributes_at_them_or_above(world in worlds()) {
        let engine = world.engine();
        let mut affected: BTreeMap<NodeId, BTreeSet<PolicyId>> = BTreeMap::new();
        for model in engine.models() {
            let reference = Reference::new(&engine, model);
            for target in model.effective_targets(engine.view()) {
                for (scope, effective) in scopes(&engine, model, target) {
                    let chain: Vec<&Attachment> = reference.levels(&scope).into_iter().flatten().collect();
                    let contributes =
                        |it: &&&Attachment| effective.outcomes.iter().any(|(id, at)| *id == it.policy && at.contributes);
                    for attachment in chain.iter().filter(contributes) {
                        let is_at = |node: &NodeId| reference.holder(*node) == attachment.node;
                        let first = scope.nodes.iter().position(is_at).unwrap();
                        let topology = engine.topology();
                        let concerns = |node: &&NodeId| {
                            model.kind.class == Class::Inherited || topology.whole(**node) == topology.whole(target)
                        };
                        for node in scope.nodes[first..].iter().filter(concerns) {
                            affected.entry(*node).or_default().insert(attachment.policy);
                        }
                    }
                }
            }
        }
        let stated: BTreeMap<NodeId, BTreeSet<PolicyId>> =
            engine.target_statuses().into_iter().map(|it| (it.target, it.affected_by.into_iter().collect())).collect();
        let show = |map: BTreeMap<NodeId, BTreeSet<PolicyId>>| -> Vec<(String, Vec<String>)> {
            let names = |ids: BTreeSet<PolicyId>| ids.iter().map(|id| engine.policy_id(*id).to_string()).collect();
            map.into_iter().map(|(node, ids)| (name(&engine, node), names(ids))).collect()
        };
        prop_assert_eq!(show(stated), show(affected));
    }
}

fn recount(engine: &Engine, model: &Model, policy: PolicyId) -> (ScopeCounts, Enforcement, BTreeSet<PolicyId>) {
    let mut counts = ScopeCounts::default();
    let mut by = BTreeSet::new();
    for target in model.effective_targets(engine.view()) {
        for (_, effective) in scopes(engine, model, target) {
            let Some((_, outcome)) = effective.outcomes.iter().find(|(id, _)| *id == policy) else { continue };
            if outcome.unhandled.is_some() {
                continue;
            }
            counts.total += 1;
            by.extend(&outcome.by);
            if !outcome.lost && !outcome.inactive {
                counts.enforced += 1;
            } else if outcome.contributes {
                counts.partial += 1;
            } else if outcome.lost {
                counts.overridden += 1;
            }
        }
    }
    let enforcement = match counts {
        ScopeCounts { total: 0, .. } => Enforcement::NotEnforced,
        ScopeCounts { total, enforced, .. } if total == enforced => Enforcement::Enforced,
        ScopeCounts { enforced: 0, partial: 0, overridden: 0, .. } => Enforcement::NotEnforced,
        ScopeCounts { enforced: 0, partial: 0, .. } => Enforcement::Overridden,
        _ => Enforcement::PartiallyEnforced,
    };
    (counts, enforcement, by)
}
