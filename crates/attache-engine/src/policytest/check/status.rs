//! Checks the status of policies, and the policies that affect a target.

use std::collections::BTreeSet;

use super::comparison::Comparison;
use super::{CheckError, Checker};
use crate::conditions::StatusCondition;
use crate::engine::Engine;
use crate::policy::PolicyId;
use crate::policytest::expectations::{ExpectedAffected, ExpectedStatus};
use crate::status::{PolicyStatus, TargetStatus};
use crate::value::Value;

/// The statuses of all policies and targets, computed once for a test.
pub struct Statuses {
    policies: Vec<PolicyStatus>,
    conditions: Vec<Vec<StatusCondition>>,
    targets: Vec<TargetStatus>,
}

impl Statuses {
    pub fn new(engine: &Engine) -> Statuses {
        let policies = engine.policy_statuses();
        Statuses { conditions: engine.policy_conditions(&policies), policies, targets: engine.target_statuses() }
    }
}

pub fn policy(checker: &Checker<'_>, statuses: &Statuses, expected: &ExpectedStatus) -> Result<(), CheckError> {
    let engine = checker.engine;
    let query = &expected.policy;
    if let Some(name) = &query.kind
        && !engine.kinds().iter().any(|(_, kind)| name.is(&kind.group, &kind.kind))
    {
        return Err(checker.unknown_policy_kind("policy", name));
    }
    let mut both = statuses.policies.iter().zip(&statuses.conditions);
    let Some((status, conditions)) = both.find(|(status, _)| query.matches(engine.policy_id(status.policy))) else {
        return Err(CheckError::missing(query, "there is no such policy"));
    };
    let mut comparison = Comparison::default();
    if let Some(accepted) = &expected.accepted {
        let actual = status.refused.map_or("Accepted", |reason| reason.name());
        comparison.add("accepted", Value::Str(accepted.clone()), Value::str(actual));
    }
    if let Some(enforcement) = &expected.enforcement {
        comparison.add("enforcement", Value::Str(enforcement.clone()), Value::str(status.enforcement.name()));
    }
    if let Some(by) = &expected.by {
        comparison.add("by", checker.expected_policies(by), checker.actual_policies(&status.by));
    }
    if let Some(message) = &expected.message {
        comparison.add_part("message", message, &status.message());
    }
    for condition in &expected.conditions {
        let actual = conditions.iter().find(|actual| actual.r#type == condition.r#type);
        let parts = [
            ("status", &condition.status, actual.map(|it| if it.is_true { "True" } else { "False" })),
            ("reason", &condition.reason, actual.map(|it| it.reason.as_str())),
            ("message", &condition.message, actual.map(|it| it.message.as_str())),
        ];
        for (part, expected, actual) in parts {
            if let Some(text) = expected {
                let name = format!("{}.{part}", condition.r#type);
                comparison.add(&name, Value::Str(text.clone()), actual.map_or(Value::Null, Value::str));
            }
        }
    }
    comparison.result(|| format!("status of {}", engine.policy_id(status.policy)))
}

pub fn target(checker: &Checker<'_>, statuses: &Statuses, expected: &ExpectedAffected) -> Result<(), CheckError> {
    let nodes = checker.nodes(&expected.target, "target")?;
    let targets = statuses.targets.iter().filter(|status| nodes.contains(&status.target));
    let by: BTreeSet<PolicyId> = targets.flat_map(|status| status.affected_by.iter().copied()).collect();
    let by: Vec<PolicyId> = by.into_iter().collect();
    let mut comparison = Comparison::default();
    comparison.add("by", checker.expected_policies(&expected.by), checker.actual_policies(&by));
    comparison.result(|| format!("policies that affect {}", expected.target))
}
