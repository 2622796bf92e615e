//! Scopes: the paths along which policies apply together, which of them a question concerns, and which have the same
//! answer.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;

use attache_engine::kinds::{InheritancePaths, KindId, PolicyKind};
use attache_engine::{ChainId, EffectivePolicy, Engine, Link};
use attache_engine::{Level, Model, NodeId, NodeRef, Scope};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;

use crate::error::QueryError;
use crate::object_query::ObjectQuery;
use crate::snapshot::Snapshot;

/// A scope: a path of nodes from a root, such as a GatewayClass, to an effective target, such as a backend. The
/// policies along the path are merged for its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ScopeDocument {
    /// The nodes, from the root to the effective target.
    pub scope: Vec<NodeRef>,
    /// The Namespace whose requests the scope is for. `None` means all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeRef>,
}

impl ScopeDocument {
    pub(crate) fn new(snapshot: &Snapshot, scope: &Scope) -> ScopeDocument {
        ScopeDocument { scope: snapshot.node_refs(&scope.nodes), from: scope.from.map(|it| snapshot.node_ref(it)) }
    }

    /// The path on one line. Namespaces, and objects that are followed by one of their sections, are left out.
    pub fn path(&self) -> String {
        let is_shown = |at: usize, node: &NodeRef| {
            let next = self.scope.get(at + 1);
            let section_follows = next.is_some_and(|next| next.section.is_some() && next.object == node.object);
            let is_namespace = node.object.kind == "Namespace" && node.object.group.is_empty();
            !section_follows && (!is_namespace || self.scope.len() == 1)
        };
        let shown = self.scope.iter().enumerate().filter(|(at, node)| is_shown(*at, node));
        shown.map(|(_, node)| node.to_string()).collect::<Vec<_>>().join(" > ")
    }
}

/// The path, and the Namespace whose requests it is for.
impl fmt::Display for ScopeDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())?;
        self.from.as_ref().map_or(Ok(()), |from| write!(f, " (from {from})"))
    }
}

/// The effective targets that an answer applies to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Extent {
    /// The number of scopes.
    pub scopes: u64,
    /// The number of effective targets.
    pub target_count: usize,
    /// The kind of the targets, if all have the same: `Service`, `HTTPRoute rule`.
    pub target_kind: Option<String>,
    /// The first targets.
    pub places: Vec<TargetOrPath>,
    /// The number of targets in `places`.
    pub shown: usize,
    /// The Namespace whose requests the answer is for. `None` means all requests.
    pub from: Option<NodeRef>,
    /// Whether requests reach the targets. If not, the answer is what would be in force.
    pub reached: bool,
}

/// A target, or one of the paths to a target whose answer depends on the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TargetOrPath {
    /// Every path to the target.
    Target(NodeRef),
    /// One path.
    Path(ScopeDocument),
}

impl fmt::Display for TargetOrPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetOrPath::Target(target) => target.fmt(f),
            TargetOrPath::Path(scope) => scope.fmt(f),
        }
    }
}

/// The part of the topology that a question concerns.
#[derive(Clone, Debug)]
pub(crate) enum Focus {
    /// Every effective target, in one namespace or in all.
    Everything { namespace: Option<String> },
    /// What everything below these nodes inherits from them.
    At(Vec<NodeId>),
    /// The effective targets at these nodes or below them, for requests that pass through the nodes.
    Through(Vec<NodeId>),
}

/// Scopes with the same chain: they have the same effective policy.
#[derive(Clone, Debug)]
pub(crate) struct ScopeGroup {
    pub chain: ChainId,
    pub scopes: u64,
    /// The effective targets, each once.
    pub targets: Vec<NodeId>,
}

/// Scopes grouped by chain, in the order in which chains are found.
#[derive(Debug, Default)]
pub(crate) struct ScopeGroups {
    groups: Vec<ScopeGroup>,
    by_chain: HashMap<ChainId, usize>,
}

impl ScopeGroups {
    /// Adds scopes that end at a target.
    pub fn add(&mut self, chain: ChainId, scopes: u64, target: NodeId) {
        let at = *self.by_chain.entry(chain).or_insert(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(ScopeGroup { chain, scopes: 0, targets: Vec::new() });
        }
        let group = &mut self.groups[at];
        group.scopes = group.scopes.saturating_add(scopes);
        if group.targets.last() != Some(&target) {
            group.targets.push(target);
        }
    }

    /// The groups that have policies.
    pub fn with_policies(self, snapshot: &Snapshot, model: &Model) -> Vec<ScopeGroup> {
        let has_policies = |group: &ScopeGroup| {
            group.chain != ChainId::EMPTY && has_content(model.effective(snapshot.engine.view(), group.chain))
        };
        self.groups.into_par_iter().filter(has_policies).collect()
    }
}

