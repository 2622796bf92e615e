//! Resource versions: the state that a response was computed from.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use attache_answers::Snapshot;
use attache_engine::{Edit, IncrementalEngine};

use super::error::ApiError;
use super::resource::Resource;
use crate::state::State;

/// The number of states that are kept for clients with an older version.
const MOST_KEPT: usize = 64;

/// How long they are kept.
const KEPT_FOR: Duration = Duration::from_secs(300);

/// A state with its resource version.
#[derive(Debug)]
pub struct Versioned {
    /// The resource version.
    pub version: u64,
    extent: Extent,
    state: Arc<State>,
    snapshot: OnceLock<Snapshot>,
}

/// What is asked for. Only if the controller follows a part of the cluster do the states of different questions differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The resource.
    pub resource: Resource,
    /// The namespace, or all.
    pub namespace: Option<String>,
}

impl Versioned {
    /// The state, with everything that is asked for. It is computed when it is first asked for, which can take a while.
    pub fn snapshot(&self) -> &Snapshot {
        self.snapshot.get_or_init(|| {
            let Some(partition) = &self.state.partition else { return self.state.snapshot.clone().redacting() };
            let reach = self.extent.resource == Resource::PolicyReaches;
            let left_out = partition.read().left_out_of(self.extent.namespace.as_deref(), reach);
            let mut engine = IncrementalEngine::clone(&self.state.engine);
            engine.apply(left_out.into_iter().map(Edit::Put));
            Snapshot::new(Arc::clone(engine.now()), Vec::new()).redacting()
        })
    }

    /// The revision of the last state that differs in what is asked for here.
    pub fn content(&self) -> u64 {
        self.state.content
    }

    fn answers(&self, version: u64, extent: &Extent) -> bool {
        self.version == version && (self.state.partition.is_none() || self.extent == *extent)
    }
}

/// The states that responses of the last minutes were computed from. States share unchanged parts.
///
/// A version is the revision of a state, added to a number that depends on when the process was started: it increases
/// across restarts, and versions of other processes are not known.
#[derive(Debug)]
pub struct Versions {
    before_first: u64,
    kept: Mutex<VecDeque<(Instant, Arc<Versioned>)>>,
}

impl Versions {
    /// Versions of this process.
    pub fn new() -> Versions {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Versions::starting_at(u64::try_from(now.as_millis()).unwrap_or_default())
    }

    fn starting_at(milliseconds: u64) -> Versions {
        // Room for four million states before the version of a process that is started a millisecond later.
        Versions { before_first: milliseconds << 22, kept: Mutex::default() }
    }

    /// The version of a state.
    pub fn version(&self, state: &State) -> u64 {
        self.before_first + state.revision
    }

    /// A state with its version. The state is kept from now on.
    pub fn keep(&self, state: &Arc<State>, extent: &Extent) -> Arc<Versioned> {
        let version = self.version(state);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((used, versioned)) = kept.iter_mut().find(|(_, it)| it.answers(version, extent)) {
            *used = now;
            return Arc::clone(versioned);
        }
        kept.retain(|(used, _)| now.duration_since(*used) < KEPT_FOR);
        if kept.len() >= MOST_KEPT {
            kept.pop_front();
        }
        let (state, extent) = (Arc::clone(state), extent.clone());
        let versioned = Arc::new(Versioned { version, extent, state, snapshot: OnceLock::new() });
        kept.push_back((now, Arc::clone(&versioned)));
        versioned
    }

    /// The state with this version, if it is still kept.
    pub fn get(&self, version: u64, extent: &Extent) -> Result<Arc<Versioned>, ApiError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(_, it)| it.answers(version, extent));
        found.map(|(_, it)| Arc::clone(it)).ok_or_else(|| {
            ApiError::Expired(format!("too old resource version: {version} is no longer known, list again"))
        })
    }
}
