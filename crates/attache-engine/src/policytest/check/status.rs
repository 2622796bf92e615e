//! Checks the status of policies, and the policies that affect a target.

use std::collections::BTreeSet;

use super::comparison::FieldComparison;
use super::{CheckError, Checker};
use crate::conditions::{PolicyReport, StatusCondition};
use crate::engine::Engine;
use crate::policy::PolicyId;
use crate::policytest::expectations::{ExpectedAffected, ExpectedAncestor, ExpectedCondition, ExpectedStatus};
use crate::status::{PolicyStatus, TargetStatus};
use crate::topology::NodeRef;
use crate::value::Value;

/// The statuses of all policies and targets, computed once for a test.
pub struct Statuses {
    policies: Vec<PolicyStatus>,
    reports: Vec<PolicyReport>,
    targets: Vec<TargetStatus>,
}

impl Statuses {
    pub fn new(engine: &Engine) -> Statuses {
        let policies = engine.policy_statuses();
        let targets = engine.rolled_up(engine.target_statuses());
        Statuses { reports: engine.policy_reports(&policies), policies, targets }
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
    let mut both = statuses.policies.iter().zip(&statuses.reports);
    let Some((status, report)) = both.find(|(status, _)| query.matches(engine.policy_id(status.policy))) else {
        return Err(CheckError::missing(query, "there is no such policy"));
    };
    let mut comparison = FieldComparison::default();
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
    compare_conditions(&mut comparison, "", &expected.conditions, &report.conditions);
    if let Some(notes) = &expected.notes {
        let actual: Vec<String> = report.notes.iter().map(ToString::to_string).collect();
        comparison.add("notes", Value::Int(notes.len() as i64), Value::Int(actual.len() as i64));
        for (at, (expected, actual)) in notes.iter().zip(&actual).enumerate() {
            comparison.add_part(&format!("notes[{at}]"), expected, actual);
        }
    }
    if !expected.ancestors.is_empty() {
        comparison.add(
            "ancestors",
            Value::Int(expected.ancestors.len() as i64),
            Value::Int(report.ancestors.len() as i64),
        );
    }
    expected.ancestors.iter().for_each(|it| compare_ancestor(checker, &mut comparison, it, report));
    comparison.result(|| format!("status of {}", engine.policy_id(status.policy)))
}

fn compare_ancestor(
    checker: &Checker<'_>,
    comparison: &mut FieldComparison,
    expected: &ExpectedAncestor,
    report: &PolicyReport,
) {
    let is_it = |it: &NodeRef| expected.ancestor.matches(&it.object) && expected.ancestor.section == it.section;
    let name = expected.ancestor.to_string();
    let Some((actual, conditions)) = report.ancestors.iter().find(|(it, _)| is_it(&it.ancestor)) else {
        comparison.add(&name, Value::str("an ancestor"), Value::Null);
        return;
    };
    if let Some(accepted) = &expected.accepted {
        let actual = actual.status.refused.map_or("Accepted", |reason| reason.name());
        comparison.add(&format!("{name}.accepted"), Value::Str(accepted.clone()), Value::str(actual));
    }
    if let Some(enforcement) = &expected.enforcement {
        let actual = actual.status.enforcement.name();
        comparison.add(&format!("{name}.enforcement"), Value::Str(enforcement.clone()), Value::str(actual));
    }
    if let Some(by) = &expected.by {
        let actual = checker.actual_policies(&actual.status.by);
        comparison.add(&format!("{name}.by"), checker.expected_policies(by), actual);
    }
    compare_conditions(comparison, &format!("{name}."), &expected.conditions, conditions);
}

fn compare_conditions(
    comparison: &mut FieldComparison,
    prefix: &str,
    expected: &[ExpectedCondition],
    actual: &[StatusCondition],
) {
    for condition in expected {
        let actual = actual.iter().find(|actual| actual.r#type == condition.r#type);
        let parts = [
            ("status", condition.status.clone(), actual.map(|it| if it.is_true { "True" } else { "False" })),
            ("reason", condition.reason.clone().map(Value::Str), actual.map(|it| it.reason.as_str())),
            ("message", condition.message.clone().map(Value::Str), actual.map(|it| it.message.as_str())),
        ];
        for (part, expected, actual) in parts {
            if let Some(expected) = expected {
                let name = format!("{prefix}{}.{part}", condition.r#type);
                comparison.add(&name, expected, actual.map_or(Value::Null, Value::str));
            }
        }
    }
}

pub fn target(checker: &Checker<'_>, statuses: &Statuses, expected: &ExpectedAffected) -> Result<(), CheckError> {
    let nodes = checker.nodes(&expected.target, "target")?;
    let targets = statuses.targets.iter().filter(|status| nodes.contains(&status.target));
    let by: BTreeSet<PolicyId> = targets.flat_map(|status| status.affected_by.iter().copied()).collect();
    let by: Vec<PolicyId> = by.into_iter().collect();
    let mut comparison = FieldComparison::default();
    comparison.add("by", checker.expected_policies(&expected.by), checker.actual_policies(&by));
    comparison.result(|| format!("policies that affect {}", expected.target))
}
