//! Policies that are not accepted, and those that are and change nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::subject::Subject;
use super::{Findings, Rule, any_scope, rule};
use crate::attachment::{AttachmentError, Refusal, RejectionReason, TargetResolver};
use crate::engine::Engine;
use crate::fold::Loss;
use crate::object::{ObjectId, ObjectRef};
use crate::policy::{Policy, PolicyId, TargetSpec};
use crate::status::Enforcement;
use crate::value::Path;

/// Targets that were refused, each with its own reason.
pub fn refused(subject: Subject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    for refusal in engine.attachments().refused().filter(|refusal| subject.includes(refusal.policy.0)) {
        let (policy, object) = (engine.policy(refusal.policy), engine.policy_object(refusal.policy));
        if let AttachmentError::NoObjectSelected { ungranted, .. } = &*refusal.error
            && !ungranted.is_empty()
        {
            missing_grants(engine, refusal, policy, findings);
            continue;
        }
        let (path, message) = match &*refusal.error {
            AttachmentError::InvalidPolicy(invalid) => (invalid.path.clone(), invalid.message.clone()),
            error => (path_of(policy, refusal), error.to_string()),
        };
        let finding = broken_by(&refusal.error).at(object, path, message);
        findings.push(match &*refusal.error {
            AttachmentError::NotGranted { target: ObjectRef { group, kind, namespace, .. }, .. } => {
                finding.help(grant(&object.id, group, kind, namespace))
            }
            _ => finding,
        });
    }
}

/// What a selector selects and no ReferenceGrant allows, once for each namespace.
fn missing_grants(engine: &Engine, refusal: &Refusal, policy: &Policy, findings: &mut Findings) {
    let target = refusal.target.and_then(|target| policy.targets.get(target)).map(|target| &target.spec);
    let Some(TargetSpec::Selected(selector)) = target else { return };
    let (object, kind) = (engine.policy_object(refusal.policy), engine.kinds().get(policy.kind));
    let targets = TargetResolver::new(engine.objects(), engine.topology()).ungranted(object, kind, selector);
    for alike in targets.chunk_by(|a, b| a.namespace == b.namespace) {
        let Some(ObjectRef { group, kind, namespace, .. }) = alike.first() else { continue };
        let names: Vec<String> = alike.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = match alike.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "it selects {}{more}, and no ReferenceGrant in namespace `{namespace}` lets {} in namespace `{}` target that",
            names.join(", "),
            object.id.kind,
            object.id.namespace
        );
        let finding = rule::MISSING_GRANT.at(object, path_of(policy, refusal), message);
        findings.push(finding.help(grant(&object.id, group, kind, namespace)));
    }
}

fn broken_by(error: &AttachmentError) -> &'static Rule {
    match error {
        AttachmentError::SectionNotFound { .. } => &rule::DANGLING_SECTION,
        AttachmentError::TargetNotFound { .. } => &rule::DANGLING_TARGET,
        AttachmentError::NotGranted { .. } => &rule::MISSING_GRANT,
        error => match error.reason() {
            RejectionReason::TargetNotFound => &rule::SELECTS_NOTHING,
            RejectionReason::RefNotPermitted => &rule::FOREIGN_TARGET,
            RejectionReason::Invalid | RejectionReason::Conflicted => &rule::INVALID_POLICY,
        },
    }
}

fn path_of(policy: &Policy, refusal: &Refusal) -> Path {
    let target = refusal.target.and_then(|target| policy.targets.get(target));
    target.map(|target| target.path.clone()).unwrap_or_default()
}

/// What to write so that `from` may refer to objects of that kind in that namespace.
pub fn grant(from: &ObjectRef, group: &str, kind: &str, namespace: &str) -> String {
    format!(
        "add a ReferenceGrant to namespace `{namespace}` with `from: [{{group: {}, kind: {}, namespace: {}}}]` and `to: [{{group: \"{group}\", kind: {kind}}}]`",
        from.group, from.kind, from.namespace
    )
}

/// Policies that another has kept out, once for each of those.
pub fn conflicted(subject: Subject<'_>, findings: &mut Findings) {
    let engine = subject.engine;
    let mut rivals: BTreeMap<(PolicyId, PolicyId), BTreeSet<String>> = BTreeMap::new();
    for policy in subject.policies() {
        for (node, winner) in engine.rivals(policy) {
            let target = engine.topology().name(engine.objects(), node);
            rivals.entry((policy, winner)).or_default().insert(target);
        }
    }
    for ((loser, winner), targets) in rivals {
        let object = engine.policy_object(loser);
        let older = engine.policy(winner).rank.by_age(&engine.policy(loser).rank).is_lt();
        let why = if older { "is older" } else { "comes first by name" };
        let targets: Vec<String> = targets.into_iter().collect();
        let message = format!("{} is on {} too, and {why}", engine.policy_id(winner), targets.join(", "));
        let path = engine.policy(loser).targets.first().map(|target| target.path.clone()).unwrap_or_default();
        findings.push(rule::CONFLICTED_POLICY.at(object, path, message));
    }
}

/// Policies of which others take everything, wherever they are met.
pub fn never_wins(facts: &Facts<'_>, findings: &mut Findings) {
    let engine = facts.engine;
    for (status, _) in facts.policies().filter(|(status, _)| status.enforcement == Enforcement::Overridden) {
        let first = (status.policy, PolicyId(ObjectId(0)), Loss::MoreSpecific);
        let losses = facts.losses.range(first..).take_while(|((loser, ..), _)| *loser == status.policy);
        let mut winners: Vec<String> =
            losses.map(|(rivalry, _)| format!("{} {}", engine.policy_id(rivalry.1), why(engine, rivalry))).collect();
        winners.sort();
        let more = winners.len().saturating_sub(SHOWN);
        winners.truncate(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message =
            format!("nothing of it is in force in {}: {}{more}", any_scope(status.scopes.total), winners.join(", "));
        findings.push(rule::NEVER_WINS.about(engine.policy_object(status.policy), message));
    }
}

/// How many winners are named before the rest is only counted.
const SHOWN: usize = 3;

fn why(engine: &Engine, (loser, winner, loss): &(PolicyId, PolicyId, Loss)) -> &'static str {
    match loss {
        Loss::MoreSpecific => "is more specific",
        Loss::Overridden => "overrides it",
        Loss::Older => "is older",
        Loss::Newer => "is newer",
        Loss::ByName => engine.by_name(*winner, *loser),
        Loss::HigherPriority => "has a higher priority",
        Loss::Removed => "removes it",
        Loss::ConditionFalse | Loss::Conflicted => "keeps it out",
    }
}

/// Policies that are accepted, and not in the path to anything.
pub fn reaches_nothing(facts: &Facts<'_>, findings: &mut Findings) {
    for (status, _) in facts.policies() {
        let is_idle = status.refused.is_none() && status.enforcement == Enforcement::NotEnforced;
        if is_idle && status.scopes.total == 0 {
            let object = facts.engine.policy_object(status.policy);
            findings.push(rule::REACHES_NOTHING.about(object, status.message()));
        }
    }
}
