//! Watches: changes of the objects of a list.
//!
//! A watch keeps the state that its client has seen, and compares it with each new state. Objects are computed only if their
//! fingerprints differ. The pause after a comparison is proportional to its duration, so that a watch does not use all CPU in
//! a cluster with many changes.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::chunks::{ChunkWriter, chunks};
use super::error::ApiError;
use super::list::{ListQuery, table};
use super::request::ObjectFormat;
use super::resource::{ApiEntry, ApiEntryKey, ApiObject, fingerprints};
use super::table::partial_metadata;
use super::versions::{Versioned, Versions};
use crate::state::StateReader;

/// The duration of a watch without `timeoutSeconds`.
const LASTS: Duration = Duration::from_secs(30 * 60);

/// The interval of bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// The shortest pause between two comparisons.
const SHORTEST_REST: Duration = Duration::from_millis(100);

/// The pause after a comparison, as a multiple of its duration.
const REST: u32 = 5;

/// The first events of a watch.
#[derive(Clone, Debug)]
pub enum Start {
    /// All objects.
    Everything,
    /// Changes since this state.
    Since(Arc<Versioned>),
}

/// A request for a watch.
#[derive(Clone, Debug)]
pub struct WatchQuery {
    /// The watched objects.
    pub query: ListQuery,
    /// Where states come from.
    pub reader: StateReader,
    /// The versions of this process.
    pub versions: Arc<Versions>,
}

impl WatchQuery {
    /// Where a watch starts, as its parameters say.
    pub fn start(&self) -> Result<Start, ApiError> {
        let parameters = &self.query.parameters;
        match parameters.version {
            _ if parameters.initial_events == Some(true) => Ok(Start::Everything),
            None if parameters.initial_events == Some(false) => Ok(Start::Since(self.latest()?)),
            None => Ok(Start::Everything),
            Some(version) => Ok(Start::Since(self.versions.get(version, &self.query.extent())?)),
        }
    }

    fn latest(&self) -> Result<Arc<Versioned>, ApiError> {
        self.reader.latest().map(|state| self.versions.keep(&state, &self.query.extent())).ok_or(ApiError::NotReady)
    }

    /// The events as the body of a response.
    pub fn body(self, start: Start) -> Body {
        let (sender, body) = chunks();
        tokio::spawn(self.run(start, sender));
        body
    }

    async fn run(mut self, start: Start, sender: mpsc::Sender<Bytes>) {
        let lasts = self.query.parameters.timeout_seconds.map_or(LASTS, Duration::from_secs);
        let end = tokio::time::Instant::now() + lasts;
        let changes = async {
            let mut seen = Seen::new(Arc::new(self.query.clone()), start);
            loop {
                let before = Instant::now();
                let Ok(now) = self.latest() else { return };
                let content = now.content();
                let mut writer = ChunkWriter::new(sender.clone());
                let comparison = tokio::task::spawn_blocking(move || seen.advance(now, &mut writer));
                let Ok(Ok(after)) = comparison.await else { return };
                seen = after;
                tokio::time::sleep(SHORTEST_REST.max(before.elapsed() * REST)).await;
                let mut bookmarks = tokio::time::interval_at(tokio::time::Instant::now() + BOOKMARKS, BOOKMARKS);
                loop {
                    tokio::select! {
                        () = sender.closed() => return,
                        next = self.reader.next() => match next {
                            Some(state) if state.content > content => break,
                            Some(_) => {}
                            None => return,
                        },
                        _ = bookmarks.tick(), if self.query.parameters.bookmarks => {
                            // Keeps the version that bookmarks announce.
                            let Ok(now) = self.latest() else { return };
                            let bookmark = event("BOOKMARK", &seen.bookmark(now.version, false));
                            if now.content() == content && sender.send(bookmark.into()).await.is_err() {
                                return;
                            }
                        }
                    }
                }
            }
        };
        _ = tokio::time::timeout_at(end, changes).await;
    }
}

/// The objects that a client has seen.
struct Seen {
    query: Arc<ListQuery>,
    /// The state that it has seen. `None` at first.
    state: Option<Arc<Versioned>>,
    /// The fingerprints of the objects that it has seen.
    objects: BTreeMap<ApiEntryKey, u64>,
    /// Whether it has the columns of the table.
    has_columns: bool,
}

impl Seen {
    fn new(query: Arc<ListQuery>, start: Start) -> Seen {
        let (state, objects) = match start {
            Start::Everything => (None, BTreeMap::new()),
            Start::Since(state) => (Some(Arc::clone(&state)), numbers(&objects_of(&query, &state))),
        };
        Seen { query, state, objects, has_columns: false }
    }

