//! AdmissionReviews: requests of the API server, and responses.

use attache_engine::{Object, ObjectError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// A request of the API server.
#[derive(Debug, Deserialize)]
pub(super) struct AdmissionReview<'b> {
    #[serde(borrow)]
    pub request: AdmissionRequest<'b>,
}

/// A requested change.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionRequest<'b> {
    pub uid: String,
    pub operation: Operation,
    /// The object after the change. None for a deletion.
    #[serde(borrow, default)]
    object: Option<&'b RawValue>,
    /// The object before the change. None for a creation.
    #[serde(borrow, default)]
    old_object: Option<&'b RawValue>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    /// The operation as a word in a sentence: "creating RetryPolicy …".
    pub fn doing(self) -> &'static str {
        match self {
            Operation::Create => "creating",
            Operation::Update => "changing",
            Operation::Delete => "deleting",
            Operation::Connect => "connecting to",
        }
    }
}

impl AdmissionRequest<'_> {
    /// The object after the change.
    pub fn object(&self) -> Result<Option<Object>, ObjectError> {
        read(self.object)
    }

    /// The object before the change.
    pub fn old_object(&self) -> Result<Option<Object>, ObjectError> {
        read(self.old_object)
    }
}

fn read(json: Option<&RawValue>) -> Result<Option<Object>, ObjectError> {
    json.filter(|json| json.get() != "null").map(|json| Object::from_json_str(json.get())).transpose()
}

/// The answer of the webhook to a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionAnswer {
    /// Why the change is refused. `None` means that it is admitted.
    pub refusal: Option<String>,
    /// Warnings for the user who requests the change.
    pub warnings: Vec<String>,
}

/// A response to the API server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionResponse {
    api_version: &'static str,
    kind: &'static str,
    response: ResponseBody,
}

#[derive(Debug, Serialize)]
struct ResponseBody {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<ResponseStatus>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ResponseStatus {
    code: u16,
    reason: &'static str,
    message: String,
}

impl AdmissionResponse {
    pub fn new(uid: String, answer: AdmissionAnswer) -> AdmissionResponse {
        let AdmissionAnswer { refusal, warnings } = answer;
        let allowed = refusal.is_none();
        let status = refusal.map(|message| ResponseStatus { code: 403, reason: "Forbidden", message });
        AdmissionResponse {
            api_version: API_VERSION,
            kind: KIND,
            response: ResponseBody { uid, allowed, status, warnings },
        }
    }
}
