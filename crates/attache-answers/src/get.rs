//! Lists: policies, policy kinds and scopes.

use attache_engine::kinds::{KindOrigin, LevelName, PolicyKind};
use attache_engine::model::{Model, Scope};
use attache_engine::policy::Policy;
use attache_engine::status::PolicyStatus;
use attache_engine::topology::NodeId;
use serde::Serialize;

use crate::scopes::short_path;
use crate::snapshot::Snapshot;
use crate::status::target_words;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindItem {
    pub name: String,
    pub group: String,
    pub kind: String,
    pub short_names: Vec<String>,
    pub versions: Vec<String>,
    pub class: String,
    pub hierarchy: Vec<String>,
    pub targets: Vec<String>,
    pub effective_target: Vec<String>,
    pub same_level: String,
    pub strategies: Vec<String>,
    /// Where its description comes from.
    pub from: String,
    /// How many policies of this kind there are.
    pub policies: usize,
}

impl KindItem {
    pub fn new(kind: &PolicyKind, policies: usize) -> KindItem {
        let names = |levels: &[LevelName]| levels.iter().map(ToString::to_string).collect();
        KindItem {
            name: kind.name.to_string(),
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            short_names: kind.short_names.iter().map(ToString::to_string).collect(),
            versions: kind.versions.iter().map(ToString::to_string).collect(),
            class: format!("{:?}", kind.class),
            hierarchy: names(&kind.hierarchy.levels),
            targets: names(&kind.targets.allowed),
            effective_target: names(&kind.hierarchy.effective_targets),
            same_level: format!("{:?}", kind.same_level()),
            strategies: kind.merging.strategies.iter().map(|strategy| strategy.name().to_owned()).collect(),
            from: match &kind.origin {
                KindOrigin::Program => "program".to_owned(),
                KindOrigin::BuiltIn(system) => format!("built in: {system}"),
                KindOrigin::Given(file) => file.to_string(),
                KindOrigin::Inferred(crd) => format!("CRD {crd}"),
            },
            policies,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyItem {
    pub policy: String,
    pub policy_kind: String,
    pub targets: Vec<String>,
    pub accepted: bool,
    pub enforcement: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
}

impl PolicyItem {
    pub fn new(input: &Snapshot, status: &PolicyStatus) -> PolicyItem {
        let policy = input.engine.policy(status.policy);
        let object = input.engine.policy_object(status.policy);
        PolicyItem {
            policy: input.policy(status.policy),
            policy_kind: input.engine.kinds().get(policy.kind).full_name(),
            targets: targets(policy),
            accepted: status.refused.is_none(),
            enforcement: status.enforcement.name(),
            created: object.created.map(|created| created.to_string()),
            file: object.source.file.to_string(),
        }
    }
}

/// What a policy says it targets, in its own words.
pub fn targets(policy: &Policy) -> Vec<String> {
    policy.targets.iter().map(target_words).collect()
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeItem {
    pub policy_kind: String,
    pub scope: Vec<String>,
    #[serde(skip)]
    pub short: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Those that contribute to what is in force.
    pub policies: Vec<String>,
}

impl ScopeItem {
    pub fn new(input: &Snapshot, model: &Model, scope: &Scope) -> ScopeItem {
        let outcomes = &model.effective(input.engine.view(), scope.chain).outcomes;
        let contributing = outcomes.iter().filter(|(_, outcome)| outcome.contributes);
        ScopeItem {
            policy_kind: model.kind.full_name(),
            scope: scope.nodes.iter().map(|node| input.name(*node)).collect(),
            short: short_path(input, &scope.nodes),
            from: scope.from.map(|namespace| input.name(namespace)),
            policies: contributing.map(|(policy, _)| input.policy(*policy)).collect(),
        }
    }
}

fn effective_targets<'i>(
    input: &'i Snapshot,
    model: &'i Model,
    namespace: Option<&'i str>,
) -> impl Iterator<Item = NodeId> + 'i {
    model.effective_targets(input.engine.view()).filter(move |node| input.is_in(*node, namespace))
}

/// How many scopes of a kind there are, without a look at any.
pub fn count(input: &Snapshot, model: &Model, namespace: Option<&str>) -> usize {
    let chains = effective_targets(input, model, namespace).flat_map(|node| model.chains_at(input.engine.view(), node));
    chains.fold(0, |sum: usize, (_, scopes)| sum.saturating_add(usize::try_from(*scopes).unwrap_or(usize::MAX)))
}

pub fn first(input: &Snapshot, models: &[Model], namespace: Option<&str>, most: usize) -> Vec<ScopeItem> {
    let mut items = Vec::new();
    for model in models {
        for node in effective_targets(input, model, namespace) {
            if items.len() >= most {
                break;
            }
            model.scopes(input.engine.view(), node, &mut |scope| items.push(ScopeItem::new(input, model, &scope)));
        }
    }
    items.truncate(most);
    items
}
