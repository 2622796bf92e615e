//! Lint findings: mistakes, and parts of the input that have no effect.

use attache_engine::lint::{self, Finding};
use attache_engine::{ObjectRef, Path, Severity};
use serde::Serialize;

use crate::document::API_VERSION;
use crate::snapshot::Snapshot;

/// The document `FindingList`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingList {
    api_version: &'static str,
    kind: &'static str,
    /// The findings, sorted by file and location.
    pub items: Vec<FindingDocument>,
    /// The number of objects that were checked.
    #[serde(skip)]
    pub objects: usize,
    /// The number of policies among them.
    #[serde(skip)]
    pub policies: usize,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct FindingDocument {
    /// The rule.
    pub id: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The object that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The field of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u16>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The reason that the object gives for suppressing the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// The number of the document in its file, from 1.
    #[serde(skip)]
    pub document: Option<u32>,
}

/// All findings, in one namespace or in all.
pub fn lint(snapshot: &Snapshot, namespace: Option<&str>) -> FindingList {
    let is_in = |finding: &Finding| {
        let object = finding.problem.object.as_ref();
        namespace.is_none_or(|wanted| object.is_none_or(|object| object.namespace == wanted))
    };
    let findings = lint::lint(&snapshot.engine, &snapshot.problems);
    FindingList {
        api_version: API_VERSION,
        kind: "FindingList",
        items: findings.iter().filter(|finding| is_in(finding)).map(FindingDocument::new).collect(),
        objects: snapshot.engine.objects().len(),
        policies: snapshot.engine.policies().len(),
    }
}

impl FindingDocument {
    pub(crate) fn new(finding: &Finding) -> FindingDocument {
        let problem = &finding.problem;
        FindingDocument {
            id: finding.rule.id,
            severity: problem.severity,
            object: problem.object.as_deref().cloned(),
            path: problem.path.clone(),
            file: problem.file.as_ref().map(ToString::to_string),
            line: problem.location.map(|location| location.line),
            column: problem.location.map(|location| location.column),
            message: problem.message.clone(),
            help: problem.help.clone(),
            suppressed: finding.suppressed.clone(),
            document: problem.document,
        }
    }
}
