//! PolicyTests: small worlds, and what must come of them. Runs them on the engine; files are read by the caller.
//!
//! ```text
//! document ─→ PolicyTest (short form drawn out, expectations read) ─→ engine ─→ failures
//! ```

mod check;
mod failure;
mod name;
mod read;
mod requests;
mod short_form;

use smol_str::SmolStr;

use crate::engine::Engine;
use crate::kinds::{PolicyKind, Settings};
use crate::object::{Object, Objects};
use crate::problem::Problem;
use crate::request::Request;
use crate::text::settle_scopes;
use crate::value::{Path, Value};

pub use failure::{Mismatch, UnmetExpectation};
pub use read::{is_test, read};

use name::{NodeName, PolicyName};

#[derive(Clone, Debug)]
pub struct PolicyTest {
    pub name: SmolStr,
    /// Files with more objects, relative to the one that the test is in, and where the test names them.
    pub files: Vec<(SmolStr, Path)>,
    /// The test as it was written: it knows the place of everything.
    pub document: Object,
    /// What the short form stands for.
    drawn: Vec<Object>,
    objects: Vec<Object>,
    expect: Expect,
}

#[derive(Clone, Debug, Default)]
struct Expect {
    effective: Vec<Line<Effective>>,
    status: Vec<Line<Status>>,
    affected: Vec<Line<Affected>>,
    objects: Vec<Line<Behaviour>>,
    refused: Vec<Line<Refused>>,
    requests: Vec<Line<ExpectedRequest>>,
}

/// One expectation, and where it is written.
#[derive(Clone, Debug)]
struct Line<T> {
    path: Path,
    it: T,
}

/// What is in force in every scope that contains some nodes in this order.
#[derive(Clone, Debug)]
struct Effective {
    policy_kind: SmolStr,
    scope: Vec<NodeName>,
    from: Option<NodeName>,
    /// Null if nothing is in force.
    spec: Option<Value>,
    origins: Vec<(Path, PolicyName)>,
    superseded: Option<Vec<Superseded>>,
    /// For kinds of which all apply, in order.
    policies: Option<Vec<PolicyName>>,
    /// What each of `policies` says there.
    specs: Option<Value>,
    /// Part of each warning, in order.
    warnings: Option<Vec<SmolStr>>,
}

#[derive(Clone, Debug)]
struct Superseded {
    path: Path,
    policy: PolicyName,
    by: Option<PolicyName>,
    reason: Option<SmolStr>,
}

#[derive(Clone, Debug)]
struct Status {
    policy: PolicyName,
    accepted: Option<SmolStr>,
    enforcement: Option<SmolStr>,
    by: Option<Vec<PolicyName>>,
    /// Part of the message.
    message: Option<SmolStr>,
    conditions: Vec<Condition>,
}

/// A condition that must be there, as far as it is given.
#[derive(Clone, Debug)]
struct Condition {
    r#type: SmolStr,
    status: Option<SmolStr>,
    reason: Option<SmolStr>,
    message: Option<SmolStr>,
}

#[derive(Clone, Debug)]
struct Affected {
    target: NodeName,
    by: Vec<PolicyName>,
}

/// What an object will be like at a path, with the policies that merge into it.
#[derive(Clone, Debug)]
struct Behaviour {
    object: NodeName,
    at: Path,
    value: Value,
}

/// What does not attach, and why.
#[derive(Clone, Debug)]
struct Refused {
    parent: NodeName,
    child: NodeName,
    reason: SmolStr,
    /// Part of the message.
    message: Option<SmolStr>,
}

/// What comes of a request. Only what is given is compared; where it is null, nothing must come.
#[derive(Clone, Debug)]
struct ExpectedRequest {
    request: Request,
    /// Where it comes in. If nothing is said, through the gateway that has a route for it.
    gateway: Option<NodeName>,
    service: Option<NodeName>,
    outcome: Option<SmolStr>,
    status: Option<Value>,
    /// Part of the reason why it is not served.
    reason: Option<SmolStr>,
    listener: Option<SmolStr>,
    route: Option<Option<NodeName>>,
    rule: Option<SmolStr>,
    /// One of those that serve it.
    backend: Option<Option<NodeName>>,
    /// The weight of each backend that the rule names.
    backends: Vec<(NodeName, Value)>,
    /// Why backends that the rule names cannot be used.
    invalid: Vec<(NodeName, Value)>,
    redirect: Option<Value>,
    rewrite: Option<Value>,
}

/// What came of a test. It has passed if there is nothing here.
#[derive(Clone, Debug, Default)]
pub struct TestOutcome {
    pub failures: Vec<UnmetExpectation>,
    /// What is wrong with the test itself: no answer can be trusted.
    pub problems: Vec<Problem>,
}

impl PolicyTest {
    /// The small world that it is about. `files` holds the objects of its files.
    pub fn objects(&self, files: Vec<Object>, built_in: &[PolicyKind]) -> Vec<Object> {
        // Of objects with one name the last counts: what is written out replaces what is only drawn.
        let mut objects = self.drawn.clone();
        objects.extend(files);
        objects.extend(self.objects.iter().cloned());
        let cluster_scoped = |group: &str, kind: &str| {
            built_in.iter().any(|known| known.cluster_scoped && known.group == group && known.kind == kind)
        };
        settle_scopes(&mut objects, &mut [], cluster_scoped);
        objects
    }

    /// Runs the test. `files` holds the objects of its files.
    pub fn run(&self, files: Vec<Object>, built_in: &[PolicyKind], settings: Settings) -> TestOutcome {
        let engine = Engine::new(Objects::new(self.objects(files, built_in)), built_in, settings);
        let mut outcome = check::check(self, &engine);
        outcome.problems.extend(engine.problems().iter().filter(|problem| problem.is_error()).cloned());
        outcome
    }
}
