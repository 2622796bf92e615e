//! The current state of a page, and its updates.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use attache_answers::get::{self, GetQuery, PolicyItem};
use attache_answers::lint::{FindingList, lint};
use attache_answers::matrix::MatrixIndex;
use attache_answers::plan::{PlanDocument, PlanQuery, PlanSummary, plan, plan_summary};
use attache_answers::summary::{Summary, summary};
use attache_answers::{QueryError, Snapshot};
use attache_engine::{Edit, Engine, IncrementalEngine, Problem, Report};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::drawing::TopologyDrawing;
use crate::log::{ChangeLog, LogEntry, NAMES};

/// Builds the command line with the same answer, from the words of the question.
pub type CommandLine = dyn Fn(&[&str]) -> String + Send + Sync;
/// Returns the line of the source that a problem concerns.
pub type Excerpt = dyn Fn(&Problem) -> Option<String> + Send + Sync;

/// Options of a page.
pub struct PageOptions {
    /// Where the objects come from: files, or the address of a cluster.
    pub source: String,
    /// Builds the command line with the same answer: `["describe", "httproute/cakes"]` → `attache describe
    /// httproute/cakes -f manifests/`.
    pub command: Box<CommandLine>,
    /// Returns the line of the source that a problem concerns.
    pub excerpt: Box<Excerpt>,
}

/// A page that can be served, and its state.
pub struct Page {
    pub(crate) options: PageOptions,
    /// Distinguishes this run of the server from others.
    instance: u64,
    /// Locked before `live`.
    engine: Mutex<IncrementalEngine>,
    live: Mutex<Live>,
    revisions: watch::Sender<u64>,
}

struct Live {
    state: Arc<PageState>,
    log: ChangeLog,
    unseen: Vec<String>,
    disconnected: Option<String>,
}

/// The content of the page at one moment.
pub(crate) struct PageState {
    pub snapshot: Snapshot,
    pub revision: u64,
    /// Kinds of the cluster that could not be read.
    pub unseen: Vec<String>,
    /// Why the connection to the cluster is lost.
    pub disconnected: Option<String>,
    findings: OnceLock<FindingList>,
    summary: OnceLock<Summary>,
    matrix: OnceLock<MatrixIndex>,
    policies: OnceLock<Vec<PolicyItem>>,
    drawing: OnceLock<TopologyDrawing>,
}

impl Page {
    /// A page about the objects of an engine. `problems` are those of reading them.
    pub fn new(engine: IncrementalEngine, problems: Vec<Problem>, options: PageOptions) -> Page {
        let snapshot = Snapshot::new(Arc::clone(engine.now()), problems).redacting();
        let state = Arc::new(PageState::new(snapshot, 0, Vec::new(), None));
        let (unseen, disconnected) = (Vec::new(), None);
        let live = Live { state, log: ChangeLog::default(), unseen, disconnected };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let instance = since.as_millis() as u64;
        let (engine, live) = (Mutex::new(engine), Mutex::new(live));
        let page = Page { options, instance, engine, live, revisions: watch::channel(0).0 };
        page.state().prepare();
        page
    }

