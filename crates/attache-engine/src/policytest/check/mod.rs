//! Compares the expectations of a test with the answers of the engine.

mod comparison;
mod effective;
mod objects;
mod requests;
mod scopes;
mod status;

use crate::engine::Engine;
use crate::kinds::KindName;
use crate::names::{known_kinds, nearest};
use crate::object::ObjectRef;
use crate::policy::PolicyId;
use crate::problem::Problem;
use crate::topology::NodeId;
use crate::value::Value;

use super::expectations::Expectation;
use super::query::{NodeQuery, PolicyQuery};
use super::{Mismatch, PolicyTest, TestOutcome, UnmetExpectation};

pub fn check(test: &PolicyTest, engine: &Engine) -> TestOutcome {
    let mut checker = Checker { test, engine, outcome: TestOutcome::default() };
    let expectations = &test.expectations;
    checker.check_each(&expectations.effective, effective::check);
    let statuses = status::Statuses::new(engine);
    checker.check_each(&expectations.status, |checker, expected| status::policy(checker, &statuses, expected));
    checker.check_each(&expectations.affected, |checker, expected| status::target(checker, &statuses, expected));
    checker.check_each(&expectations.objects, objects::field);
    checker.check_each(&expectations.refused, objects::refusal);
    checker.check_each(&expectations.requests, requests::check);
    checker.outcome
}

struct Checker<'t> {
    test: &'t PolicyTest,
    engine: &'t Engine,
    outcome: TestOutcome,
}

/// Why an expectation does not hold.
enum CheckError {
    /// The expectation names something unknown and cannot be checked: a mistake in the test.
    Broken { field: &'static str, message: String, help: Option<String> },
    /// The actual result differs.
    Unmet { about: String, mismatch: Mismatch },
}

impl CheckError {
    fn unknown_kind<'a>(
        field: &'static str,
        what: &str,
        name: &KindName,
        known: impl IntoIterator<Item = &'a str>,
    ) -> CheckError {
        let help = nearest(&name.kind, known).first().map(|near| format!("did you mean `{near}`?"));
        CheckError::Broken { field, message: format!("unknown {what} `{name}`"), help }
    }

    fn missing(about: impl ToString, message: impl Into<String>) -> CheckError {
        CheckError::Unmet { about: about.to_string(), mismatch: Mismatch::Missing { message: message.into() } }
    }
}

impl<'t> Checker<'t> {
    fn check_each<T>(
        &mut self,
        expectations: &'t [Expectation<T>],
        check: impl Fn(&Checker<'t>, &'t T) -> Result<(), CheckError>,
    ) {
        for Expectation { path, expected } in expectations {
            let document = &self.test.document;
            match check(self, expected) {
                Ok(()) => {}
                Err(CheckError::Broken { field, message, help }) => {
                    let problem = Problem { help, ..Problem::error(message) };
                    self.outcome.problems.push(problem.at(document, path.key(field)));
                }
                Err(CheckError::Unmet { about, mismatch }) => {
                    let location = document.locate(path);
                    self.outcome.failures.push(UnmetExpectation { about, location, mismatch });
                }
            }
        }
    }

    /// All nodes that a query matches: a Service that is the parent of mesh routes has two nodes.
    fn nodes(&self, query: &NodeQuery, field: &'static str) -> Result<Vec<NodeId>, CheckError> {
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        let matches = |node: NodeId| query.matches(topology.id(objects, node));
        let found = topology.nodes().filter(|(id, node)| node.section == query.section && matches(*id));
        let found: Vec<NodeId> = found.map(|(id, _)| id).collect();
        if found.is_empty() { Err(self.no_such_node(query, field)) } else { Ok(found) }
    }

    fn no_such_node(&self, query: &NodeQuery, field: &'static str) -> CheckError {
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        let ids = topology.nodes().map(|(node, _)| topology.id(objects, node));
        let kinds = ids.map(|id| (id.group.as_str(), id.kind.as_str())).chain(known_kinds());
        let mut kinds: Vec<(&str, &str)> = kinds.collect();
        kinds.sort_unstable();
        kinds.dedup();
        if !kinds.iter().any(|(group, kind)| query.kind.is(group, kind)) {
            let kinds = kinds.iter().map(|(_, kind)| *kind);
            return CheckError::unknown_kind(field, "kind", &query.kind, kinds);
        }
        let mut objects_only = topology.nodes().filter(|(_, node)| node.section.is_none());
        let object = objects_only.find(|(node, _)| query.matches(topology.id(objects, *node)));
        let message = match (object, &query.section) {
            (Some((object, _)), Some(section)) => {
                let sections = topology.sections(object).filter_map(|node| topology[node].section.as_ref());
                let sections: Vec<String> = sections.map(|section| format!("`{section}`")).collect();
                match sections.is_empty() {
                    true => "it has no sections".to_string(),
                    false => format!("it has no section `{section}`, only {}", sections.join(", ")),
                }
            }
            _ => "it does not exist".to_string(),
        };
        CheckError::missing(query, message)
    }

    fn unknown_policy_kind(&self, field: &'static str, name: &KindName) -> CheckError {
        let known = self.engine.kinds().iter().map(|(_, kind)| kind.kind.as_str());
        CheckError::unknown_kind(field, "policy kind", name, known)
    }

    /// The full name of the policy that a query matches, or the query itself if there is no such policy.
    fn full_name(&self, query: &PolicyQuery) -> String {
        let found = self.engine.policies().map(|(id, _)| self.engine.policy_id(id)).find(|id| query.matches(id));
        found.map_or_else(|| query.to_string(), ObjectRef::to_string)
    }

    fn policy_name(&self, id: PolicyId) -> Value {
        Value::str(self.engine.policy_id(id).to_string())
    }

    fn expected_policies(&self, policies: &[PolicyQuery]) -> Value {
        sorted(policies.iter().map(|query| self.full_name(query)))
    }

    fn actual_policies(&self, policies: &[PolicyId]) -> Value {
        sorted(policies.iter().map(|id| self.engine.policy_id(*id).to_string()))
    }
}

fn sorted(names: impl Iterator<Item = String>) -> Value {
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    Value::list(names.into_iter().map(Value::str).collect())
}
