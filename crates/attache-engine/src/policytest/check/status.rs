//! The status of policies, and what affects targets.

use std::collections::BTreeSet;

use super::{Checking, Comparison, Trouble};
use crate::conditions::StatusCondition;
use crate::engine::Engine;
use crate::policy::PolicyId;
use crate::policytest as expected;
use crate::status::{PolicyStatus, TargetStatus};
use crate::value::Value;

pub struct Statuses {
    policies: Vec<PolicyStatus>,
    conditions: Vec<Vec<StatusCondition>>,
    targets: Vec<TargetStatus>,
}

impl Statuses {
    pub fn of(engine: &Engine) -> Statuses {
        let policies = engine.policy_statuses();
        Statuses { conditions: engine.policy_conditions(&policies), policies, targets: engine.target_statuses() }
    }
}

pub fn policy(checking: &Checking<'_>, statuses: &Statuses, line: &expected::Status) -> Result<(), Trouble> {
    let engine = checking.engine;
    let name = &line.policy;
    if let Some(wanted) = &name.kind
        && !engine.kinds().iter().any(|(_, kind)| wanted.is(&kind.group, &kind.kind))
    {
        return Err(checking.unknown_policy_kind("policy", wanted));
    }
    let mut both = statuses.policies.iter().zip(&statuses.conditions);
    let Some((status, conditions)) = both.find(|(status, _)| name.is(engine.policy_id(status.policy))) else {
        return Err(Trouble::nothing(name, "there is no such policy"));
    };
    let mut comparison = Comparison::default();
    if let Some(accepted) = &line.accepted {
        let actual = status.refused.map_or("Accepted", |reason| reason.name());
        comparison.add("accepted", Value::Str(accepted.clone()), Value::str(actual));
    }
    if let Some(enforcement) = &line.enforcement {
        comparison.add("enforcement", Value::Str(enforcement.clone()), Value::str(status.enforcement.name()));
    }
    if let Some(by) = &line.by {
        comparison.add("by", checking.expected_policies(by), checking.actual_policies(&status.by));
    }
    if let Some(message) = &line.message {
        comparison.add_part("message", message, &status.message);
    }
    for wanted in &line.conditions {
        let actual = conditions.iter().find(|it| it.r#type == wanted.r#type);
        let parts = [
            ("status", &wanted.status, actual.map(|it| if it.is_true { "True" } else { "False" })),
            ("reason", &wanted.reason, actual.map(|it| it.reason.as_str())),
            ("message", &wanted.message, actual.map(|it| it.message.as_str())),
        ];
        for (part, wanted_text, actual) in parts {
            if let Some(text) = wanted_text {
                let name = format!("{}.{part}", wanted.r#type);
                comparison.add(&name, Value::Str(text.clone()), actual.map_or(Value::Null, Value::str));
            }
        }
    }
    comparison.result(|| format!("status of {}", engine.policy_id(status.policy)))
}

pub fn target(checking: &Checking<'_>, statuses: &Statuses, line: &expected::Affected) -> Result<(), Trouble> {
    let nodes = checking.nodes(&line.target, "target")?;
    let targets = statuses.targets.iter().filter(|status| nodes.contains(&status.target));
    let by: BTreeSet<PolicyId> = targets.flat_map(|status| status.affected_by.iter().copied()).collect();
    let by: Vec<PolicyId> = by.into_iter().collect();
    let mut comparison = Comparison::default();
    comparison.add("by", checking.expected_policies(&line.by), checking.actual_policies(&by));
    comparison.result(|| format!("what affects {}", line.target))
}
