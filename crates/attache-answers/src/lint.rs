use attache_engine::lint::Finding;
use serde::Serialize;

use crate::list::List;

#[derive(Debug, Serialize)]
pub struct OfFinding<'f> {
    id: &'static str,
    severity: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// The field of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u16>,
    message: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'f str>,
    /// The reason for which it is left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressed: Option<&'f str>,
}

pub fn finding_list<'f>(findings: &[&'f Finding]) -> List<Vec<OfFinding<'f>>> {
    List::new("FindingList", findings.iter().map(|finding| of_finding(finding)).collect())
}

pub fn of_finding(finding: &Finding) -> OfFinding<'_> {
    let problem = &finding.problem;
    OfFinding {
        id: finding.rule.id,
        severity: problem.severity.to_string(),
        object: problem.object.as_ref().map(ToString::to_string),
        path: problem.path.as_ref().map(ToString::to_string),
        file: problem.file.as_deref(),
        line: problem.location.map(|place| place.line),
        column: problem.location.map(|place| place.column),
        message: &problem.message,
        help: problem.help.as_deref(),
        suppressed: finding.suppressed.as_deref(),
    }
}
