//! What follows from chains that reach other nodes: statuses, and where something else is in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::step::{Followed, Refolded};
use crate::chain::{ChainId, SetId};
use crate::change::{change, changes_at};
use crate::engine::Engine;
use crate::fold::Effective;
use crate::kinds::Class;
use crate::model::{Cause, Ledger, Model, Moved, stack_node};
use crate::policy::PolicyId;
use crate::status::Tallies;
use crate::topology::NodeId;

/// For each node the policies that contribute to scopes through it, as far as they stand at it or above, and to how many.
#[derive(Debug, Default)]
pub struct Supports(HashMap<NodeId, Vec<(PolicyId, i64)>>);

/// Who affects a node, before and after.
#[derive(Clone, Debug)]
pub struct Affected {
    pub node: NodeId,
    pub before: Vec<PolicyId>,
    pub after: Vec<PolicyId>,
}

type Shift = HashMap<(NodeId, PolicyId), i64>;

impl Supports {
    pub fn of(engine: &Engine) -> Supports {
        let mut shift = Shift::new();
        for model in engine.models() {
            let mut supporting = Supporting::new(engine, model);
            for target in model.effective_targets(engine.world()) {
                supporting.count(target, 1, &mut shift);
            }
        }
        let mut supports = Supports::default();
        supports.apply(shift);
        supports
    }

    /// Those that have one name with others, and are affected as before.
    fn namesakes(&self, engine: &Engine, affected: &[Affected]) -> Vec<Affected> {
        let mut known: HashSet<NodeId> = affected.iter().map(|it| it.node).collect();
        let namesakes = affected.iter().flat_map(|it| engine.topology().namesakes(it.node));
        let namesakes = namesakes.filter(|it| known.insert(*it));
        let same = |node: NodeId| {
            let policies: Vec<PolicyId> = self.0.get(&node)?.iter().map(|(policy, _)| *policy).collect();
            Some(Affected { node, before: policies.clone(), after: policies })
        };
        namesakes.filter_map(same).collect()
    }

    /// Makes the changes, and tells the nodes that others affect now.
    fn apply(&mut self, shift: Shift) -> Vec<Affected> {
        let mut by_node: HashMap<NodeId, Vec<(PolicyId, i64)>> = HashMap::new();
        for ((node, policy), count) in shift.into_iter().filter(|(_, count)| *count != 0) {
            by_node.entry(node).or_default().push((policy, count));
        }
        let names = |supports: &[(PolicyId, i64)]| supports.iter().map(|(policy, _)| *policy).collect::<Vec<_>>();
        let mut changed = Vec::new();
        for (node, shifts) in by_node {
            let supports = self.0.entry(node).or_default();
            let before = names(supports);
            for (policy, count) in shifts {
                match supports.binary_search_by_key(&policy, |(policy, _)| *policy) {
                    Err(at) => supports.insert(at, (policy, count)),
                    Ok(at) => supports[at].1 += count,
                }
            }
            supports.retain(|(_, count)| *count != 0);
            let after = names(supports);
            if supports.is_empty() {
                self.0.remove(&node);
            }
            if before != after {
                changed.push(Affected { node, before, after });
            }
        }
        changed.sort_by_key(|it| it.node);
        changed
    }
}

/// Finds out who contributes where, remembering what chains have in common.
struct Supporting<'e> {
    engine: &'e Engine,
    model: &'e Model,
    contributors: HashMap<ChainId, Arc<[PolicyId]>>,
    way: Vec<NodeId>,
}

impl<'e> Supporting<'e> {
    fn new(engine: &'e Engine, model: &'e Model) -> Self {
        Supporting { engine, model, contributors: HashMap::new(), way: Vec::new() }
    }

