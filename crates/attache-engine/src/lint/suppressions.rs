//! Findings that objects suppress with an annotation.

use std::fmt;

use hashbrown::HashMap;

use super::finding::{Finding, FindingCause, Findings};
use super::rule::{self, RULES, Rule};
use super::subject::LintSubject;
use crate::names::nearest;
use crate::object::{Object, ObjectRef};
use crate::value::Path;

/// The annotation that suppresses findings: `dangling-target: the route comes next week; never-wins: on purpose`.
pub const ANNOTATION: &str = "attache.dev/lint-ignore";

/// What is wrong with the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuppressionFinding {
    /// There is no rule of this id.
    UnknownRule {
        /// The id.
        id: String,
        /// The most similar id of a rule.
        similar: Option<&'static str>,
    },
    /// The annotation gives no reason.
    NoReason {
        /// The id of the rule.
        rule: &'static str,
    },
    /// The object has no finding of this rule.
    Unused {
        /// The id of the rule.
        rule: &'static str,
    },
}

impl SuppressionFinding {
    pub(super) fn help(&self) -> Option<String> {
        match self {
            SuppressionFinding::UnknownRule { similar, .. } => similar.map(|id| format!("did you mean `{id}`?")),
            SuppressionFinding::NoReason { .. } | SuppressionFinding::Unused { .. } => None,
        }
    }
}

impl fmt::Display for SuppressionFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuppressionFinding::UnknownRule { id, .. } => write!(f, "there is no lint rule `{id}`"),
            SuppressionFinding::NoReason { rule } => write!(f, "`{rule}` is ignored without a reason"),
            SuppressionFinding::Unused { rule } => write!(f, "`{rule}` is ignored, but there is no such finding"),
        }
    }
}

/// One `ID: REASON` of the annotation.
struct Suppression<'o> {
    rule: &'static Rule,
    reason: &'o str,
    used: bool,
}

/// Marks the findings that are suppressed, and adds findings about the annotations themselves.
pub fn apply(subject: LintSubject<'_>, findings: &mut Findings) {
    let annotated = subject.objects().filter_map(|(_, object)| Some((object, object.annotation(ANNOTATION)?)));
    let mut mistakes = Findings::new();
    let mut suppressions: HashMap<&ObjectRef, (&Object, Vec<Suppression<'_>>)> = HashMap::new();
    for (object, text) in annotated {
        suppressions.insert(&object.id, (object, read(object, text, &mut mistakes)));
    }
    for finding in findings.iter_mut() {
        let Some(object) = &finding.problem.object else { continue };
        let Some((_, suppressions)) = suppressions.get_mut(&**object) else { continue };
        for suppression in suppressions.iter_mut().filter(|suppression| suppression.rule.id == finding.rule.id) {
            suppression.used = true;
            finding.suppressed = Some(suppression.reason.to_owned());
        }
    }
    for (object, suppressions) in suppressions.into_values() {
        for suppression in suppressions.iter().filter(|suppression| !suppression.used) {
            let cause = SuppressionFinding::Unused { rule: suppression.rule.id };
            mistakes.push(finding(&rule::UNUSED_SUPPRESSION, object, cause));
        }
    }
    findings.append(&mut mistakes);
}

fn read<'o>(object: &'o Object, text: &'o str, mistakes: &mut Findings) -> Vec<Suppression<'o>> {
    let mut suppressions = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (id, reason) = part.split_once(':').unwrap_or((part, ""));
        let (id, reason) = (id.trim(), reason.trim());
        let mistake = match Rule::named(id) {
            None => {
                let similar = nearest(id, RULES.iter().map(|rule| rule.id)).first().copied();
                SuppressionFinding::UnknownRule { id: id.to_owned(), similar }
            }
            Some(rule) if reason.is_empty() => SuppressionFinding::NoReason { rule: rule.id },
            Some(rule) => {
                suppressions.push(Suppression { rule, reason, used: false });
                continue;
            }
        };
        mistakes.push(finding(&rule::BAD_SUPPRESSION, object, mistake));
    }
    suppressions
}

fn finding(rule: &'static Rule, object: &Object, cause: SuppressionFinding) -> Finding {
    let path = Path::parse("metadata.annotations").key(ANNOTATION);
    Finding::new(rule, object, path, FindingCause::Suppression(cause))
}