    /// Writes the events that lead from the state that the client has seen to this one.
    fn advance(mut self, now: Arc<Versioned>, writer: &mut impl Write) -> io::Result<Seen> {
        let known = self.state.replace(Arc::clone(&now));
        let query = Arc::clone(&self.query);
        let after = objects_of(&query, &now);
        let numbers = numbers(&after);
        if known.is_none() || numbers != self.objects {
            let mut events = Events { query: &query, has_columns: self.has_columns, writer };
            let before = known.as_ref().map(|known| self.entries_of(known)).unwrap_or_default();
            for (_, entry) in before.iter().filter(|(key, _)| !after.contains_key(key)) {
                events.write("DELETED", entry, entry.api_object(now.version))?;
            }
            for (key, (entry, number)) in &after {
                if self.objects.get(key) == Some(number) {
                    continue;
                }
                let object = entry.api_object(now.version);
                match before.get(key) {
                    None => events.write("ADDED", entry, object)?,
                    Some(before) if is_same(object.as_ref(), before.api_object(now.version).as_ref()) => {}
                    Some(_) => events.write("MODIFIED", entry, object)?,
                }
            }
            let has_columns = events.has_columns;
            drop(before);
            self.has_columns = has_columns;
        }
        if known.is_none() && self.query.parameters.initial_events == Some(true) {
            writer.write_all(&event("BOOKMARK", &self.bookmark(now.version, true)))?;
        }
        self.objects = numbers;
        writer.flush()?;
        Ok(self)
    }

    /// The entries of the objects that the client has seen.
    fn entries_of<'s>(&'s self, state: &'s Versioned) -> BTreeMap<ApiEntryKey, ApiEntry<'s>> {
        let ListQuery { resource, namespace, .. } = &*self.query;
        let entries = resource.entries(state.snapshot(), namespace.as_deref());
        entries.map(|entry| (entry.key(), entry)).filter(|(key, _)| self.objects.contains_key(key)).collect()
    }

    /// A bookmark: the client has seen all changes up to this version.
    fn bookmark(&self, version: u64, ends_initial_events: bool) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if ends_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let resource = self.query.resource;
        let mut object = json!({"kind": resource.kind(), "apiVersion": super::API_VERSION, "metadata": metadata});
        match self.query.parameters.format {
            ObjectFormat::Objects => {}
            ObjectFormat::Metadata => {
                (object["kind"], object["apiVersion"]) = ("PartialObjectMetadata".into(), "meta.k8s.io/v1".into());
            }
            ObjectFormat::Table(_) => {
                object = json!({
                    "kind": "Table",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": {"resourceVersion": version.to_string()},
                    "columnDefinitions": [],
                    "rows": [{"cells": [], "object": object}],
                });
            }
        }
        object
    }
}

/// The requested objects of a state, each with its fingerprint.
fn objects_of<'s>(query: &'s ListQuery, state: &'s Versioned) -> BTreeMap<ApiEntryKey, (ApiEntry<'s>, u64)> {
    let ListQuery { resource, namespace, parameters } = query;
    let entries = resource.entries(state.snapshot(), namespace.as_deref());
    let entries: Vec<ApiEntry<'s>> = entries.filter(|entry| entry.is_selected(&parameters.selectors)).collect();
    let numbers = fingerprints(&entries);
    let found = entries.into_iter().zip(numbers).filter_map(|(entry, number)| Some((entry.key(), (entry, number?))));
    found.collect()
}

fn numbers(objects: &BTreeMap<ApiEntryKey, (ApiEntry<'_>, u64)>) -> BTreeMap<ApiEntryKey, u64> {
    objects.iter().map(|(key, (_, number))| (key.clone(), *number)).collect()
}

/// Writes events for one client.
struct Events<'e, W> {
    query: &'e ListQuery,
    has_columns: bool,
    writer: &'e mut W,
}

impl<W: Write> Events<'_, W> {
    fn write(&mut self, kind: &str, entry: &ApiEntry<'_>, object: Option<ApiObject>) -> io::Result<()> {
        let Some(object) = object else { return Ok(()) };
        let object = match self.query.parameters.format {
            ObjectFormat::Objects => json!(object),
            ObjectFormat::Metadata => partial_metadata(&object),
            ObjectFormat::Table(include) => {
                // The API server sends columns with the first event only.
                let had_columns = std::mem::replace(&mut self.has_columns, true);
                table((!had_columns).then_some(self.query.resource), &object, entry, include)
            }
        };
        self.writer.write_all(&event(kind, &object))
    }
}

fn is_same(one: Option<&ApiObject>, other: Option<&ApiObject>) -> bool {
    serde_json::to_vec(&one).ok() == serde_json::to_vec(&other).ok()
}

/// An event on a line.
fn event(kind: &str, object: &Value) -> Vec<u8> {
    let mut line = json!({"type": kind, "object": object}).to_string().into_bytes();
    line.push(b'\n');
    line
}
