//! Policy kinds that are unknown, and documents about kinds that are not valid.

use std::fmt;

use super::finding::{Finding, FindingCause, Findings};
use super::rule;
use super::subject::LintSubject;
use crate::kinds::{CRD_GROUP, CRD_KIND, GROUP};
use crate::object::GroupKind;
use crate::problem::ProblemCode;
use crate::unknown::target_path;
use crate::value::{Path, Value};

/// Why a kind of policy is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindFinding {
    /// Objects look like policies, but their kind is unknown.
    Unknown {
        /// The kind.
        kind: GroupKind,
        /// How many more objects of the kind look like policies.
        more: usize,
    },
    /// A CRD looks like that of a policy kind, but has no policy label.
    Unlabelled {
        /// The kind that the CRD defines.
        kind: String,
    },
}

impl fmt::Display for KindFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KindFinding::Unknown { kind, more } => {
                write!(f, "looks like a policy, but kind `{kind}` is unknown")?;
                match more {
                    0 => Ok(()),
                    1 => f.write_str("; there is 1 more object of this kind"),
                    more => write!(f, "; there are {more} more objects of this kind"),
                }
            }
            KindFinding::Unlabelled { kind } => {
                write!(f, "`{kind}` looks like a policy kind, but its CRD has no policy label")
            }
        }
    }
}

/// Objects of unknown kinds that look like policies, once for each kind.
pub fn unknown(subject: LintSubject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    let (objects, kinds) = (engine.objects(), engine.kinds());
    let unlabelled: Vec<&Value> = kinds.unlabelled().iter().map(|crd| objects[*crd].spec()).collect();
    let is_unlabelled = |group: &str, kind: &str| {
        unlabelled.iter().any(|crd| {
            crd.get_str("group") == Some(group) && crd.at(&["names", "kind"]).and_then(Value::as_str) == Some(kind)
        })
    };
    for (group, kind) in subject.kinds() {
        if !engine.is_unknown_kind(group, kind) || is_unlabelled(group, kind) {
            continue;
        }
        let mut policies =
            objects.each_of_kind(group, kind).filter_map(|(_, object)| Some((object, target_path(object)?)));
        let Some((first, path)) = policies.next() else { continue };
        let finding = KindFinding::Unknown { kind: first.id.group_kind(), more: policies.count() };
        findings.push(Finding::new(&rule::UNKNOWN_POLICY_KIND, first, path, FindingCause::Kind(finding)));
    }
}

/// CRDs with the schema of a policy and without a policy label.
pub fn unlabelled(subject: LintSubject<'_>, findings: &mut Findings) {
    for crd in subject.engine.kinds().unlabelled() {
        let crd = &subject.engine.objects()[*crd];
        let kind = crd.spec().at(&["names", "kind"]).and_then(Value::as_str).unwrap_or_default();
        let cause = FindingCause::Kind(KindFinding::Unlabelled { kind: kind.to_owned() });
        findings.push(Finding::new(&rule::UNLABELLED_CRD, crd, Path::parse("metadata.labels"), cause));
    }
}

/// Problems of documents that describe kinds, of policies that can still be used, and of objects that bind policies.
pub fn problems(subject: LintSubject<'_>, findings: &mut Findings) {
    for problem in subject.engine.problems() {
        let rule = match &problem.object {
            Some(object) if (&*object.group, &*object.kind) == (CRD_GROUP, CRD_KIND) => continue,
            Some(object) if object.group == GROUP => &rule::INVALID_POLICY_KIND,
            _ => match problem.code {
                Some(ProblemCode::UnknownVersion) => &rule::UNKNOWN_VERSION,
                Some(ProblemCode::EqualPriority) => &rule::EQUAL_PRIORITY,
                Some(ProblemCode::MissingReference) => &rule::DANGLING_BINDING,
                _ => &rule::DUBIOUS_INPUT,
            },
        };
        let mut finding = Finding::from_problem(rule, problem);
        finding.problem.severity = rule.severity;
        finding.problem.help.get_or_insert_with(|| rule.fix.to_owned());
        findings.push(finding);
    }
}
