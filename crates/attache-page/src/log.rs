//! The changes since the server was started.

use std::collections::VecDeque;
use std::sync::Arc;

use attache_answers::change::{ChangeSummary, new_problems};
use attache_answers::watch::{ChangeDocument, ChangeFilter, PolicyStatusChange, WatchedChanges};
use attache_engine::{Edit, ObjectRef, Problem, Report, TargetChange};
use jiff::Timestamp;

/// The number of entries that are kept.
const MOST: usize = 200;
/// The number of places of a change that are named.
pub const NAMES: usize = 8;

/// The changes of a batch of edits.
#[derive(Debug)]
pub struct LogEntry {
    /// The revision after the batch.
    pub revision: u64,
    /// When it happened.
    pub time: Option<Timestamp>,
    /// The objects that were created or changed, and those that were deleted.
    pub edited: Vec<(ObjectRef, bool)>,
    /// The effective policies that changed.
    pub groups: Vec<ChangeSummary>,
    /// The policies whose status changed.
    pub policies: Vec<PolicyStatusChange>,
    /// The targets whose affecting policies changed.
    pub targets: Vec<TargetChange>,
    /// The new problems of the input.
    pub problems: Vec<Problem>,
    /// The same changes as documents.
    pub documents: Vec<ChangeDocument>,
}

/// The last entries, the newest first.
#[derive(Debug, Default)]
pub struct ChangeLog(VecDeque<Arc<LogEntry>>);

impl LogEntry {
    /// The changes of a batch of edits.
    pub fn new(
        revision: u64,
        time: Option<Timestamp>,
        edited: Vec<(ObjectRef, bool)>,
        report: &Report,
        problems: &[Problem],
    ) -> LogEntry {
        let changes = WatchedChanges::new(report, &ChangeFilter::Everything { namespace: None }).redacting();
        LogEntry {
            revision,
            time,
            edited,
            groups: changes.groups().into_iter().map(|group| ChangeSummary::new(group, NAMES)).collect(),
            policies: changes.policies(),
            targets: changes.targets.clone(),
            problems: new_problems(report).into_iter().chain(problems).cloned().collect(),
            documents: changes.documents(time),
        }
    }

    /// The objects that edits name, each with whether it is deleted.
    pub fn edited(edits: &[Edit]) -> Vec<(ObjectRef, bool)> {
        edits.iter().map(|edit| (edit.id().clone(), matches!(edit, Edit::Delete(_)))).collect()
    }
}

impl ChangeLog {
    /// Adds an entry.
    pub fn push(&mut self, entry: LogEntry) {
        self.0.push_front(Arc::new(entry));
        self.0.truncate(MOST);
    }

    /// All entries, the newest first.
    pub fn entries(&self) -> Vec<Arc<LogEntry>> {
        self.0.iter().cloned().collect()
    }
}
