//! States: what the controller knows about the cluster at one moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use attache_answers::Snapshot;
use attache_engine::{IncrementalEngine, ObjectRef, Problem, Report};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::partition::SharedPartition;

/// What the controller knows about the cluster at one moment. A state is immutable; a new one is published after each batch
/// of changes.
#[derive(Clone, Debug)]
pub struct State {
    /// Counts the states of this process, from 1.
    pub revision: u64,
    /// The revision of the last state in which more than statuses and annotations differed from the state before.
    pub content: u64,
    /// The objects, and the engine that answers questions about them.
    pub snapshot: Snapshot,
    /// The same engine, for trying edits on a clone.
    pub engine: Arc<IncrementalEngine>,
    /// What the last batch changed. `None` for the first state.
    pub report: Option<Arc<Report>>,
    /// The objects that the last batch put or deleted, even without effects.
    pub edited: Arc<[ObjectRef]>,
    /// Objects that the last batch has made this controller responsible for, or no longer.
    pub moved: Arc<[ObjectRef]>,
    /// Which part of the cluster this is. `None` if it is all of it.
    pub partition: Option<SharedPartition>,
    /// When the oldest event of the last batch arrived.
    pub event_time: Instant,
    /// Why the API server cannot be reached, if it cannot.
    pub disconnected: Option<Arc<str>>,
}

impl State {
    /// The first state of an engine. `problems` are those of reading its objects.
    pub fn first(engine: IncrementalEngine, problems: Vec<Problem>) -> State {
        State {
            revision: 1,
            content: 1,
            snapshot: Snapshot::new(Arc::clone(engine.now()), problems),
            engine: Arc::new(engine),
            report: None,
            edited: Arc::default(),
            moved: Arc::default(),
            partition: None,
            event_time: Instant::now(),
            disconnected: None,
        }
    }

    /// Whether this controller, and no other one, writes about an object.
    pub fn is_responsible(&self, id: &ObjectRef) -> bool {
        self.partition.as_ref().is_none_or(|partition| partition.read().is_responsible(id))
    }

    /// Whether this controller writes about what belongs to no GatewayClass, or to several.
    pub fn is_default(&self) -> bool {
        self.partition.as_ref().is_none_or(|partition| partition.read().is_default())
    }
}

/// Publishes states. There is one publisher, and any number of readers.
#[derive(Debug)]
pub struct StatePublisher {
    latest: watch::Sender<Option<Arc<State>>>,
    every: Mutex<Vec<UnboundedSender<Arc<State>>>>,
}

/// Reads the latest state. A clone is cheap.
#[derive(Clone, Debug)]
pub struct StateReader(watch::Receiver<Option<Arc<State>>>);

impl StatePublisher {
    /// A publisher and its first reader. Nothing is published yet.
    pub fn new() -> (StatePublisher, StateReader) {
        let (sender, receiver) = watch::channel(None);
        (StatePublisher { latest: sender, every: Mutex::default() }, StateReader(receiver))
    }

    /// All states from now on. The receiver must not fall behind: states are large.
    pub fn every(&self) -> UnboundedReceiver<Arc<State>> {
        let (sender, receiver) = unbounded_channel();
        self.every.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Replaces the latest state.
    pub fn publish(&self, state: State) {
        let state = Arc::new(state);
        self.latest.send_replace(Some(Arc::clone(&state)));
        let mut every = self.every.lock().unwrap_or_else(PoisonError::into_inner);
        every.retain(|sender| sender.send(Arc::clone(&state)).is_ok());
    }
}

impl StateReader {
    /// The latest state. `None` until the cluster has been read once.
    pub fn latest(&self) -> Option<Arc<State>> {
        self.0.borrow().clone()
    }

    /// Waits for a state that this reader has not seen. States between two calls may be skipped. `None` after the publisher
    /// is dropped.
    pub async fn next(&mut self) -> Option<Arc<State>> {
        loop {
            self.0.changed().await.ok()?;
            if let Some(state) = self.0.borrow_and_update().clone() {
                return Some(state);
            }
        }
    }
}
