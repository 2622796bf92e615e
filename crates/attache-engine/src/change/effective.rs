//! Which scopes have a changed effective policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::{ChangedTargets, EffectiveChange, ScopeRef, leaf_changes};
use crate::chain::ChainId;
use crate::engine::Engine;
use crate::engine_view::EngineView;
use crate::model::{Model, NodeMapping};
use crate::object::GroupKind;
use crate::topology::{NodeId, NodeRef};

/// Compares all effective policies of two engines.
pub(crate) fn effective_changes(before: &Engine, after: &Engine) -> Vec<EffectiveChange> {
    let mut kinds: BTreeMap<GroupKind, [Option<&Model>; 2]> = BTreeMap::new();
    for (side, engine) in [before, after].into_iter().enumerate() {
        for model in engine.models() {
            kinds.entry(model.group_kind()).or_default()[side] = Some(model);
        }
    }
    let views = [before.view(), after.view()];
    let mapping = NodeMapping::new(before.view(), after.view());
    let have_same_kinds = before.kinds().iter().eq(after.kinds().iter());
    let changes_of_kind = |(_, models): (GroupKind, [Option<&Model>; 2])| {
        let unchanged = match models {
            [Some(before), Some(after)] if have_same_kinds => unchanged_nodes(views, [before, after], &mapping),
            _ => Default::default(),
        };
        let targets = [0, 1].map(|side| {
            let all = models[side].into_iter().flat_map(|model| model.effective_targets(views[side]));
            all.filter(|target| !unchanged[side].contains(target)).collect()
        });
        changes_at(views, models, targets)
    };
    kinds.into_iter().flat_map(changes_of_kind).collect()
}

