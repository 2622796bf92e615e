//! Everything about one object that is not a policy.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use attache_engine::{
    ChainId, GroupKind, Level, Link, Model, NodeId, NodeRef, ObjectRef, PolicyId, Scope, TargetStatus, Value,
};
use serde::Serialize;

use super::About;
use super::problems::problems;
use crate::descendants::{Descendants, NodeCount, node_counts};
use crate::document::is_true;
use crate::effective::{OriginDocument, origins, policies_on_routes};
use crate::lint::FindingDocument;
use crate::scopes::{Focus, ScopeDocument, ScopeGroup, consumer, is_reached};
use crate::snapshot::{Snapshot, group_kind};
use crate::status::{ConditionDocument, documents};

/// Everything about one object that is not a policy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectDescription {
    /// The object.
    #[serde(flatten)]
    pub about: About,
    /// Its parents.
    pub parents: Vec<NodeRef>,
    /// The Namespace that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<NodeRef>,
    /// Its children. For a Namespace: the objects in it.
    pub children: Vec<NodeRef>,
    /// The number of nodes below it, its children included.
    pub below: usize,
    /// Whether it receives requests.
    pub live: bool,
    /// The policies on it and on its sections.
    pub attached: Vec<PolicyEffect>,
    /// The policies on objects above it.
    pub inherited: Vec<PolicyEffect>,
    /// The policies on objects below it.
    pub lower: Vec<PolicyEffect>,
    /// The effective policies on it. For an object above routes: the policies that objects below it inherit if they
    /// have none of their own.
    pub effective: Vec<DescribedEffective>,
    /// Its conditions that report policies.
    pub conditions: Vec<ConditionDocument>,
    /// The lint findings about it.
    pub problems: Vec<FindingDocument>,
    /// The number of nodes of each kind below it.
    #[serde(skip)]
    pub below_counts: Vec<NodeCount>,
    /// Whether `effective` is what objects below it inherit.
    #[serde(skip)]
    pub hands_down: bool,
    /// The number of policies in the input.
    #[serde(skip)]
    pub policies_in_input: usize,
    /// If nothing is in force on a backend: the routes that lead to it and on which policies are in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies_on_routes: Vec<NodeRef>,
    /// Policies of unknown kinds that target it. Their effect is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_policies: Vec<ObjectRef>,
}

/// A policy that reaches an object, and its effect there.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyEffect {
    /// The policy.
    pub policy: ObjectRef,
    /// The node that it is attached to.
    pub target: NodeRef,
    /// Whether some of it is in force here.
    pub in_force: bool,
    /// The policies that override it, or a part of it, here.
    pub by: Vec<ObjectRef>,
    /// Whether it can have an effect here at all.
    #[serde(skip)]
    pub has_scopes: bool,
    /// Whether a condition of it does not hold here.
    #[serde(skip)]
    pub is_inactive: bool,
    /// Whether it, or a part of it, is overridden here.
    #[serde(skip)]
    pub is_overridden: bool,
    /// The Gateways and mesh Services through which requests arrive here, and whose controllers do not handle it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_handled_by: Vec<NodeRef>,
    /// The policies with which it is invalid here, although each of them is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_with: Vec<ObjectRef>,
}

/// Scopes of one policy kind with the same effective spec.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DescribedEffective {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The number of scopes.
    pub scopes: u64,
    /// Whether requests reach the targets. If not, this is what would be in force.
    #[serde(skip_serializing_if = "is_true")]
    pub in_force: bool,
    /// The effective targets of the scopes.
    pub targets: Vec<NodeRef>,
    /// The scopes that end at targets where scopes with a different answer, or without policies, end too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<ScopeDocument>,
    /// The Namespace whose requests the answer is for. `None` means all requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeRef>,
    /// The effective spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// The origin of each value.
    #[serde(skip)]
    pub origins: Vec<OriginDocument>,
    /// For kinds whose policies all apply: the policies, in the order in which they apply.
    #[serde(skip)]
    pub applied: Vec<ObjectRef>,
    /// The number of targets of each kind.
    #[serde(skip)]
    pub target_counts: Vec<NodeCount>,
    /// The targets at which no scope with a different answer ends.
    #[serde(skip)]
    pub whole_targets: Vec<NodeRef>,
}

