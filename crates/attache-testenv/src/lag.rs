//! Waits until the API server's own watches have seen a change: kinds and roles take effect a moment after they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::HttpClient;

/// How long to wait for something that takes a moment on an idle machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Discovery of all groups in one document, as kubectl reads it.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Waits until a condition holds, which takes a moment because the server's own watches lag behind.
///
/// # Panics
///
/// After three minutes.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "after three minutes: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A kind of a CRD: group, version and plural.
type Served = (String, String, String);

/// Waits until the kinds of all CRDs can be listed, and are in discovery. A CRD has the condition `Established` before that.
#[track_caller]
pub(crate) fn wait_for_crds(http: &HttpClient) {
    let mut ready: BTreeSet<Served> = BTreeSet::new();
    eventually("the kinds of all CRDs are served", || {
        let Some(kinds) = served_kinds(http) else { return false };
        let mut missing = kinds.iter().filter(|kind| !ready.contains(*kind)).peekable();
        if missing.peek().is_none() {
            return true;
        }
        let discovered = discovered(http);
        let mut lists: BTreeMap<String, Value> = BTreeMap::new();
        let mut is_ready = |kind: &&Served| {
            let (group, version, plural) = kind;
            let path = format!("/apis/{group}/{version}");
            let list = lists.entry(path.clone()).or_insert_with(|| get(http, &path).unwrap_or_default());
            discovered.contains(*kind)
                && items(&list["resources"]).any(|it| it["name"] == plural.as_str())
                && get(http, &format!("{path}/{plural}?limit=1")).is_some()
        };
        let found: Vec<Served> = missing.filter(|kind| is_ready(kind)).cloned().collect();
        ready.extend(found);
        kinds.is_subset(&ready)
    });
}

/// The kinds that CRDs say are served. `None` if that cannot be read.
fn served_kinds(http: &HttpClient) -> Option<BTreeSet<Served>> {
    let crds = get(http, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")?;
    let kinds = items(&crds["items"]).filter(|crd| crd["metadata"]["deletionTimestamp"].is_null()).flat_map(|crd| {
        let spec = &crd["spec"];
        let served = items(&spec["versions"]).filter(|version| version["served"] == true);
        served.map(|version| (text(&spec["group"]), text(&version["name"]), text(&spec["names"]["plural"])))
    });
    Some(kinds.collect())
}

/// The kinds in the document from which kubectl discovers them.
fn discovered(http: &HttpClient) -> BTreeSet<Served> {
    let mut body = String::new();
    let read =
        http.open("GET", "/apis", AGGREGATED, Vec::new()).map(|(_, mut reader)| reader.read_to_string(&mut body));
    let groups: Value = read.ok().and_then(|_| serde_json::from_str(&body).ok()).unwrap_or_default();
    let mut found = BTreeSet::new();
    for group in items(&groups["items"]) {
        for version in items(&group["versions"]) {
            for resource in items(&version["resources"]) {
                found.insert((
                    text(&group["metadata"]["name"]),
                    text(&version["version"]),
                    text(&resource["resource"]),
                ));
            }
        }
    }
    found
}

/// Whether the API server allows a user what the `resourceAttributes` of a SubjectAccessReview describe.
pub(crate) fn is_allowed(http: &HttpClient, user: &str, attributes: &Value) -> bool {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    });
    let answer = http.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review);
    answer.is_ok_and(|answer| answer.json()["status"]["allowed"] == true)
}

/// The document at a path, if there is one.
fn get(http: &HttpClient, path: &str) -> Option<Value> {
    http.get(path).ok().filter(|answer| answer.status == 200).map(|answer| answer.json())
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
