//! The HTTP server.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Form, FromRequest, Query, Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::ask::{Answer, Ask};
use crate::assets::Asset;
use crate::events::events;
use crate::guard::guard;
use crate::parameters::Parameters;
use crate::routes::route;
use crate::state::Page;

/// The largest YAML that a plan accepts.
const LARGEST_BODY: usize = 4 << 20;

/// Serves a page until the process ends.
///
/// # Errors
///
/// If the runtime cannot be started, or the listener fails.
pub fn serve(page: Arc<Page>, listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, router(page)).await
    })
}

fn router(page: Arc<Page>) -> Router {
    Router::new()
        .route("/events", get(events))
        .fallback(answer)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn(guard))
        .with_state(page)
}

/// Answers are computed on threads that may block.
async fn answer(State(page): State<Arc<Page>>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    if let Some(asset) = uri.path().strip_prefix("/assets/").and_then(Asset::find) {
        let headers = [(CONTENT_TYPE, asset.media_type), (CACHE_CONTROL, "max-age=31536000, immutable")];
        return (headers, asset.content).into_response();
    }
    let parameters = match method {
        Method::GET | Method::HEAD => {
            Query::try_from_uri(&uri).map_err(IntoResponse::into_response).map(|Query(it)| it)
        }
        Method::POST => body(request).await,
        _ => return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD, POST")]).into_response(),
    };
    let parameters = match parameters {
        Ok(parameters) => Parameters(parameters),
        Err(refusal) => return refusal,
    };
    let ask = Ask { state: page.state(), page, segments: segments(&uri), parameters, posted: method == Method::POST };
    match tokio::task::spawn_blocking(move || route(&ask)).await {
        Ok(answer) => answer.into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal error\n").into_response(),
    }
}

/// The fields of a form. Any other body contains the manifests of a plan.
async fn body(request: Request) -> Result<Vec<(String, String)>, Response> {
    let is_form = |value: &HeaderValue| value.as_bytes().starts_with(b"application/x-www-form-urlencoded");
    if request.headers().get(CONTENT_TYPE).is_some_and(is_form) {
        return Form::from_request(request, &()).await.map(|Form(it)| it).map_err(IntoResponse::into_response);
    }
    let query: Query<Vec<(String, String)>> =
        Query::try_from_uri(request.uri()).map_err(IntoResponse::into_response)?;
    let bytes = Bytes::from_request(request, &()).await.map_err(IntoResponse::into_response)?;
    let mut parameters = query.0;
    parameters.push(("apply".to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
    Ok(parameters)
}

/// The parts of a path, decoded.
fn segments(uri: &Uri) -> Vec<String> {
    uri.path().split('/').filter(|part| !part.is_empty()).map(decoded).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        match self {
            Answer::Page(status, markup) => (status, Html(markup.into_string())).into_response(),
            Answer::Elsewhere(address) => Redirect::to(&address).into_response(),
            Answer::File { name, media_type, content } => {
                let disposition = format!("attachment; filename=\"{name}\"");
                ([(CONTENT_TYPE, media_type), (CONTENT_DISPOSITION, &disposition)], content).into_response()
            }
            Answer::Json(status, text) => (status, [(CONTENT_TYPE, "application/json")], text).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_path_are_decoded_one_by_one() {
        let uri = Uri::from_static("/policy/Service/a%2Fb/%3Cscript%3E%22%26%3F%23");
        assert_eq!(segments(&uri), ["policy", "Service", "a/b", "<script>\"&?#"]);
        assert_eq!(segments(&Uri::from_static("/a%zz/%")), ["a%zz", "%"]);
    }
}
