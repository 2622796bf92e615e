//! Tests the two examples of every rule's page: the first breaks the rule, the second breaks none.

use std::sync::{Arc, LazyLock};

use super::*;
use crate::kinds::{PolicyKind, Settings, UnreadKind, built_in};
use crate::object::{GroupKind, Objects};
use crate::text::{self, Reading};

/// The objects that the examples refer to.
const WORLD: &str = include_str!("tests/world.yaml");

static KINDS: LazyLock<Vec<PolicyKind>> = LazyLock::new(|| built_in().0);

fn findings(example: &str) -> Vec<Finding> {
    findings_with(example, Settings::default())
}

fn findings_with(example: &str, settings: Settings) -> Vec<Finding> {
    let read = |name: &str, yaml: &str| text::read(&Arc::from(name), yaml);
    let Reading { mut objects, mut problems } = read("world.yaml", WORLD).joined(read("example.yaml", example));
    text::settle_namespaces(&mut objects, &mut problems, |_, _| false);
    lint(&Engine::new(Objects::new(objects), &KINDS, settings), &problems)
}

/// The two examples of a page.
fn examples(rule: &Rule) -> [&str; 2] {
    let blocks = rule.explanation.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let blocks: Vec<&str> = blocks.collect();
    blocks.try_into().expect("two examples")
}

#[test]
fn every_example_breaks_its_rule() {
    for rule in RULES {
        let found = findings(examples(rule)[0]);
        let own: Vec<&Finding> = found.iter().filter(|finding| finding.rule.id == rule.id).collect();
        assert!(!own.is_empty(), "{}: {found:#?}", rule.id);
        for finding in own {
            assert_eq!(finding.problem.severity, rule.severity);
            assert_eq!(finding.problem.file.as_deref(), Some("example.yaml"), "{}", rule.id);
            assert!(finding.problem.location.is_some() && finding.problem.help.is_some(), "{finding:?}");
        }
    }
}

#[test]
fn an_object_that_may_not_be_read_is_not_missing() {
    let kinds = [("", "Service"), ("gateway.networking.k8s.io", "Gateway"), ("gateway.networking.k8s.io", "HTTPRoute")];
    let settings = |read_in: &[&str]| {
        let read_in: Vec<_> = read_in.iter().map(|it| (*it).into()).collect();
        let unread =
            kinds.map(|(group, kind)| UnreadKind { kind: GroupKind::new(group, kind), read_in: read_in.clone() });
        Settings { unread: unread.to_vec(), ..Settings::default() }
    };
    for rule in [&rule::DANGLING_BACKEND, &rule::DANGLING_PARENT, &rule::DANGLING_TARGET] {
        // A Gateway that is missing, instead of a listener.
        let example = &examples(rule)[0]
            .replace("name: main, namespace: infra, sectionName: wbe", "name: mian, namespace: infra");
        let found = findings_with(example, settings(&[]));
        assert!(found.iter().all(|finding| finding.rule.id != rule.id), "{found:#?}");
        // The namespaces of the examples could be read.
        let found = findings_with(example, settings(&["baker", "default", "infra"]));
        assert!(found.iter().any(|finding| finding.rule.id == rule.id), "{}: {found:#?}", rule.id);
    }
}

#[test]
fn every_example_has_one_finding() {
    // It follows from another finding, about another object.
    let consequences = ["unattached-route"];
    for rule in RULES {
        let mut found: Vec<&str> = findings(examples(rule)[0]).iter().map(|finding| finding.rule.id).collect();
        found.retain(|id| !consequences.contains(id) || rule.id == *id);
        assert_eq!(found, [rule.id]);
    }
}

#[test]
fn no_corrected_example_breaks_any_rule() {
    for rule in RULES {
        let found = findings(examples(rule)[1]);
        assert!(found.is_empty(), "{}: {found:#?}", rule.id);
    }
}

#[test]
fn rules_are_sorted_by_id() {
    assert!(RULES.is_sorted_by(|a, b| a.id < b.id));
}
