//! Requests to the API server of a test.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use crate::TestEnvError;
use crate::certificates::Identity;

/// A plain HTTP client with the credentials of one user. It can be used by several threads.
#[derive(Clone, Debug)]
pub struct HttpClient {
    agent: Agent,
    url: String,
    token: Option<String>,
}

/// The response to a request.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The body, which is JSON for most paths.
    pub body: String,
}

impl HttpResponse {
    /// The body as JSON; `null` if it is not.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Panics unless the request was successful.
    #[track_caller]
    pub fn expect_success(self) -> HttpResponse {
        assert!((200..300).contains(&self.status), "status {}: {}", self.status, self.body);
        self
    }
}

pub(crate) enum Credentials<'a> {
    Certificate(&'a Identity),
    Token(String),
}

impl HttpClient {
    pub(crate) fn new(url: &str, authority: &Path, credentials: Credentials<'_>) -> Result<HttpClient, TestEnvError> {
        let failed = |error: &dyn std::fmt::Display| TestEnvError::failed("cannot create an HTTP client", error);
        let read = |path: &Path| fs::read(path).map_err(|error| failed(&error));
        let authority = Certificate::from_pem(&read(authority)?).map_err(|error| failed(&error))?;
        let mut tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[authority]));
        let mut token = None;
        match credentials {
            Credentials::Certificate(identity) => {
                let certificate =
                    Certificate::from_pem(&read(&identity.certificate)?).map_err(|error| failed(&error))?;
                let key = PrivateKey::from_pem(&read(&identity.key)?).map_err(|error| failed(&error))?;
                tls = tls.client_cert(Some(ClientCert::new_with_certs(&[certificate], key)));
            }
            Credentials::Token(secret) => token = Some(secret),
        }
        let config = Agent::config_builder().tls_config(tls.build()).http_status_as_error(false).proxy(None);
        let config = config.timeout_global(Some(Duration::from_secs(120))).build();
        Ok(HttpClient { agent: Agent::new_with_config(config), url: url.to_owned(), token })
    }

    /// Reads a path of the API server.
    pub fn get(&self, path: &str) -> Result<HttpResponse, TestEnvError> {
        self.get_as(path, "*/*")
    }

    /// Reads a path of the API server in a format.
    pub fn get_as(&self, path: &str, accept: &str) -> Result<HttpResponse, TestEnvError> {
        let mut request = self.agent.get(format!("{}{path}", self.url)).header("Accept", accept);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        answered(request.call())
    }

    /// Creates an object.
    pub fn post(&self, path: &str, body: &Value) -> Result<HttpResponse, TestEnvError> {
        self.write(self.agent.post(format!("{}{path}", self.url)), "application/json", body)
    }

    /// Replaces an object.
    pub fn put(&self, path: &str, body: &Value) -> Result<HttpResponse, TestEnvError> {
        self.write(self.agent.put(format!("{}{path}", self.url)), "application/json", body)
    }

    /// Changes an object by a JSON merge patch.
    pub fn patch(&self, path: &str, body: &Value) -> Result<HttpResponse, TestEnvError> {
        self.write(self.agent.patch(format!("{}{path}", self.url)), "application/merge-patch+json", body)
    }

    /// Deletes an object.
    pub fn delete(&self, path: &str) -> Result<HttpResponse, TestEnvError> {
        let mut request = self.agent.delete(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        answered(request.call())
    }

    /// Sends a request. The caller reads the response.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        accept: &str,
        body: Vec<u8>,
    ) -> Result<(u16, impl std::io::Read + use<>), TestEnvError> {
        let failed = |error: &dyn std::fmt::Display| TestEnvError::failed("the API server did not answer", error);
        let request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header("Accept", accept).header("Content-Type", "application/json");
        let request = request.body(body).map_err(|error| failed(&error))?;
        let response = self.agent.run(request).map_err(|error| failed(&error))?;
        Ok((response.status().as_u16(), response.into_body().into_reader()))
    }

    fn write(
        &self,
        mut request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        content_type: &str,
        body: &Value,
    ) -> Result<HttpResponse, TestEnvError> {
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        answered(request.header("Content-Type", content_type).send(body.to_string()))
    }
}

fn answered(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<HttpResponse, TestEnvError> {
    let failed = |error: ureq::Error| TestEnvError::failed("the API server did not answer", error);
    let mut response = answer.map_err(failed)?;
    let status = response.status().as_u16();
    // Lists of benchmarks are larger than the 10 MB that are read by default.
    let body = response.body_mut().with_config().limit(1 << 30).read_to_string().map_err(failed)?;
    Ok(HttpResponse { status, body })
}
