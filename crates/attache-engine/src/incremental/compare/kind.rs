//! Compares the effective targets that one kind updated.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::KindDifferences;
use super::contributions::{ContributionDeltas, ContributionQuery};
use crate::chain::{ChainId, SetId};
use crate::change::{changes_at, leaf_changes};
use crate::engine_view::EngineView;
use crate::fold::EffectivePolicy;
use crate::incremental::update::{KindUpdate, RefoldedChains};
use crate::model::{Model, NodeUpdate, RefCounts, UpdateCause};
use crate::policy::PolicyId;
use crate::tally::{Tallies, policy_tally};
use crate::topology::{Node, NodeId};

/// The number of chains from which on they are folded on all cores. Fewer are folded on demand.
const MANY_CHAINS: usize = 64;
/// The number of targets from which on contributions before and after are counted in parallel.
const MANY_TARGETS: usize = 2_000;

/// One kind before or after a batch.
#[derive(Clone, Copy)]
pub(super) struct Side<'e> {
    pub view: EngineView<'e>,
    pub model: &'e Model,
}

/// One kind before and after a batch. Until unused chains are released, both models use the same ids for chains and sets.
#[derive(Clone, Copy)]
pub(super) struct KindComparison<'e> {
    pub before: Side<'e>,
    pub after: Side<'e>,
}

/// The result of a comparison.
pub(super) struct ComparedKind {
    pub differences: KindDifferences,
    /// The tallies after the batch.
    pub tallies: Tallies,
    /// The policies whose scopes are counted differently, so that their status differs.
    pub policies: BTreeSet<PolicyId>,
    /// The policies whose tally differs in something else, so that their status can differ.
    pub candidates: BTreeSet<PolicyId>,
    /// Whether the effective policy of any scope differs.
    pub has_effective: bool,
}

/// An updated node that was or is an effective target.
struct TargetUpdate<'u> {
    update: &'u NodeUpdate,
    was_target: bool,
    is_target: bool,
}

impl TargetUpdate<'_> {
    /// Whether the comparison of another target has the same result. Most targets are like the one before them.
    fn is_like(&self, other: &TargetUpdate<'_>) -> bool {
        let key =
            |it: &TargetUpdate<'_>| (it.update.before, it.update.after, it.update.cause, it.was_target, it.is_target);
        key(self) == key(other)
    }
}

/// How two chains differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChainDifference {
    /// Their effective policies differ.
    effective: bool,
    /// Different policies contribute, or policies from different nodes.
    contributors: bool,
}

impl<'e> Side<'e> {
    fn effective(self, chain: ChainId) -> &'e Arc<EffectivePolicy> {
        self.model.effective(self.view, chain)
    }

    fn is_effective_target(self, node: NodeId) -> bool {
        self.model.is_effective_target(self.view, node)
    }
}

impl<'e> KindComparison<'e> {
    pub fn compare(
        self,
        update: KindUpdate,
        ref_counts: &mut RefCounts,
        deltas: Option<&mut ContributionDeltas>,
    ) -> ComparedKind {
        let KindUpdate { model, nodes, refolded } = update;
        let targets = self.targets(&nodes);
        let sets = scopes_by_set(&targets);
        let tallies_before = self.before.model.tallies(self.before.view);
        let (mut tallies, mut policies) = (tallies_before.clone(), BTreeSet::new());
        let stayed = self.count_outcomes(&sets, &refolded, ref_counts, &mut tallies, &mut policies);
        let mut candidates = BTreeSet::new();
        policies.retain(|policy| {
            let (was, is) = (policy_tally(tallies_before, *policy), policy_tally(&tallies, *policy));
            if was.scopes() == is.scopes() && !is.gives_same_status(&was) {
                candidates.insert(*policy);
            }
            was.scopes() != is.scopes()
        });
        let mut differences = KindDifferences {
            model,
            sets: sets.into_keys().collect(),
            targets: Default::default(),
            changed_in_all_scopes: 0,
            recontributed: Vec::new(),
            refolded,
            refolded_effective: HashSet::new(),
            refolded_contributors: HashSet::new(),
        };
        let mut recontributed = deltas.is_some().then(RecontributedTargets::default);
        let mut has_effective = self.compare_targets(&targets, &mut differences, recontributed.as_mut());
        has_effective |= self.compare_refolded(&nodes, stayed, &mut differences, recontributed.as_mut());
        if let (Some(recontributed), Some(deltas)) = (recontributed, deltas) {
            recontributed.count(self, deltas);
        }
        ComparedKind { differences, tallies, policies, candidates, has_effective }
    }

