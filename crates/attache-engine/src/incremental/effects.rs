//! What follows from chains that reach other nodes: statuses, and where something else is in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::contribution_counts::{ContributionCounts, ContributionQuery, Shift, TargetContributions};
use super::step::{Followed, Refolded};
use crate::chain::{ChainId, SetId};
use crate::change::{changes_at, leaf_changes};
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::model::{Cause, Model, Moved, RefCounts};
use crate::policy::PolicyId;
use crate::tally::{Tallies, policy_tally};
use crate::topology::{Node, NodeId};

/// What a step made different.
#[derive(Debug, Default)]
pub struct Effects {
    /// Of each kind.
    pub kinds: Vec<OfKind>,
    /// Whether something else is in force anywhere.
    pub any: bool,
    /// The policies of which other things became in their scopes.
    pub policies: BTreeSet<PolicyId>,
    /// What stands above all routes and is affected by others. Nobody knows, unless supports are kept.
    pub affected: Option<Vec<TargetContributions>>,
}

/// What is different for one kind.
#[derive(Debug, Default)]
pub struct OfKind {
    /// Among the models.
    pub at: usize,
    /// The effective targets at which something else may be in force, before and after.
    pub targets: [Vec<NodeId>; 2],
    /// The effective targets to which others may contribute.
    pub shifted: Vec<NodeId>,
    /// Chains that were folded anew.
    pub refolded: Refolded,
    /// Those of them of which something else came, where nothing else happened.
    pub others: HashSet<ChainId>,
    /// Those of them to which others contribute, where nothing else happened.
    pub shifting: HashSet<ChainId>,
}

/// So many chains are folded on all cores; less when somebody asks.
const MANY_CHAINS: usize = 64;
/// So many targets are counted before and after at once.
const MANY_TARGETS: usize = 2_000;

/// Works out the effects, and brings tallies and supports up to date.
pub fn effects(
    before: &Engine,
    after: &mut Engine,
    followed: Vec<Followed>,
    ref_counts: &mut [RefCounts],
    contribution_counts: Option<&mut ContributionCounts>,
) -> Effects {
    let mut effects = Effects::default();
    let mut shift = Shift::new();
    for Followed { at, moved, refolded } in followed {
        let is = &after.models()[at];
        let (Some(was), Some(ref_counts)) = (before.model(is.id), ref_counts.get_mut(at)) else { continue };
        let sides = Sides { before, after, was, is };
        let targets = sides.of(&moved);
        let mut of_kind = OfKind { at, refolded, ..OfKind::default() };
        let before_it = was.tallies(before.view());
        let (mut tallies, mut policies) = (before_it.clone(), BTreeSet::new());
        let stayed = sides.tally(&targets, &of_kind.refolded, ref_counts, &mut tallies, &mut policies);
        policies.retain(|policy| !policy_tally(&tallies, *policy).gives_same_status(&policy_tally(before_it, *policy)));
        effects.policies.append(&mut policies);
        let mut shifting = contribution_counts.is_some().then(Shifting::default);
        effects.any |= sides.changed(&targets, &mut of_kind, shifting.as_mut());
        effects.any |= sides.refolded(&moved, stayed, &mut of_kind, shifting.as_mut());
        if let Some(shifting) = shifting {
            shifting.finish(sides, &mut shift);
        }
        effects.kinds.push(of_kind);
        if let Some(model) = after.models.iter_mut().nth(at) {
            model.set_tallies(tallies);
        }
    }
    effects.affected = contribution_counts.map(|contribution_counts| {
        let mut affected = contribution_counts.apply(shift);
        affected.extend(contribution_counts.same_named(after, &affected));
        affected
    });
    effects
}

/// The chains that are met at a target, if it is one.
type Met<'e> = Option<&'e [(ChainId, u64)]>;

/// Targets to which others may contribute, with what was met there and what is.
#[derive(Default)]
struct Shifting<'e>(Vec<(NodeId, [Met<'e>; 2])>);

impl<'e> Shifting<'e> {
    fn note(&mut self, target: NodeId, was: Met<'e>, is: Met<'e>) {
        self.0.push((target, [was, is]));
    }