    fn contributors(&mut self, chain: ChainId) -> Arc<[PolicyId]> {
        let Supporting { engine, model, contributors, .. } = self;
        let found = contributors.entry(chain).or_insert_with(|| {
            let outcomes = &model.effective(engine.world(), chain).outcomes;
            outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy).collect()
        });
        Arc::clone(found)
    }

    fn count(&mut self, target: NodeId, count: i64, shift: &mut Shift) {
        let (model, world) = (self.model, self.engine.world());
        let mut way = std::mem::take(&mut self.way);
        match model.chains_at(world, target) {
            [(ChainId::EMPTY, _)] => {}
            [(chain, 1)] if model.only_way(world, target, &mut way) => {
                self.along(&way, *chain, count, shift);
            }
            _ => model.scopes(world, target, &mut |scope| self.along(&scope.nodes, scope.chain, count, shift)),
        }
        self.way = way;
    }

    fn along(&mut self, nodes: &[NodeId], chain: ChainId, count: i64, shift: &mut Shift) {
        if chain == ChainId::EMPTY {
            return;
        }
        let (model, world) = (self.model, self.engine.world());
        // What a Direct policy says on another object above is not passed down.
        let whole = |node: &NodeId| world.topology.whole(*node);
        let concerns =
            |node: &&NodeId| model.kind.class == Class::Inherited || Some(whole(node)) == nodes.last().map(whole);
        for &policy in self.contributors(chain).iter() {
            let is_on = |node: &NodeId| {
                let stack = model.stack(stack_node(world, *node));
                stack.is_some_and(|stack| stack.accepted.iter().any(|it| it.policy == policy))
            };
            for node in nodes.iter().filter(concerns).skip_while(|node| !is_on(node)) {
                *shift.entry((*node, policy)).or_default() += count;
            }
        }
    }
}

/// What a step made different.
#[derive(Debug, Default)]
pub struct Effects {
    /// For each model, by where it is among them, the effective targets at which something else may be in force, before
    /// and after.
    pub targets: Vec<(usize, [Vec<NodeId>; 2])>,
    /// For each model the chains that were folded anew, and those of them of which something else came.
    pub refolded: Vec<(usize, Refolded, HashSet<ChainId>)>,
    /// Whether something else is in force anywhere.
    pub any: bool,
    /// The policies of which other things became in their scopes.
    pub policies: BTreeSet<PolicyId>,
    /// Nobody knows, unless supports are kept.
    pub affected: Option<Vec<Affected>>,
}

