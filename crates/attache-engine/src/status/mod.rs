//! The status of policies and targets.
//!
//! ```text
//! tallies of a policy      ─→ PolicyStatus   over all its scopes
//! chains ─→ their Gateways ─→ PolicyDetails  for each ancestor, with the parts that other policies supersede
//! contributing policies    ─→ TargetStatus   the policies that affect a node, or an object with its sections
//! ```

mod ancestor_sets;
mod ancestors;
mod chain_ancestors;
mod targets;

use std::fmt;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::attachment::{Attachment, AttachmentError, Refusal, RejectionReason};
use crate::engine::Engine;
use crate::handling::UnhandledRoot;
use crate::object::ObjectRef;
use crate::policy::{Policy, PolicyId};
use crate::tally::{Tally, policy_tally};

pub(crate) use ancestor_sets::AncestorSets;
pub use ancestors::{AncestorStatus, MAX_ANCESTORS, PolicyDetails, SupersededParts};
pub use targets::TargetStatus;

pub use crate::tally::{Enforcement, ScopeCounts};

/// The status of a policy over all scopes that it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatus {
    /// The policy.
    pub policy: PolicyId,
    /// Why it is not accepted; `None` if it is accepted on one of its targets.
    pub refused: Option<RejectionReason>,
    /// The explanation of the status. Its `Display` is the message of the status.
    pub explanation: Option<StatusExplanation>,
    /// How much of it is in force.
    pub enforcement: Enforcement,
    /// The policies that it lost to, in the order of names.
    pub by: Vec<PolicyId>,
    /// The scopes that it reaches.
    pub scopes: ScopeCounts,
}

impl PolicyStatus {
    /// Whether it is not in force because the Gateways of the policy belong to controllers that do not handle it.
    pub(crate) fn is_unhandled(&self) -> bool {
        let is_gateway = UnhandledRoot::is_gateway;
        matches!(&self.explanation, Some(StatusExplanation::NotHandled(roots)) if roots.iter().any(is_gateway))
    }

    /// Why targets are refused. There can be refused targets even if the policy is accepted on others.
    pub fn refusals(&self) -> &[AttachmentError] {
        match &self.explanation {
            Some(StatusExplanation::Refused(errors)) => errors,
            _ => &[],
        }
    }

    /// The reason to report, if targets are refused for several.
    pub(crate) fn main_refusal(&self) -> Option<RejectionReason> {
        main_reason(self.refusals().iter().map(AttachmentError::reason))
    }

    /// The explanation as text; empty if there is none.
    pub fn message(&self) -> String {
        self.explanation.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// Why a policy, or part of it, is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusExplanation {
    /// Some or all of its targets are refused.
    Refused(Vec<AttachmentError>),
    /// It is switched off.
    Disabled,
    /// It is a dry run.
    DryRun,
    /// It is being deleted.
    Deleted,
    /// It has no rules.
    Empty,
    /// It names no target, and no other object uses it.
    Unused,
    /// It reaches no scope.
    NotInPath,
    /// It has settings for ports alone, and no listener that it reaches has one of them.
    OtherPorts,
    /// No controller of the Gateways that it could be in force on handles it.
    NotHandled(Vec<UnhandledRoot>),
    /// Its condition holds nowhere.
    ConditionFalse,
    /// On its targets it is invalid together with these policies.
    InvalidWith(Vec<ObjectRef>),
    /// On some of its targets it is invalid together with these policies.
    PartlyInvalidWith(Vec<ObjectRef>),
    /// Its targets set everything that it sets.
    SetByTarget,
    /// Its targets set some of what it sets.
    PartlySetByTarget,
}

impl fmt::Display for StatusExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StatusExplanation::Refused(errors) => {
                let mut texts: Vec<String> = Vec::with_capacity(errors.len());
                for text in errors.iter().map(ToString::to_string) {
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
                return f.write_str(&texts.join("; "));
            }
            StatusExplanation::NotHandled(roots) => {
                if let [first, more @ ..] = roots.as_slice() {
                    write!(f, "{first}")?;
                    if !more.is_empty() {
                        write!(f, ", and {} more", more.len())?;
                    }
                }
                return Ok(());
            }
            StatusExplanation::InvalidWith(others) => return write!(f, "invalid together with {}", listed(others)),
            StatusExplanation::PartlyInvalidWith(others) => {
                return write!(f, "invalid on some targets together with {}", listed(others));
            }
            StatusExplanation::Disabled => "it is disabled",
            StatusExplanation::DryRun => "it is a dry run: it is logged, and not enforced",
            StatusExplanation::Deleted => "it is being deleted",
            StatusExplanation::Empty => "it sets nothing",
            StatusExplanation::Unused => "it names no target, and nothing in the input uses it",
            StatusExplanation::NotInPath => "nothing below its target receives traffic",
            StatusExplanation::OtherPorts => "no listener of its target has a port that it has settings for",
            StatusExplanation::ConditionFalse => "its condition holds nowhere",
            StatusExplanation::SetByTarget => "what it targets sets all of it itself",
            StatusExplanation::PartlySetByTarget => "what it targets sets part of it itself",
        })
    }
}