    /// Counts what contributes no more, and what does now.
    fn finish(self, sides: Sides<'e>, shift: &mut Shift) {
        let count = |side: usize, engine: &Engine, model: &Model, scopes: i64| {
            let (mut shift, mut supporting) = (Shift::new(), ContributionQuery::new(engine, model));
            for (target, met) in &self.0 {
                if let Some(chains) = met[side] {
                    supporting.count(*target, chains, scopes, &mut shift);
                }
            }
            supporting.finish(&mut shift);
            shift
        };
        let was = || count(0, sides.before, sides.was, -1);
        let is = || count(1, sides.after, sides.is, 1);
        let (was, is) = if self.0.len() >= MANY_TARGETS { rayon::join(was, is) } else { (was(), is()) };
        for (at, scopes) in was.into_iter().chain(is) {
            *shift.entry(at).or_default() += scopes;
        }
    }
}

/// One kind before and after.
#[derive(Clone, Copy)]
struct Sides<'e> {
    before: &'e Engine,
    after: &'e Engine,
    was: &'e Model,
    is: &'e Model,
}

/// A node that moved, with whether it was and is an effective target.
struct Target<'m> {
    moved: &'m Moved,
    was: bool,
    is: bool,
}

impl Target<'_> {
    /// Whether the same is to be said of another. Most are like the one before.
    fn is_like(&self, other: &Target<'_>) -> bool {
        let of = |it: &Target<'_>| (it.moved.before, it.moved.after, it.moved.cause, it.was, it.is);
        of(self) == of(other)
    }
}

