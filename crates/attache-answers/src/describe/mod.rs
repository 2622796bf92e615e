//! Everything about one object: where it stands, the policies it meets, and what is wrong.

mod document;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::chain::{ChainId, Link};
use attache_engine::conditions::StatusCondition;
use attache_engine::lint::{Finding, lint_objects};
use attache_engine::model::{Model, Scope};
use attache_engine::object::{Object, ObjectId, ObjectRef};
use attache_engine::policy::{self, Block, PolicyId, TargetSpec, block_path};
use attache_engine::topology::{Level, NodeId, RefusedLink};

use crate::object_query::Target;

use crate::scopes::{Focus, Group, from};
use crate::snapshot::Snapshot;
pub use document::{describe_object, describe_policy};

#[derive(Debug)]
pub struct Description<'i> {
    pub target: Target,
    /// Nothing where something exists only by being named.
    pub object: Option<&'i Object>,
    pub parents: Vec<NodeId>,
    pub namespace: Option<NodeId>,
    pub children: Vec<NodeId>,
    /// Everything below, its children included.
    pub below: Vec<NodeId>,
    /// Whether requests can come by.
    pub live: bool,
    /// The policies on it and on its sections.
    pub attached: Vec<Met>,
    /// Those that come from above.
    pub inherited: Vec<Met>,
    /// Those on what stands below.
    pub lower: Vec<Met>,
    pub answers: Vec<Answer>,
    /// Whether the answers are what it gives to those below that have nothing of their own.
    pub gives: bool,
    pub conditions: Vec<StatusCondition>,
    pub problems: Vec<Finding>,
}

/// Scopes of one kind in which the same is in force, whatever lost there.
#[derive(Debug)]
pub struct Answer {
    pub model: Model,
    /// One of them is as good as the other.
    pub chains: Vec<ChainId>,
    pub scopes: u64,
    /// Where the scopes end, each once, in order.
    pub ends: Vec<NodeId>,
    /// Those of the scopes that end where scopes with another answer do.
    pub ways: Vec<Scope>,
}

/// A policy that counts, or could have counted, and where it is attached.
#[derive(Debug)]
pub struct Met {
    pub policy: PolicyId,
    pub on: NodeId,
    pub here: Here,
}

/// What becomes of a policy in the scopes that are described.
#[derive(Clone, Debug, Default)]
pub struct Here {
    /// Whether there are any.
    pub affected: bool,
    pub contributes: bool,
    pub inactive: bool,
    pub lost: bool,
    /// Who took something of it.
    pub by: BTreeSet<PolicyId>,
}