impl Engine {
    /// The status of every policy, in the order of names.
    pub fn policy_statuses(&self) -> Vec<PolicyStatus> {
        self.build_tallies();
        self.policies().map(|(policy, _)| self.policy_status(policy)).collect()
    }

    /// Builds the tallies of all models, in parallel.
    pub(crate) fn build_tallies(&self) {
        self.models().par_iter().for_each(|model| _ = model.tallies(self.view()));
    }

    /// The status of the policy with this reference. `None` if there is no such policy.
    pub fn status(&self, policy: &ObjectRef) -> Option<PolicyStatus> {
        self.find_policy(policy).map(|policy| self.policy_status(policy))
    }

    /// The status of a policy.
    pub fn policy_status(&self, policy: PolicyId) -> PolicyStatus {
        let model = self.parts().policies.get(policy).and_then(|it| self.model(it.kind));
        let tally = model.map(|model| policy_tally(model.tallies(self.view()), policy)).unwrap_or_default();
        let is_its = |attachment: &Attachment| attachment.policy == policy && !attachment.is_refused();
        let is_accepted = self.stacks_of(policy).any(|stack| stack.accepted.iter().any(is_its));
        let refusals = self.refusals(policy);
        let mut status = policy_status(policy, self.policy(policy), &tally, is_accepted, refusals);
        if !is_accepted {
            status.by = self.rivals(policy).map(|(_, winner)| winner).collect();
        }
        self.sort_policies(&mut status.by);
        self.explain_unhandled(&mut status, &tally);
        self.explain_invalid(&mut status, &tally);
        self.explain_ports(&mut status);
        status
    }

    /// Explains which controllers do not handle a policy that reaches no other scopes.
    fn explain_unhandled(&self, status: &mut PolicyStatus, tally: &Tally) {
        if status.explanation == Some(StatusExplanation::NotInPath) {
            let kind = self.policy(status.policy).kind;
            let targets = self.attachments().for_policy(status.policy).to.iter();
            let gateways = targets.map(|it| self.topology().whole(it.node)).filter(|it| !self.handles(kind, *it));
            let roots = self.unhandled_roots(tally.unhandled().chain(gateways));
            if !roots.is_empty() {
                status.explanation = Some(StatusExplanation::NotHandled(roots));
            }
        }
    }

    /// Explains together with which policies a policy is invalid.
    fn explain_invalid(&self, status: &mut PolicyStatus, tally: &Tally) {
        let mut others: Vec<PolicyId> = tally.invalid_with().collect();
        if others.is_empty() {
            return;
        }
        self.sort_policies(&mut others);
        let others = others.into_iter().map(|policy| self.policy_id(policy).clone()).collect();
        match (status.enforcement, &status.explanation) {
            (Enforcement::NotEnforced, Some(StatusExplanation::ConditionFalse)) => {
                status.explanation = Some(StatusExplanation::InvalidWith(others));
            }
            (_, None) => status.explanation = Some(StatusExplanation::PartlyInvalidWith(others)),
            _ => {}
        }
    }