/// Compares the effective policies of one kind at some effective targets of each side.
pub(crate) fn changes_at(
    views: [EngineView<'_>; 2],
    models: [Option<&Model>; 2],
    targets: [Vec<NodeId>; 2],
) -> Vec<EffectiveChange> {
    let Some(policy_kind) = models[1].or(models[0]).map(Model::group_kind) else { return Vec::new() };
    let mut nodes = SharedNodes::default();
    let mut scopes: HashMap<NumberedScope, ChainPair> = HashMap::new();
    for side in 0..2 {
        let Some(model) = models[side] else { continue };
        for target in &targets[side] {
            model.scopes(views[side], *target, &mut |scope| {
                let mut number = |node| nodes.number(views[side], side, node);
                let numbered = (scope.nodes.iter().map(|node| number(*node)).collect(), scope.from.map(&mut number));
                scopes.entry(numbered).or_default()[side] = Some(scope.chain);
            });
        }
    }
    // Most scopes share their chains with other scopes.
    let mut changes: HashMap<ChainPair, Option<EffectiveChange>> = HashMap::new();
    for chains in scopes.values() {
        changes.entry(*chains).or_insert_with(|| {
            let [before, after] = [0, 1].map(|side| {
                let (model, chain) = (models[side]?, chains[side]?);
                (chain != ChainId::EMPTY).then(|| Arc::clone(model.effective(views[side], chain)))
            });
            let leaves = leaf_changes(views, [before.as_deref(), after.as_deref()])?;
            Some(EffectiveChange { policy_kind: policy_kind.clone(), scopes: Vec::new(), before, after, leaves })
        });
    }
    scopes.retain(|_, chains| changes.get(chains).is_some_and(Option::is_some));
    let changed = nodes.sort(scopes);
    let mut groups: Vec<EffectiveChange> = Vec::new();
    let mut group_of: HashMap<ChainPair, usize> = HashMap::new();
    for (scope, chains) in changed {
        let group = *group_of.entry(chains).or_insert_with(|| {
            groups.extend(changes.remove(&chains).flatten());
            groups.len() - 1
        });
        groups[group].scopes.push(scope);
    }
    groups
}

/// Compares the effective policies of one kind at effective targets that have one chain on each side, and the same scopes.
pub(crate) fn changes_of_targets(
    views: [EngineView<'_>; 2],
    models: [&Model; 2],
    targets: impl IntoIterator<Item = NodeId>,
) -> Vec<ChangedTargets> {
    let mut groups: Vec<ChangedTargets> = Vec::new();
    let mut group_of: HashMap<[ChainId; 2], Option<usize>> = HashMap::new();
    for target in targets {
        let [before, after] = [0, 1].map(|side| models[side].chains_at(views[side], target));
        let ([(before, _), ..], [(after, scopes), ..]) = (before, after) else { continue };
        let group = group_of.entry([*before, *after]).or_insert_with_key(|chains| {
            let effective = [0, 1].map(|side| {
                (chains[side] != ChainId::EMPTY).then(|| &**models[side].effective(views[side], chains[side]))
            });
            let leaves = leaf_changes(views, effective)?;
            groups.push(ChangedTargets { policy_kind: models[1].group_kind(), targets: Vec::new(), scopes: 0, leaves });
            Some(groups.len() - 1)
        });
        if let Some(group) = group.and_then(|group| groups.get_mut(group)) {
            group.targets.push(target);
            group.scopes = group.scopes.saturating_add(*scopes);
        }
    }
    groups
}

/// The chain of a scope before and after the change.
type ChainPair = [Option<ChainId>; 2];

/// A scope by the numbers that [`SharedNodes`] gives to its nodes.
type NumberedScope = (Box<[u32]>, Option<u32>);

/// Numbers for nodes, the same for nodes of both sides that have the same reference.
#[derive(Default)]
struct SharedNodes {
    refs: Vec<Arc<NodeRef>>,
    numbers: HashMap<Arc<NodeRef>, u32>,
    by_id: [HashMap<NodeId, u32>; 2],
}

impl SharedNodes {
    fn number(&mut self, view: EngineView<'_>, side: usize, node: NodeId) -> u32 {
        let SharedNodes { refs, numbers, by_id } = self;
        *by_id[side].entry(node).or_insert_with(|| {
            let node = Arc::new(view.node_ref(node));
            *numbers.entry(node).or_insert_with_key(|node| {
                refs.push(Arc::clone(node));
                refs.len() as u32 - 1
            })
        })
    }

    /// The scopes with the references of their nodes, sorted.
    fn sort(self, scopes: HashMap<NumberedScope, ChainPair>) -> Vec<(ScopeRef, ChainPair)> {
        // References are long, and most scopes share most of theirs: each is compared once, and then only numbers are.
        let mut order: Vec<u32> = (0..self.refs.len() as u32).collect();
        order.sort_unstable_by_key(|number| &self.refs[*number as usize]);
        let mut ranks = vec![0; order.len()];
        (0..).zip(&order).for_each(|(rank, number)| ranks[*number as usize] = rank);
        let rank = |number: u32| ranks[number as usize];
        let ranked = |(nodes, from): NumberedScope| -> NumberedScope {
            (nodes.iter().map(|number| rank(*number)).collect(), from.map(rank))
        };
        let mut sorted: Vec<(NumberedScope, ChainPair)> =
            scopes.into_iter().map(|(scope, chains)| (ranked(scope), chains)).collect();
        sorted.sort_unstable();
        let node = |rank: u32| Arc::clone(&self.refs[order[rank as usize] as usize]);
        let scope = |(nodes, from): NumberedScope| ScopeRef {
            nodes: nodes.iter().map(|rank| node(*rank)).collect(),
            from: from.map(node),
        };
        sorted.into_iter().map(|(ranked, chains)| (scope(ranked), chains)).collect()
    }
}

/// The nodes of each side whose scopes cannot have changed. Finding them is much faster than comparing all scopes.
fn unchanged_nodes(
    views: [EngineView<'_>; 2],
    [before, after]: [&Model; 2],
    mapping: &NodeMapping,
) -> [HashSet<NodeId>; 2] {
    let here = before.unchanged(views[0], after, views[1], mapping);
    let there: HashSet<NodeId> = here.iter().filter_map(|node| mapping.node(*node)).collect();
    // Scopes that end at nodes with the same reference cannot be distinguished: all of the nodes are unchanged, or none.
    let are_all_unchanged = |side: usize, node: NodeId, unchanged: &HashSet<NodeId>| {
        views[side].topology.same_named(node).all(|it| unchanged.contains(&it))
    };
    let pairs = here.iter().filter_map(|node| Some((*node, mapping.node(*node)?)));
    let pairs = pairs.filter(|(node, twin)| are_all_unchanged(0, *node, &here) && are_all_unchanged(1, *twin, &there));
    let (here, there) = pairs.unzip();
    [here, there]
}
