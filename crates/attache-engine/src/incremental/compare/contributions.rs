//! Which policies contribute to the scopes through a node. Contributions are counted for the nodes above all routes,
//! which are few but have many nodes below them. For all other nodes they are computed on demand.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::engine_view::EngineView;
use crate::kinds::Class;
use crate::model::{Model, stack_node};
use crate::policy::PolicyId;
use crate::topology::{Level, NodeId, NodeMap};

/// For each node above all routes, the policies on it or above it that contribute to scopes through it, each with the
/// number of scopes. A clone is cheap.
#[derive(Clone, Debug, Default)]
pub(in crate::incremental) struct ContributionCounts(NodeMap<Option<Arc<ScopesByPolicy>>>);

/// Policies, sorted, each with a number of scopes.
type ScopesByPolicy = Vec<(PolicyId, i64)>;

/// The policies that affect a node, before and after a batch.
#[derive(Clone, Debug)]
pub(in crate::incremental) struct TargetContributors {
    pub node: NodeId,
    pub before: Vec<PolicyId>,
    pub after: Vec<PolicyId>,
}

/// The number of scopes that contribution counts grow by.
pub(super) type ContributionDeltas = HashMap<(NodeId, PolicyId), i64>;

impl ContributionCounts {
    pub fn new(engine: &Engine) -> ContributionCounts {
        let mut deltas = ContributionDeltas::new();
        for model in engine.models() {
            let mut query = ContributionQuery::new(engine.view(), model);
            for target in model.effective_targets(engine.view()) {
                query.count(target, model.chains_at(engine.view(), target), 1, &mut deltas);
            }
            query.finish(&mut deltas);
        }
        let mut counts = ContributionCounts::default();
        counts.apply(deltas);
        counts
    }

    /// Nodes that share a reference with the given ones, and whose affecting policies did not change.
    pub(super) fn same_named(&self, view: EngineView<'_>, targets: &[TargetContributors]) -> Vec<TargetContributors> {
        let mut known: HashSet<NodeId> = targets.iter().map(|it| it.node).collect();
        let same_named = targets.iter().flat_map(|it| view.topology.same_named(it.node));
        let same_named = same_named.filter(|node| known.insert(*node));
        let unchanged = |node: NodeId| {
            let policies: Vec<PolicyId> = self.0.get(node)?.as_ref()?.iter().map(|(policy, _)| *policy).collect();
            Some(TargetContributors { node, before: policies.clone(), after: policies })
        };
        same_named.filter_map(unchanged).collect()
    }

    /// Applies the deltas. Returns the nodes whose affecting policies changed.
    pub(super) fn apply(&mut self, deltas: ContributionDeltas) -> Vec<TargetContributors> {
        let mut by_node: HashMap<NodeId, Vec<(PolicyId, i64)>> = HashMap::new();
        for ((node, policy), scopes) in deltas.into_iter().filter(|(_, scopes)| *scopes != 0) {
            by_node.entry(node).or_default().push((policy, scopes));
        }
        let policies = |counts: &[(PolicyId, i64)]| counts.iter().map(|(policy, _)| *policy).collect::<Vec<_>>();
        let mut changed = Vec::new();
        for (node, deltas) in by_node {
            let entry = self.0.entry(node);
            let counts = Arc::make_mut(entry.get_or_insert_default());
            let before = policies(counts);
            for (policy, scopes) in deltas {
                match counts.binary_search_by_key(&policy, |(policy, _)| *policy) {
                    Err(at) => counts.insert(at, (policy, scopes)),
                    Ok(at) => counts[at].1 += scopes,
                }
            }
            counts.retain(|(_, scopes)| *scopes != 0);
            let after = policies(counts);
            if counts.is_empty() {
                *entry = None;
            }
            if before != after {
                changed.push(TargetContributors { node, before, after });
            }
        }
        changed.sort_by_key(|it| it.node);
        changed
    }
}

/// Whether contributions are counted for a node: whether it is above all routes.
fn is_counted(view: EngineView<'_>, node: NodeId) -> bool {
    is_counted_level(view.topology[node].level)
}

fn is_counted_level(level: Level) -> bool {
    use Level::*;
    matches!(level, GatewayClass | Namespace | Gateway | ListenerSet | Listener)
}

/// The targets and the nodes above them for which contributions are not counted.
pub(in crate::incremental) fn uncounted_nodes(
    view: EngineView<'_>,
    model: &Model,
    targets: impl Iterator<Item = NodeId>,
) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<NodeId> = targets.collect();
    while let Some(node) = todo.pop() {
        if view.topology.has(node) && !is_counted(view, node) && found.insert(node) {
            let parents = model.hierarchy().parent_edges(node).iter().filter_map(|edge| edge.parent);
            let ancestors = parents.chain(model.unlinked_ancestors(view, node));
            todo.extend(ancestors.chain(view.topology.same_named(node)));
        }
    }
    found
}

/// Paths, reduced to the nodes that matter for contributions: nodes with counts, and nodes with policies. Paths share
/// prefixes: each is another path extended by one node.
#[derive(Default)]
struct Paths {
    nodes: Vec<(PathId, NodeId)>,
    extended: HashMap<(PathId, NodeId), PathId>,
}

/// 1-based index into [`Paths`]; 0 is the empty path.
type PathId = usize;

impl Paths {
    const EMPTY: PathId = 0;