    /// The engine that edits are applied to.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(self.incremental().now())
    }

    /// Applies edits, and shows the result. `problems` are all problems of reading the input at this moment, and
    /// `new_problems` those of them that are new.
    pub fn apply(&self, edits: Vec<Edit>, problems: Vec<Problem>, new_problems: &[Problem]) {
        let same = problems.as_slice() == &*self.state().snapshot.problems;
        if edits.is_empty() && same {
            return;
        }
        let edited = LogEntry::edited(&edits);
        let mut engine = self.incremental();
        let report = engine.apply(edits);
        let snapshot = Snapshot::new(Arc::clone(engine.now()), problems).redacting();
        let mut live = self.live();
        let revision = live.state.revision + 1;
        live.log.push(LogEntry::new(revision, now(), edited, &report, new_problems));
        self.publish(&mut live, snapshot, revision);
    }

    /// Sets the kinds of the cluster that could not be read.
    pub fn set_unseen(&self, unseen: Vec<String>) {
        let mut live = self.live();
        live.unseen = unseen;
        self.republish(&mut live);
    }

    /// Sets why the connection to the cluster is lost, or clears it.
    pub fn set_disconnected(&self, reason: Option<String>) {
        let mut live = self.live();
        live.disconnected = reason;
        self.republish(&mut live);
    }

    fn republish(&self, live: &mut Live) {
        let (snapshot, revision) = (live.state.snapshot.clone(), live.state.revision + 1);
        self.publish(live, snapshot, revision);
    }

    fn publish(&self, live: &mut Live, snapshot: Snapshot, revision: u64) {
        live.state = Arc::new(PageState::new(snapshot, revision, live.unseen.clone(), live.disconnected.clone()));
        live.state.prepare();
        self.revisions.send_replace(revision);
    }

    pub(crate) fn state(&self) -> Arc<PageState> {
        Arc::clone(&self.live().state)
    }

    /// The changes since the server was started, the newest first.
    pub(crate) fn changes(&self) -> Vec<Arc<LogEntry>> {
        self.live().log.entries()
    }

    /// The effects of a change of the input. Nothing is changed.
    pub(crate) fn plan(&self, query: PlanQuery) -> Result<PlanDocument, QueryError> {
        let (mut engine, state) = self.trial();
        plan(&state.snapshot, &mut engine, query).map(|(document, _)| document)
    }

    /// The same in numbers.
    pub(crate) fn plan_summary(&self, query: PlanQuery) -> Result<(PlanSummary, Report), QueryError> {
        let (mut engine, state) = self.trial();
        plan_summary(&state.snapshot, &mut engine, query, NAMES)
    }

    /// A copy of the engine, and the state that it is in.
    fn trial(&self) -> (IncrementalEngine, Arc<PageState>) {
        let engine = self.incremental();
        (engine.clone(), self.state())
    }

    /// A receiver of new revisions.
    pub(crate) fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.subscribe()
    }

    /// The id of a revision in pages. After a restart of the server, all ids are new.
    pub(crate) fn mark(&self, revision: u64) -> String {
        format!("{:x}-{revision}", self.instance)
    }

    /// The command line with the same answer.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        (self.options.command)(words)
    }

    fn incremental(&self) -> MutexGuard<'_, IncrementalEngine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("source", &self.options.source).finish_non_exhaustive()
    }
}

impl fmt::Debug for PageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageOptions").field("source", &self.source).finish_non_exhaustive()
    }
}

impl PageState {
    fn new(snapshot: Snapshot, revision: u64, unseen: Vec<String>, disconnected: Option<String>) -> PageState {
        let (findings, summary) = (OnceLock::new(), OnceLock::new());
        let (matrix, policies, drawing) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        PageState { snapshot, revision, unseen, disconnected, findings, summary, matrix, policies, drawing }
    }

    /// Computes what most views need, on another thread; earlier requests wait for it. The thread is not one of rayon's
    /// pool, whose threads could deadlock.
    fn prepare(self: &Arc<PageState>) {
        let state = Arc::clone(self);
        std::thread::spawn(move || {
            state.summary();
            state.matrix();
            state.policies();
            state.snapshot.prepare();
        });
    }

    pub fn findings(&self) -> &FindingList {
        self.findings.get_or_init(|| lint(&self.snapshot, None))
    }

    pub fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| summary(&self.snapshot, self.findings()))
    }

    pub fn matrix(&self) -> &MatrixIndex {
        self.matrix.get_or_init(|| MatrixIndex::new(&self.snapshot, self.findings()))
    }

    /// The whole topology, drawn.
    pub fn drawing(&self) -> &TopologyDrawing {
        self.drawing.get_or_init(|| TopologyDrawing::whole(&self.snapshot))
    }

    pub fn policies(&self) -> &[PolicyItem] {
        let all = || get::policies(&self.snapshot, &GetQuery::default()).map(|list| list.items).unwrap_or_default();
        self.policies.get_or_init(all)
    }
}

/// The current time, without fractions of a second.
fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_second(i64::try_from(since.as_secs()).ok()?).ok()
}