impl<'i> Description<'i> {
    pub fn new(input: &'i Snapshot, target: Target) -> Description<'i> {
        let topology = input.engine.topology();
        let nodes = input.nodes(&target);
        let children = children(input, &nodes);
        let below = topology.below(children.iter().copied());
        let models = input.engine.models_at(below.iter().chain(&nodes).copied());
        let focus = Focus::on(input, &target);
        let answers: Vec<Answer> = models.iter().flat_map(|model| answers(input, model, &focus, &nodes)).collect();
        let own: BTreeSet<NodeId> =
            nodes.iter().flat_map(|node| topology.sections(*node)).chain(nodes.clone()).collect();
        let mut met = met(input, answers.iter().flat_map(|it| it.chains.iter().map(|chain| (&it.model, *chain))));
        let attached = input.engine.attachments().attached().filter(|it| own.contains(&it.node));
        let attached: BTreeSet<(PolicyId, NodeId)> = attached.map(|it| (it.policy, it.node)).collect();
        if let Focus::At(_) = focus {
            let reached = met_below(input, &models, &below);
            met.iter_mut().for_each(|(at, here)| *here = reached.get(at).cloned().unwrap_or_default());
        }
        let here = |at: &(PolicyId, NodeId)| met.get(at).cloned().unwrap_or_default();
        let others = met.keys().filter(|at| !attached.contains(at));
        let (lower, inherited): (Vec<_>, Vec<_>) = others.partition(|(_, on)| below.contains(on));
        let of = |at: &(PolicyId, NodeId)| Met { policy: at.0, on: at.1, here: here(at) };
        let conditions = conditions(input, &models, &nodes, &below);
        Description {
            object: input.engine.objects().find(&target.id).map(|id| &input.engine.objects()[id]),
            parents: nodes.iter().flat_map(|node| topology.parents(*node)).copied().collect(),
            namespace: nodes.first().and_then(|node| topology.namespace(*node)),
            children,
            below: below.into_iter().collect(),
            live: nodes.iter().any(|node| topology.live(*node)),
            attached: attached.iter().map(of).collect(),
            inherited: inherited.into_iter().map(of).collect(),
            lower: lower.into_iter().map(of).collect(),
            answers,
            gives: matches!(focus, Focus::At(_)),
            conditions,
            problems: problems(input, &target),
            target,
        }
    }
}

/// The answers of one kind, in the order in which they are met.
fn answers(input: &Snapshot, model: &Model, focus: &Focus, nodes: &[NodeId]) -> Vec<Answer> {
    let view = input.engine.view();
    let is_same = |one: ChainId, other: ChainId| {
        let [a, b] = [one, other].map(|chain| model.effective(view, chain));
        a.origins == b.origins && a.spec == b.spec && a.applied == b.applied && from(model, one) == from(model, other)
    };
    let mut answers: Vec<Answer> = Vec::new();
    for Group { chain, scopes, ends } in focus.groups(input, model) {
        match answers.iter_mut().find(|it| is_same(it.chains[0], chain)) {
            Some(same) => {
                same.chains.push(chain);
                same.scopes = same.scopes.saturating_add(scopes);
                same.ends.extend(ends);
                same.ends.sort_unstable();
                same.ends.dedup();
            }
            None => {
                answers.push(Answer { model: model.clone(), chains: vec![chain], scopes, ends, ways: Vec::new() });
            }
        }
    }
    let mut seen: HashMap<NodeId, usize> = HashMap::new();
    answers.iter().flat_map(|it| &it.ends).for_each(|end| *seen.entry(*end).or_default() += 1);
    for answer in &mut answers {
        for end in answer.ends.iter().filter(|end| seen[*end] > 1) {
            model.scopes(view, *end, &mut |scope| {
                if answer.chains.contains(&scope.chain) && scope.nodes.iter().any(|node| nodes.contains(node)) {
                    answer.ways.push(scope);
                }
            });
        }
    }
    answers
}

/// The policies that meet at the effective targets among some nodes.
fn met_below(input: &Snapshot, models: &[Model], nodes: &BTreeSet<NodeId>) -> BTreeMap<(PolicyId, NodeId), Here> {
    let view = input.engine.view();
    let mut chains: BTreeSet<(usize, ChainId)> = BTreeSet::new();
    for (at, model) in models.iter().enumerate() {
        let targets = nodes.iter().filter(|node| model.is_effective_target(view, **node));
        let all = targets.flat_map(|target| model.chains_at(view, *target));
        chains.extend(all.map(|(chain, _)| (at, *chain)));
    }
    met(input, chains.into_iter().map(|(at, chain)| (&models[at], chain)))
}

/// The policies that meet in some scopes, each with its nodes and what becomes of it.
fn met<'m>(input: &Snapshot, chains: impl Iterator<Item = (&'m Model, ChainId)>) -> BTreeMap<(PolicyId, NodeId), Here> {
    let view = input.engine.view();
    let mut met: BTreeMap<(PolicyId, NodeId), Here> = BTreeMap::new();
    for (model, chain) in chains {
        let outcomes = &model.effective(view, chain).outcomes;
        let stacks = model.links(chain).filter_map(Link::node).filter_map(|node| model.stack(node));
        for attachment in stacks.flat_map(|it| it.accepted.iter().chain(it.rejected.iter().map(|(loser, _)| loser))) {
            let Some((_, outcome)) = outcomes.iter().find(|(policy, _)| *policy == attachment.policy) else { continue };
            let here = met.entry((attachment.policy, attachment.node)).or_default();
            here.affected = true;
            here.contributes |= outcome.contributes;
            here.inactive |= outcome.inactive;
            here.lost |= outcome.lost;
            here.by.extend(&outcome.by);
        }
    }
    met
}

