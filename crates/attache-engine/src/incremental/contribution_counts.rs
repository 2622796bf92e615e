//! Who contributes to what lies below: counted for what stands above all routes, of which there is little and under
//! which there is much; found for everything else when somebody asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::engine_view::EngineView;
use crate::kinds::Class;
use crate::model::{Model, stack_node};
use crate::policy::PolicyId;
use crate::topology::{Level, NodeId};

/// For each node above all routes the policies that contribute to scopes through it, as far as they stand at it or
/// above, and to how many.
#[derive(Debug, Default)]
pub struct ContributionCounts(HashMap<NodeId, Vec<(PolicyId, i64)>>);

/// Who affects a node, before and after.
#[derive(Clone, Debug)]
pub struct TargetContributions {
    pub node: NodeId,
    pub before: Vec<PolicyId>,
    pub after: Vec<PolicyId>,
}

/// How many scopes more.
pub type Shift = HashMap<(NodeId, PolicyId), i64>;

impl ContributionCounts {
    pub fn of(engine: &Engine) -> ContributionCounts {
        let mut shift = Shift::new();
        for model in engine.models() {
            let mut supporting = ContributionQuery::new(engine, model);
            for target in model.effective_targets(engine.view()) {
                supporting.count(target, model.chains_at(engine.view(), target), 1, &mut shift);
            }
            supporting.finish(&mut shift);
        }
        let mut contribution_counts = ContributionCounts::default();
        contribution_counts.apply(shift);
        contribution_counts
    }

    /// Those that have one name with others, and are affected as before.
    pub fn same_named(&self, engine: &Engine, affected: &[TargetContributions]) -> Vec<TargetContributions> {
        let mut known: HashSet<NodeId> = affected.iter().map(|it| it.node).collect();
        let same_named = affected.iter().flat_map(|it| engine.topology().same_named(it.node));
        let same_named = same_named.filter(|it| known.insert(*it));
        let same = |node: NodeId| {
            let policies: Vec<PolicyId> = self.0.get(&node)?.iter().map(|(policy, _)| *policy).collect();
            Some(TargetContributions { node, before: policies.clone(), after: policies })
        };
        same_named.filter_map(same).collect()
    }

    /// Makes the changes, and tells the nodes that others affect now.
    pub fn apply(&mut self, shift: Shift) -> Vec<TargetContributions> {
        let mut by_node: HashMap<NodeId, Vec<(PolicyId, i64)>> = HashMap::new();
        for ((node, policy), count) in shift.into_iter().filter(|(_, count)| *count != 0) {
            by_node.entry(node).or_default().push((policy, count));
        }
        let names = |contribution_counts: &[(PolicyId, i64)]| {
            contribution_counts.iter().map(|(policy, _)| *policy).collect::<Vec<_>>()
        };
        let mut changed = Vec::new();
        for (node, shifts) in by_node {
            let contribution_counts = self.0.entry(node).or_default();
            let before = names(contribution_counts);
            for (policy, count) in shifts {
                match contribution_counts.binary_search_by_key(&policy, |(policy, _)| *policy) {
                    Err(at) => contribution_counts.insert(at, (policy, count)),
                    Ok(at) => contribution_counts[at].1 += count,
                }
            }
            contribution_counts.retain(|(_, count)| *count != 0);
            let after = names(contribution_counts);
            if contribution_counts.is_empty() {
                self.0.remove(&node);
            }
            if before != after {
                changed.push(TargetContributions { node, before, after });
            }
        }
        changed.sort_by_key(|it| it.node);
        changed
    }
}

/// Whether a node stands above all routes.
fn is_above_routes(view: EngineView<'_>, node: NodeId) -> bool {
    is_above(view.topology[node].level)
}

fn is_above(level: Level) -> bool {
    use Level::*;
    matches!(level, GatewayClass | Namespace | Gateway | ListenerSet | Listener)
}

/// The nodes that others may affect if others contribute to what is in force at some effective targets: those and what
/// is above them, as far as nothing is counted for it.
pub fn uncounted(view: EngineView<'_>, model: &Model, targets: impl Iterator<Item = NodeId>) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<NodeId> = targets.collect();
    while let Some(node) = todo.pop() {
        if view.topology.has(node) && !is_above_routes(view, node) && found.insert(node) {
            let parents = model.hierarchy().arrivals(node).iter().filter_map(|arrival| arrival.parent);
            todo.extend(parents.chain(model.above(view, node)).chain(view.topology.same_named(node)));
        }
    }
    found
}

/// Ways, as far as they matter to what stands above all routes: nodes there, with all above them, and Namespaces further
/// down, between those that have policies. Each is a longer one than another by one node.
#[derive(Default)]
struct Ways {
    nodes: Vec<(Way, NodeId)>,
    longer: HashMap<(Way, NodeId), Way>,
}

/// How many of the ways come before it, and it; none is the one with no nodes.
type Way = usize;

