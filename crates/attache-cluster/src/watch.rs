//! One watch: what happens to the objects of one list, for as long as anybody wants to know.

use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::Edit;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;

use crate::connection::{Connection, JSON, RequestError, StatusMessage};
use crate::list::{self, Extent, ListError, Listing, METADATA, read_objects};
use crate::read::Listed;

/// When the server ends a watch of its own accord. It is continued at once.
const SERVER_TIMEOUT: u64 = 290;

/// How long a watch may be silent. The server sends a bookmark about every minute.
const SILENCE: Duration = Duration::from_secs(150);

/// The pause after a watch that was very short.
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before the server is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Which of the watches something happened to.
pub(crate) type WatchId = u64;

/// What happened to the objects of a list.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    Edit(Edit),
    /// Too much happened to be told one by one: this is all there is.
    Relisted(Listing),
    /// Nothing is heard any more, and this is why.
    OutOfTouch(String),
    BackInTouch,
    /// The kind is not there any more. The watch has ended.
    Gone,
}

/// Why a watch ended.
enum End {
    /// As watches do.
    Closed,
    /// What happened since the last event is not known to the server any more.
    Expired,
    Gone,
    Failed(String),
    /// Nobody listens.
    Abandoned,
}

/// Watches the objects of a list from where it was read, until nobody listens or the kind is gone.
pub(crate) async fn watch(
    connection: Arc<Connection>,
    mut listed: Listed,
    id: WatchId,
    sender: Sender<(WatchId, WatchEvent)>,
) {
    let mut failures: u32 = 0;
    loop {
        let start = Instant::now();
        let mut watch =
            Watch { connection: &connection, listed: &mut listed, id, sender: &sender, failures: &mut failures };
        let mut end = watch.run().await;
        if let End::Expired = end {
            end = watch.relist().await;
        }
        match end {
            // A server that ends every watch at once is not asked all the time.
            End::Closed if start.elapsed() < Duration::from_secs(1) => tokio::time::sleep(SHORT_PAUSE).await,
            End::Closed => {}
            // A list that is read again may be too old already.
            End::Expired => failures += 1,
            End::Gone => {
                let _ = sender.send((id, WatchEvent::Gone)).await;
                return;
            }
            End::Abandoned => return,
            End::Failed(message) => {
                if failures == 0 && sender.send((id, WatchEvent::OutOfTouch(message))).await.is_err() {
                    return;
                }
                failures += 1;
                let pause = Duration::from_millis(50 << failures.min(10)).min(LONGEST_PAUSE);
                tokio::time::sleep(pause).await;
            }
        }
    }
}

struct Watch<'w> {
    connection: &'w Connection,
    listed: &'w mut Listed,
    id: WatchId,
    sender: &'w Sender<(WatchId, WatchEvent)>,
    /// How often in a row the server could not be asked.
    failures: &'w mut u32,
}