/// The outcomes of a policy in some scopes.
#[derive(Clone, Debug, Default)]
struct EffectHere {
    has_scopes: bool,
    in_force: bool,
    is_inactive: bool,
    is_overridden: bool,
    by: BTreeSet<PolicyId>,
    unhandled: BTreeSet<NodeId>,
    invalid_with: BTreeSet<PolicyId>,
}

type EffectsHere = BTreeMap<(PolicyId, NodeId), EffectHere>;

impl ObjectDescription {
    pub(super) fn new(snapshot: &Snapshot, object: NodeRef) -> ObjectDescription {
        let topology = snapshot.engine.topology();
        let nodes = snapshot.nodes(&object);
        let children = children(snapshot, &nodes);
        let is_namespace = nodes.iter().any(|node| topology[*node].level == Level::Namespace);
        let below = match is_namespace {
            true => Arc::new(Descendants::new(&snapshot.engine, children.iter().copied())),
            false => snapshot.descendants(&nodes),
        };
        let focus = Focus::on(snapshot, &object);
        let all = below.iter().chain(nodes.iter().copied());
        let models = match focus {
            // Only effective targets below it matter, and never backends below those.
            Focus::At(_) => snapshot.engine.models_with_targets(all),
            _ => snapshot.engine.models_at(all),
        };
        let answers: Vec<SameEffective> =
            models.iter().flat_map(|model| answers(snapshot, model, &focus, &nodes)).collect();
        let reached = answers.iter().filter(|it| it.is_reached(snapshot));
        let chains = reached.flat_map(|it| it.chains.iter().map(|chain| (it.model, *chain)));
        let mut outcomes = outcomes(snapshot, chains);
        if let Focus::At(_) = focus
            && !outcomes.is_empty()
        {
            let targets: BTreeSet<NodeId> = outcomes.keys().map(|(_, target)| *target).collect();
            let nodes = below.iter().chain(nodes.iter().copied());
            let mut below = outcomes_at(snapshot, &models, nodes, &targets);
            outcomes.iter_mut().for_each(|(at, outcome)| *outcome = below.remove(at).unwrap_or_default());
        }
        let own: BTreeSet<NodeId> =
            nodes.iter().flat_map(|node| topology.sections(*node)).chain(nodes.clone()).collect();
        let attached = snapshot.engine.attachments().attached().filter(|it| own.contains(&it.node));
        let attached: BTreeSet<(PolicyId, NodeId)> = attached.map(|it| (it.policy, it.node)).collect();
        let others = outcomes.keys().filter(|at| !attached.contains(at));
        let (lower, inherited): (Vec<_>, Vec<_>) =
            others.partition(|(_, target)| below.contains(&snapshot.engine, *target));
        let effects = |all: Vec<&(PolicyId, NodeId)>| {
            all.into_iter().map(|at| PolicyEffect::new(snapshot, *at, outcomes.get(at))).collect()
        };
        let parents: Vec<NodeId> = nodes.iter().flat_map(|node| topology.parents(*node)).copied().collect();
        ObjectDescription {
            parents: snapshot.node_refs(&parents),
            namespace: nodes.first().and_then(|node| topology.namespace(*node)).map(|node| snapshot.node_ref(node)),
            children: snapshot.node_refs(&children),
            below: below.len(),
            live: nodes.iter().any(|node| topology.live(*node)),
            attached: effects(attached.iter().collect()),
            inherited: effects(inherited),
            lower: effects(lower),
            effective: answers.iter().map(|answer| DescribedEffective::new(snapshot, answer)).collect(),
            conditions: conditions(snapshot, &models, &nodes, &below),
            problems: problems(snapshot, &object),
            below_counts: below.counts.clone(),
            hands_down: matches!(focus, Focus::At(_)),
            policies_in_input: snapshot.policies(),
            policies_on_routes: if answers.is_empty() {
                policies_on_routes(snapshot, &nodes, |_| true)
            } else {
                Vec::new()
            },
            unknown_policies: snapshot.unknown_policies_on(&object.object),
            about: About::new(snapshot, object),
        }
    }
}

