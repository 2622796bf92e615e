//! The validating webhook: warns about the effects of a change, and refuses invalid, unconfirmed and forbidden changes.
//!
//! ```text
//! AdmissionReview ─→ review ─→ trial (the change, applied to a copy of the engine) ─→ impact ─→ warnings
//!                       │                                                          └→ refusals: guard, conflicts, requirements
//!                       └────→ documents (PolicyKinds and others that cannot be used) ─→ refusals
//! ```
//!
//! It answers from the latest state, without requests to the API server, and has no side effects: a dry run gets the same
//! answer. A change whose effects cannot be computed is admitted.

mod documents;
mod guard;
mod policies;
mod requirements;
mod review;
mod server;
#[cfg(test)]
mod tests;
mod trial;
mod words;

use attache_answers::Snapshot;
use attache_engine::{Object, ObjectRef, Report};

use crate::context::today;
use crate::state::State;
use guard::Guard;
use review::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use words::{impact_warning, unknown_impact_warning};

pub use review::AdmissionAnswer;
pub(crate) use server::serve;
pub use server::{ADMISSION_PATH, router};

/// Options of the webhook.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmissionOptions {
    /// Whether policies of Direct kinds that conflict with another policy are refused.
    pub reject_conflicts: bool,
}

/// Answers an AdmissionReview. Both are JSON. Without a state every change is admitted.
///
/// # Errors
///
/// If the body is not an AdmissionReview.
pub fn review(
    state: Option<&State>,
    options: AdmissionOptions,
    body: &[u8],
) -> serde_json::Result<(AdmissionAnswer, Vec<u8>)> {
    let AdmissionReview { request } = serde_json::from_slice(body)?;
    let answer = state.map(|state| answer(state, options, &request)).unwrap_or_default();
    let response = AdmissionResponse::new(request.uid, answer.clone());
    Ok((answer, serde_json::to_vec(&response)?))
}

/// The answer to a request.
fn answer(state: &State, options: AdmissionOptions, request: &AdmissionRequest<'_>) -> AdmissionAnswer {
    // The engine ignores objects that it cannot read.
    let (Ok(before), Ok(after)) = (request.old_object(), request.object()) else { return AdmissionAnswer::default() };
    let Some(change) = AdmissionChange::new(request.operation, before, after) else {
        return AdmissionAnswer::default();
    };
    if !change.concerns(state) {
        return AdmissionAnswer::default();
    }
    let mut answer = AdmissionAnswer::default();
    if let Some(refusal) = change.after.as_ref().and_then(|after| documents::refusal(&state.snapshot, after)) {
        return AdmissionAnswer { refusal: Some(refusal), ..answer };
    }
    match trial::report(state, &change) {
        Some(report) => change.judge(&state.snapshot, options, &report, &mut answer),
        None => answer.warnings.push(unknown_impact_warning(change.operation, &change.id)),
    }
    answer
}

/// A change of one object.
#[derive(Debug)]
struct AdmissionChange {
    operation: Operation,
    id: ObjectRef,
    before: Option<Object>,
    after: Option<Object>,
}

impl AdmissionChange {
    fn new(operation: Operation, before: Option<Object>, after: Option<Object>) -> Option<AdmissionChange> {
        let after = after.filter(|_| operation != Operation::Delete);
        let id = after.as_ref().or(before.as_ref())?.id.clone();
        (operation != Operation::Connect).then_some(AdmissionChange { operation, id, before, after })
    }

    /// Whether this controller answers: it is responsible for the object, before or after the change, or the object can change
    /// what is in force in all GatewayClasses.
    fn concerns(&self, state: &State) -> bool {
        let Some(partition) = &state.partition else { return true };
        let partition = partition.read();
        let versions = [self.before.as_ref(), self.after.as_ref()];
        versions.into_iter().flatten().any(|object| partition.would_be_responsible(object).unwrap_or(true))
    }

    /// Adds warnings, and a refusal if there is a reason, given the effects of the change.
    fn judge(&self, before: &Snapshot, options: AdmissionOptions, report: &Report, answer: &mut AdmissionAnswer) {
        let policies = policies::judge(self, options, report);
        answer.warnings.extend(policies.warnings);
        let impact = report.impact();
        answer.warnings.extend(impact_warning(self.operation, &self.id, impact));
        let guard = Guard::find([self.before.as_ref(), self.after.as_ref()], before.engine.objects());
        let is_deleted = self.after.is_none();
        let guarded = guard.refusal(impact.routes, self.after.as_ref().or(self.before.as_ref()), is_deleted);
        answer.warnings.extend(guard.problems);
        answer.refusal = policies.refusal.or(guarded).or_else(|| requirements::refusal(report, &today()));
    }

    /// Whether the object is being deleted and waits for finalizers.
    fn is_being_deleted(&self) -> bool {
        self.after.as_ref().is_some_and(|object| object.deletion_timestamp().is_some())
    }
}