    /// The updated nodes that were or are effective targets.
    fn targets<'u>(&self, nodes: &'u [NodeUpdate]) -> Vec<TargetUpdate<'u>> {
        let target = |update: &'u NodeUpdate| {
            let is_target = update.is_target;
            // A node that keeps its paths remains an effective target, or remains none.
            let stays = update.after.is_some() && update.cause == UpdateCause::Chains;
            let was_target = || if stays { is_target } else { self.before.is_effective_target(update.node) };
            let was_target = update.before.is_some() && was_target();
            (was_target || is_target).then_some(TargetUpdate { update, was_target, is_target })
        };
        nodes.iter().filter_map(target).collect()
    }

    /// Updates the tallies, and collects the policies whose tallies change. Returns the refolded chains that have
    /// scopes which stayed.
    fn count_outcomes(
        &self,
        sets: &HashMap<SetId, ScopesBeforeAndAfter>,
        refolded: &RefoldedChains,
        ref_counts: &mut RefCounts,
        tallies: &mut Tallies,
        policies: &mut BTreeSet<PolicyId>,
    ) -> Vec<ChainId> {
        let mut chains = self.scopes_by_chain(sets);
        let mut count = |scopes: i128, effective: &EffectivePolicy| {
            for (policy, outcome) in effective.outcomes.iter().filter(|_| scopes != 0) {
                let tally = tallies.entry(policy.0.0 as usize);
                Arc::make_mut(tally.get_or_insert_default()).count(scopes, outcome);
                if tally.as_ref().is_some_and(|tally| tally.is_empty()) {
                    *tally = None;
                }
                policies.insert(*policy);
            }
        };
        let new = chains.keys().copied().filter(|chain| !self.before.model.has_chain(*chain));
        let unfolded: Vec<ChainId> = refolded.chains.iter().copied().chain(new).collect();
        if unfolded.len() >= MANY_CHAINS {
            unfolded.par_iter().for_each(|chain| _ = self.after.effective(*chain));
        }
        let mut stayed = Vec::new();
        for &chain in &refolded.chains {
            let [removed, added] = chains.remove(&chain).unwrap_or_default();
            let scopes = ref_counts.scopes(chain);
            let scopes_before = *scopes;
            *scopes += added - removed;
            let (before, after) = (self.before.effective(chain), self.after.effective(chain));
            if scopes_before != *scopes || before.outcomes != after.outcomes {
                count(-scopes_before, before);
                count(*scopes, after);
            }
            if scopes_before > removed {
                stayed.push(chain);
            }
        }
        for (chain, [removed, added]) in chains.into_iter().filter(|(_, [removed, added])| removed != added) {
            *ref_counts.scopes(chain) += added - removed;
            let side = if self.before.model.has_chain(chain) { self.before } else { self.after };
            count(added - removed, side.effective(chain));
        }
        stayed
    }

    /// The number of scopes with each chain at the updated targets.
    fn scopes_by_chain(&self, sets: &HashMap<SetId, ScopesBeforeAndAfter>) -> HashMap<ChainId, ScopesBeforeAndAfter> {
        let mut chains: HashMap<ChainId, ScopesBeforeAndAfter> = HashMap::new();
        for (set, [removed, added]) in sets {
            let in_set = self.after.model.chains_in_set(*set).iter();
            for (chain, scopes) in in_set.filter(|(chain, _)| *chain != ChainId::EMPTY) {
                let counts = chains.entry(*chain).or_default();
                counts[0] += removed * i128::from(*scopes);
                counts[1] += added * i128::from(*scopes);
            }
        }
        chains
    }

    /// Finds the updated targets whose effective policies can differ, and whether any of them does.
    fn compare_targets(
        &self,
        targets: &[TargetUpdate<'_>],
        differences: &mut KindDifferences,
        mut recontributed: Option<&mut RecontributedTargets<'e>>,
    ) -> bool {
        let mut pairs: HashMap<(ChainId, ChainId), ChainDifference> = HashMap::new();
        let mut changed = Vec::new();
        let mut undecided = [Vec::new(), Vec::new()];
        let chains = |set: Option<SetId>| set.map(|set| self.after.model.chains_in_set(set));
        let only_chain = |set: Option<SetId>| match chains(set) {
            Some([(chain, _)]) => Some(*chain),
            _ => None,
        };
        for alike in targets.chunk_by(TargetUpdate::is_like) {
            let Some(&TargetUpdate { update, was_target, is_target }) = alike.first() else { continue };
            let has_same_paths = was_target && is_target && update.cause != UpdateCause::Paths;
            let pair = only_chain(update.before).zip(only_chain(update.after)).filter(|_| has_same_paths);
            let compared = pair.map(|pair| *pairs.entry(pair).or_insert_with(|| self.compare_chains(pair)));
            if compared.is_some_and(|it| !it.effective && !it.contributors) {
                continue;
            }
            let chains_before = chains(update.before).filter(|_| was_target);
            let chains_after = chains(update.after).filter(|_| is_target);
            for &TargetUpdate { update: &NodeUpdate { node, has_unique_name, .. }, .. } in alike {
                let is_unique = || has_unique_name || self.after.view.topology.same_named(node).next().is_none();
                match compared.filter(|_| is_unique()) {
                    Some(difference) => {
                        if difference.effective {
                            changed.push(node);
                        }
                        if !difference.contributors {
                            continue;
                        }
                    }
                    None => {
                        undecided[0].extend(was_target.then_some(node));
                        undecided[1].extend(is_target.then_some(node));
                    }
                }
                differences.recontributed.push(node);
                if let Some(recontributed) = &mut recontributed {
                    recontributed.0.push((node, [chains_before, chains_after]));
                }
            }
        }
        let are_unique = self.add_same_named(&mut undecided);
        let has_effective = !changed.is_empty() || self.differ(&undecided, are_unique);
        if has_effective {
            differences.changed_in_all_scopes = changed.len();
            differences.targets = undecided.map(|undecided| [&changed[..], &undecided].concat());
        }
        has_effective
    }

    /// Compares the refolded chains in scopes that stayed. Returns whether the effective policy of any differs.
    fn compare_refolded(
        &self,
        updated: &[NodeUpdate],
        stayed: Vec<ChainId>,
        differences: &mut KindDifferences,
        recontributed: Option<&mut RecontributedTargets<'e>>,
    ) -> bool {
        for chain in stayed {
            let difference = self.compare_chains((chain, chain));
            differences.refolded_effective.extend(difference.effective.then_some(chain));
            differences.refolded_contributors.extend(difference.contributors.then_some(chain));
        }
        let contributors = &differences.refolded_contributors;
        if let Some(recontributed) = recontributed.filter(|_| !contributors.is_empty()) {
            let updated: HashSet<NodeId> = updated.iter().map(|it| it.node).collect();
            for node in differences.refolded.nodes(self.after.view, self.after.model, contributors) {
                if !updated.contains(&node) && self.after.is_effective_target(node) {
                    let chains = [self.before, self.after].map(|side| Some(side.model.chains_at(side.view, node)));
                    recontributed.0.push((node, chains));
                }
            }
        }
        !differences.refolded_effective.is_empty()
    }

    /// Adds the nodes that share a reference with any of the nodes: their scopes cannot be distinguished. Returns
    /// whether there are none.
    fn add_same_named(&self, nodes: &mut [Vec<NodeId>; 2]) -> bool {
        let sides = [self.before, self.after];
        // Both sides are searched: one of the nodes may have been removed.
        let find = |side: Side<'_>| -> Vec<NodeId> {
            let topology = side.view.topology;
            let some = nodes.iter().flatten().filter(|node| topology.node(**node).is_some_and(Node::may_share_name));
            some.flat_map(|node| topology.same_named(*node)).collect()
        };
        let same_named = sides.map(find).concat();
        for (nodes, side) in nodes.iter_mut().zip(sides) {
            let existing = same_named.iter().filter(|node| side.view.topology.has(**node));
            nodes.extend(existing.filter(|node| side.is_effective_target(**node)));
            nodes.sort();
            nodes.dedup();
        }
        same_named.is_empty()
    }

    /// Whether the effective policies at some nodes differ. `are_unique` means that no node shares a reference.
    fn differ(&self, nodes: &[Vec<NodeId>; 2], are_unique: bool) -> bool {
        let sides = [self.before, self.after];
        let scopes = [0, 1].map(|side| {
            let mut scopes = sides[side].model.scope_counts_at(&nodes[side]);
            scopes.remove(&ChainId::EMPTY);
            scopes
        });
        let has_effect = |side: usize, chain: ChainId| {
            let Side { view, .. } = sides[side];
            leaf_changes([view; 2], [None, Some(sides[side].effective(chain))]).is_some()
        };
        let any = [0, 1].map(|side| scopes[side].keys().any(|chain| has_effect(side, *chain)));
        if any != [true, true] {
            return any != [false, false];
        }
        let with_effect = |side: usize| {
            let scopes = scopes[side].iter().filter(|(chain, _)| has_effect(side, **chain));
            scopes.map(|(_, count)| *count).sum::<i128>()
        };
        // A different number of scopes means that some were added or removed, unless they share references.
        are_unique && with_effect(0) != with_effect(1)
            || !changes_at(sides.map(|it| it.view), sides.map(|it| Some(it.model)), nodes.clone()).is_empty()
    }

    /// Compares a chain before the batch with one after it.
    fn compare_chains(&self, (before, after): (ChainId, ChainId)) -> ChainDifference {
        let (was, is) = (self.before.effective(before), self.after.effective(after));
        if before == after && Arc::ptr_eq(was, is) {
            return ChainDifference { effective: false, contributors: false };
        }
        let effective = was.spec != is.spec || {
            fn origins(it: &EffectivePolicy) -> impl Iterator<Item = (&crate::value::Path, PolicyId)> {
                it.origins.iter().map(|it| (&it.path, it.policy))
            }
            fn applied(it: &EffectivePolicy) -> impl Iterator<Item = (PolicyId, &crate::value::Value)> {
                it.applied.iter().map(|it| (it.policy, &it.spec))
            }
            let is_same = origins(was).eq(origins(is))
                && applied(was).eq(applied(is))
                && (before == ChainId::EMPTY) == (after == ChainId::EMPTY);
            let unless_empty = |chain: ChainId, it| (chain != ChainId::EMPTY).then_some(it);
            let policies = [unless_empty(before, &**was), unless_empty(after, &**is)];
            !is_same && leaf_changes([self.before.view, self.after.view], policies).is_some()
        };
        fn contributors(it: &EffectivePolicy) -> impl Iterator<Item = PolicyId> {
            it.outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy)
        }
        let contributors = !contributors(was).eq(contributors(is))
            || self.before.model.policies_in_chain(before) != self.after.model.policies_in_chain(after);
        ChainDifference { effective, contributors }
    }
}

