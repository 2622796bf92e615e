use std::collections::BTreeSet;

use attache_engine::fold;
use attache_engine::model::{Model, Scope};
use attache_engine::object::ObjectId;
use attache_engine::object_merge::Merged;
use attache_engine::policy::{BlockKind, PolicyId};
use attache_engine::topology::NodeId;
use attache_engine::value::{Path, Value};
use serde::Serialize;

use crate::scopes::Group;
use crate::snapshot::Snapshot;

/// What is in force in one scope.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectivePolicy {
    policy_kind: String,
    scope: Vec<String>,
    /// Only requests from this Namespace are meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(flatten)]
    in_force: InForce,
    /// For kinds that merge into objects: the object at the end of the scope, as it will behave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<AsItBehaves>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// What policies say together, who says it, and what lost.
#[derive(Debug, Serialize)]
pub struct InForce {
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Value>,
    /// For kinds of which all apply, in the order in which they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    policies: Option<Vec<Applied>>,
    origins: Vec<Origin>,
    superseded: Vec<Superseded>,
}

#[derive(Debug, Serialize)]
struct Applied {
    policy: String,
    target: String,
    spec: Value,
}

#[derive(Debug, Serialize)]
pub struct Origin {
    path: String,
    policy: String,
    block: &'static str,
    target: String,
}

impl Origin {
    pub fn new(input: &Snapshot, path: &Path, policy: PolicyId, which: BlockKind, target: NodeId) -> Origin {
        let (policy, target) = (input.policy(policy), input.name(target));
        Origin { path: path.to_string(), policy, block: which.name(), target }
    }
}

#[derive(Debug, Serialize)]
struct Superseded {
    #[serde(flatten)]
    what: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    reason: &'static str,
}

#[derive(Debug, Serialize)]
struct AsItBehaves {
    object: String,
    path: String,
    value: Value,
    /// What has none is the object's own.
    origins: Vec<Origin>,
}

#[derive(Debug, Serialize)]
struct Warning {
    policy: String,
    block: &'static str,
    message: String,
}

/// Whether there is anything to say about it.
pub fn says_something(effective: &fold::EffectivePolicy) -> bool {
    effective.spec.is_some() || !effective.applied.is_empty() || !effective.superseded.is_empty()
}

pub fn effective_policy(input: &Snapshot, model: &Model, scope: &Scope) -> EffectivePolicy {
    let effective = model.effective(input.engine.view(), scope.chain);
    let topology = input.engine.topology();
    let end = scope.nodes.last().map(|end| topology.whole(*end));
    let object = end.and_then(|end| topology[end].owner.object());
    let merged = object.map(|object| input.engine.merged(model, object)).unwrap_or_default();
    EffectivePolicy {
        policy_kind: model.kind.full_name(),
        scope: scope.nodes.iter().map(|node| input.name(*node)).collect(),
        from: scope.from.map(|namespace| input.name(namespace)),
        in_force: in_force(input, effective, model.kind.accumulates()),
        objects: merged
            .iter()
            .filter(|it| it.chain == scope.chain)
            .map(|it| AsItBehaves {
                object: end.map(|end| input.name(end)).unwrap_or_default(),
                path: it.path.to_string(),
                value: it.value.clone(),
                origins: origins(input, &it.effective),
            })
            .collect(),
        warnings: effective
            .warnings
            .iter()
            .map(|it| Warning { policy: input.policy(it.policy), block: it.block.name(), message: it.message.clone() })
            .collect(),
    }
}

/// `accumulates` if all policies of the kind apply.
pub fn in_force(input: &Snapshot, effective: &fold::EffectivePolicy, accumulates: bool) -> InForce {
    let applied = effective.applied.iter().map(|applied| Applied {
        policy: input.policy(applied.policy),
        target: input.name(applied.target),
        spec: applied.spec.clone(),
    });
    let superseded = effective.superseded.iter().map(|it| Superseded {
        what: Origin::new(input, &it.path, it.policy, it.block, it.target),
        by: it.by.map(|policy| input.policy(policy)),
        reason: it.reason.name(),
    });
    InForce {
        spec: effective.spec.clone(),
        policies: accumulates.then(|| applied.collect()),
        origins: origins(input, effective),
        superseded: superseded.collect(),
    }
}

fn origins(input: &Snapshot, effective: &fold::EffectivePolicy) -> Vec<Origin> {
    effective.origins.iter().map(|it| Origin::new(input, &it.path, it.policy, it.block, it.target)).collect()
}

/// Where the kind merges into the objects at the ends of the scopes: the objects as they will behave.
pub fn merged(input: &Snapshot, most: usize, model: &Model, group: &Group) -> Vec<(ObjectId, Merged)> {
    let topology = input.engine.topology();
    let objects = group.ends.iter().filter_map(|end| topology[*end].owner.object());
    let objects: BTreeSet<ObjectId> = objects.take(most).collect();
    let merged = objects
        .into_iter()
        .flat_map(|object| input.engine.merged(model, object).into_iter().map(move |merged| (object, merged)));
    merged.filter(|(_, merged)| merged.chain == group.chain).collect()
}
