//! What is wrong or pointless: all that the engine knows and nobody asked for. Nothing is analysed a second time.
//!
//! ```text
//! engine ─┬────────────────────────────────────────────────────→ one check per cause ─→ findings, less what is suppressed
//!         └→ facts (statuses, and what became of every block) ─↗
//! ```

mod blocks;
mod facts;
mod fields;
mod input;
mod kinds;
mod policies;
mod rivals;
mod routes;
mod rule;
mod shapes;
mod stale;
mod subject;
mod suppress;
#[cfg(test)]
mod tests;
mod topology;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::engine::Engine;
use crate::kinds::KindId;
use crate::object::{Object, ObjectId};
use crate::policy::PolicyId;
use crate::problem::Problem;
use crate::value::Path;

use facts::Facts;
use subject::Subject;

pub use rule::{RULES, Rule};
pub use suppress::ANNOTATION;

#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: &'static Rule,
    /// What, where, and what to do. Its severity is that of the rule.
    pub problem: Problem,
    /// The reason that the object itself gives for leaving it as it is.
    pub suppressed: Option<String>,
}

type Findings = Vec<Finding>;

/// What is wrong with how things refer to each other.
const REFERENCES: &[fn(Subject<'_>, &mut Findings)] = &[
    policies::refused,
    policies::conflicted,
    topology::refused,
    routes::unattached,
    routes::unused_hostnames,
    routes::unreachable_rules,
    fields::invalid,
    kinds::unknown,
    kinds::unlabelled,
    kinds::problems,
    stale::routes,
    stale::gateways,
];

/// What is wrong with what policies come to.
const OUTCOMES: &[fn(&Facts<'_>, &mut Findings)] = &[
    policies::never_wins,
    policies::reaches_nothing,
    rivals::decided_by_age_or_name,
    blocks::shadowed_by_own_block,
    blocks::removes_nothing,
    blocks::condition_never_true,
    blocks::condition_error,
    stale::policies,
];

/// Everything there is to find, in the order of files, places and objects. `reading` is what was wrong with the input
/// before it came to the engine.
pub fn lint(engine: &Engine, reading: &[Problem]) -> Vec<Finding> {
    engine.fold_all();
    findings(Subject::everything(engine), reading, || Some(Facts::of(engine)))
}

/// The same for some objects, and of what policies come to only what some do, by models that know all their scopes.
pub(crate) fn lint_around(
    engine: &Engine,
    objects: &BTreeSet<ObjectId>,
    policies: &BTreeSet<PolicyId>,
) -> Vec<Finding> {
    findings(Subject::only(engine, objects), &[], || Some(Facts::of_policies(engine, policies)))
}

/// The same for some objects, and of what policies come to only what those of one kind do: else nothing is folded for it.
pub fn lint_some(
    engine: &Engine,
    reading: &[Problem],
    objects: &BTreeSet<ObjectId>,
    kind: Option<KindId>,
) -> Vec<Finding> {
    findings(Subject::only(engine, objects), reading, || kind.map(|kind| Facts::of_kind(engine, kind)))
}

fn findings<'e>(
    subject: Subject<'e>,
    reading: &[Problem],
    facts: impl FnOnce() -> Option<Facts<'e>> + Send,
) -> Findings {
    let references = || {
        let mut findings = Findings::new();
        input::problems(reading, &mut findings);
        let found = REFERENCES.par_iter().map(|check| {
            let mut findings = Findings::new();
            check(subject, &mut findings);
            findings
        });
        findings.extend(found.collect::<Vec<Findings>>().into_iter().flatten());
        findings
    };
    let outcomes = || {
        let mut findings = Findings::new();
        if let Some(facts) = facts() {
            OUTCOMES.iter().for_each(|check| check(&facts, &mut findings));
        }
        findings
    };
    let (mut findings, mut outcomes) = rayon::join(references, outcomes);
    findings.append(&mut outcomes);
    suppress::apply(subject, &mut findings);
    findings.sort_by(Finding::by_place);
    findings
}

impl Finding {
    /// What tells it apart from others while numbers and places around it change.
    pub fn key(&self) -> (&'static str, String, String) {
        let text = |it: Option<String>| it.unwrap_or_default();
        let Problem { object, path, .. } = &self.problem;
        (self.rule.id, text(object.as_ref().map(ToString::to_string)), text(path.as_ref().map(ToString::to_string)))
    }

    /// What to do in this very case.
    fn help(mut self, help: impl Into<String>) -> Finding {
        self.problem.help = Some(help.into());
        self
    }

    fn by_place(&self, other: &Finding) -> Ordering {
        let key = |it: &Finding| (it.problem.file.clone(), it.problem.location, it.problem.object.clone());
        key(self)
            .cmp(&key(other))
            .then_with(|| self.rule.id.cmp(other.rule.id))
            .then_with(|| self.problem.message.cmp(&other.problem.message))
    }
}

impl Rule {
    /// This rule is broken by `object`, at `path`.
    fn at(&'static self, object: &Object, path: Path, message: impl Into<String>) -> Finding {
        let problem = Problem::new(self.severity, message.into()).at(object, path).help(self.fix);
        Finding { rule: self, problem, suppressed: None }
    }

    /// This rule is broken by `object` as a whole.
    fn about(&'static self, object: &Object, message: impl Into<String>) -> Finding {
        self.at(object, Path::default(), message)
    }
}

/// `its only scope`, `any of its 37 scopes`.
fn any_scope(count: u64) -> String {
    if count == 1 { "its only scope".to_owned() } else { format!("any of its {count} scopes") }
}

/// `1 scope`, `37 scopes`.
fn scopes(count: u64) -> String {
    if count == 1 { "1 scope".to_owned() } else { format!("{count} scopes") }
}
