//! What a test expects, one type for each list of `spec.expect`.

use smol_str::SmolStr;

use super::query::{NodeQuery, PolicyQuery};
use crate::request::Request;
use crate::value::{Path, Value};

/// All of `spec.expect`.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    pub effective: Vec<Expectation<ExpectedEffective>>,
    pub status: Vec<Expectation<ExpectedStatus>>,
    pub affected: Vec<Expectation<ExpectedAffected>>,
    pub objects: Vec<Expectation<ExpectedField>>,
    pub refused: Vec<Expectation<ExpectedRefusal>>,
    pub requests: Vec<Expectation<ExpectedRequest>>,
}

impl Expectations {
    /// Whether the test expects nothing at all.
    pub fn is_empty(&self) -> bool {
        let Expectations { effective, status, affected, objects, refused, requests } = self;
        effective.is_empty()
            && status.is_empty()
            && affected.is_empty()
            && objects.is_empty()
            && refused.is_empty()
            && requests.is_empty()
    }
}

/// One item of a list, and its path in the test document.
#[derive(Clone, Debug)]
pub struct Expectation<T> {
    pub path: Path,
    pub expected: T,
}

/// The effective policy of one kind, in every scope that contains these nodes in this order.
#[derive(Clone, Debug)]
pub struct ExpectedEffective {
    pub policy_kind: SmolStr,
    pub scope: Vec<NodeQuery>,
    /// The namespace of the client, for consumer policies of a mesh.
    pub from: Option<NodeQuery>,
    /// Null if no policy is in force.
    pub spec: Option<Value>,
    pub origins: Vec<(Path, PolicyQuery)>,
    pub superseded: Option<Vec<ExpectedLoss>>,
    /// The policies that apply, in order, for kinds of which all apply.
    pub policies: Option<Vec<PolicyQuery>>,
    /// The spec of each of `policies`.
    pub specs: Option<Value>,
    /// A part of each warning, in order.
    pub warnings: Option<Vec<SmolStr>>,
}

/// A value that is superseded.
#[derive(Clone, Debug)]
pub struct ExpectedLoss {
    pub path: Path,
    pub policy: PolicyQuery,
    pub by: Option<PolicyQuery>,
    pub reason: Option<SmolStr>,
}

/// The status of a policy.
#[derive(Clone, Debug)]
pub struct ExpectedStatus {
    pub policy: PolicyQuery,
    pub accepted: Option<SmolStr>,
    pub enforcement: Option<SmolStr>,
    pub by: Option<Vec<PolicyQuery>>,
    /// A part of the message.
    pub message: Option<SmolStr>,
    pub conditions: Vec<ExpectedCondition>,
    /// All ancestors. Empty if they are not compared.
    pub ancestors: Vec<ExpectedAncestor>,
    /// A part of each note, in order.
    pub notes: Option<Vec<SmolStr>>,
}

/// The status of a policy for an ancestor. Only the given fields are compared.
#[derive(Clone, Debug)]
pub struct ExpectedAncestor {
    pub ancestor: NodeQuery,
    pub accepted: Option<SmolStr>,
    pub enforcement: Option<SmolStr>,
    pub by: Option<Vec<PolicyQuery>>,
    pub conditions: Vec<ExpectedCondition>,
}

/// A condition. Only the given fields are compared.
#[derive(Clone, Debug)]
pub struct ExpectedCondition {
    pub r#type: SmolStr,
    /// `None` if it is not compared, null if there must be no such condition.
    pub status: Option<Value>,
    pub reason: Option<SmolStr>,
    pub message: Option<SmolStr>,
}

/// The policies that affect a target.
#[derive(Clone, Debug)]
pub struct ExpectedAffected {
    pub target: NodeQuery,
    pub by: Vec<PolicyQuery>,
}

/// A field of an object after policies have been merged into it.
#[derive(Clone, Debug)]
pub struct ExpectedField {
    pub object: NodeQuery,
    pub path: Path,
    pub value: Value,
}

/// A reference that is refused.
#[derive(Clone, Debug)]
pub struct ExpectedRefusal {
    pub parent: NodeQuery,
    pub child: NodeQuery,
    pub reason: SmolStr,
    /// A part of the message.
    pub message: Option<SmolStr>,
}

/// The path of one request. Only the given fields are compared; `null` means that there must be none.
#[derive(Clone, Debug)]
pub struct ExpectedRequest {
    pub request: Request,
    /// The Gateway that receives the request. Without it, the one that has a route for the request.
    pub gateway: Option<NodeQuery>,
    /// The Service that a client in a mesh calls.
    pub service: Option<NodeQuery>,
    pub outcome: Option<SmolStr>,
    pub status: Option<Value>,
    /// A part of the reason why the request is not served.
    pub reason: Option<SmolStr>,
    pub listener: Option<SmolStr>,
    pub route: Option<Option<NodeQuery>>,
    pub rule: Option<SmolStr>,
    /// One of the backends that serve the request.
    pub backend: Option<Option<NodeQuery>>,
    /// The weight of each backend of the rule.
    pub backends: Vec<(NodeQuery, Value)>,
    /// The reason why a backend of the rule cannot be used, for each such backend.
    pub invalid: Vec<(NodeQuery, Value)>,
    pub redirect: Option<Value>,
    pub rewrite: Option<Value>,
}