impl ScopeGroup {
    /// The targets of the group, with the names of at most `most` targets, or one more.
    pub fn extent(&self, snapshot: &Snapshot, model: &Model, most: usize) -> Extent {
        let shown = cut(self.targets.len(), most);
        let places = self.targets[..shown].iter().flat_map(|target| self.places(snapshot, model, *target, most));
        Extent {
            scopes: self.scopes,
            target_count: self.targets.len(),
            target_kind: common_kind(snapshot, &self.targets),
            places: places.collect(),
            shown,
            from: consumer(model, self.chain).map(|namespace| snapshot.node_ref(namespace)),
            reached: is_reached(snapshot, &self.targets),
        }
    }

    /// The same with targets only, whether or not their answers depend on the paths to them.
    pub fn extent_of_targets(&self, snapshot: &Snapshot, model: &Model, most: usize) -> Extent {
        let shown = cut(self.targets.len(), most);
        let places = self.targets[..shown].iter().map(|target| TargetOrPath::Target(snapshot.node_ref(*target)));
        Extent { places: places.collect(), shown, ..self.extent(snapshot, model, 0) }
    }

    /// A target or, if its answer depends on the path, the paths of this group to it.
    fn places(&self, snapshot: &Snapshot, model: &Model, target: NodeId, most: usize) -> Vec<TargetOrPath> {
        let view = snapshot.engine.view();
        let mut paths = Vec::new();
        if model.chains_at(view, target).len() > 1 {
            model.scopes(view, target, &mut |scope| {
                if scope.chain == self.chain {
                    // The heading names the namespace that requests come from.
                    paths.push(TargetOrPath::Path(ScopeDocument {
                        scope: snapshot.node_refs(&scope.nodes),
                        from: None,
                    }));
                }
            });
        }
        match paths.len() {
            1.. if paths.len() <= most => paths,
            _ => vec![TargetOrPath::Target(snapshot.node_ref(target))],
        }
    }
}

/// The kind of nodes, if all have the same: `Service`, `HTTPRoute rule`.
pub(crate) fn common_kind(snapshot: &Snapshot, nodes: &[NodeId]) -> Option<String> {
    let mut kinds = BTreeSet::new();
    for node in nodes {
        kinds.insert(snapshot.node_kind(*node));
        if kinds.len() > 1 {
            return None;
        }
    }
    kinds.pop_first()
}

/// The number of lines to show, of `count`, if `most` are wanted: one more, if it is the last one. A line that says
/// `and 1 more` would take as much room as the line it replaces.
pub fn cut(count: usize, most: usize) -> usize {
    if count.saturating_sub(1) <= most { count } else { most }
}

impl Focus {
    /// The nodes of the object that it is about, if there is one.
    pub fn nodes(&self) -> &[NodeId] {
        match self {
            Focus::Everything { .. } => &[],
            Focus::At(nodes) | Focus::Through(nodes) => nodes,
        }
    }

    /// The focus of a query. Without an object, it is everything.
    pub fn find(
        snapshot: &Snapshot,
        object: Option<&ObjectQuery>,
        namespace: Option<&str>,
    ) -> Result<Focus, QueryError> {
        match object {
            None => Ok(Focus::Everything { namespace: namespace.map(str::to_owned) }),
            Some(object) => Ok(Focus::on(snapshot, &snapshot.find(object, namespace)?)),
        }
    }

    /// For a route, rule or backend: the policies on requests that pass through it. For everything above routes: what
    /// objects below it inherit if they have no policies of their own. For a Namespace: the policies in it.
    pub fn on(snapshot: &Snapshot, object: &NodeRef) -> Focus {
        let nodes = snapshot.nodes(object);
        let level = |node: &NodeId| snapshot.engine.topology()[*node].level;
        if nodes.iter().any(|node| level(node) == Level::Namespace) {
            return Focus::Everything { namespace: Some(object.object.name.to_string()) };
        }
        if nodes.iter().any(|node| level(node) >= Level::Route) { Focus::Through(nodes) } else { Focus::At(nodes) }
    }

    /// The models of the policy kinds with a name, or of all, restricted to the focus.
    pub fn models(&self, snapshot: &Snapshot, name: Option<&str>) -> Result<Vec<Model>, QueryError> {
        let engine = &snapshot.engine;
        let kinds = snapshot.kinds(name)?.into_iter().map(|(id, _)| engine.kinds().leader(id));
        let leaders: BTreeSet<KindId> = kinds.collect();
        let among = |mut models: Vec<Model>| {
            models.retain(|model| leaders.contains(&model.id));
            models
        };
        Ok(match self {
            Focus::Everything { .. } if name.is_none() => engine.models().to_vec(),
            Focus::Everything { .. } => leaders.iter().filter_map(|kind| engine.model(*kind)).cloned().collect(),
            Focus::At(nodes) => among(engine.models_at(nodes.iter().copied())),
            Focus::Through(nodes) => among(engine.models_at(engine.topology().below(nodes.iter().copied()))),
        })
    }