/// A number of scopes that updated targets had, and one that they have.
type ScopesBeforeAndAfter = [i128; 2];

/// The sets of chains that reach updated targets, each with the number of these targets.
fn scopes_by_set(targets: &[TargetUpdate<'_>]) -> HashMap<SetId, ScopesBeforeAndAfter> {
    let mut sets: HashMap<SetId, ScopesBeforeAndAfter> = HashMap::new();
    for alike in targets.chunk_by(TargetUpdate::is_like) {
        let Some(TargetUpdate { update, was_target, is_target }) = alike.first() else { continue };
        if let Some(set) = update.before.filter(|_| *was_target) {
            sets.entry(set).or_default()[0] += alike.len() as i128;
        }
        if let Some(set) = update.after.filter(|_| *is_target) {
            sets.entry(set).or_default()[1] += alike.len() as i128;
        }
    }
    sets
}

/// The chains that reach a target. `None` if the node is not a target.
type TargetChains<'e> = Option<&'e [(ChainId, u64)]>;

/// Targets whose contributing policies can differ, with their chains before and after the batch.
#[derive(Default)]
struct RecontributedTargets<'e>(Vec<(NodeId, [TargetChains<'e>; 2])>);

impl<'e> RecontributedTargets<'e> {
    /// Counts the scopes to which policies no longer contribute, and those to which they now contribute.
    fn count(self, comparison: KindComparison<'e>, deltas: &mut ContributionDeltas) {
        let count = |index: usize, side: Side<'_>, scopes: i64| {
            let (mut deltas, mut query) = (ContributionDeltas::new(), ContributionQuery::new(side.view, side.model));
            for (target, chains) in &self.0 {
                if let Some(chains) = chains[index] {
                    query.count(*target, chains, scopes, &mut deltas);
                }
            }
            query.finish(&mut deltas);
            deltas
        };
        let before = || count(0, comparison.before, -1);
        let after = || count(1, comparison.after, 1);
        let both = if self.0.len() >= MANY_TARGETS { rayon::join(before, after) } else { (before(), after()) };
        for (key, scopes) in both.0.into_iter().chain(both.1) {
            *deltas.entry(key).or_default() += scopes;
        }
    }
}
