//! What is different between two states of the same world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::fold::{EffectivePolicy, ValueOrigin};
use crate::incremental::Report;
use crate::lint::Finding;
use crate::model::{Model, NodeMapping};
use crate::status::PolicyStatus;
use crate::topology::NodeId;
use crate::value::{Path, Segment, Value};

/// All that a batch of edits makes different, in words.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Every scope in which something else is in force, grouped by what was and is.
    pub effective: Vec<Change>,
    /// Every policy whose status is another, in the order of names.
    pub statuses: Vec<StatusChange>,
    /// What was not wrong before.
    pub new_findings: Vec<Finding>,
    /// What is not wrong any more.
    pub fixed_findings: Vec<Finding>,
}

impl Changes {
    pub fn of(report: &Report) -> Changes {
        let [was, is] = report.findings().map(open);
        Changes {
            effective: report.effective(),
            statuses: report.policies().into_iter().filter(StatusChange::is_of_note).collect(),
            new_findings: without(&is, &was),
            fixed_findings: without(&was, &is),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.effective.is_empty()
            && self.statuses.is_empty()
            && self.new_findings.is_empty()
            && self.fixed_findings.is_empty()
    }
}

/// Scopes in which the same was in force, and the same is.
#[derive(Clone, Debug)]
pub struct Change {
    /// `ColorPolicy.example.io`.
    pub policy_kind: String,
    /// Each from its root to its effective target.
    pub scopes: Vec<ScopeName>,
    /// What was in force; `None` where there was no such scope, or nothing in it.
    pub before: Option<Arc<EffectivePolicy>>,
    pub after: Option<Arc<EffectivePolicy>>,
    /// What each leaf was and is, in the order of paths.
    pub leaves: Vec<LeafChange>,
}

/// A scope in names, which mean the same in both states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeName {
    pub nodes: Vec<String>,
    pub from: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeafChange {
    pub path: Path,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
}

/// A value and who set it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leaf {
    pub value: Value,
    pub policy: Option<String>,
}

/// A policy whose status is another, or that is only in one of the states.
#[derive(Clone, Debug)]
pub struct StatusChange {
    pub policy: String,
    pub before: Option<PolicyStatus>,
    pub after: Option<PolicyStatus>,
}

impl StatusChange {
    /// Whether it is another in a word, and not only in how many scopes.
    pub fn is_of_note(&self) -> bool {
        let word = |status: &Option<PolicyStatus>| status.as_ref().map(|it| (it.refused, it.enforcement));
        word(&self.before) != word(&self.after)
    }
}

/// A target that other policies affect than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetChange {
    pub target: String,
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl TargetChange {
    pub(crate) fn new(target: String, before: BTreeSet<String>, after: BTreeSet<String>) -> TargetChange {
        TargetChange { target, before: before.into_iter().collect(), after: after.into_iter().collect() }
    }
}

