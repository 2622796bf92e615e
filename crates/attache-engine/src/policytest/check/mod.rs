//! Compares what a test expects with what the engine says.

mod effective;
mod objects;
mod requests;
mod status;

use crate::engine::Engine;
use crate::kinds::KindName;
use crate::names::{known_kinds, nearest};
use crate::object::ObjectRef;
use crate::policy::PolicyId;
use crate::problem::Problem;
use crate::topology::NodeId;
use crate::value::{Map, Path, Value};

use super::name::{NodeName, PolicyName};
use super::{Line, Mismatch, PolicyTest, TestOutcome, UnmetExpectation};

pub fn check(test: &PolicyTest, engine: &Engine) -> TestOutcome {
    let mut checking = Checking { test, engine, outcome: TestOutcome::default() };
    let expect = &test.expect;
    checking.each(&expect.effective, effective::check);
    let statuses = status::Statuses::of(engine);
    checking.each(&expect.status, |checking, it| status::policy(checking, &statuses, it));
    checking.each(&expect.affected, |checking, it| status::target(checking, &statuses, it));
    checking.each(&expect.objects, objects::behaviour);
    checking.each(&expect.refused, objects::refused);
    checking.each(&expect.requests, requests::check);
    checking.outcome
}

struct Checking<'t> {
    test: &'t PolicyTest,
    engine: &'t Engine,
    outcome: TestOutcome,
}

/// Why an expectation does not hold.
enum Trouble {
    /// It cannot even be looked at.
    Broken {
        field: &'static str,
        message: String,
        help: Option<String>,
    },
    Failed {
        about: String,
        mismatch: Mismatch,
    },
}

impl Trouble {
    /// A word that nobody knows.
    fn unknown<'a>(
        field: &'static str,
        what: &str,
        name: &KindName,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Trouble {
        let help = nearest(&name.kind, known).first().map(|near| format!("did you mean `{near}`?"));
        Trouble::Broken { field, message: format!("unknown {what} `{name}`"), help }
    }

    fn nothing(about: impl ToString, message: impl Into<String>) -> Trouble {
        Trouble::Failed { about: about.to_string(), mismatch: Mismatch::Nothing { message: message.into() } }
    }
}

impl<'t> Checking<'t> {
    fn each<T>(&mut self, lines: &'t [Line<T>], check: impl Fn(&Checking<'t>, &'t T) -> Result<(), Trouble>) {
        for line in lines {
            let document = &self.test.document;
            match check(self, &line.it) {
                Ok(()) => {}
                Err(Trouble::Broken { field, message, help }) => {
                    let problem = Problem { help, ..Problem::error(message) };
                    self.outcome.problems.push(problem.at(document, line.path.key(field)));
                }
                Err(Trouble::Failed { about, mismatch }) => {
                    let location = document.source.locate(&document.body, &line.path);
                    self.outcome.failures.push(UnmetExpectation { about, location, mismatch });
                }
            }
        }
    }

    /// The nodes that a name means: a Service in front of routes is two.
    fn nodes(&self, name: &NodeName, field: &'static str) -> Result<Vec<NodeId>, Trouble> {
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        let named = |node: NodeId| name.is(topology.id(objects, node));
        let found = topology.nodes().filter(|(id, node)| node.section == name.section && named(*id));
        let found: Vec<NodeId> = found.map(|(id, _)| id).collect();
        if found.is_empty() {
            return Err(self.no_such_node(name, field));
        }
        Ok(found)
    }

    fn no_such_node(&self, name: &NodeName, field: &'static str) -> Trouble {
        let (objects, topology) = (self.engine.objects(), self.engine.topology());
        let there = topology.nodes().map(|(node, _)| topology.id(objects, node));
        let kinds = there.map(|id| (id.group.as_str(), id.kind.as_str())).chain(known_kinds());
        let mut kinds: Vec<(&str, &str)> = kinds.collect();
        kinds.sort_unstable();
        kinds.dedup();
        if !kinds.iter().any(|(group, kind)| name.kind.is(group, kind)) {
            let kinds = kinds.iter().map(|(_, kind)| *kind);
            return Trouble::unknown(field, "kind", &name.kind, kinds);
        }
        let whole = topology.nodes().find(|(node, it)| it.section.is_none() && name.is(topology.id(objects, *node)));
        let message = match (whole, &name.section) {
            (Some((whole, _)), Some(section)) => {
                let sections = topology.sections(whole).filter_map(|node| topology.node(node).section.as_ref());
                let sections: Vec<String> = sections.map(|section| format!("`{section}`")).collect();
                format!("it has no section `{section}`, only {}", sections.join(", "))
            }
            _ => "it does not exist".to_string(),
        };
        Trouble::nothing(name, message)
    }

    fn unknown_policy_kind(&self, field: &'static str, name: &KindName) -> Trouble {
        let known = self.engine.kinds().iter().map(|(_, kind)| kind.kind.as_str());
        Trouble::unknown(field, "policy kind", name, known)
    }

    /// A policy as the engine writes it, or as the test does if there is no such policy.
    fn canonical(&self, name: &PolicyName) -> String {
        let found = self.engine.policies().map(|(id, _)| self.engine.policy_id(id)).find(|id| name.is(id));
        found.map_or_else(|| name.to_string(), ObjectRef::to_string)
    }

    fn policy_name(&self, id: PolicyId) -> Value {
        Value::str(self.engine.policy_id(id).to_string())
    }

    /// Policies in the order of their names.
    fn sorted(&self, names: impl Iterator<Item = String>) -> Value {
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Value::list(names.into_iter().map(Value::str).collect())
    }

    fn expected_policies(&self, names: &[PolicyName]) -> Value {
        self.sorted(names.iter().map(|name| self.canonical(name)))
    }

    fn actual_policies(&self, policies: &[PolicyId]) -> Value {
        self.sorted(policies.iter().map(|id| self.engine.policy_id(*id).to_string()))
    }
}

/// What was expected beside what is, as far as the test asks.
#[derive(Default)]
struct Comparison {
    expected: Map,
    actual: Map,
}

impl Comparison {
    fn add(&mut self, field: &str, expected: Value, actual: Value) {
        self.expected = self.expected.with(field, expected);
        self.actual = self.actual.with(field, actual);
    }

    /// A part of a text is enough.
    fn add_part(&mut self, field: &str, expected: &str, actual: &str) {
        let actual = if actual.contains(expected) { expected } else { actual };
        self.add(field, Value::str(expected), Value::str(actual));
    }

    fn result(self, about: impl FnOnce() -> String) -> Result<(), Trouble> {
        if self.expected == self.actual {
            return Ok(());
        }
        let (expected, actual) = (Value::Map(self.expected), Value::Map(self.actual));
        Err(Trouble::Failed { about: about(), mismatch: Mismatch::Different { expected, actual } })
    }
}

fn text(path: &Path) -> Value {
    Value::str(path.to_string())
}