/// Works out the effects, and brings tallies and supports up to date.
pub fn effects(
    before: &Engine,
    after: &mut Engine,
    followed: Vec<Followed>,
    ledgers: &mut [Ledger],
    supports: Option<&mut Supports>,
) -> Effects {
    let mut effects = Effects::default();
    let mut tallies = before.tallies().clone();
    let mut shift = Shift::new();
    for Followed { at, moved, refolded } in followed {
        let is = &after.models()[at];
        let (Some(was), Some(ledger)) = (before.model(is.id), ledgers.get_mut(at)) else { continue };
        let sides = Sides { before, after, was, is };
        let targets = sides.of(&moved);
        let stayed = sides.tally(&targets, &refolded, ledger, &mut tallies, &mut effects.policies);
        let mut shift = supports.is_some().then_some(&mut shift);
        let (changed, any) = sides.changed(&targets, shift.as_deref_mut());
        if any {
            effects.targets.push((at, changed));
        }
        let others = sides.compare_refolded(&moved, stayed, &refolded, shift);
        effects.any |= any || !others.is_empty();
        if !others.is_empty() {
            effects.refolded.push((at, refolded, others));
        }
    }
    effects.policies.retain(|policy| {
        let tally = |tallies: &Tallies| tallies.get(policy.0.0 as usize).cloned().flatten().unwrap_or_default();
        !tally(&tallies).tells_the_same(&tally(before.tallies()))
    });
    after.tallies = tallies.into();
    effects.affected = supports.map(|supports| {
        let mut affected = supports.apply(shift);
        affected.extend(supports.namesakes(after, &affected));
        affected
    });
    effects
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

impl Sides<'_> {
    fn of<'m>(&self, moved: &'m [Moved]) -> Vec<Target<'m>> {
        let target = |moved: &'m Moved| {
            let was = moved.before.is_some() && self.was.is_effective_target(self.before.world(), moved.node);
            // Whoever stays where it was, on the same ways, stays what it was.
            let stays = moved.before.is_some() && moved.after.is_some() && moved.cause == Cause::Chains;
            let is = match stays {
                true => was,
                false => moved.after.is_some() && self.is.is_effective_target(self.after.world(), moved.node),
            };
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
        ledger: &mut Ledger,
        tallies: &mut Tallies,
        policies: &mut BTreeSet<PolicyId>,
    ) -> Vec<ChainId> {
        let mut sets: HashMap<SetId, [i128; 2]> = HashMap::new();
        for Target { moved, was, is } in targets {
            if let Some(set) = moved.before.filter(|_| *was) {
                sets.entry(set).or_default()[0] += 1;
            }
            if let Some(set) = moved.after.filter(|_| *is) {
                sets.entry(set).or_default()[1] += 1;
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
        let mut count = |count: i128, effective: &Effective| {
            for (policy, outcome) in effective.outcomes.iter().filter(|_| count != 0) {
                let slot = tallies.entry(policy.0.0 as usize);
                Arc::make_mut(slot.get_or_insert_default()).count(count, outcome);
                if slot.as_ref().is_some_and(|tally| tally.is_empty()) {
                    *slot = None;
                }
                policies.insert(*policy);
            }
        };
        refolded.chains.par_iter().for_each(|chain| _ = self.is(*chain));
        let mut stayed = Vec::new();
        for &chain in &refolded.chains {
            let [left, came] = chains.remove(&chain).unwrap_or_default();
            let scopes = ledger.scopes(chain);
            let before = *scopes;
            *scopes += came - left;
            count(-before, self.was(chain));
            count(*scopes, self.is(chain));
            if before > left {
                stayed.push(chain);
            }
        }
        for (chain, [left, came]) in chains.into_iter().filter(|(_, [left, came])| left != came) {
            *ledger.scopes(chain) += came - left;
            count(came - left, if self.was.knows(chain) { self.was(chain) } else { self.is(chain) });
        }
        stayed
    }

    fn was(&self, chain: ChainId) -> &Arc<Effective> {
        self.was.effective(self.before.world(), chain)
    }

    fn is(&self, chain: ChainId) -> &Arc<Effective> {
        self.is.effective(self.after.world(), chain)
    }

    /// Those of the chains that `stayed` in which something else is in force. Where others contribute it is noted.
    fn compare_refolded(
        &self,
        moved: &[Moved],
        stayed: Vec<ChainId>,
        refolded: &Refolded,
        shift: Option<&mut Shift>,
    ) -> HashSet<ChainId> {
        let (mut changed, mut shifted) = (HashSet::new(), HashSet::new());
        for chain in stayed {
            let [other, others] = self.compare((chain, chain));
            changed.extend(other.then_some(chain));
            shifted.extend(others.then_some(chain));
        }
        if let Some(shift) = shift.filter(|_| !shifted.is_empty()) {
            let moved: HashSet<NodeId> = moved.iter().map(|it| it.node).collect();
            let mut supporting = [Supporting::new(self.before, self.was), Supporting::new(self.after, self.is)];
            for node in refolded.nodes(self.after, self.is, &shifted) {
                if !moved.contains(&node) && self.is.is_effective_target(self.after.world(), node) {
                    supporting[0].count(node, -1, shift);
                    supporting[1].count(node, 1, shift);
                }
            }
        }
        changed
    }

    /// The effective targets at which something else may be in force, on each side, and whether it is at any.
    fn changed(&self, targets: &[Target<'_>], mut shift: Option<&mut Shift>) -> ([Vec<NodeId>; 2], bool) {
        let mut pairs: HashMap<(ChainId, ChainId), [bool; 2]> = HashMap::new();
        let mut changed = [Vec::new(), Vec::new()];
        let mut unsure = [Vec::new(), Vec::new()];
        let mut supporting = [Supporting::new(self.before, self.was), Supporting::new(self.after, self.is)];
        let only = |set: Option<SetId>| match set.map(|set| self.is.chains_of(set)) {
            Some([(chain, _)]) => Some(*chain),
            _ => None,
        };
        for Target { moved, was, is } in targets {
            let stays = *was
                && *is
                && moved.cause != Cause::Ways
                && self.after.topology().namesakes(moved.node).next().is_none();
            let pair = only(moved.before).zip(only(moved.after)).filter(|_| stays);
            if let Some(pair) = pair {
                let [other, others] = *pairs.entry(pair).or_insert_with(|| self.compare(pair));
                if other {
                    changed.iter_mut().for_each(|changed| changed.push(moved.node));
                }
                if !others {
                    continue;
                }
            } else {
                unsure[0].extend(was.then_some(moved.node));
                unsure[1].extend(is.then_some(moved.node));
            }
            let Some(shift) = &mut shift else { continue };
            if *was {
                supporting[0].count(moved.node, -1, shift);
            }
            if *is {
                supporting[1].count(moved.node, 1, shift);
            }
        }
        self.add_namesakes(&mut unsure);
        let any = !changed[0].is_empty() || self.differ(&unsure);
        changed.iter_mut().zip(unsure).for_each(|(changed, mut unsure)| changed.append(&mut unsure));
        (changed, any)
    }

    /// Adds the nodes that have one name with some of these: scopes that end at them are told apart by nobody.
    fn add_namesakes(&self, nodes: &mut [Vec<NodeId>; 2]) {
        let sides = [(self.before, self.was), (self.after, self.is)];
        let namesakes = sides.map(|(engine, model)| {
            let namesakes = nodes.iter().flatten().flat_map(|node| engine.topology().namesakes(*node));
            namesakes.filter(|it| model.is_effective_target(engine.world(), *it)).collect::<Vec<_>>()
        });
        for (nodes, namesakes) in nodes.iter_mut().zip(namesakes) {
            nodes.extend(namesakes);
            nodes.sort_unstable();
            nodes.dedup();
        }
    }

    /// Whether something else is in force at some nodes after than at others before.
    fn differ(&self, nodes: &[Vec<NodeId>; 2]) -> bool {
        let engines = [self.before, self.after];
        let models = [self.was, self.is];
        let says = |side: usize| {
            let chains = nodes[side].iter().flat_map(|node| models[side].chains_at(engines[side].world(), *node));
            let chains: BTreeSet<ChainId> = chains.map(|(chain, _)| *chain).collect();
            chains.into_iter().filter(|chain| *chain != ChainId::EMPTY).any(|chain| {
                let effective = models[side].effective(engines[side].world(), chain);
                change("", [engines[side]; 2], None, Some(Arc::clone(effective))).is_some()
            })
        };
        match (says(0), says(1)) {
            (false, false) => false,
            (true, true) => !changes_at("", engines, models.map(Some), nodes.clone()).is_empty(),
            _ => true,
        }
    }

    /// Whether another chain means that something else is in force, and whether it means that others contribute, or from
    /// elsewhere.
    fn compare(&self, (before, after): (ChainId, ChainId)) -> [bool; 2] {
        let (was, is) = (self.was(before), self.is(after));
        if before == after && Arc::ptr_eq(was, is) {
            return [false, false];
        }
        let effect = |chain: ChainId, it: &Arc<Effective>| (chain != ChainId::EMPTY).then(|| Arc::clone(it));
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
            !same && change("", [self.before, self.after], effect(before, was), effect(after, is)).is_some()
        };
        let contributors = |it: &Effective| {
            it.outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy).collect::<Vec<_>>()
        };
        let standing = |model: &Model, chain| model.standing(chain);
        let others = contributors(was) != contributors(is) || standing(self.was, before) != standing(self.is, after);
        [is_other, others]
    }
}
