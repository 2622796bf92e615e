//! Invalid policies, and policies that conflict.

use attache_engine::kinds::{Class, KindOrigin, PolicyKind};
use attache_engine::{Engine, ObjectRef, RejectionReason, Report};

use super::words::object_name;
use super::{AdmissionAnswer, AdmissionChange, AdmissionOptions};

/// Warnings about a policy that is created or changed, or a refusal. None for other objects.
///
/// An invalid policy is refused if a PolicyKind document describes its kind. For other kinds, whose own controllers decide,
/// there is a warning.
pub(super) fn judge(change: &AdmissionChange, options: AdmissionOptions, report: &Report) -> AdmissionAnswer {
    let mut answer = AdmissionAnswer::default();
    let kinds = report.after.kinds();
    let kind = kinds.find(&change.id.group, &change.id.kind).map(|kind| kinds.get(kind));
    let Some(kind) = kind.filter(|_| change.after.is_some() && !change.is_being_deleted()) else { return answer };
    if let Some(mistake) = invalid(&report.after, &change.id) {
        let message = format!("{} is not valid: {mistake}", object_name(&change.id));
        // A policy that was invalid before can still be labelled and annotated.
        let is_new = invalid(&report.before, &change.id).as_ref() != Some(&mistake);
        match is_new && matches!(kind.origin, KindOrigin::Given(_)) {
            true => answer.refusal = Some(message),
            false => answer.warnings.push(message),
        }
    }
    for conflict in conflicts(kind, report) {
        match options.reject_conflicts {
            true => answer.refusal.get_or_insert(conflict),
            false => {
                answer.warnings.push(conflict);
                continue;
            }
        };
    }
    answer
}

/// What is wrong with a policy.
fn invalid(engine: &Engine, policy: &ObjectRef) -> Option<String> {
    let mistake = engine.policy(engine.find_policy(policy)?).invalid.as_ref()?;
    Some(format!("{}: {}", mistake.path, mistake.message))
}

/// The policies of a Direct kind that conflict after the change, and did not before.
fn conflicts(kind: &PolicyKind, report: &Report) -> Vec<String> {
    if kind.class != Class::Direct {
        return Vec::new();
    }
    let conflicted = Some(RejectionReason::Conflicted);
    let changes = report.policies().into_iter().filter(|it| it.before.as_ref().and_then(|it| it.refused) != conflicted);
    let after = changes.filter_map(|it| Some((it.policy, it.after?)));
    let after = after.filter(|(_, status)| status.refused == conflicted);
    after.map(|(policy, status)| format!("{} is in conflict: {}", object_name(&policy), status.message())).collect()
}