/// What stands right below. Of a Namespace: what lives in it.
fn children(input: &Snapshot, nodes: &[NodeId]) -> Vec<NodeId> {
    let topology = input.engine.topology();
    let is_namespace = |node: &NodeId| topology[*node].level == Level::Namespace;
    if let Some(namespace) = nodes.iter().copied().find(is_namespace) {
        let lives_there = |node: NodeId| topology.namespace(node) == Some(namespace);
        let whole = topology.nodes().filter(|(_, it)| it.section.is_none() && it.level != Level::Frontend);
        let known = whole.filter(|(_, it)| it.level != Level::Other).map(|(node, _)| node);
        let mut found: Vec<NodeId> = known.filter(|node| lives_there(*node)).collect();
        found.sort_by_key(|node| topology[*node].level);
        return found;
    }
    nodes.iter().flat_map(|node| topology.children(*node)).copied().collect()
}

fn conditions(input: &Snapshot, models: &[Model], nodes: &[NodeId], below: &BTreeSet<NodeId>) -> Vec<StatusCondition> {
    let within = below.iter().chain(nodes).copied().collect();
    let statuses = input.engine.target_statuses_within(models, &within);
    let own = statuses.iter().filter(|status| nodes.contains(&status.target));
    own.flat_map(|status| input.engine.target_conditions(status)).collect()
}

/// What is wrong with an object, or between it and those that would attach to it.
pub fn problems(input: &Snapshot, target: &Target) -> Vec<Finding> {
    let engine = &input.engine;
    let (topology, objects) = (engine.topology(), engine.objects());
    let parents = input.nodes(target).into_iter().flat_map(|node| topology.parents(node));
    let unserved: Vec<&RefusedLink> = parents.filter_map(|parent| topology.why_unserved(objects, *parent)).collect();
    // Listeners that conflict with each other are one finding.
    let is_why = |it: &&RefusedLink| unserved.iter().any(|why| (why.by, &why.cause) == (it.by, &it.cause));
    let is_about = |it: &&RefusedLink| it.parent.object == target.id || it.child.object == target.id || is_why(it);
    let refused = topology.refused(objects).iter().filter(is_about);
    let refused: Vec<_> = refused.map(|it| (it.by, &it.path)).collect();
    let policies = engine.policies().map(|(policy, _)| policy);
    let unwanted = policies.filter(|policy| wants(input, *policy, &target.id) && !engine.refusals(*policy).is_empty());
    let mut concerned: BTreeSet<ObjectId> = unwanted.map(|policy| policy.0).collect();
    concerned.extend(engine.objects().find(&target.id));
    let all = concerned.iter().copied().chain(refused.iter().map(|(by, _)| *by)).collect();
    let kind = engine.find_policy(&target.id).map(|policy| engine.policy(policy).kind);
    let mut findings = lint_objects(engine, &input.problems, &all, kind);
    findings.retain(|finding| {
        let object = finding.problem.object.as_deref().and_then(|object| engine.objects().find(object));
        let path = finding.problem.path.as_ref();
        finding.suppressed.is_none()
            && object.is_some_and(|object| {
                concerned.contains(&object) || refused.iter().any(|&(by, at)| by == object && Some(at) == path)
            })
    });
    findings
}

/// The condition of a block as it is written, even if it is none.
pub fn condition<'i>(input: &'i Snapshot, policy: PolicyId, block: &Block) -> Option<&'i str> {
    let kind = input.engine.kinds().get(input.engine.policy(policy).kind);
    let object = input.engine.policy_object(policy);
    let path = block_path(object, kind, block.kind).key(kind.fields.when.clone());
    path.resolve(&object.body).filter(|_| kind.has_blocks())?.as_str()
}

/// Whether a policy names an object as its target.
fn wants(input: &Snapshot, policy: PolicyId, id: &ObjectRef) -> bool {
    let own = &input.engine.policy_id(policy).namespace;
    input.engine.policy(policy).targets.iter().any(|target| names(target, own, id) == Some(true))
}

/// Whether a target of a policy in namespace `own` is an object, if the policy does name one.
pub fn names(target: &policy::PolicyTarget, own: &str, id: &ObjectRef) -> Option<bool> {
    let TargetSpec::Object { group, kind, namespace, name, .. } = &target.spec else { return None };
    let namespace = namespace.as_deref().unwrap_or(own);
    let is_there = id.namespace.is_empty() || namespace == id.namespace;
    Some((group, kind, name) == (&id.group, &id.kind, &id.name) && is_there)
}
