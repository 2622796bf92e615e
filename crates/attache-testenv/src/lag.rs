//! Waits until the API server's own watches have seen a change: roles take effect a moment after they are written.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::HttpClient;

/// How long to wait for something that takes a moment on an idle machine.
const PATIENCE: Duration = Duration::from_secs(180);

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
