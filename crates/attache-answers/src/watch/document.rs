use std::sync::Arc;

use attache_engine::change::{EffectiveChange, StatusChange};
use attache_engine::fold::EffectivePolicy;
use attache_engine::incremental::Report;
use attache_engine::object::ObjectRef;
use attache_engine::status::PolicyStatus;
use jiff::Timestamp;
use serde::Serialize;

use super::concern::Changed;
use crate::effective::{InForce, in_force};
use crate::list::API_VERSION;
use crate::plan::document::{OfLeaf, OfScope, of_leaves, of_scopes};
use crate::snapshot::Snapshot;
use crate::status::{OfPolicy, of_policies};

/// One change, as it happens.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeDocument<'c> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(flatten)]
    what: What<'c>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum What<'c> {
    Effective {
        policy_kind: String,
        scopes: Vec<OfScope>,
        before: Option<InForce>,
        after: Option<InForce>,
        leaves: Vec<OfLeaf<'c>>,
    },
    PolicyStatus {
        policy: String,
        before: Option<OfPolicy>,
        after: Option<OfPolicy>,
    },
    TargetStatus {
        target: String,
        before: Affected,
        after: Affected,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Affected {
    affected_by: Vec<String>,
}

fn affected(policies: &[ObjectRef]) -> Affected {
    Affected { affected_by: policies.iter().map(ToString::to_string).collect() }
}

/// Effective policies first, then policies, then targets.
pub fn change_documents<'c>(changed: &'c Changed, report: &Report, time: Option<Timestamp>) -> Vec<ChangeDocument<'c>> {
    let [before, after] = [&report.before, &report.after].map(|engine| Snapshot::new(Arc::clone(engine), Vec::new()));
    let effective = changed.effective.iter().map(|change| What::Effective {
        policy_kind: change.policy_kind.to_string(),
        scopes: of_scopes(change),
        before: side(&before, change, &change.before),
        after: side(&after, change, &change.after),
        leaves: of_leaves(change),
    });
    let (was, is) = (statuses(&before, changed, |it| &it.before), statuses(&after, changed, |it| &it.after));
    let policies = changed.policies.iter().zip(was.into_iter().zip(is));
    let policies =
        policies.map(|(it, (before, after))| What::PolicyStatus { policy: it.policy.to_string(), before, after });
    let targets = changed.targets.iter().map(|change| What::TargetStatus {
        target: change.target.to_string(),
        before: affected(&change.before),
        after: affected(&change.after),
    });
    let document = |what| ChangeDocument {
        api_version: API_VERSION,
        kind: "Change",
        time: time.map(|time| time.to_string()),
        what,
    };
    effective.chain(policies).chain(targets).map(document).collect()
}

/// The status of each policy on one side, worked out for all together.
fn statuses(
    input: &Snapshot,
    changed: &Changed,
    side: impl Fn(&StatusChange) -> &Option<PolicyStatus>,
) -> Vec<Option<OfPolicy>> {
    let there: Vec<PolicyStatus> = changed.policies.iter().filter_map(|change| side(change).clone()).collect();
    let mut statuses = of_policies(input, &there).into_iter();
    changed.policies.iter().map(|change| side(change).as_ref().and_then(|_| statuses.next())).collect()
}

fn side(input: &Snapshot, change: &EffectiveChange, effective: &Option<Arc<EffectivePolicy>>) -> Option<InForce> {
    let kinds = input.engine.kinds();
    let kind = kinds.find(&change.policy_kind.group, &change.policy_kind.kind).map(|kind| kinds.get(kind));
    let accumulates = kind.is_some_and(|kind| kind.accumulates());
    effective.as_ref().map(|effective| in_force(input, effective, accumulates))
}
