//! Where the conditions that a controller writes differ from what is in force.

use std::fmt;

use smol_str::SmolStr;

use super::coexistence::Coexistence;
use super::policy_facts::PolicyFacts;
use crate::attachment::RejectionReason;
use crate::kinds::KindNote;
use crate::status::{AncestorStatus, Enforcement, PolicyStatus};
use crate::topology::NodeRef;

/// A difference between the conditions of a policy and what is in force. Its `Display` is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusNote {
    /// One target is refused, and that is reported for an ancestor of another target on which the policy is accepted.
    AcceptanceHidden {
        /// Why the target is refused.
        reason: RejectionReason,
        /// The ancestor.
        ancestor: NodeRef,
    },
    /// The controller treats policies like this one differently from what it documents.
    Known {
        /// What the controller does.
        message: SmolStr,
    },
    /// The policy is reported as overridden, and nothing overrides it.
    NotOverridden,
    /// The policy is reported as merged with others, and it is in force together with none of them.
    NotMerged,
}

impl fmt::Display for StatusNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusNote::AcceptanceHidden { reason, ancestor } => write!(
                f,
                "its controller reports {} for {ancestor}, where one of its targets is refused; it is accepted on another",
                reason.name()
            ),
            StatusNote::Known { message } => f.write_str(message),
            StatusNote::NotOverridden => f.write_str(
                "its controller reports it as overridden, because other policies target something below its target; \
                 nothing of it is overridden where requests come",
            ),
            StatusNote::NotMerged => f.write_str(
                "its controller reports it as merged, because of where other policies are attached; \
                 no request meets both",
            ),
        }
    }
}

/// The known differences between what a controller does with a policy and what it documents.
pub(super) fn known(facts: &PolicyFacts<'_>) -> Vec<StatusNote> {
    let spec = facts.engine.policy_object(facts.status.policy).spec();
    let is_shown = |KindNote { rule, when, .. }: &&KindNote| {
        let is_in_state = when.is_empty() || when.iter().any(|state| facts.holds(*state));
        is_in_state && rule.as_ref().is_none_or(|rule| rule.holds(spec) == Ok(true))
    };
    let notes = facts.kind.acceptance.notes.iter().filter(is_shown);
    notes.map(|note| StatusNote::Known { message: note.message.clone() }).collect()
}

/// The differences between what is `reported` and what is in force.
pub(super) fn find(
    status: &PolicyStatus,
    refused: Option<RejectionReason>,
    met: &Coexistence,
    reported: &Coexistence,
    ancestors: &[AncestorStatus],
) -> Vec<StatusNote> {
    let mut notes = Vec::new();
    if let (None, Some(reason)) = (status.refused, refused)
        && let Some(ancestor) = ancestors.iter().find(|it| it.status.main_refusal() == Some(reason))
    {
        notes.push(StatusNote::AcceptanceHidden { reason, ancestor: ancestor.ancestor.clone() });
    }
    let is_in_force = status.enforcement == Enforcement::Enforced && status.by.is_empty();
    if status.refused.is_none() && is_in_force && !reported.overridden_by.is_empty() {
        notes.push(StatusNote::NotOverridden);
    }
    if status.refused.is_none() && reported.is_merged() && !met.is_merged() {
        notes.push(StatusNote::NotMerged);
    }
    notes
}