pub(crate) fn effective_changes(before: &Engine, after: &Engine) -> Vec<Change> {
    let mut kinds: BTreeMap<String, [Option<&Model>; 2]> = BTreeMap::new();
    for (side, engine) in [before, after].into_iter().enumerate() {
        for model in engine.models() {
            kinds.entry(model.kind.full_name()).or_default()[side] = Some(model);
        }
    }
    let mapping = NodeMapping::new(before.world(), after.world());
    let of_kind = |(kind, models): (String, [Option<&Model>; 2])| {
        let engines = [before, after];
        let unchanged = unchanged(engines, models, &mapping);
        let targets = [0, 1].map(|side| {
            let all = models[side].into_iter().flat_map(|model| model.effective_targets(engines[side].world()));
            all.filter(|target| !unchanged[side].contains(target)).collect()
        });
        changes_at(&kind, engines, models, targets)
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// What is different at some effective targets of one kind, on each side.
pub(crate) fn changes_at(
    kind: &str,
    engines: [&Engine; 2],
    models: [Option<&Model>; 2],
    targets: [Vec<NodeId>; 2],
) -> Vec<Change> {
    let mut names = Names::default();
    let mut scopes: HashMap<Named, [Option<ChainId>; 2]> = HashMap::new();
    for side in 0..2 {
        let Some(model) = models[side] else { continue };
        for target in &targets[side] {
            model.scopes(engines[side].world(), *target, &mut |scope| {
                let mut number = |node| names.of(engines[side], side, node);
                let named = (scope.nodes.iter().map(|node| number(*node)).collect(), scope.from.map(&mut number));
                scopes.entry(named).or_default()[side] = Some(scope.chain);
            });
        }
    }
    // Most scopes have the chains of others.
    let mut changes: HashMap<[Option<ChainId>; 2], Option<Change>> = HashMap::new();
    for chains in scopes.values() {
        changes.entry(*chains).or_insert_with(|| {
            let side = |side: usize| {
                let (model, chain) = (models[side]?, chains[side]?);
                (chain != ChainId::EMPTY).then(|| Arc::clone(model.effective(engines[side].world(), chain)))
            };
            change(kind, engines, side(0), side(1))
        });
    }
    scopes.retain(|_, chains| changes.get(chains).is_some_and(Option::is_some));
    let mut changed: Vec<(ScopeName, [Option<ChainId>; 2])> =
        scopes.into_iter().map(|(named, chains)| (names.name(named), chains)).collect();
    changed.sort_unstable();
    let mut groups: Vec<Change> = Vec::new();
    let mut at: HashMap<[Option<ChainId>; 2], usize> = HashMap::new();
    for (name, chains) in changed {
        let at = *at.entry(chains).or_insert_with(|| {
            groups.extend(changes.remove(&chains).flatten());
            groups.len() - 1
        });
        groups[at].scopes.push(name);
    }
    groups
}

/// A scope by the numbers of its names.
type Named = (Box<[u32]>, Option<u32>);

/// Nodes of one name, on either side, have one number.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    of: [HashMap<NodeId, u32>; 2],
}

impl Names {
    fn of(&mut self, engine: &Engine, side: usize, node: NodeId) -> u32 {
        let Names { names, numbers, of } = self;
        *of[side].entry(node).or_insert_with(|| {
            let name = engine.topology().name(engine.objects(), node);
            *numbers.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                names.len() as u32 - 1
            })
        })
    }

    fn name(&self, (nodes, from): Named) -> ScopeName {
        let name = |number: u32| self.names[number as usize].clone();
        ScopeName { nodes: nodes.iter().map(|node| name(*node)).collect(), from: from.map(name) }
    }
}

/// The nodes at which no scope can have changed, on each side: naming all scopes takes longer than all else.
fn unchanged(engines: [&Engine; 2], models: [Option<&Model>; 2], mapping: &NodeMapping) -> [HashSet<NodeId>; 2] {
    let kinds = engines.map(|engine| engine.kinds().iter().map(|(_, kind)| kind));
    let [kinds, others] = kinds;
    if let [Some(before), Some(after)] = models
        && kinds.eq(others)
    {
        let here = before.unchanged(engines[0].world(), after, engines[1].world(), mapping);
        let there: HashSet<NodeId> = here.iter().filter_map(|node| mapping.node(*node)).collect();
        // Scopes that end at nodes of one name are told apart by nobody: all of them are untouched, or none.
        let are_all = |side: usize, node: NodeId, unchanged: &HashSet<NodeId>| {
            engines[side].topology().same_named(node).all(|it| unchanged.contains(&it))
        };
        let pairs = here.iter().filter_map(|node| Some((*node, mapping.node(*node)?)));
        let (here, there) = pairs.filter(|(node, twin)| are_all(0, *node, &here) && are_all(1, *twin, &there)).unzip();
        return [here, there];
    }
    [HashSet::new(), HashSet::new()]
}

pub(crate) fn change(
    kind: &str,
    engines: [&Engine; 2],
    before: Option<Arc<EffectivePolicy>>,
    after: Option<Arc<EffectivePolicy>>,
) -> Option<Change> {
    let leaves_of = |engine: &Engine, effective: &Option<Arc<EffectivePolicy>>| {
        effective.as_ref().map(|effective| leaves(engine, effective)).unwrap_or_default()
    };
    let mut all: BTreeMap<Path, [Option<Leaf>; 2]> = BTreeMap::new();
    for (side, effective) in [&before, &after].into_iter().enumerate() {
        for (path, leaf) in leaves_of(engines[side], effective) {
            all.entry(path).or_default()[side] = Some(leaf);
        }
    }
    let leaves: Vec<LeafChange> = all
        .into_iter()
        .filter(|(_, [before, after])| before != after)
        .map(|(path, [before, after])| LeafChange { path, before, after })
        .collect();
    let change = Change { policy_kind: kind.to_string(), scopes: Vec::new(), before, after, leaves };
    let [was, is] = applied(engines, &change);
    (!change.leaves.is_empty() || was != is).then_some(change)
}

/// Those of which all apply, in order, before and after.
fn applied(engines: [&Engine; 2], change: &Change) -> [Vec<String>; 2] {
    let names = |engine: &Engine, effective: &Option<Arc<EffectivePolicy>>| {
        let applied = effective.iter().flat_map(|effective| &effective.applied);
        applied.map(|applied| engine.policy_id(applied.policy).to_string()).collect()
    };
    [names(engines[0], &change.before), names(engines[1], &change.after)]
}