    /// Explains that a policy which reaches no scope has settings for other ports alone.
    fn explain_ports(&self, status: &mut PolicyStatus) {
        if status.explanation == Some(StatusExplanation::NotInPath) {
            let policy = self.policy(status.policy);
            let Some(per_port) = &self.kinds().get(policy.kind).merging.per_port else { return };
            // No listener has port zero.
            if policy.blocks.iter().all(|block| per_port.select(&block.spec, 0).entries().is_empty()) {
                status.explanation = Some(StatusExplanation::OtherPorts);
            }
        }
    }

    /// Sorts policies by name, each once.
    fn sort_policies(&self, policies: &mut Vec<PolicyId>) {
        policies.sort_by(|a, b| self.policy_id(*a).cmp(self.policy_id(*b)));
        policies.dedup();
    }
}

/// `a, b`.
fn listed(policies: &[ObjectRef]) -> String {
    policies.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Why a policy is ignored.
fn left_out(policy: &Policy) -> Option<StatusExplanation> {
    match policy {
        Policy { deleted: true, .. } => Some(StatusExplanation::Deleted),
        Policy { dry_run: true, .. } => Some(StatusExplanation::DryRun),
        Policy { disabled: true, .. } => Some(StatusExplanation::Disabled),
        _ => None,
    }
}

fn policy_status(
    id: PolicyId,
    policy: &Policy,
    tally: &Tally,
    is_accepted: bool,
    refusals: Vec<Refusal>,
) -> PolicyStatus {
    let left_out = left_out(policy);
    let (scopes, enforcement) = (tally.scopes(), tally.enforcement());
    let enforcement = if is_accepted { enforcement } else { Enforcement::NotEnforced };
    PolicyStatus {
        policy: id,
        // A policy that is not accepted may have no refusal: it names no target, and no filter refers to it.
        refused: main_reason(refusals.iter().map(Refusal::reason)).filter(|_| !is_accepted),
        explanation: match enforcement {
            _ if !refusals.is_empty() => {
                Some(StatusExplanation::Refused(refusals.into_iter().map(|refusal| *refusal.error).collect()))
            }
            Enforcement::NotEnforced if left_out.is_some() => left_out,
            Enforcement::NotEnforced if !is_accepted && policy.targets.is_empty() => Some(StatusExplanation::Unused),
            Enforcement::NotEnforced if scopes.total == 0 => Some(StatusExplanation::NotInPath),
            Enforcement::NotEnforced if policy.is_empty() => Some(StatusExplanation::Empty),
            Enforcement::NotEnforced => Some(StatusExplanation::ConditionFalse),
            Enforcement::Overridden if tally.lost_to_target() => Some(StatusExplanation::SetByTarget),
            Enforcement::PartiallyEnforced if tally.lost_to_target() => Some(StatusExplanation::PartlySetByTarget),
            Enforcement::Enforced | Enforcement::PartiallyEnforced | Enforcement::Overridden => None,
        },
        enforcement,
        by: tally.by().collect(),
        scopes,
    }
}

/// The reason to report, of several for which a policy is not accepted: that of a target that exists.
fn main_reason(reasons: impl Iterator<Item = RejectionReason>) -> Option<RejectionReason> {
    reasons.min_by_key(|reason| match reason {
        RejectionReason::Conflicted => 0,
        RejectionReason::Invalid => 1,
        RejectionReason::TargetConflict => 2,
        RejectionReason::RefNotPermitted => 3,
        RejectionReason::TargetNotFound => 4,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fixture::{ROUTED_SERVICE, dated_policy, engine, kind, policy, policy_id};

    const ANY: &str = "targets: [Gateway, Route], strategies: [atomic, merge, patch]";

    /// The status of the policy `p`: its reason, enforcement, the policies that it lost to, and the message.
    fn status(documents: &[&str]) -> (Option<RejectionReason>, Enforcement, Vec<String>, String) {
        let engine = engine(&[&[ROUTED_SERVICE], documents].concat().concat());
        let status = engine.policy_status(policy_id(&engine, "p"));
        let by = status.by.iter().map(|policy| engine.policy_id(*policy).name.to_string()).collect();
        (status.refused, status.enforcement, by, status.message())
    }

    #[test]
    fn a_policy_that_nothing_overrides_is_enforced() {
        let found = status(&[&kind(ANY), &policy("p", "Gateway/g", "a: 1")]);
        assert_eq!(found, (None, Enforcement::Enforced, vec![], String::new()));
    }

    #[test]
    fn a_policy_that_lost_some_rules_names_who_won() {
        let found = status(&[
            &kind(ANY),
            &policy("p", "Gateway/g", "defaults: {strategy: patch, a: 1, b: 1}"),
            &policy("q", "HTTPRoute/r", "a: 2"),
        ]);
        assert_eq!(found, (None, Enforcement::PartiallyEnforced, vec!["q".to_owned()], String::new()));
    }

    #[test]
    fn a_policy_that_lost_everything_is_overridden() {
        let found =
            status(&[&kind(ANY), &policy("p", "HTTPRoute/r", "a: 1"), &policy("q", "Gateway/g", "overrides: {a: 2}")]);
        assert_eq!(found, (None, Enforcement::Overridden, vec!["q".to_owned()], String::new()));
    }

    #[test]
    fn a_policy_without_scopes_says_so() {
        let lonely = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: lonely, namespace: default}
spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
";
        let (refused, enforcement, by, message) = status(&[&kind(ANY), lonely, &policy("p", "Gateway/lonely", "a: 1")]);
        assert_eq!((refused, enforcement, by), (None, Enforcement::NotEnforced, vec![]));
        assert_eq!(message, StatusExplanation::NotInPath.to_string());
    }

    #[test]
    fn a_policy_whose_condition_never_holds_is_not_enforced() {
        let found = status(&[&kind(ANY), &policy("p", "Gateway/g", "overrides: {a: 1, when: 'spec.b == 1'}")]);
        assert_eq!(found, (None, Enforcement::NotEnforced, vec![], StatusExplanation::ConditionFalse.to_string()));
    }

    #[test]
    fn a_disabled_policy_says_so() {
        let kind = kind(&format!("{ANY}, disabled: spec.paused, fields: {{ignored: [paused]}}"));
        let found = status(&[&kind, &policy("p", "Gateway/g", "paused: true, a: 1")]);
        assert_eq!(found, (None, Enforcement::NotEnforced, vec![], StatusExplanation::Disabled.to_string()));
    }

    #[test]
    fn a_conflicted_policy_names_who_was_first() {
        let (refused, enforcement, by, message) = status(&[
            &kind(&format!("{ANY}, sameLevel: RejectNewer")),
            &dated_policy("p", "2021-01-01T00:00:00Z", "Gateway/g", "a: 1"),
            &dated_policy("q", "2020-01-01T00:00:00Z", "Gateway/g", "a: 2"),
        ]);
        assert_eq!(refused, Some(RejectionReason::Conflicted));
        assert_eq!((enforcement, by), (Enforcement::NotEnforced, vec!["q".to_owned()]));
        assert_eq!(message, "TestPolicy/default/q has attached to Gateway/default/g before it");
    }

    #[test]
    fn refused_targets_are_explained_even_if_others_are_accepted() {
        let policy = "
apiVersion: example.io/v1
kind: TestPolicy
metadata: {name: p, namespace: default}
spec: {targetRefs: [{kind: Gateway, name: g}, {kind: HTTPRoute, name: r, sectionName: x}], a: 1}
";
        let (refused, enforcement, _, message) = status(&[&kind(ANY), policy]);
        assert_eq!((refused, enforcement), (None, Enforcement::Enforced));
        assert_eq!(message, "HTTPRoute/default/r has no section `x`: its rules have no names");
    }
}
