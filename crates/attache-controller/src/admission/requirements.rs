//! Requirements that a change would break.

use std::collections::HashSet;

use attache_answers::Snapshot;
use attache_answers::audit::{AuditQuery, AuditRequirement, audit};
use attache_engine::kinds::{GROUP, POLICY_REQUIREMENT, PolicyRequirement};
use attache_engine::{NodeRef, Object, Report};

use super::words::{counted, object_name};

/// The number of targets that a refusal names.
const MOST: usize = 3;

/// Why a change is refused: a target that met an enforced requirement before the change does not meet it afterwards.
pub(super) fn refusal(report: &Report, today: &str) -> Option<String> {
    let documents = report.after.objects().each_of_kind(GROUP, POLICY_REQUIREMENT).map(|(_, document)| document);
    let mut enforced =
        documents.filter(|document| PolicyRequirement::read(document).is_ok_and(|it| it.enforce)).peekable();
    enforced.peek()?;
    let before = Snapshot::new(report.before.clone(), Vec::new());
    let after = Snapshot::new(report.after.clone(), Vec::new());
    enforced.find_map(|document| {
        let lacked: HashSet<NodeRef> = lacking(&before, document, today)?.into_iter().collect();
        let mut broken = lacking(&after, document, today)?;
        broken.retain(|target| !lacked.contains(target));
        (!broken.is_empty()).then(|| sentence(document, &broken))
    })
}

/// The targets that lack what a document requires. `None` if it cannot be checked.
fn lacking(snapshot: &Snapshot, document: &Object, today: &str) -> Option<Vec<NodeRef>> {
    let requirement = AuditRequirement::from_object(document).ok()?;
    let query =
        AuditQuery { requirements: vec![requirement], date: today.to_owned(), namespace: None, counts_unknown: false };
    let results = audit(snapshot, &query).ok()?.items;
    Some(results.into_iter().flat_map(|result| result.missing).map(|missing| missing.target).collect())
}

fn sentence(document: &Object, broken: &[NodeRef]) -> String {
    let shown: Vec<String> = broken.iter().take(MOST).map(ToString::to_string).collect();
    let more = broken.len().saturating_sub(MOST);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let (name, targets) = (object_name(&document.id), counted(broken.len(), "target"));
    format!("{name} is enforced, and {targets} would no longer meet it: {}{more}", shown.join(", "))
}
