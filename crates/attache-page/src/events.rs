//! Server-sent events: there is a new state. Pages request themselves again to see what changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::stream;

use crate::state::Page;

/// A stream of revisions: the current one, and then each new one.
pub async fn events(State(page): State<Arc<Page>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut revisions = page.revisions();
    revisions.mark_changed();
    let next = move |(page, mut revisions): (Arc<Page>, tokio::sync::watch::Receiver<u64>)| async move {
        revisions.changed().await.ok()?;
        let revision = *revisions.borrow_and_update();
        let event = Event::default().event("revision").data(page.mark(revision));
        Some((Ok(event), (page, revisions)))
    };
    let stream = stream::unfold((page, revisions), next);
    Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}