impl Watch<'_> {
    async fn run(&mut self) -> End {
        let Listed { wanted, namespace, resource_version } = &*self.listed;
        let accept = if wanted.extent == Extent::Metadata { METADATA } else { JSON };
        let mut path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={SERVER_TIMEOUT}&resourceVersion={resource_version}",
            wanted.resource.path(namespace.as_deref())
        );
        if let Extent::Labelled(label) = wanted.extent {
            path += &format!("&labelSelector={}", label.replace('/', "%2F"));
        }
        let mut body = match tokio::time::timeout(SILENCE, self.connection.stream(&path, accept)).await {
            Ok(Ok(response)) => response.into_body(),
            Ok(Err(error)) => return refused(error),
            Err(_) => return End::Failed(self.silence()),
        };
        if let Some(end) = self.back_in_touch().await {
            return end;
        }
        let mut buffer: Vec<u8> = Vec::new();
        loop {
            let frame = match tokio::time::timeout(SILENCE, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                // Cut or ended: if the server is gone, the next attempt says so.
                Ok(Some(Err(_)) | None) => return End::Closed,
                Err(_) => return End::Failed(self.silence()),
            };
            let Some(data) = frame.data_ref() else { continue };
            // Only what is new can hold the end of a line.
            let mut searched = buffer.len();
            buffer.extend_from_slice(data);
            let mut start = 0;
            while let Some(length) = buffer[searched..].iter().position(|byte| *byte == b'\n') {
                let end = searched + length;
                if let Some(end) = self.line(&buffer[start..end]).await {
                    return end;
                }
                (start, searched) = (end + 1, end + 1);
            }
            buffer.drain(..start);
        }
    }

    /// An event of the server. Whatever ends the watch is returned.
    async fn line(&mut self, line: &[u8]) -> Option<End> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let event: Line = match serde_json::from_slice(line) {
            Ok(event) => event,
            Err(error) => return Some(End::Failed(format!("an event cannot be read: {error}"))),
        };
        let json = event.object.get().as_bytes();
        match &*event.kind {
            "BOOKMARK" => {
                let bookmark: Bookmark = serde_json::from_slice(json).unwrap_or_default();
                if !bookmark.metadata.resource_version.is_empty() {
                    self.listed.resource_version = bookmark.metadata.resource_version;
                }
                None
            }
            "ERROR" => {
                let status: StatusMessage = serde_json::from_slice(json).unwrap_or_default();
                Some(if status.code == 410 { End::Expired } else { End::Failed(status.message) })
            }
            kind => {
                let parsed = read_objects(json, &self.listed.wanted.resource, self.listed.wanted.extent);
                for object in parsed.objects {
                    let version = object.body.at(&["metadata", "resourceVersion"]).and_then(|it| it.as_str());
                    if let Some(version) = version {
                        self.listed.resource_version = version.to_owned();
                    }
                    let edit = if kind == "DELETED" { Edit::Delete(object.id) } else { Edit::Put(object) };
                    if self.sender.send((self.id, WatchEvent::Edit(edit))).await.is_err() {
                        return Some(End::Abandoned);
                    }
                }
                None
            }
        }
    }

    async fn relist(&mut self) -> End {
        let Listed { wanted, namespace, .. } = &*self.listed;
        match list::list(self.connection, &wanted.resource, namespace.as_deref(), wanted.extent).await {
            Ok(listing) => {
                self.listed.resource_version = listing.resource_version.clone();
                if let Some(end) = self.back_in_touch().await {
                    return end;
                }
                let sent = self.sender.send((self.id, WatchEvent::Relisted(listing))).await;
                if sent.is_err() { End::Abandoned } else { End::Closed }
            }
            Err(ListError::Gone) => End::Gone,
            Err(ListError::Forbidden) => End::Failed(self.forbidden()),
            Err(ListError::Failed(message)) => End::Failed(message),
            Err(ListError::Cluster(error)) => End::Failed(error.to_string()),
        }
    }

    async fn back_in_touch(&mut self) -> Option<End> {
        if std::mem::take(self.failures) > 0 && self.sender.send((self.id, WatchEvent::BackInTouch)).await.is_err() {
            return Some(End::Abandoned);
        }
        None
    }

    fn silence(&self) -> String {
        format!("{} was silent for {} seconds", self.connection.server, SILENCE.as_secs())
    }

    fn forbidden(&self) -> String {
        format!("you may not list {} any more", self.listed.wanted.resource.full_name())
    }
}

fn refused(error: RequestError) -> End {
    match error {
        RequestError::Refused { code: 410, .. } => End::Expired,
        RequestError::Refused { code: 404 | 405, .. } => End::Gone,
        RequestError::Refused { message, .. } => End::Failed(message),
        RequestError::Cluster(error) => End::Failed(error.to_string()),
    }
}

#[derive(Deserialize)]
struct Line<'l> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    object: &'l RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Bookmark {
    metadata: BookmarkMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BookmarkMetadata {
    resource_version: String,
}