    /// Calls `found` with every scope of one kind.
    pub fn for_each_scope(&self, snapshot: &Snapshot, model: &Model, found: &mut impl FnMut(Scope)) {
        _ = self.try_each_scope(snapshot, model, &mut |scope| {
            found(scope);
            ControlFlow::Continue(())
        });
    }

    /// As [`Focus::for_each_scope`], until `found` breaks.
    pub fn try_each_scope(
        &self,
        snapshot: &Snapshot,
        model: &Model,
        found: &mut impl FnMut(Scope) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let view = snapshot.engine.view();
        let all = |_: NodeId| true;
        match self {
            Focus::Everything { namespace } => targets_in(snapshot, model, namespace.as_deref())
                .try_for_each(|target| model.try_scopes_within(view, target, &all, found)),
            Focus::At(nodes) => nodes.iter().try_for_each(|node| model.try_scopes_within(view, *node, &all, found)),
            Focus::Through(nodes) => {
                let topology = snapshot.engine.topology();
                let (above, below) = (topology.above(nodes.iter().copied()), topology.below(nodes.iter().copied()));
                // A label can place a Gateway in front of a Service.
                let is_gateway = |node: NodeId| topology[node].level <= Level::Gateway;
                let is_on_path = |node: NodeId| below.contains(&node) || above.contains(&node) || is_gateway(node);
                targets_below(snapshot, model, nodes).into_iter().try_for_each(|target| {
                    model.try_scopes_within(view, target, &is_on_path, &mut |scope| match scope
                        .nodes
                        .iter()
                        .any(|node| nodes.contains(node))
                    {
                        true => found(scope),
                        false => ControlFlow::Continue(()),
                    })
                })
            }
        }
    }

    /// The scopes of one kind that have policies, grouped by chain.
    pub fn groups(&self, snapshot: &Snapshot, model: &Model) -> Vec<ScopeGroup> {
        let mut groups = ScopeGroups::default();
        if let Focus::Everything { namespace } = self {
            // Counted, not listed: a hundred thousand scopes may have three answers.
            for target in targets_in(snapshot, model, namespace.as_deref()) {
                for (chain, scopes) in model.chains_at(snapshot.engine.view(), target) {
                    groups.add(*chain, *scopes, target);
                }
            }
        } else {
            self.for_each_scope(snapshot, model, &mut |scope| {
                if let Some(target) = scope.end() {
                    groups.add(scope.chain, 1, target);
                }
            });
        }
        groups.with_policies(snapshot, model)
    }
}

/// The effective targets of one kind in a namespace, or in all.
pub(crate) fn targets_in<'s>(
    snapshot: &'s Snapshot,
    model: &'s Model,
    namespace: Option<&'s str>,
) -> impl Iterator<Item = NodeId> + 's {
    model.effective_targets(snapshot.engine.view()).filter(move |node| snapshot.is_in(*node, namespace))
}

/// The effective targets at `nodes` or below them. If there are none, the nodes.
pub(crate) fn targets_below(snapshot: &Snapshot, model: &Model, nodes: &[NodeId]) -> Vec<NodeId> {
    let (view, topology) = (snapshot.engine.view(), snapshot.engine.topology());
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut todo = nodes.to_vec();
    while let Some(node) = todo.pop() {
        if !seen.insert(node) {
            continue;
        }
        if model.is_effective_target(view, node) {
            found.push(node);
        }
        todo.extend(topology.children(node));
    }
    if found.is_empty() {
        return nodes.to_vec();
    }
    found.sort_unstable();
    found
}

/// Whether requests reach one of the ends of some scopes. What is above routes hands its policies down, whether or not there
/// are routes.
pub(crate) fn is_reached(snapshot: &Snapshot, ends: &[NodeId]) -> bool {
    let topology = snapshot.engine.topology();
    ends.iter().any(|end| topology[*end].level < Level::Route || topology.live(*end))
}

/// Whether a route leads to a node. Only backends can be without any: requests reach those directly or through a mesh.
pub(crate) fn is_routed(engine: &Engine, node: NodeId) -> bool {
    let topology = engine.topology();
    if !matches!(topology[node].level, Level::Backend | Level::BackendPort) {
        return true;
    }
    let whole = topology.whole(node);
    let mut parents = std::iter::once(whole).chain(topology.sections(whole)).flat_map(|part| topology.parents(part));
    parents.any(|parent| topology[*parent].level == Level::RouteRule && topology.live(*parent))
}

/// Whether policies of a kind are for requests that routes lead to a backend.
pub(crate) fn follows_routes(kind: &PolicyKind) -> bool {
    kind.hierarchy.paths == InheritancePaths::Topology
}

/// The Namespace whose requests a chain is for, if it is not for all.
pub(crate) fn consumer(model: &Model, chain: ChainId) -> Option<NodeId> {
    model.links(chain).find_map(Link::consumer)
}

/// Whether an effective policy sets any value, or any value lost.
pub(crate) fn has_content(effective: &EffectivePolicy) -> bool {
    effective.spec.is_some() || !effective.applied.is_empty() || !effective.superseded.is_empty()
}