    /// The path extended by a node, or the path itself if it contains the node.
    fn extend(&mut self, path: PathId, node: NodeId) -> PathId {
        if self.nodes(path).any(|it| it == node) {
            return path;
        }
        *self.extended.entry((path, node)).or_insert_with(|| {
            self.nodes.push((path, node));
            self.nodes.len()
        })
    }

    /// The nodes of a path, from its end.
    fn nodes(&self, mut path: PathId) -> impl Iterator<Item = NodeId> {
        std::iter::from_fn(move || {
            let (shorter, node) = *self.nodes.get(path.checked_sub(1)?)?;
            path = shorter;
            Some(node)
        })
    }
}

/// Counts contributions to the scopes of one kind. Most scopes share their chain and their path with others, so scopes are
/// counted by these first.
pub(super) struct ContributionQuery<'e> {
    view: EngineView<'e>,
    model: &'e Model,
    paths: Paths,
    /// The only path to each counted node that was visited. `None` if there are several.
    counted: HashMap<NodeId, Option<PathId>>,
    /// The only path to the last parent that was visited. Targets with the same parent follow each other.
    last_parent: Option<(NodeId, Option<PathId>)>,
    scopes: HashMap<(PathId, ChainId), i64>,
}

impl<'e> ContributionQuery<'e> {
    pub fn new(view: EngineView<'e>, model: &'e Model) -> Self {
        ContributionQuery {
            view,
            model,
            paths: Paths::default(),
            counted: HashMap::new(),
            last_parent: None,
            scopes: HashMap::new(),
        }
    }

    /// Counts the scopes that end at a target with these chains, each `times`.
    pub fn count(&mut self, target: NodeId, chains: &[(ChainId, u64)], times: i64, deltas: &mut ContributionDeltas) {
        let (model, view) = (self.model, self.view);
        // A Direct policy affects its target only.
        if model.kind.class == Class::Direct && !is_counted(view, target) {
            return;
        }
        let chain = match *chains {
            [(ChainId::EMPTY, _)] => return,
            [(chain, 1)] => Some(chain),
            _ => None,
        };
        match chain.and_then(|chain| Some((self.single_path(target)?, chain))) {
            Some(scope) => *self.scopes.entry(scope).or_default() += times,
            None => model.scopes(view, target, &mut |scope| self.add_scopes(&scope.nodes, scope.chain, times, deltas)),
        }
    }

    /// Adds the counts to the deltas.
    pub fn finish(self, deltas: &mut ContributionDeltas) {
        let mut nodes = Vec::new();
        for ((path, chain), scopes) in self.scopes.iter() {
            nodes.clear();
            nodes.extend(self.paths.nodes(*path));
            nodes.reverse();
            self.add_scopes(&nodes, *chain, *scopes, deltas);
        }
    }

    /// The path to a node, if there is exactly one.
    fn single_path(&mut self, node: NodeId) -> Option<PathId> {
        let (model, view) = (self.model, self.view);
        let level = view.topology[node].level;
        if is_counted_level(level) {
            if let Some(known) = self.counted.get(&node) {
                return *known;
            }
            let mut nodes = Vec::new();
            let is_single = model.single_path(view, node, &mut nodes);
            let extend = |path, node| self.paths.extend(path, node);
            let path = is_single.then(|| nodes.into_iter().fold(Paths::EMPTY, extend));
            self.counted.insert(node, path);
            return path;
        }
        let entry = model.hierarchy().entry(node)?;
        let [edge] = entry.parent_edges() else { return None };
        let mut path = match edge.parent {
            Some(parent) => self.single_path_of_parent(parent)?,
            None => Paths::EMPTY,
        };
        let has_policies = |node: NodeId| model.stack(stack_node(view, node)).is_some();
        // A path from a node of the same Namespaces contains them already.
        if entry.is_entrance {
            let matters = |node: &NodeId| is_counted(view, *node) || has_policies(*node);
            let ancestors = model.unlinked_ancestors(view, node).filter(matters);
            path = ancestors.fold(path, |path, node| self.paths.extend(path, node));
        }
        Some(if has_policies(node) { self.paths.extend(path, node) } else { path })
    }

    fn single_path_of_parent(&mut self, parent: NodeId) -> Option<PathId> {
        if let Some((_, known)) = self.last_parent.filter(|(last, _)| *last == parent) {
            return known;
        }
        let path = self.single_path(parent);
        self.last_parent = Some((parent, path));
        path
    }

    /// Adds scopes with a path and a chain to the counted nodes of the path, from the node of each contributor on.
    fn add_scopes(&self, nodes: &[NodeId], chain: ChainId, scopes: i64, deltas: &mut ContributionDeltas) {
        if chain == ChainId::EMPTY || scopes == 0 {
            return;
        }
        let (model, view) = (self.model, self.view);
        let whole = |node: &NodeId| view.topology.whole(*node);
        let can_be_affected =
            |node: &&NodeId| model.kind.class == Class::Inherited || Some(whole(node)) == nodes.last().map(whole);
        let outcomes = model.effective(view, chain).outcomes.iter();
        for policy in outcomes.filter(|(_, outcome)| outcome.contributes).map(|(policy, _)| *policy) {
            let is_on = |node: &NodeId| {
                let stack = model.stack(stack_node(view, *node));
                stack.is_some_and(|stack| stack.accepted.iter().any(|it| it.policy == policy))
            };
            let affected = nodes.iter().filter(can_be_affected).skip_while(|node| !is_on(node));
            for node in affected.filter(|node| is_counted(view, **node)) {
                *deltas.entry((*node, policy)).or_default() += scopes;
            }
        }
    }
}