impl<'e> Sides<'e> {
    fn of<'m>(&self, moved: &'m [Moved]) -> Vec<Target<'m>> {
        let target = |moved: &'m Moved| {
            let is = moved.is_target;
            // Whoever stays where it was, on the same ways, stays what it was.
            let stays = moved.after.is_some() && moved.cause == Cause::Chains;
            let was = || self.was.is_effective_target(self.before.view(), moved.node);
            let was = moved.before.is_some() && if stays { is } else { was() };
            (was || is).then_some(Target { moved, was, is })
        };
        moved.iter().filter_map(target).collect()
    }

    /// Brings the tallies up to date, and tells which of the chains that come to something else are met in scopes that
    /// stay as they are.
    fn tally(
        &self,
        targets: &[Target<'_>],
        refolded: &Refolded,
        ref_counts: &mut RefCounts,
        tallies: &mut Tallies,
        policies: &mut BTreeSet<PolicyId>,
    ) -> Vec<ChainId> {
        let mut sets: HashMap<SetId, [i128; 2]> = HashMap::new();
        for alike in targets.chunk_by(Target::is_like) {
            let Some(Target { moved, was, is }) = alike.first() else { continue };
            if let Some(set) = moved.before.filter(|_| *was) {
                sets.entry(set).or_default()[0] += alike.len() as i128;
            }
            if let Some(set) = moved.after.filter(|_| *is) {
                sets.entry(set).or_default()[1] += alike.len() as i128;
            }
        }
        let mut chains: HashMap<ChainId, [i128; 2]> = HashMap::new();
        for (set, [left, came]) in sets {
            for (chain, scopes) in self.is.chains_of(set).iter().filter(|(chain, _)| *chain != ChainId::EMPTY) {
                let counts = chains.entry(*chain).or_default();
                counts[0] += left * i128::from(*scopes);
                counts[1] += came * i128::from(*scopes);
            }
        }
        let mut count = |count: i128, effective: &EffectivePolicy| {
            for (policy, outcome) in effective.outcomes.iter().filter(|_| count != 0) {
                let slot = tallies.entry(policy.0.0 as usize);
                Arc::make_mut(slot.get_or_insert_default()).count(count, outcome);
                if slot.as_ref().is_some_and(|tally| tally.is_empty()) {
                    *slot = None;
                }
                policies.insert(*policy);
            }
        };
        let new = chains.keys().copied().filter(|chain| !self.was.knows(*chain));
        let unfolded: Vec<ChainId> = refolded.chains.iter().copied().chain(new).collect();
        if unfolded.len() >= MANY_CHAINS {
            unfolded.par_iter().for_each(|chain| _ = self.is(*chain));
        }
        let mut stayed = Vec::new();
        for &chain in &refolded.chains {
            let [left, came] = chains.remove(&chain).unwrap_or_default();
            let scopes = ref_counts.scopes(chain);
            let before = *scopes;
            *scopes += came - left;
            let (was, is) = (self.was(chain), self.is(chain));
            if before != *scopes || was.outcomes != is.outcomes {
                count(-before, was);
                count(*scopes, is);
            }
            if before > left {
                stayed.push(chain);
            }
        }
        for (chain, [left, came]) in chains.into_iter().filter(|(_, [left, came])| left != came) {
            *ref_counts.scopes(chain) += came - left;
            count(came - left, if self.was.knows(chain) { self.was(chain) } else { self.is(chain) });
        }
        stayed
    }

    fn was(&self, chain: ChainId) -> &Arc<EffectivePolicy> {
        self.was.effective(self.before.view(), chain)
    }

    fn is(&self, chain: ChainId) -> &Arc<EffectivePolicy> {
        self.is.effective(self.after.view(), chain)
    }

    /// Compares the chains that were folded anew where they `stayed`, and tells whether something else is in force.
    fn refolded(
        &self,
        moved: &[Moved],
        stayed: Vec<ChainId>,
        of_kind: &mut OfKind,
        shifting: Option<&mut Shifting<'e>>,
    ) -> bool {
        for chain in stayed {
            let [other, others] = self.compare((chain, chain));
            of_kind.others.extend(other.then_some(chain));
            of_kind.shifting.extend(others.then_some(chain));
        }
        if let Some(shifting) = shifting.filter(|_| !of_kind.shifting.is_empty()) {
            let moved: HashSet<NodeId> = moved.iter().map(|it| it.node).collect();
            for node in of_kind.refolded.nodes(self.after, self.is, &of_kind.shifting) {
                if !moved.contains(&node) && self.is.is_effective_target(self.after.view(), node) {
                    let [was, is] = [(self.before, self.was), (self.after, self.is)]
                        .map(|(engine, model)| model.chains_at(engine.view(), node));
                    shifting.note(node, Some(was), Some(is));
                }
            }
        }
        !of_kind.others.is_empty()
    }

    /// Finds the effective targets at which something else may be in force, and tells whether it is at any.
    fn changed(&self, targets: &[Target<'_>], of_kind: &mut OfKind, mut shifting: Option<&mut Shifting<'e>>) -> bool {
        let mut pairs: HashMap<(ChainId, ChainId), [bool; 2]> = HashMap::new();
        let mut changed = [Vec::new(), Vec::new()];
        let mut unsure = [Vec::new(), Vec::new()];
        let only = |set: Option<SetId>| match set.map(|set| self.is.chains_of(set)) {
            Some([(chain, _)]) => Some(*chain),
            _ => None,
        };
        for alike in targets.chunk_by(Target::is_like) {
            let Some(&Target { moved, was, is }) = alike.first() else { continue };
            let stays = was && is && moved.cause != Cause::Ways;
            let pair = only(moved.before).zip(only(moved.after)).filter(|_| stays);
            let compared = pair.map(|pair| *pairs.entry(pair).or_insert_with(|| self.compare(pair)));
            if compared == Some([false, false]) {
                continue;
            }
            let chains = |set: Option<SetId>| set.map(|set| self.is.chains_of(set));
            let (chains_before, chains_after) =
                (chains(moved.before).filter(|_| was), chains(moved.after).filter(|_| is));
            for &Target { moved: &Moved { node, is_alone, .. }, .. } in alike {
                let is_alone = || is_alone || self.after.topology().same_named(node).next().is_none();
                match compared.filter(|_| is_alone()) {
                    Some([other, others]) => {
                        if other {
                            changed.iter_mut().for_each(|changed| changed.push(node));
                        }
                        if !others {
                            continue;
                        }
                    }
                    None => {
                        unsure[0].extend(was.then_some(node));
                        unsure[1].extend(is.then_some(node));
                    }
                }
                of_kind.shifted.push(node);
                if let Some(shifting) = &mut shifting {
                    shifting.note(node, chains_before, chains_after);
                }
            }
        }
        let are_alone = self.add_namesakes(&mut unsure);
        let any = !changed[0].is_empty() || self.differ(&unsure, are_alone);
        if any {
            changed.iter_mut().zip(unsure).for_each(|(changed, mut unsure)| changed.append(&mut unsure));
            of_kind.targets = changed;
        }
        any
    }

    /// Adds the nodes that have one name with some of these: scopes that end at them are told apart by nobody. Tells whether
    /// there are none.
    fn add_namesakes(&self, nodes: &mut [Vec<NodeId>; 2]) -> bool {
        let sides = [(self.before, self.was), (self.after, self.is)];
        // Also on the other side: one of them may be gone.
        let of = |engine: &Engine| -> Vec<NodeId> {
            let some =
                nodes.iter().flatten().filter(|node| engine.topology().node(**node).is_some_and(Node::may_share_name));
            some.flat_map(|node| engine.topology().same_named(*node)).collect()
        };
        let same_named = [of(self.before), of(self.after)].concat();
        for (nodes, (engine, model)) in nodes.iter_mut().zip(sides) {
            let there = same_named.iter().filter(|it| engine.topology().has(**it));
            nodes.extend(there.filter(|it| model.is_effective_target(engine.view(), **it)));
            nodes.sort();
            nodes.dedup();
        }
        same_named.is_empty()
    }

    /// Whether something else is in force at some nodes after than at others before.
    fn differ(&self, nodes: &[Vec<NodeId>; 2], are_alone: bool) -> bool {
        let engines = [self.before, self.after];
        let models = [self.was, self.is];
        let scopes = [0, 1].map(|side| {
            let mut scopes = models[side].met_at(&nodes[side]);
            scopes.remove(&ChainId::EMPTY);
            scopes
        });
        let says = |side: usize, chain: ChainId| {
            let effective = models[side].effective(engines[side].view(), chain);
            leaf_changes([engines[side]; 2], [None, Some(effective)]).is_some()
        };
        let any = [0, 1].map(|side| scopes[side].keys().any(|chain| says(side, *chain)));
        if any != [true, true] {
            return any != [false, false];
        }
        let in_force = |side: usize| {
            let scopes = scopes[side].iter().filter(|(chain, _)| says(side, **chain));
            scopes.map(|(_, count)| *count).sum::<i128>()
        };
        // Some came or went, unless they have one name with others.
        are_alone && in_force(0) != in_force(1) || !changes_at(engines, models.map(Some), nodes.clone()).is_empty()
    }

    /// Whether another chain means that something else is in force, and whether it means that others contribute, or from
    /// elsewhere.
    fn compare(&self, (before, after): (ChainId, ChainId)) -> [bool; 2] {
        let (was, is) = (self.was(before), self.is(after));
        if before == after && Arc::ptr_eq(was, is) {
            return [false, false];
        }
        let unless_empty = |chain: ChainId, it| (chain != ChainId::EMPTY).then_some(it);
        let is_other = was.spec != is.spec || {
            let same = was
                .origins
                .iter()
                .map(|it| (&it.path, it.policy))
                .eq(is.origins.iter().map(|it| (&it.path, it.policy)))
                && was
                    .applied
                    .iter()
                    .map(|it| (it.policy, &it.spec))
                    .eq(is.applied.iter().map(|it| (it.policy, &it.spec)))
                && (before == ChainId::EMPTY) == (after == ChainId::EMPTY);
            let effective = [unless_empty(before, &**was), unless_empty(after, &**is)];
            !same && leaf_changes([self.before, self.after], effective).is_some()
        };
        let contributors = |it: &EffectivePolicy| {
            it.outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy).collect::<Vec<_>>()
        };
        let standing = |model: &Model, chain| model.standing(chain);
        let others = contributors(was) != contributors(is) || standing(self.was, before) != standing(self.is, after);
        [is_other, others]
    }
}