impl PolicyEffect {
    fn new(snapshot: &Snapshot, (policy, target): (PolicyId, NodeId), outcome: Option<&EffectHere>) -> PolicyEffect {
        let EffectHere { has_scopes, in_force, is_inactive, is_overridden, by, unhandled, invalid_with } =
            outcome.cloned().unwrap_or_default();
        PolicyEffect {
            policy: snapshot.policy_ref(policy),
            target: snapshot.node_ref(target),
            in_force,
            by: snapshot.policy_refs(&by),
            has_scopes,
            is_inactive,
            is_overridden,
            not_handled_by: unhandled.into_iter().map(|root| snapshot.node_ref(root)).collect(),
            invalid_with: snapshot.policy_refs(&invalid_with),
        }
    }
}

/// Scopes of one kind with the same effective spec, although different values may lose there.
struct SameEffective<'m> {
    model: &'m Model,
    /// The chains of the scopes. All have the same effective spec.
    chains: Vec<ChainId>,
    scopes: u64,
    /// The effective targets, each once, sorted.
    targets: Vec<NodeId>,
    /// The scopes that end at targets where scopes with a different answer end, too.
    divided: Vec<Scope>,
}

impl SameEffective<'_> {
    fn is_reached(&self, snapshot: &Snapshot) -> bool {
        is_reached(snapshot, &self.targets)
    }
}

/// The answers of one kind.
fn answers<'m>(snapshot: &Snapshot, model: &'m Model, focus: &Focus, nodes: &[NodeId]) -> Vec<SameEffective<'m>> {
    let view = snapshot.engine.view();
    let is_same = |one: ChainId, other: ChainId| {
        let [a, b] = [one, other].map(|chain| model.effective(view, chain));
        a.origins == b.origins
            && a.spec == b.spec
            && a.applied == b.applied
            && consumer(model, one) == consumer(model, other)
    };
    let mut answers: Vec<SameEffective> = Vec::new();
    for ScopeGroup { chain, scopes, targets } in focus.groups(snapshot, model) {
        match answers.iter_mut().find(|it| is_same(it.chains[0], chain)) {
            Some(same) => {
                same.chains.push(chain);
                same.scopes = same.scopes.saturating_add(scopes);
                same.targets.extend(targets);
                same.targets.sort_unstable();
                same.targets.dedup();
            }
            None => answers.push(SameEffective { model, chains: vec![chain], scopes, targets, divided: Vec::new() }),
        }
    }
    let mut answers_at: HashMap<NodeId, usize> = HashMap::new();
    answers.iter().flat_map(|it| &it.targets).for_each(|target| *answers_at.entry(*target).or_default() += 1);
    let covered: BTreeSet<ChainId> = answers.iter().flat_map(|it| &it.chains).copied().collect();
    // On another path to a target, requests may meet no policy.
    let has_other_paths = |target: NodeId| {
        let mut found = false;
        if model.chains_at(view, target).iter().any(|(chain, _)| !covered.contains(chain)) {
            model.scopes(view, target, &mut |scope| {
                found |= !covered.contains(&scope.chain) && scope.nodes.iter().any(|node| nodes.contains(node));
            });
        }
        found
    };
    for answer in &mut answers {
        for target in answer.targets.iter().filter(|target| answers_at[*target] > 1 || has_other_paths(**target)) {
            model.scopes(view, *target, &mut |scope| {
                if answer.chains.contains(&scope.chain) && scope.nodes.iter().any(|node| nodes.contains(node)) {
                    answer.divided.push(scope);
                }
            });
        }
    }
    answers
}

impl DescribedEffective {
    fn new(snapshot: &Snapshot, answer: &SameEffective) -> DescribedEffective {
        let SameEffective { model, chains, scopes, targets, divided } = answer;
        let effective = model.effective(snapshot.engine.view(), chains[0]);
        let divided_targets: BTreeSet<NodeId> = divided.iter().filter_map(Scope::end).collect();
        let whole: Vec<NodeId> = targets.iter().copied().filter(|target| !divided_targets.contains(target)).collect();
        DescribedEffective {
            policy_kind: group_kind(&model.kind),
            scopes: *scopes,
            in_force: answer.is_reached(snapshot),
            targets: snapshot.node_refs(targets),
            ways: divided.iter().map(|scope| ScopeDocument::new(snapshot, scope)).collect(),
            from: consumer(model, chains[0]).map(|namespace| snapshot.node_ref(namespace)),
            spec: effective.spec.as_ref().map(|spec| snapshot.shown_spec(&model.kind, spec)),
            origins: origins(snapshot, &effective.origins),
            applied: effective.applied.iter().map(|applied| snapshot.policy_ref(applied.policy)).collect(),
            target_counts: node_counts(&snapshot.engine, targets),
            whole_targets: snapshot.node_refs(&whole),
        }
    }
}