impl Ways {
    /// The way that goes on to a node, if it was not there before.
    fn on(&mut self, way: Way, node: NodeId) -> Way {
        if self.along(way).any(|it| it == node) {
            return way;
        }
        *self.longer.entry((way, node)).or_insert_with(|| {
            self.nodes.push((way, node));
            self.nodes.len()
        })
    }

    /// The nodes of a way, from its end.
    fn along(&self, mut way: Way) -> impl Iterator<Item = NodeId> {
        std::iter::from_fn(move || {
            let (before, node) = *self.nodes.get(way.checked_sub(1)?)?;
            way = before;
            Some(node)
        })
    }
}

/// Counts who contributes where, remembering what chains and ways have in common.
pub struct ContributionQuery<'e> {
    engine: &'e Engine,
    model: &'e Model,
    contributors: HashMap<ChainId, Arc<[PolicyId]>>,
    ways: Ways,
    /// The only way to a node that has something below it, if there is but one.
    to: HashMap<NodeId, Option<Way>>,
    counts: HashMap<(Way, ChainId), i64>,
}

impl<'e> ContributionQuery<'e> {
    pub fn new(engine: &'e Engine, model: &'e Model) -> Self {
        ContributionQuery {
            engine,
            model,
            contributors: HashMap::new(),
            ways: Ways::default(),
            to: HashMap::new(),
            counts: HashMap::new(),
        }
    }

    /// Counts the scopes that end at a target, at which these chains are met.
    pub fn count(&mut self, target: NodeId, chains: &[(ChainId, u64)], count: i64, shift: &mut Shift) {
        let (model, view) = (self.model, self.engine.view());
        // What a Direct policy says on another object above is not passed down.
        if model.kind.class == Class::Direct && !is_above_routes(view, target) {
            return;
        }
        let chain = match *chains {
            [(ChainId::EMPTY, _)] => return,
            [(chain, 1)] => Some(chain),
            _ => None,
        };
        match chain.and_then(|chain| Some((self.way(target)?, chain))) {
            Some(only) => *self.counts.entry(only).or_default() += count,
            None => model.scopes(view, target, &mut |scope| self.along(&scope.nodes, scope.chain, count, shift)),
        }
    }

    /// Puts down what was counted.
    pub fn finish(mut self, shift: &mut Shift) {
        for ((way, chain), count) in std::mem::take(&mut self.counts) {
            let mut nodes: Vec<NodeId> = self.ways.along(way).collect();
            nodes.reverse();
            self.along(&nodes, chain, count, shift);
        }
    }

    /// The way to a node, if there is but one.
    fn way(&mut self, node: NodeId) -> Option<Way> {
        let (model, view) = (self.model, self.engine.view());
        let level = view.topology[node].level;
        if is_above(level) {
            let mut nodes = Vec::new();
            let is_only = model.only_way(view, node, &mut nodes);
            return is_only.then(|| nodes.into_iter().fold(0, |way, node| self.ways.on(way, node)));
        }
        let place = model.hierarchy().place(node)?;
        let [arrival] = place.arrivals() else { return None };
        let mut way = match arrival.parent {
            Some(parent) => self.way_by(parent)?,
            None => 0,
        };
        let has_policies = |node: NodeId| model.stack(stack_node(view, node)).is_some();
        // Who comes from a node of the same Namespaces has been there.
        if place.is_entrance {
            let counts = |it: &NodeId| is_above_routes(view, *it) || has_policies(*it);
            way = model.above(view, node).filter(counts).fold(way, |way, node| self.ways.on(way, node));
        }
        Some(if has_policies(node) { self.ways.on(way, node) } else { way })
    }

    fn way_by(&mut self, parent: NodeId) -> Option<Way> {
        if let Some(known) = self.to.get(&parent) {
            return *known;
        }
        let way = self.way(parent);
        self.to.insert(parent, way);
        way
    }

    fn contributors(&mut self, chain: ChainId) -> Arc<[PolicyId]> {
        let ContributionQuery { engine, model, contributors, .. } = self;
        let found = contributors.entry(chain).or_insert_with(|| {
            let outcomes = &model.effective(engine.view(), chain).outcomes;
            outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy).collect()
        });
        Arc::clone(found)
    }

    fn along(&mut self, nodes: &[NodeId], chain: ChainId, count: i64, shift: &mut Shift) {
        if chain == ChainId::EMPTY || count == 0 {
            return;
        }
        let (model, view) = (self.model, self.engine.view());
        let whole = |node: &NodeId| view.topology.whole(*node);
        let concerns =
            |node: &&NodeId| model.kind.class == Class::Inherited || Some(whole(node)) == nodes.last().map(whole);
        for &policy in self.contributors(chain).iter() {
            let is_on = |node: &NodeId| {
                let stack = model.stack(stack_node(view, *node));
                stack.is_some_and(|stack| stack.accepted.iter().any(|it| it.policy == policy))
            };
            let affected = nodes.iter().filter(concerns).skip_while(|node| !is_on(node));
            for node in affected.filter(|node| is_above_routes(view, **node)) {
                *shift.entry((*node, policy)).or_default() += count;
            }
        }
    }
}
