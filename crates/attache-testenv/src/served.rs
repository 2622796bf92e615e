//! Waits until the API server serves what it has: a CRD can be established before its kind can be listed, and before
//! discovery names it.

use std::collections::HashSet;
use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{HttpClient, TestCluster, TestEnvError};

const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The maximum time until all kinds are served.
const PATIENCE: Duration = Duration::from_secs(180);

impl TestCluster {
    /// Waits until the kinds of all CRDs can be listed, and are part of discovery.
    ///
    /// # Panics
    ///
    /// After three minutes.
    #[track_caller]
    pub fn wait_until_served(&self) {
        self.try_wait_until_served().unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn try_wait_until_served(&self) -> Result<(), TestEnvError> {
        let start = Instant::now();
        loop {
            let why = match missing(self.http()) {
                Ok(missing) if missing.is_empty() => return Ok(()),
                Ok(missing) => missing.join(", "),
                Err(error) => error.to_string(),
            };
            if start.elapsed() > PATIENCE {
                let after = PATIENCE.as_secs();
                return Err(TestEnvError::Failed(format!("not served after {after} seconds: {why}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What is not served yet. Without the namespace `default` and its Service the server has not finished its start.
fn missing(http: &HttpClient) -> Result<Vec<String>, TestEnvError> {
    let discovered = discovered(&read(http, "/apis", DISCOVERY)?);
    let mut paths = vec!["/api/v1/namespaces/default/services/kubernetes".to_owned()];
    let mut missing = Vec::new();
    let crds = read(http, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", METADATA)?;
    for crd in items(&crds).filter(|crd| crd["metadata"]["deletionTimestamp"].is_null()) {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let before = paths.len();
        paths.extend(discovered.iter().filter(|it| it.name == name).map(|it| format!("{}?limit=1", it.path)));
        if paths.len() == before {
            missing.push(name.to_owned());
        }
    }
    for path in paths {
        if http.get(&path)?.status != 200 {
            missing.push(path);
        }
    }
    Ok(missing)
}

#[derive(PartialEq, Eq, Hash)]
struct Discovered {
    /// `plural.group`, as CRDs are named.
    name: String,
    path: String,
}

/// The kinds in discovery that can be listed.
fn discovered(groups: &Value) -> HashSet<Discovered> {
    let mut found = HashSet::new();
    for group in items(groups) {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        for version in group["versions"].as_array().into_iter().flatten() {
            let number = version["version"].as_str().unwrap_or_default();
            for resource in version["resources"].as_array().into_iter().flatten() {
                let plural = resource["resource"].as_str().unwrap_or_default();
                let path = format!("/apis/{name}/{number}/{plural}");
                found.insert(Discovered { name: format!("{plural}.{name}"), path });
            }
        }
    }
    found
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

fn read(http: &HttpClient, path: &str, accept: &str) -> Result<Value, TestEnvError> {
    let (status, mut body) = http.open("GET", path, accept, Vec::new())?;
    let mut text = String::new();
    body.read_to_string(&mut text).map_err(|error| TestEnvError::failed(path, error))?;
    match status {
        200 => serde_json::from_str(&text).map_err(|error| TestEnvError::failed(path, error)),
        _ => Err(TestEnvError::Failed(format!("{path}: status {status}: {text}"))),
    }
}
