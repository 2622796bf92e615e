//! Policies, and targets of policies, that are not accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::finding::{Finding, FindingCause, Findings, listed};
use super::rule::{self, Rule};
use super::subject::LintSubject;
use crate::attachment::{AttachmentError, Refusal, RejectionReason, TargetResolver};
use crate::engine::Engine;
use crate::object::ObjectRef;
use crate::policy::{Policy, PolicyId, TargetSpec};
use crate::topology::NodeRef;
use crate::value::Path;

/// Why a policy, or one of its targets, is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachmentFinding {
    /// A target is refused.
    Refused {
        /// The policy.
        policy: ObjectRef,
        /// Why its target is refused.
        error: Box<AttachmentError>,
    },
    /// A selector selects objects in another namespace, and no ReferenceGrant allows the policy to target them.
    MissingGrants {
        /// The policy.
        policy: ObjectRef,
        /// The selected objects. All are in the same namespace.
        selected: Vec<ObjectRef>,
    },
    /// Another policy has the same targets, and only one policy of the kind can be attached to each.
    Conflicted {
        /// The policy that is accepted.
        winner: ObjectRef,
        /// Whether the winner is older. If not, it comes first in alphabetical order.
        is_older: bool,
        /// The targets that both have.
        targets: Vec<NodeRef>,
    },
}

impl AttachmentFinding {
    pub(super) fn related(&self) -> Vec<&ObjectRef> {
        match self {
            AttachmentFinding::Refused { error, .. } => match &**error {
                AttachmentError::TargetNotFound { target, .. }
                | AttachmentError::SectionNotFound { target, .. }
                | AttachmentError::NamespaceNotOwn { target, .. }
                | AttachmentError::ClusterScopedTarget { target, .. }
                | AttachmentError::OtherNamespace { target, .. }
                | AttachmentError::NotGranted { target, .. } => vec![target],
                _ => Vec::new(),
            },
            AttachmentFinding::MissingGrants { selected, .. } => selected.iter().collect(),
            AttachmentFinding::Conflicted { winner, .. } => vec![winner],
        }
    }

    pub(super) fn help(&self) -> Option<String> {
        match self {
            AttachmentFinding::Refused { policy, error } => match &**error {
                AttachmentError::NotGranted { target, .. } => Some(add_grant(policy, target)),
                _ => None,
            },
            AttachmentFinding::MissingGrants { policy, selected } => Some(add_grant(policy, selected.first()?)),
            AttachmentFinding::Conflicted { .. } => None,
        }
    }
}

impl fmt::Display for AttachmentFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachmentFinding::Refused { error, .. } => match &**error {
                // The finding itself has the path.
                AttachmentError::InvalidPolicy(invalid) => f.write_str(&invalid.message),
                error => error.fmt(f),
            },
            AttachmentFinding::MissingGrants { policy, selected } => {
                let namespace = selected.first().map_or("", |selected| &selected.namespace);
                let ObjectRef { kind, namespace: own, .. } = policy;
                let selected = listed(selected);
                write!(
                    f,
                    "it selects {selected}, but no ReferenceGrant in namespace `{namespace}` allows {kind} in namespace `{own}` to target them"
                )
            }
            AttachmentFinding::Conflicted { winner, is_older, targets } => {
                let why = if *is_older { "is older" } else { "comes first by name" };
                write!(f, "{winner} also targets {} and {why}", listed(targets))
            }
        }
    }
}

/// The ReferenceGrant that would let `from` refer to objects of the kind and namespace of `to`.
pub fn add_grant(from: &ObjectRef, to: &ObjectRef) -> String {
    format!(
        "add a ReferenceGrant to namespace `{}` with `from: [{{group: {}, kind: {}, namespace: {}}}]` and `to: [{{group: \"{}\", kind: {}}}]`",
        to.namespace, from.group, from.kind, from.namespace, to.group, to.kind
    )
}

