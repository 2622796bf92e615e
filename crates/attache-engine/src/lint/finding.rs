//! A finding: which rule is broken, where, and by which facts.

use std::cmp::Ordering;
use std::fmt;

use super::{
    AttachmentFinding, BlockFinding, ClassFinding, FieldFinding, KindFinding, LinkFinding, OutcomeFinding,
    RouteFinding, Rule, StatusFinding, SuppressionFinding,
};
use crate::object::{Object, ObjectRef};
use crate::problem::Problem;
use crate::value::Path;

/// A rule that is broken.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Where the rule is broken, the message and what to do. The severity is that of the rule.
    pub problem: Problem,
    /// The facts in the message.
    pub cause: FindingCause,
    /// The reason why the object suppresses the finding.
    pub suppressed: Option<String>,
}

pub(super) type Findings = Vec<Finding>;

/// The facts of a finding. Its `Display` is the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingCause {
    /// Part of the input could not be read, or a document about policy kinds is not valid.
    Problem(Problem),
    /// A policy, or one of its targets, is not accepted.
    Attachment(AttachmentFinding),
    /// A route, rule, listener or ListenerSet does not get a link that it asks for.
    Link(Box<LinkFinding>),
    /// The GatewayClass of a Gateway may be misspelt.
    Class(ClassFinding),
    /// A route, a hostname of it or a rule receives no requests.
    Route(RouteFinding),
    /// A field has a value that the Gateway API does not allow.
    Field(FieldFinding),
    /// A kind of policy is unknown.
    Kind(KindFinding),
    /// A policy has no effect, or its effect depends on its age or name.
    Outcome(OutcomeFinding),
    /// A block of a policy has no effect.
    Block(BlockFinding),
    /// The status in the manifest is not the computed one.
    Status(StatusFinding),
    /// An annotation that suppresses findings is wrong.
    Suppression(SuppressionFinding),
}

impl FindingCause {
    /// Other objects that the finding mentions: the winner of a conflict, the parent of a route.
    pub fn related(&self) -> Vec<&ObjectRef> {
        match self {
            FindingCause::Attachment(finding) => finding.related(),
            FindingCause::Link(finding) => finding.related(),
            FindingCause::Route(finding) => finding.related(),
            FindingCause::Outcome(finding) => finding.related(),
            FindingCause::Problem(_)
            | FindingCause::Class(_)
            | FindingCause::Field(_)
            | FindingCause::Kind(_)
            | FindingCause::Block(_)
            | FindingCause::Status(_)
            | FindingCause::Suppression(_) => Vec::new(),
        }
    }

    /// Advice that is more specific than that of the rule.
    fn help(&self) -> Option<String> {
        match self {
            FindingCause::Attachment(finding) => finding.help(),
            FindingCause::Link(finding) => finding.help(),
            FindingCause::Suppression(finding) => finding.help(),
            FindingCause::Class(finding) => Some(finding.help()),
            FindingCause::Problem(problem) => problem.help.clone(),
            FindingCause::Route(_)
            | FindingCause::Field(_)
            | FindingCause::Kind(_)
            | FindingCause::Outcome(_)
            | FindingCause::Block(_)
            | FindingCause::Status(_) => None,
        }
    }
}

impl fmt::Display for FindingCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindingCause::Problem(problem) => f.write_str(&problem.message),
            FindingCause::Attachment(finding) => finding.fmt(f),
            FindingCause::Link(finding) => finding.fmt(f),
            FindingCause::Class(finding) => finding.fmt(f),
            FindingCause::Route(finding) => finding.fmt(f),
            FindingCause::Field(finding) => finding.fmt(f),
            FindingCause::Kind(finding) => finding.fmt(f),
            FindingCause::Outcome(finding) => finding.fmt(f),
            FindingCause::Block(finding) => finding.fmt(f),
            FindingCause::Status(finding) => finding.fmt(f),
            FindingCause::Suppression(finding) => finding.fmt(f),
        }
    }
}

/// The identity of a finding across changes of locations and messages: the rule, the object and the field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingKey {
    /// The id of the rule.
    pub rule: &'static str,
    /// The object.
    pub object: Option<ObjectRef>,
    /// The field of the object.
    pub path: Option<Path>,
}

impl Finding {
    /// A finding about the field of `object` at `path`. An empty path means the whole object.
    pub(super) fn new(rule: &'static Rule, object: &Object, path: Path, cause: FindingCause) -> Finding {
        let help = cause.help().unwrap_or_else(|| rule.fix.to_owned());
        let problem = Problem::new(rule.severity, cause.to_string()).at(object, path).help(help);
        Finding { rule, problem, cause, suppressed: None }
    }

    /// A finding that repeats a problem.
    pub(super) fn from_problem(rule: &'static Rule, problem: &Problem) -> Finding {
        let problem = problem.clone();
        Finding { rule, cause: FindingCause::Problem(problem.clone()), problem, suppressed: None }
    }

    /// The identity of the finding across changes of the input.
    pub fn key(&self) -> FindingKey {
        let Problem { object, path, .. } = &self.problem;
        FindingKey { rule: self.rule.id, object: object.as_deref().cloned(), path: path.clone() }
    }

    /// Other objects that the finding mentions.
    pub fn related(&self) -> Vec<&ObjectRef> {
        self.cause.related()
    }

    pub(super) fn by_location(&self, other: &Finding) -> Ordering {
        let key = |finding: &Finding| {
            let Problem { file, location, object, .. } = &finding.problem;
            (file.clone(), *location, object.clone())
        };
        key(self)
            .cmp(&key(other))
            .then_with(|| self.rule.id.cmp(other.rule.id))
            .then_with(|| self.problem.message.cmp(&other.problem.message))
    }
}

/// The number of objects that a message names before it counts the rest.
const SHOWN: usize = 3;

/// `a, b and 3 more`.
pub(super) fn listed<T: fmt::Display>(items: &[T]) -> String {
    let shown: Vec<String> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    match items.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `1 scope`, `37 scopes`.
pub(super) fn scopes(count: u64) -> String {
    if count == 1 { "1 scope".to_owned() } else { format!("{count} scopes") }
}

/// `its only scope`, `any of its 37 scopes`.
pub(super) fn any_scope(count: u64) -> String {
    if count == 1 { "its only scope".to_owned() } else { format!("any of its {count} scopes") }
}
