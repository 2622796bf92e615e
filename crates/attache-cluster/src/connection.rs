//! Requests to the API server, with retries, timeouts and counts.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ClusterError;
use crate::configuration::Configuration;

pub(crate) const JSON: &str = "application/json";

/// The number of requests at the same time. Each has a connection with buffers of its own, which later requests use again.
pub(crate) const PARALLEL: usize = 8;

/// The maximum number of attempts if the server is overloaded.
const ATTEMPTS: u32 = 6;

/// The longest wait between two attempts, even if the server asks for more.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A client of one API server, for one user.
pub(crate) struct Connection {
    client: Client,
    pub(crate) server: String,
    pub(crate) namespace: String,
    /// Namespaces that the kubeconfig names for the same cluster and user.
    pub(crate) named_namespaces: Vec<String>,
    timeout: Option<Duration>,
    requests: AtomicUsize,
    bytes: AtomicUsize,
    /// One for each request that may be under way, and for each response that is not parsed yet.
    slots: Arc<Semaphore>,
}

/// The body of a response. It takes a slot until it is dropped, so that few bodies are in memory at the same time.
pub(crate) struct ResponseBody {
    bytes: Vec<u8>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Deref for ResponseBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why a single request failed.
#[derive(Clone, Debug)]
pub(crate) enum RequestError {
    /// No request can succeed.
    Cluster(ClusterError),
    /// The server refused this request.
    Refused { code: u16, message: String },
}

/// A `Status`, which the API server sends with an error.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StatusMessage {
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) code: u16,
}

impl Connection {
    pub(crate) fn new(configuration: Configuration, timeout: Option<Duration>) -> Result<Connection, ClusterError> {
        let server = configuration.client.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = configuration.client.default_namespace.clone();
        let client =
            Client::try_from(configuration.client).map_err(|error| ClusterError::from_client(&error, &server))?;
        Ok(Connection {
            client,
            server,
            namespace,
            named_namespaces: configuration.namespaces,
            timeout,
            requests: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            slots: Arc::new(Semaphore::new(PARALLEL)),
        })
    }

    /// The number of requests, repeated ones included.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// The number of bytes received.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) async fn get(&self, path: &str, accept: &'static str) -> Result<ResponseBody, RequestError> {
        self.request("GET", path, accept, Vec::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &serde_json::Value) -> Result<ResponseBody, RequestError> {
        self.request("POST", path, JSON, body.to_string().into_bytes()).await
    }

    async fn request(
        &self,
        method: &'static str,
        path: &str,
        accept: &'static str,
        body: Vec<u8>,
    ) -> Result<ResponseBody, RequestError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            let response = self.timed(self.send(method, path, accept, body.clone())).await?;
            let status = response.status();
            let wait = retry_after(&response);
            let body = self.timed(self.collect(response)).await?;
            match status {
                _ if status.is_success() => return Ok(ResponseBody { bytes: body, _slot: slot }),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
                    if attempt < ATTEMPTS =>
                {
                    drop(slot);
                    let backoff = Duration::from_millis(100 << attempt);
                    tokio::time::sleep(wait.unwrap_or(backoff).min(LONGEST_WAIT)).await;
                }
                StatusCode::TOO_MANY_REQUESTS => {
                    return Err(RequestError::Cluster(ClusterError::TooManyRequests { server: self.server.clone() }));
                }
                StatusCode::UNAUTHORIZED => return Err(self.unauthorized()),
                _ => {
                    let message = serde_json::from_slice::<StatusMessage>(&body).map(|status| status.message);
                    let message = message.unwrap_or_else(|_| String::from_utf8_lossy(&body).trim().to_owned());
                    return Err(RequestError::Refused { code: status.as_u16(), message });
                }
            }
        }
    }

    /// Opens a watch. The caller reads the response as it arrives.
    pub(crate) async fn stream(&self, path: &str, accept: &'static str) -> Result<Response<Body>, RequestError> {
        let response = self.send("GET", path, accept, Vec::new()).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(self.unauthorized());
        }
        let body = self.collect(response).await?;
        let message = serde_json::from_slice::<StatusMessage>(&body).unwrap_or_default().message;
        Err(RequestError::Refused { code: status.as_u16(), message })
    }

    async fn send(
        &self,
        method: &'static str,
        path: &str,
        accept: &'static str,
        body: Vec<u8>,
    ) -> Result<Response<Body>, RequestError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let request = Request::builder().method(method).uri(path).header(ACCEPT, accept).header(CONTENT_TYPE, JSON);
        let request = request.body(Body::from(body)).map_err(|error| self.unexpected(path, &error))?;
        let sent = self.client.send(request).await;
        sent.map_err(|error| RequestError::Cluster(ClusterError::from_client(&error, &self.server)))
    }

    async fn collect(&self, response: Response<Body>) -> Result<Vec<u8>, RequestError> {
        let mut body = response.into_body();
        // Frame by frame: frames and the whole body together would take twice the memory.
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| RequestError::Cluster(ClusterError::from_client(&error, &self.server)))?;
            bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        }
        self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(bytes)
    }

    async fn timed<T>(&self, work: impl Future<Output = Result<T, RequestError>>) -> Result<T, RequestError> {
        let Some(after) = self.timeout else { return work.await };
        let expired = || RequestError::Cluster(ClusterError::Timeout { server: self.server.clone(), after });
        tokio::time::timeout(after, work).await.unwrap_or_else(|_| Err(expired()))
    }

    fn unauthorized(&self) -> RequestError {
        RequestError::Cluster(ClusterError::Unauthorized { server: self.server.clone() })
    }

    pub(crate) fn unexpected(&self, path: &str, message: &dyn std::fmt::Display) -> RequestError {
        RequestError::Cluster(ClusterError::Unexpected { path: path.to_owned(), message: message.to_string() })
    }
}

/// The number of seconds that the server asks to wait.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