/// Targets that are refused.
pub fn refused(subject: LintSubject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    for refusal in subject.policies().flat_map(|policy| &engine.attachments().for_policy(policy).refused) {
        let (policy, object) = (engine.policy(refusal.policy), engine.policy_object(refusal.policy));
        if let AttachmentError::NoObjectSelected { ungranted, .. } = &*refusal.error
            && !ungranted.is_empty()
        {
            missing_grants(engine, refusal, policy, findings);
            continue;
        }
        if let AttachmentError::TargetNotFound { target, .. } = &*refusal.error
            && engine.kinds().may_be_unread(target)
        {
            continue;
        }
        let path = match &*refusal.error {
            AttachmentError::InvalidPolicy(invalid) => invalid.path.clone(),
            _ => target_path(policy, refusal),
        };
        let error = refusal.error.clone();
        let rule = broken_rule(&error);
        let cause = AttachmentFinding::Refused { policy: object.id.clone(), error };
        findings.push(Finding::new(rule, object, path, FindingCause::Attachment(cause)));
    }
}

/// Objects that a selector selects without a ReferenceGrant, once for each namespace.
fn missing_grants(engine: &Engine, refusal: &Refusal, policy: &Policy, findings: &mut Findings) {
    let target = refusal.target.and_then(|target| policy.targets.get(target)).map(|target| &target.spec);
    let Some(TargetSpec::Selected(selector)) = target else { return };
    let (object, kind) = (engine.policy_object(refusal.policy), engine.kinds().get(policy.kind));
    let targets = TargetResolver::new(engine.objects(), engine.topology()).ungranted(object, kind, selector);
    for in_namespace in targets.chunk_by(|a, b| a.namespace == b.namespace) {
        let selected = in_namespace.iter().copied().cloned().collect();
        let cause = AttachmentFinding::MissingGrants { policy: object.id.clone(), selected };
        let path = target_path(policy, refusal);
        findings.push(Finding::new(&rule::MISSING_GRANT, object, path, FindingCause::Attachment(cause)));
    }
}

fn broken_rule(error: &AttachmentError) -> &'static Rule {
    match error {
        AttachmentError::SectionNotFound { .. } => &rule::DANGLING_SECTION,
        AttachmentError::TargetNotFound { .. } => &rule::DANGLING_TARGET,
        AttachmentError::NotGranted { .. } => &rule::MISSING_GRANT,
        error => match error.reason() {
            RejectionReason::TargetNotFound => &rule::SELECTS_NOTHING,
            RejectionReason::RefNotPermitted => &rule::FOREIGN_TARGET,
            RejectionReason::Invalid | RejectionReason::Conflicted | RejectionReason::TargetConflict => {
                &rule::INVALID_POLICY
            }
        },
    }
}

fn target_path(policy: &Policy, refusal: &Refusal) -> Path {
    let target = refusal.target.and_then(|target| policy.targets.get(target));
    target.map(|target| target.path.clone()).unwrap_or_default()
}

/// Policies that are not accepted because of another one, once for each other policy.
pub fn conflicted(subject: LintSubject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    let mut conflicts: BTreeMap<(PolicyId, PolicyId), BTreeSet<NodeRef>> = BTreeMap::new();
    for policy in subject.policies() {
        for (node, winner) in engine.rivals(policy) {
            let target = engine.topology().node_ref(engine.objects(), node);
            conflicts.entry((policy, winner)).or_default().insert(target);
        }
    }
    for ((loser, winner), targets) in conflicts {
        let cause = AttachmentFinding::Conflicted {
            winner: engine.policy_id(winner).clone(),
            is_older: engine.policy(winner).rank.by_age(&engine.policy(loser).rank).is_lt(),
            targets: targets.into_iter().collect(),
        };
        let path = engine.policy(loser).targets.first().map(|target| target.path.clone()).unwrap_or_default();
        let object = engine.policy_object(loser);
        findings.push(Finding::new(&rule::CONFLICTED_POLICY, object, path, FindingCause::Attachment(cause)));
    }
}