/// The outcomes of the policies on `targets` at the effective targets among some nodes.
fn outcomes_at(
    snapshot: &Snapshot,
    models: &[Model],
    nodes: impl Iterator<Item = NodeId> + Clone,
    targets: &BTreeSet<NodeId>,
) -> EffectsHere {
    let view = snapshot.engine.view();
    let chains = models.iter().flat_map(|model| {
        let groups = model.targets_among(view, nodes.clone());
        let chains = groups.iter().flat_map(|it| it.chains).map(|(chain, _)| *chain);
        let is_on = |chain: &ChainId| model.links(*chain).filter_map(Link::node).any(|node| targets.contains(&node));
        let chains: HashSet<ChainId> = chains.filter(is_on).collect();
        chains.into_iter().map(move |chain| (model, chain))
    });
    outcomes(snapshot, chains)
}

/// The outcomes of the policies in some chains.
fn outcomes<'m>(snapshot: &Snapshot, chains: impl Iterator<Item = (&'m Model, ChainId)>) -> EffectsHere {
    let view = snapshot.engine.view();
    let mut found = EffectsHere::new();
    for (model, chain) in chains {
        let outcomes = &model.effective(view, chain).outcomes;
        let stacks = model.links(chain).filter_map(Link::node).filter_map(|node| model.stack(node));
        for attachment in stacks.flat_map(|it| it.all()) {
            let Ok(at) = outcomes.binary_search_by_key(&attachment.policy, |(policy, _)| *policy) else { continue };
            let outcome = &outcomes[at].1;
            let here = found.entry((attachment.policy, attachment.node)).or_default();
            here.has_scopes = true;
            here.in_force |= outcome.contributes;
            here.is_inactive |= outcome.inactive;
            here.is_overridden |= outcome.lost;
            here.by.extend(&outcome.by);
            here.unhandled.extend(outcome.unhandled);
            here.invalid_with.extend(&outcome.invalid_with);
        }
    }
    found
}

/// The children of some nodes. For a Namespace: the objects in it.
fn children(snapshot: &Snapshot, nodes: &[NodeId]) -> Vec<NodeId> {
    let topology = snapshot.engine.topology();
    let is_namespace = |node: &NodeId| topology[*node].level == Level::Namespace;
    if let Some(namespace) = nodes.iter().copied().find(is_namespace) {
        let is_in_it = |node: NodeId| topology.namespace(node) == Some(namespace);
        let whole = topology.nodes().filter(|(_, it)| it.section.is_none() && it.level != Level::Frontend);
        let known = whole.filter(|(_, it)| it.level != Level::Other).map(|(node, _)| node);
        let mut found: Vec<NodeId> = known.filter(|node| is_in_it(*node)).collect();
        found.sort_by_key(|node| topology[*node].level);
        return found;
    }
    nodes.iter().flat_map(|node| topology.children(*node)).copied().collect()
}

fn conditions(snapshot: &Snapshot, models: &[Model], nodes: &[NodeId], below: &Descendants) -> Vec<ConditionDocument> {
    let is_here = |status: &TargetStatus| nodes.contains(&status.target);
    let statuses: Vec<TargetStatus> = match snapshot.target_statuses() {
        Some(all) => {
            let position = |node: &NodeId| all.binary_search_by_key(node, |status| status.target);
            nodes.iter().filter_map(|node| Some(all[position(node).ok()?].clone())).collect()
        }
        None => {
            let within = below.iter().chain(nodes.iter().copied()).collect();
            let among = snapshot.engine.rolled_up(snapshot.engine.target_statuses_within(models, &within));
            among.into_iter().filter(is_here).collect()
        }
    };
    documents(snapshot.engine.target_reports(&statuses).into_iter().flat_map(|report| report.conditions).collect())
}
