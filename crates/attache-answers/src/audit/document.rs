use attache_engine::audit::Audited;
use serde::Serialize;

use super::{Finding, Idle, Why};
use crate::list::API_VERSION;
use crate::snapshot::Snapshot;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditDocument {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<OfRequirement>,
}

#[derive(Debug, Serialize)]
struct OfRequirement {
    require: String,
    checked: usize,
    missing: Vec<Missing>,
    excepted: Vec<Excepted>,
    idle: Vec<OfIdle>,
}

#[derive(Debug, Serialize)]
struct Missing {
    target: String,
    scopes: u64,
    lacking: u64,
}

#[derive(Debug, Serialize)]
struct Excepted {
    #[serde(flatten)]
    missing: Missing,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

/// An exception by which nothing is excepted.
#[derive(Debug, Serialize)]
struct OfIdle {
    object: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

pub fn audit_document(input: &Snapshot, findings: &[Finding]) -> AuditDocument {
    let missing = |it: &Audited| Missing { target: input.name(it.node), scopes: it.scopes, lacking: it.lacking };
    let of_finding = |finding: &Finding| OfRequirement {
        require: finding.required.to_string(),
        checked: finding.checked,
        missing: finding.lacking.iter().map(missing).collect(),
        excepted: finding
            .excepted
            .iter()
            .map(|(it, exception)| Excepted {
                missing: missing(it),
                reason: exception.reason.clone(),
                until: exception.until.clone(),
            })
            .collect(),
        idle: finding.idle.iter().map(of_idle).collect(),
    };
    AuditDocument { api_version: API_VERSION, kind: "Audit", items: findings.iter().map(of_finding).collect() }
}

fn of_idle(idle: &Idle) -> OfIdle {
    let Idle { exception, why } = idle;
    let (why, message) = match why {
        Why::Over => ("Over", None),
        Why::NotNeeded => ("NotNeeded", None),
        Why::NotFound(problem) => ("NotFound", Some(problem.message.clone())),
    };
    OfIdle {
        object: exception.object.clone(),
        reason: exception.reason.clone(),
        until: exception.until.clone(),
        why,
        message,
    }
}