/// The leaves of what is in force, each with who set it. Of kinds of which all apply, each policy has its own.
fn leaves(engine: &Engine, effective: &EffectivePolicy) -> Vec<(Path, Leaf)> {
    let mut found = Vec::new();
    if let Some(spec) = &effective.spec {
        flatten(spec, &mut Vec::new(), &mut |path, value| {
            let path = Path::new(path.to_vec());
            let policy = whose(engine, &effective.origins, &path);
            found.push((path, Leaf { value: value.clone(), policy }));
        });
    }
    // A policy of which the items apply one by one is there several times.
    let mut applied: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for it in &effective.applied {
        applied.entry(engine.policy_id(it.policy).to_string()).or_default().push(it.spec.clone());
    }
    found.extend(applied.into_iter().map(|(policy, mut specs)| {
        let value = if specs.len() == 1 { specs.remove(0) } else { Value::list(specs) };
        (Path::default().key(policy.as_str()), Leaf { value, policy: Some(policy) })
    }));
    found
}

/// Whoever set the value at `path`, or what it is part of; else those who set parts of it.
fn whose(engine: &Engine, origins: &[ValueOrigin], path: &Path) -> Option<String> {
    let name = |origin: &ValueOrigin| engine.policy_id(origin.policy).to_string();
    if let Some(origin) = origins.iter().find(|origin| path.starts_with(&origin.path)) {
        return Some(name(origin));
    }
    let parts: BTreeSet<String> = origins.iter().filter(|origin| origin.path.starts_with(path)).map(name).collect();
    (!parts.is_empty()).then(|| Vec::from_iter(parts).join(", "))
}

fn flatten<'v>(value: &'v Value, path: &mut Vec<Segment>, found: &mut impl FnMut(&[Segment], &'v Value)) {
    if value.entries().is_empty() {
        found(path, value);
    }
    for (key, child) in value.entries() {
        path.push(Segment::Key(key.clone()));
        flatten(child, path, found);
        path.pop();
    }
}

pub(crate) fn status_changes(before: &Engine, after: &Engine) -> Vec<StatusChange> {
    let mut policies: BTreeMap<String, [Option<PolicyStatus>; 2]> = BTreeMap::new();
    for (side, engine) in [before, after].into_iter().enumerate() {
        for status in engine.policy_statuses() {
            let policy = engine.policy_id(status.policy).to_string();
            policies.entry(policy).or_default()[side] = Some(status);
        }
    }
    let is_same = |was: &Option<PolicyStatus>, is: &Option<PolicyStatus>| match (was, is) {
        (Some(was), Some(is)) => same_status(before, was, after, is),
        _ => false,
    };
    let changed = policies.into_iter().filter(|(_, [was, is])| !is_same(was, is));
    changed.map(|(policy, [before, after])| StatusChange { policy, before, after }).collect()
}

pub(crate) fn same_status(before: &Engine, was: &PolicyStatus, after: &Engine, is: &PolicyStatus) -> bool {
    let names = |engine: &Engine, status: &PolicyStatus| {
        status.by.iter().map(|policy| engine.policy_id(*policy).clone()).collect::<Vec<_>>()
    };
    (was.refused, was.enforcement, was.scopes) == (is.refused, is.enforcement, is.scopes)
        && was.message == is.message
        && names(before, was) == names(after, is)
}

pub(crate) fn target_changes(before: &Engine, after: &Engine) -> Vec<TargetChange> {
    // A Service that stands before routes and behind them has two nodes, and one name.
    let mut targets: BTreeMap<String, [BTreeSet<String>; 2]> = BTreeMap::new();
    for (side, engine) in [before, after].into_iter().enumerate() {
        for status in engine.target_statuses() {
            let policies = status.affected_by.iter().map(|policy| engine.policy_id(*policy).to_string());
            targets.entry(engine.topology().name(engine.objects(), status.target)).or_default()[side].extend(policies);
        }
    }
    let changed = targets.into_iter().filter(|(_, [before, after])| before != after);
    changed.map(|(target, [before, after])| TargetChange::new(target, before, after)).collect()
}

fn open(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| finding.suppressed.is_none());
    findings
}

/// The findings that others do not have, as often as they do not have them.
fn without(findings: &[Finding], others: &[Finding]) -> Vec<Finding> {
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in others {
        *known.entry(finding.key()).or_default() += 1;
    }
    let is_new = |finding: &&Finding| match known.get_mut(&finding.key()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    findings.iter().filter(is_new).cloned().collect()
}
