//! Finds mistakes in the input, and policies, rules and references that have no effect.
//!
//! ```text
//! problems of reading ─────────────────────────────────────────────→ input ─────────┐
//! engine ─┬→ listeners, routes, rules, backends, policies, fields ─→ link checks ───┼→ findings ─→ suppressions
//!         └→ fold facts: wins and losses in every scope ───────────→ outcome checks ┘
//! ```
//!
//! Nothing is computed twice: a check turns a result of the engine into a [`Finding`]. Its [`FindingCause`] holds the
//! facts as types, and its [`Rule`] explains the mistake with an example that is also its test.

mod attachments;
mod blocks;
mod changes;
mod classes;
mod field_shapes;
mod fields;
mod finding;
mod fold_facts;
mod input;
mod kinds;
mod links;
mod outcomes;
mod routes;
mod rule;
mod statuses;
mod subject;
mod suppressions;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::engine::Engine;
use crate::kinds::KindId;
use crate::object::ObjectId;
use crate::problem::Problem;

use finding::Findings;
use fold_facts::FoldFacts;
use subject::LintSubject;

pub use attachments::AttachmentFinding;
pub use blocks::BlockFinding;
pub use changes::FindingChanges;
pub use classes::ClassFinding;
pub use fields::{FieldFinding, ShownValue};
pub use finding::{Finding, FindingCause, FindingKey};
pub use kinds::KindFinding;
pub use links::LinkFinding;
pub use outcomes::{OutcomeFinding, PolicyLoss};
pub use routes::RouteFinding;
pub use rule::{RULES, Rule};
pub use statuses::{StatusFinding, WrittenCondition};
pub use suppressions::{ANNOTATION, SuppressionFinding};

/// Checks of references: between objects, and from policies to targets.
const REFERENCE_CHECKS: &[fn(LintSubject<'_>, &mut Findings)] = &[
    attachments::refused,
    attachments::conflicted,
    links::refused,
    classes::misspelt,
    routes::unattached,
    routes::unused_hostnames,
    routes::unreachable_rules,
    fields::invalid,
    kinds::unknown,
    kinds::unlabelled,
    kinds::problems,
    statuses::routes,
    statuses::gateways,
];

/// Checks of the outcomes of policies in their scopes.
const OUTCOME_CHECKS: &[fn(&FoldFacts<'_>, &mut Findings)] = &[
    outcomes::never_wins,
    outcomes::affects_nothing,
    outcomes::decided_by_age_or_name,
    blocks::shadowed_by_own_block,
    blocks::removes_nothing,
    blocks::empty,
    blocks::condition_never_true,
    blocks::condition_error,
    statuses::policies,
];

/// All findings, sorted by file, location and object. `reading` are the problems of reading the input.
pub fn lint(engine: &Engine, reading: &[Problem]) -> Vec<Finding> {
    engine.fold_all();
    findings(LintSubject::everything(engine), reading, || Some(FoldFacts::for_all(engine)))
}

/// The findings about some objects. Outcomes are checked for those that are policies of one kind, or for none.
pub fn lint_objects(
    engine: &Engine,
    reading: &[Problem],
    objects: &BTreeSet<ObjectId>,
    kind: Option<KindId>,
) -> Vec<Finding> {
    let facts = || kind.map(|kind| FoldFacts::for_kind(engine, kind, objects));
    findings(LintSubject::only(engine, objects), reading, facts)
}

/// The findings about some objects, and about the outcomes of some policies.
fn lint_region<'e>(
    engine: &'e Engine,
    objects: &'e BTreeSet<ObjectId>,
    facts: impl FnOnce() -> FoldFacts<'e> + Send,
) -> Vec<Finding> {
    findings(LintSubject::only(engine, objects), &[], || Some(facts()))
}

fn findings<'e>(
    subject: LintSubject<'e>,
    reading: &[Problem],
    facts: impl FnOnce() -> Option<FoldFacts<'e>> + Send,
) -> Findings {
    let references = || {
        let mut findings = Findings::new();
        input::problems(reading, &mut findings);
        let found = REFERENCE_CHECKS.par_iter().map(|check| {
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
            OUTCOME_CHECKS.iter().for_each(|check| check(&facts, &mut findings));
        }
        findings
    };
    let (mut findings, mut outcomes) = rayon::join(references, outcomes);
    findings.append(&mut outcomes);
    suppressions::apply(subject, &mut findings);
    findings.sort_by(Finding::by_location);
    findings
}
