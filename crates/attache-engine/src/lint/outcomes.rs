//! Accepted policies that have no effect, or whose effect depends on their age or name.

use std::fmt;

use super::finding::{Finding, FindingCause, Findings, any_scope, listed, scopes};
use super::fold_facts::FoldFacts;
use super::rule;
use crate::fold::Loss;
use crate::handling::UnhandledRoot;
use crate::object::{ObjectId, ObjectRef};
use crate::policy::PolicyId;
use crate::status::{Enforcement, PolicyStatus, StatusExplanation};
use crate::value::Path;

/// The outcome of a policy in its scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeFinding {
    /// Other policies override the policy in all its scopes, or make it invalid there.
    NeverWins {
        /// The number of its scopes.
        scopes: u64,
        /// The policies that it loses to, sorted.
        losses: Vec<PolicyLoss>,
    },
    /// Nothing below the target of the policy receives requests, or no controller handles the policy there. The message
    /// is that of the policy's status.
    AffectsNothing {
        /// The message.
        message: String,
    },
    /// Another policy on the same target sets the same fields, and age or name decides.
    Tied {
        /// The policy that wins.
        loss: PolicyLoss,
        /// The fields that both set, sorted.
        paths: Vec<Path>,
        /// The number of scopes in which both set them.
        scopes: u64,
    },
}

/// A policy that wins, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyLoss {
    /// The policy that wins.
    pub winner: ObjectRef,
    /// Why it wins.
    pub reason: Loss,
    /// Whether the winner comes first in alphabetical order.
    pub is_first_by_name: bool,
}

impl PolicyLoss {
    fn new(facts: &FoldFacts<'_>, winner: PolicyId, loser: PolicyId, reason: Loss) -> PolicyLoss {
        let (winner, loser) = (facts.engine.policy_id(winner), facts.engine.policy_id(loser));
        PolicyLoss { winner: winner.clone(), reason, is_first_by_name: winner < loser }
    }

    /// Completes the sentence "the winner …".
    fn why(&self) -> &'static str {
        match self.reason {
            Loss::MoreSpecific => "is more specific",
            Loss::Overridden => "overrides it",
            Loss::Older => "is older",
            Loss::Newer => "is newer",
            Loss::ByName if self.is_first_by_name => "comes first by name",
            Loss::ByName => "comes last by name",
            Loss::HigherPriority => "has a higher priority",
            Loss::Removed => "removes it",
            Loss::Invalid => "is invalid together with it",
            Loss::ConditionFalse | Loss::Conflicted | Loss::SamePolicy | Loss::NotHandled => "excludes it",
        }
    }
}

/// `RetryPolicy/infra/a overrides it`.
impl fmt::Display for PolicyLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.winner, self.why())
    }
}

impl OutcomeFinding {
    pub(super) fn related(&self) -> Vec<&ObjectRef> {
        match self {
            OutcomeFinding::NeverWins { losses, .. } => losses.iter().map(|loss| &loss.winner).collect(),
            OutcomeFinding::AffectsNothing { .. } => Vec::new(),
            OutcomeFinding::Tied { loss, .. } => vec![&loss.winner],
        }
    }
}

impl fmt::Display for OutcomeFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutcomeFinding::NeverWins { scopes, losses } if losses.is_empty() => {
                write!(f, "it has no effect in {}: what it targets sets all of it itself", any_scope(*scopes))
            }
            OutcomeFinding::NeverWins { scopes, losses } => {
                write!(f, "it has no effect in {}: {}", any_scope(*scopes), listed(losses))
            }
            OutcomeFinding::AffectsNothing { message } => f.write_str(message),
            OutcomeFinding::Tied { loss, paths, scopes: count } => {
                match paths.as_slice() {
                    [first, ..] if first.is_empty() => f.write_str("all of it")?,
                    [first] => write!(f, "`{first}`")?,
                    [first, more @ ..] => write!(f, "`{first}` and {} more", more.len())?,
                    [] => f.write_str("part of it")?,
                }
                let (winner, why) = (&loss.winner, loss.why());
                write!(f, " loses to {winner} on the same target in {}, only because that {why}", scopes(*count))
            }
        }
    }
}

/// Policies that have no effect in any of their scopes because of other policies. A default that loses only to more specific
/// policies is not reported: it protects targets that have no policy of their own yet.
pub fn never_wins(facts: &FoldFacts<'_>, findings: &mut Findings) {
    let is_useless = |status: &PolicyStatus| {
        status.enforcement == Enforcement::Overridden
            || matches!(status.explanation, Some(StatusExplanation::InvalidWith(_)))
    };
    for (status, _) in facts.policies().filter(|(status, _)| is_useless(status)) {
        let first = (status.policy, PolicyId(ObjectId(0)), Loss::MoreSpecific);
        let losses = facts.losses.range(first..).map(|(key, _)| *key);
        let losses = losses.take_while(|(loser, ..)| *loser == status.policy);
        let mut losses: Vec<PolicyLoss> =
            losses.map(|(loser, winner, reason)| PolicyLoss::new(facts, winner, loser, reason)).collect();
        losses.sort();
        if !losses.is_empty() && losses.iter().all(|loss| matches!(loss.reason, Loss::MoreSpecific | Loss::Removed)) {
            continue;
        }
        let cause = OutcomeFinding::NeverWins { scopes: status.scopes.total, losses };
        let object = facts.engine.policy_object(status.policy);
        findings.push(Finding::new(&rule::NEVER_WINS, object, Path::default(), FindingCause::Outcome(cause)));
    }
}

/// Policies that are accepted and have no scopes.
pub fn affects_nothing(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (status, _) in facts.policies() {
        let is_idle = status.refused.is_none() && status.enforcement == Enforcement::NotEnforced;
        let is_deleted = status.explanation == Some(StatusExplanation::Deleted);
        if is_idle && !is_deleted && status.scopes.total == 0 {
            let rule = match &status.explanation {
                Some(StatusExplanation::NotHandled(roots)) if roots.iter().any(UnhandledRoot::is_gateway) => {
                    &rule::OTHER_CONTROLLER
                }
                _ => &rule::REACHES_NOTHING,
            };
            let cause = OutcomeFinding::AffectsNothing { message: status.message() };
            let object = facts.engine.policy_object(status.policy);
            findings.push(Finding::new(rule, object, Path::default(), FindingCause::Outcome(cause)));
        }
    }
}

/// Policies on one target that set the same field, where only age or name decides. Policies that never win have their
/// own finding.
pub fn decided_by_age_or_name(facts: &FoldFacts<'_>, findings: &mut Findings) {
    for (&(loser, winner, reason), lost) in &facts.losses {
        let rule = match reason {
            Loss::Older | Loss::Newer => &rule::DECIDED_BY_AGE,
            Loss::ByName => &rule::DECIDED_BY_NAME,
            _ => continue,
        };
        if facts.status(loser).enforcement == Enforcement::Overridden {
            continue;
        }
        let cause = OutcomeFinding::Tied {
            loss: PolicyLoss::new(facts, winner, loser, reason),
            paths: lost.paths.iter().copied().cloned().collect(),
            scopes: lost.scopes,
        };
        let object = facts.engine.policy_object(loser);
        findings.push(Finding::new(rule, object, Path::default(), FindingCause::Outcome(cause)));
    }
}
