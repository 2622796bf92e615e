//! Health and metrics over HTTP.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::context::Context;
use crate::error::ControllerError;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves `/livez`, `/readyz` and `/metrics` until the shutdown.
pub async fn serve(context: Context, listener: TcpListener) -> Result<(), ControllerError> {
    let shutdown = context.shutdown.clone();
    let served =
        axum::serve(listener, router(context)).with_graceful_shutdown(async move { shutdown.requested().await });
    served.await.map_err(|error| ControllerError::Failed { part: "the metrics server", message: error.to_string() })
}

fn router(context: Context) -> Router {
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(context)
}

/// Ready after the first complete read. If the cluster cannot be reached later, the controller stays ready: it answers from
/// the last known state.
async fn ready(State(context): State<Context>) -> Response {
    match context.state.latest() {
        Some(_) => "ok\n".into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the cluster has not been read yet\n").into_response(),
    }
}

async fn metrics(State(context): State<Context>) -> Response {
    ([(CONTENT_TYPE, OPEN_METRICS)], context.metrics.encode()).into_response()
}
