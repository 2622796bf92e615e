//! Watches the objects of one list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_engine::Edit;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;

use crate::connection::{Connection, JSON, RequestError, StatusMessage};
use crate::list::{self, ListError, ListExtent, ListForm, Listing, METADATA, read_objects};
use crate::read::ListedKind;

/// The time after which the server ends a watch. It is continued at once.
const SERVER_TIMEOUT: u64 = 290;

/// The longest silence of a watch. The server sends a bookmark about every minute.
const SILENCE: Duration = Duration::from_secs(150);

/// The pause after a watch that was very short.
const SHORT_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before the server is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The id of a watch.
pub(crate) type WatchId = u64;

/// What happened to the objects of a list.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    Edit(Edit),
    /// Too many changes for single events: all objects that exist now.
    Relisted(Listing),
    /// The connection is lost, with the reason.
    Disconnected(String),
    BackInTouch,
    /// The kind no longer exists. The watch has ended.
    Gone,
}

/// Why a watch ended.
enum End {
    /// The server closed it, as usual.
    Closed,
    /// The server no longer has the changes since the last event.
    Expired,
    Gone,
    Failed(String),
    /// The receiver is closed.
    Abandoned,
}

/// Watches the objects of a list from the version in which it was read, until the receiver is closed or the kind is
/// removed.
pub(crate) async fn watch(
    connection: Arc<Connection>,
    mut listed: ListedKind,
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
            // A server that ends every watch at once must not be flooded with requests.
            End::Closed if start.elapsed() < Duration::from_secs(1) => tokio::time::sleep(SHORT_PAUSE).await,
            End::Closed => {}
            // A list that is read again may have expired, too.
            End::Expired => failures += 1,
            End::Gone => {
                let _ = sender.send((id, WatchEvent::Gone)).await;
                return;
            }
            End::Abandoned => return,
            End::Failed(message) => {
                if failures == 0 && sender.send((id, WatchEvent::Disconnected(message))).await.is_err() {
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
    listed: &'w mut ListedKind,
    id: WatchId,
    sender: &'w Sender<(WatchId, WatchEvent)>,
    /// The number of consecutive failures.
    failures: &'w mut u32,
}

impl Watch<'_> {
    async fn run(&mut self) -> End {
        let ListedKind { wanted, namespace, resource_version } = &*self.listed;
        let accept = if wanted.extent == ListExtent::Metadata { METADATA } else { JSON };
        let mut path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={SERVER_TIMEOUT}&resourceVersion={resource_version}",
            wanted.resource.path(namespace.as_deref())
        );
        if let Some(query) = wanted.extent.query() {
            path += &format!("&{query}");
        }
        let mut body = match tokio::time::timeout(SILENCE, self.connection.stream(&path, accept)).await {
            Ok(Ok(response)) => response.into_body(),
            Ok(Err(error)) => return refused(error),
            Err(_) => return End::Failed(self.silence()),
        };
        if let Some(end) = self.reconnected().await {
            return end;
        }
        let mut buffer: Vec<u8> = Vec::new();
        loop {
            let frame = match tokio::time::timeout(SILENCE, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                // Cut or ended: if the server is down, the next attempt reports it.
                Ok(Some(Err(_)) | None) => return End::Closed,
                Err(_) => return End::Failed(self.silence()),
            };
            let Some(data) = frame.data_ref() else { continue };
            // Only the new part can contain the end of a line.
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

    /// Handles an event of the server. Returns why the watch ends, if it does.
    async fn line(&mut self, line: &[u8]) -> Option<End> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let event: WatchLine = match serde_json::from_slice(line) {
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
                let parsed = read_objects(json, &self.listed.wanted.resource, &self.listed.wanted.extent);
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
        let ListedKind { wanted, namespace, .. } = &*self.listed;
        match list::list(self.connection, &wanted.resource, namespace.as_deref(), &wanted.extent, ListForm::Objects)
            .await
        {
            Ok(listing) => {
                self.listed.resource_version = listing.resource_version.clone();
                if let Some(end) = self.reconnected().await {
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

    async fn reconnected(&mut self) -> Option<End> {
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
struct WatchLine<'l> {
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
