#![allow(clippy::unwrap_used)]

use crate::fixture::{ROUTED_SERVICE, engine, kind, node, policy};

use super::policy_facts::fill;
use super::*;

/// A kind with these condition templates.
fn reporting(conditions: &str) -> String {
    kind(&format!(
        "targets: [Gateway, Route, RouteRule], strategies: [atomic, merge], status: {{conditions: [{conditions}]}}"
    ))
}

/// The conditions of the policy `p`: `Type=True Reason: message`.
fn conditions(documents: &[&str]) -> Vec<String> {
    let engine = engine(&[&[ROUTED_SERVICE], documents].concat().concat());
    let statuses: Vec<_> =
        engine.policy_statuses().into_iter().filter(|it| engine.policy_id(it.policy).name == "p").collect();
    let shown = |it: &StatusCondition| {
        format!("{}={} {}: {}", it.r#type, if it.is_true { "True" } else { "False" }, it.reason, it.message)
    };
    engine.policy_reports(&statuses)[0].conditions.iter().map(shown).collect()
}

#[test]
fn placeholders_are_filled_and_unknown_ones_stay() {
    let placeholder = |name: &str| (name == "a").then(|| "1".to_owned());
    assert_eq!(fill("{a} and {b} and {", placeholder), "1 and {b} and {");
    assert_eq!(fill("{a}{a}}", placeholder), "11}");
}

#[test]
fn of_each_type_the_first_template_that_holds_counts() {
    let kind = reporting(
        "{when: Overridden, type: B, status: 'False', reason: Lost},
         {when: Accepted, type: B, status: 'True', reason: Fine},
         {when: Enforced, type: B, status: 'True', reason: Later},
         {when: Accepted, type: A, status: 'True', reason: Accepted, message: '{kind} {policy}'}",
    );
    let found = conditions(&[&kind, &policy("p", "Gateway/g", "a: 1")]);
    assert_eq!(found, ["A=True Accepted: TestPolicy default/p", "B=True Fine: "]);
}

#[test]
fn a_template_can_be_for_one_type_of_target() {
    let kind = reporting(
        "{when: Accepted, target: RouteRule, type: A, status: 'True', reason: Rule},
         {when: Accepted, target: Gateway, type: A, status: 'True', reason: Gateway}",
    );
    let found = conditions(&[&kind, &policy("p", "Gateway/g", "a: 1")]);
    assert_eq!(found, ["A=True Gateway: "]);
}

#[test]
fn a_policy_that_is_not_accepted_has_its_reason_and_message() {
    let kind = reporting(
        "{when: Accepted, type: Accepted, status: 'True', reason: Accepted},
         {when: TargetNotFound, type: Accepted, status: 'False', reason: '{reason}', message: '{message} ({targetKind} {target})'}",
    );
    let found = conditions(&[&kind, &policy("p", "Gateway/h", "a: 1")]);
    let message = "Gateway/default/h does not exist; did you mean `g`? (Gateway h)";
    assert_eq!(found, [format!("Accepted=False TargetNotFound: {message}")]);
}

#[test]
fn an_overridden_policy_names_where_the_others_are() {
    let kind = reporting(
        "{when: OverriddenSomewhere, type: Overridden, status: 'True', reason: Overridden, message: 'by {by} on {places}',
          places: {Route: these routes, RouteRule: these rules}}",
    );
    let found = conditions(&[&kind, &policy("p", "Gateway/g", "a: 1"), &policy("q", "HTTPRoute/r", "a: 2")]);
    assert_eq!(found, ["Overridden=True Overridden: by default/q on these routes: [default/r]"]);
}

#[test]
fn a_template_whose_places_are_all_empty_does_not_apply() {
    let kind = reporting(
        "{when: OverriddenSomewhere, type: Overridden, status: 'True', reason: Overridden, message: '{places}',
          places: {RouteRule: these rules}}",
    );
    let found = conditions(&[&kind, &policy("p", "Gateway/g", "a: 1"), &policy("q", "HTTPRoute/r", "a: 2")]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn policies_that_are_in_force_together_are_merged() {
    let kind = reporting(
        "{when: MergedWithHigher, type: A, status: 'True', reason: Merged, message: 'with {with}'},
         {when: MergedWithLower, type: B, status: 'True', reason: Merged, message: '{places}', places: {Route: routes}}",
    );
    let higher = policy("q", "Gateway/g", "defaults: {strategy: merge, b: 2}");
    let found = conditions(&[&kind, &policy("p", "HTTPRoute/r", "a: 1"), &higher]);
    assert_eq!(found, ["A=True Merged: with default/q"]);
    let lower = policy("q", "HTTPRoute/r", "b: 2");
    let found = conditions(&[&kind, &policy("p", "Gateway/g", "defaults: {strategy: merge, a: 1}"), &lower]);
    assert_eq!(found, ["B=True Merged: routes: [default/r]"]);
}

#[test]
fn a_target_has_a_condition_for_each_kind_that_affects_it() {
    let engine = engine(&[ROUTED_SERVICE, &reporting(""), &policy("p", "Gateway/g", "a: 1")].concat());
    let rule = node(&engine, "HTTPRoute/default/r#rule-1");
    let status = engine.target_statuses().into_iter().find(|it| it.target == rule).unwrap();
    let conditions = engine.target_reports(&[status]).remove(0).conditions;
    let types: Vec<&str> = conditions.iter().map(|it| it.r#type.as_str()).collect();
    assert_eq!(types, ["attache.dev/TestPolicyAffected"]);
    assert!(conditions[0].message.contains("default/p"), "{}", conditions[0].message);
}
