//! The webhook over HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::review::{AdmissionResponse, AdmissionReview};
use super::{AdmissionAnswer, AdmissionOptions, review};
use crate::context::Context;
use crate::error::ControllerError;
use crate::state::StateReader;
use crate::tls::TlsServer;

/// The path of the webhook.
pub const ADMISSION_PATH: &str = "/admission";

/// The API server waits for two seconds. A request that takes longer than this is admitted.
const LONGEST: Duration = Duration::from_millis(1500);

/// The API server limits an object to 3 MiB, and an update contains two.
const LARGEST: usize = 16 << 20;

/// Serves the webhook until the shutdown.
pub(crate) async fn serve(context: Context, server: TlsServer) -> Result<(), ControllerError> {
    let options = AdmissionOptions { reject_conflicts: context.options.reject_conflicts };
    let metrics = Arc::clone(&context.metrics);
    let observe = move |answer: &AdmissionAnswer, time: Duration| {
        metrics.webhook.observe(time.as_secs_f64());
        if answer.refusal.is_some() {
            metrics.webhook_refusals.inc();
        }
    };
    let router = router(context.state.clone(), options, observe);
    let shutdown = context.shutdown.clone();
    let served = server.serve(router, async move { shutdown.requested().await }).await;
    served.map_err(|error| ControllerError::Failed { part: "the admission webhook", message: error.to_string() })
}

/// The webhook. `observe` is called with each answer and its duration.
pub fn router(
    states: StateReader,
    options: AdmissionOptions,
    observe: impl Fn(&AdmissionAnswer, Duration) + Clone + Send + Sync + 'static,
) -> Router {
    // A trial uses a whole core: more at once would only slow all of them down.
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let permits = Arc::new(Semaphore::new(cores));
    let handler = move |body: Bytes| {
        let (states, observe, permits) = (states.clone(), observe.clone(), Arc::clone(&permits));
        async move {
            let start = Instant::now();
            let (answer, response) = answer(states, options, permits, body).await;
            if let Some(answer) = answer {
                observe(&answer, start.elapsed());
            }
            response
        }
    };
    Router::new().route(ADMISSION_PATH, post(handler)).layer(DefaultBodyLimit::max(LARGEST))
}

async fn answer(
    states: StateReader,
    options: AdmissionOptions,
    permits: Arc<Semaphore>,
    body: Bytes,
) -> (Option<AdmissionAnswer>, Response) {
    let uid = match serde_json::from_slice::<AdmissionReview<'_>>(&body) {
        Ok(review) => review.request.uid,
        Err(error) => {
            let message = format!("this is not an AdmissionReview: {error}");
            return (None, (StatusCode::BAD_REQUEST, message).into_response());
        }
    };
    let work = async {
        let _permit = permits.acquire().await.ok()?;
        // On its own thread: a trial can take long, and must not block others, even if it panics.
        let reviewed = tokio::task::spawn_blocking(move || review(states.latest().as_deref(), options, &body)).await;
        reviewed.ok()?.ok()
    };
    let (answer, bytes) = timeout(LONGEST, work).await.ok().flatten().unwrap_or_else(|| {
        tracing::warn!(uid, "a request was admitted because it could not be answered in time");
        let answer = AdmissionAnswer::default();
        let response = AdmissionResponse::new(uid, answer.clone());
        (answer, serde_json::to_vec(&response).unwrap_or_default())
    });
    (Some(answer), ([(CONTENT_TYPE, "application/json")], bytes).into_response())
}
