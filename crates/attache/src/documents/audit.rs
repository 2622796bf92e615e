use attache_core::audit::Audited;
use serde::Serialize;

use super::API_VERSION;
use crate::commands::audit::Finding;
use crate::input::Input;

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

pub fn audit_document(input: &Input, findings: &[Finding]) -> AuditDocument {
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
    };
    AuditDocument { api_version: API_VERSION, kind: "Audit", items: findings.iter().map(of_finding).collect() }
}
