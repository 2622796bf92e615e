use attache_core::status::{Enforcement, PolicyStatus, ScopeCounts, TargetStatus};
use serde::Serialize;

use super::API_VERSION;
use crate::input::Input;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusList {
    api_version: &'static str,
    kind: &'static str,
    policies: Vec<OfPolicy>,
    targets: Vec<OfTarget>,
}

#[derive(Debug, Serialize)]
struct OfPolicy {
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

/// As Kubernetes writes it, without the time of the last transition: that is for who writes it to the cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfTarget {
    target: String,
    affected_by: Vec<String>,
}

pub fn status_list(input: &Input, policies: &[PolicyStatus], targets: &[TargetStatus]) -> StatusList {
    StatusList {
        api_version: API_VERSION,
        kind: "StatusList",
        policies: policies.iter().map(|status| of_policy(input, status)).collect(),
        targets: targets
            .iter()
            .map(|status| OfTarget {
                target: input.name(status.target),
                affected_by: status.affected_by.iter().map(|policy| input.policy(*policy)).collect(),
            })
            .collect(),
    }
}

fn of_policy(input: &Input, status: &PolicyStatus) -> OfPolicy {
    let ScopeCounts { total, enforced, partial, overridden } = status.scopes;
    let (accepted, reason) = match status.refused {
        None => ("True", "Accepted"),
        Some(reason) => ("False", reason.name()),
    };
    let enforced_status = match status.enforcement {
        Enforcement::Enforced | Enforcement::PartiallyEnforced => "True",
        Enforcement::Overridden | Enforcement::NotEnforced => "False",
    };
    let observed_generation = input.engine.policy_object(status.policy).generation();
    let condition = |r#type, status_word, reason| Condition {
        r#type,
        status: status_word,
        reason,
        message: status.message.clone(),
        observed_generation,
    };
    let mut conditions = vec![condition("Accepted", accepted, reason)];
    if status.refused.is_none() {
        conditions.push(condition("Enforced", enforced_status, status.enforcement.name()));
    }
    OfPolicy {
        policy: input.policy(status.policy),
        accepted: Accepted { status: accepted, reason, message: status.message.clone() },
        enforcement: status.enforcement.name(),
        by: status.by.iter().map(|policy| input.policy(*policy)).collect(),
        scopes: Scopes { total, enforced, partial, overridden },
        conditions,
    }
}
