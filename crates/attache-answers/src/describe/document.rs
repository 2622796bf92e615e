use attache_engine::attachment::RejectionReason;
use attache_engine::lint::Finding;
use attache_engine::object::Object;
use attache_engine::policy::{Policy, PolicyId, PolicyTarget};
use attache_engine::topology::NodeId;
use attache_engine::value::{Path, Value};
use serde::Serialize;

use super::{Answer, Description, Met, condition, names};
use crate::lint::{OfFinding, of_finding};
use crate::list::API_VERSION;
use crate::provenance::{ManagedBy, managed_by};
use crate::reach::{OfPart, Way, parts};
use crate::scopes::from;
use crate::snapshot::Snapshot;
use crate::status::Condition;
use crate::status::target_words;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfObject<'i> {
    #[serde(flatten)]
    about: About,
    parents: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    children: Vec<String>,
    below: usize,
    live: bool,
    attached: Vec<OfMet>,
    inherited: Vec<OfMet>,
    lower: Vec<OfMet>,
    effective: Vec<InForce>,
    conditions: Vec<Condition>,
    problems: Vec<OfFinding<'i>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfPolicy<'i> {
    #[serde(flatten)]
    about: About,
    policy_kind: String,
    targets: Vec<OfTarget>,
    attached: Vec<String>,
    blocks: Vec<OfBlock>,
    enforcement: &'static str,
    affected: Vec<String>,
    parts: Vec<OfPart>,
    conditions: Vec<Condition>,
    problems: Vec<OfFinding<'i>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct About {
    api_version: &'static str,
    kind: &'static str,
    object: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_changed: Option<Changed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    managed_by: Vec<ManagedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// Who changed an object last, and when.
#[derive(Debug, Serialize)]
struct Changed {
    manager: String,
    time: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfMet {
    policy: String,
    target: String,
    /// Some of it is in force here.
    in_force: bool,
    /// Who took something of it here.
    by: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InForce {
    policy_kind: String,
    scopes: u64,
    targets: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ways: Vec<Way>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Value>,
}

/// A target as the policy names it.
#[derive(Debug, Serialize)]
struct OfTarget {
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug, Serialize)]
struct OfBlock {
    block: &'static str,
    strategy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removes: Vec<String>,
    spec: Value,
}

pub fn describe_object<'i>(input: &Snapshot, it: &'i Description) -> OfObject<'i> {
    let names = |nodes: &[NodeId]| nodes.iter().map(|node| input.name(*node)).collect();
    let met = |all: &[Met]| all.iter().map(|met| of_met(input, met)).collect();
    let effective = it.answers.iter().map(|Answer { model, chains, scopes, ends, ways }| InForce {
        policy_kind: model.kind.full_name(),
        scopes: *scopes,
        targets: names(ends),
        ways: ways.iter().map(|scope| Way::new(input, scope)).collect(),
        from: from(model, chains[0]).map(|namespace| input.name(namespace)),
        spec: model.effective(input.engine.view(), chains[0]).spec.clone(),
    });
    OfObject {
        about: About::new(it.target.to_string(), it.object),
        parents: names(&it.parents),
        namespace: it.namespace.map(|namespace| input.name(namespace)),
        children: names(&it.children),
        below: it.below.len(),
        live: it.live,
        attached: met(&it.attached),
        inherited: met(&it.inherited),
        lower: met(&it.lower),
        effective: effective.collect(),
        conditions: it.conditions.iter().cloned().map(Condition::from).collect(),
        problems: it.problems.iter().map(of_finding).collect(),
    }
}

pub fn describe_policy<'i>(input: &Snapshot, id: PolicyId, problems: &'i [Finding]) -> OfPolicy<'i> {
    let engine = &input.engine;
    let policy = engine.policy(id);
    let reach = engine.reach(id, None);
    let statuses = [engine.policy_status(id)];
    let conditions = engine.policy_conditions(&statuses).into_iter().flatten().map(Condition::from);
    let attached = engine.attachments().for_policy(id).to.iter();
    let blocks = policy.blocks.iter().map(|block| OfBlock {
        block: block.kind.name(),
        strategy: block.strategy.name().to_owned(),
        when: condition(input, id, block).map(str::to_owned),
        removes: block.removes.iter().map(ToString::to_string).collect(),
        spec: block.spec.clone(),
    });
    OfPolicy {
        about: About::new(input.policy(id), Some(engine.policy_object(id))),
        policy_kind: engine.kinds().get(policy.kind).full_name(),
        targets: targets(input, id, policy),
        attached: attached.map(|it| input.name(it.node)).collect(),
        blocks: blocks.collect(),
        enforcement: statuses[0].enforcement.name(),
        affected: reach.affected.iter().map(|node| input.name(*node)).collect(),
        parts: parts(input, &reach),
        conditions: conditions.collect(),
        problems: problems.iter().map(of_finding).collect(),
    }
}

fn targets(input: &Snapshot, id: PolicyId, policy: &Policy) -> Vec<OfTarget> {
    let (engine, own) = (&input.engine, &input.engine.policy_id(id).namespace);
    let refused = &engine.attachments().for_policy(id).refused;
    let conflict = |target: &PolicyTarget| {
        let of = |node: NodeId| engine.topology().id(engine.objects(), node);
        let (node, winner) = engine.rivals(id).find(|(node, _)| names(target, own, of(*node)).unwrap_or(true))?;
        let message = format!("{} has attached to {} before it", input.policy(winner), input.name(node));
        Some((RejectionReason::Conflicted.name(), message))
    };
    let of = |(i, target): (usize, &PolicyTarget)| {
        let refusal = refused.iter().find(|it| it.target.is_none_or(|at| at == i));
        let refusal = refusal.map(|refusal| (refusal.reason().name(), refusal.error.to_string()));
        let (reason, message) = refusal.or_else(|| conflict(target)).unzip();
        OfTarget { target: target_words(target), reason, message }
    };
    policy.targets.iter().enumerate().map(of).collect()
}

fn of_met(input: &Snapshot, met: &Met) -> OfMet {
    OfMet {
        policy: input.policy(met.policy),
        target: input.name(met.on),
        in_force: met.here.contributes,
        by: met.here.by.iter().map(|policy| input.policy(*policy)).collect(),
    }
}

impl About {
    fn new(name: String, object: Option<&Object>) -> About {
        let place = object.and_then(|object| object.locate(&Path::default()));
        About {
            api_version: API_VERSION,
            kind: "Description",
            object: name,
            created: object.and_then(|object| object.created).map(|created| created.to_string()),
            last_changed: object
                .and_then(|object| object.last_change.as_deref())
                .map(|change| Changed { manager: change.manager.to_string(), time: change.time.to_string() }),
            managed_by: object.map(managed_by).unwrap_or_default(),
            file: object.map(|object| object.source.file.to_string()).filter(|file| !file.is_empty()),
            line: place.map(|place| place.line),
        }
    }
}
