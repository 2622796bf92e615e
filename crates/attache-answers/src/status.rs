use attache_engine::conditions;
use attache_engine::policy::{PolicyTarget, TargetSpec};
use attache_engine::status::{PolicyStatus, ScopeCounts, TargetStatus};
use serde::Serialize;

use crate::inline::inline;
use crate::list::API_VERSION;
use crate::snapshot::Snapshot;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusList {
    api_version: &'static str,
    kind: &'static str,
    policies: Vec<OfPolicy>,
    targets: Vec<OfTarget>,
}

#[derive(Debug, Serialize)]
pub struct OfPolicy {
    policy: String,
    accepted: Accepted,
    enforcement: &'static str,
    by: Vec<String>,
    scopes: Scopes,
    conditions: Vec<Condition>,
}

#[derive(Debug, Serialize)]
struct Accepted {
    status: &'static str,
    reason: &'static str,
    message: String,
}

#[derive(Debug, Serialize)]
struct Scopes {
    total: u64,
    enforced: u64,
    partial: u64,
    overridden: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    r#type: String,
    status: &'static str,
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfTarget {
    target: String,
    affected_by: Vec<String>,
    conditions: Vec<Condition>,
}

pub fn status_list(input: &Snapshot, policies: &[PolicyStatus], targets: &[TargetStatus]) -> StatusList {
    StatusList {
        api_version: API_VERSION,
        kind: "StatusList",
        policies: of_policies(input, policies),
        targets: targets
            .iter()
            .map(|status| OfTarget {
                target: input.name(status.target),
                affected_by: status.affected_by.iter().map(|policy| input.policy(*policy)).collect(),
                conditions: input.engine.target_conditions(status).into_iter().map(Condition::from).collect(),
            })
            .collect(),
    }
}

pub fn of_policies(input: &Snapshot, policies: &[PolicyStatus]) -> Vec<OfPolicy> {
    let conditions = input.engine.policy_conditions(policies);
    policies.iter().zip(conditions).map(|(status, conditions)| of_policy(input, status, conditions)).collect()
}

fn of_policy(input: &Snapshot, status: &PolicyStatus, conditions: Vec<conditions::StatusCondition>) -> OfPolicy {
    let ScopeCounts { total, enforced, partial, overridden } = status.scopes;
    let (accepted, reason) = match status.refused {
        None => ("True", "Accepted"),
        Some(reason) => ("False", reason.name()),
    };
    OfPolicy {
        policy: input.policy(status.policy),
        accepted: Accepted { status: accepted, reason, message: status.message() },
        enforcement: status.enforcement.name(),
        by: status.by.iter().map(|policy| input.policy(*policy)).collect(),
        scopes: Scopes { total, enforced, partial, overridden },
        conditions: conditions.into_iter().map(Condition::from).collect(),
    }
}

impl From<conditions::StatusCondition> for Condition {
    fn from(condition: conditions::StatusCondition) -> Self {
        let conditions::StatusCondition { r#type, is_true, reason, message, observed_generation } = condition;
        Condition { r#type, status: if is_true { "True" } else { "False" }, reason, message, observed_generation }
    }
}

/// A target, in the words of its policy.
pub fn target_words(target: &PolicyTarget) -> String {
    match &target.spec {
        TargetSpec::Object { kind, namespace, name, section, .. } => {
            let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let section = section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
            format!("{kind}/{namespace}{name}{section}")
        }
        TargetSpec::Selected(selector) => {
            let section = selector.section.as_ref().map(|section| format!("#{section}")).unwrap_or_default();
            format!("{}{section} with {}", selector.kind, inline(&selector.labels))
        }
        TargetSpec::OwnNamespace => "its namespace".to_owned(),
        TargetSpec::Host(host) => format!("host {host}"),
        TargetSpec::Chosen(choice) => {
            let of: Vec<String> = choice.levels.iter().map(|level| level.to_string().to_lowercase()).collect();
            let what = choice.labels.as_ref().map(|labels| format!("{}s with {}", of.join("s and "), inline(labels)));
            let namespaces = choice.namespaces.as_ref().map(|labels| format!("namespaces with {}", inline(labels)));
            what.into_iter().chain(namespaces).collect::<Vec<_>>().join(" in ")
        }
    }
}
