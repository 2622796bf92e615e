//! Links that objects ask for and do not get: routes at their parents, rules at their backends, ListenerSets at their
//! Gateway, listeners at their certificates.
//!
//! ```text
//! finding links ─→ StoredRefusal, kept by the topology ─→ RefusedLink with its RefusalCause ─→ reason and message
//! ```
//!
//! A cause holds the facts as types. [`RefusalCause::reason`] gives the word of the Gateway API for it, and its `Display`
//! the message for people.

mod backend;
mod delegation;
mod facts;
mod listener;
mod parent;
mod reason;
mod stored;

use std::fmt;

use super::{NodeRef, Topology};
use crate::object::{ObjectId, Objects};
use crate::value::Path;

pub use backend::BackendRefusal;
pub use delegation::{DelegationQuery, DelegationRefusal};
pub use facts::{ListenerPort, MissingGrant, MissingObject, MissingPort, PortName, Shortlist};
pub use listener::{CertificateRefusal, ListenerClaim, ListenerConflict, ListenerRefusal};
pub use parent::{ClosedListener, ListenerHostname, ParentRefusal};
pub use reason::RefusalReason;
pub(super) use stored::StoredRefusal;

/// A link that an object asks for and does not get.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefusedLink {
    /// The node that would be the parent. It need not exist.
    pub parent: NodeRef,
    /// The node that would be the child. It need not exist: for a backend that was refused, the route is the parent.
    pub child: NodeRef,
    /// Why the link is not made.
    pub cause: RefusalCause,
    /// The object that asks for the link.
    pub by: ObjectId,
    /// The field of that object that asks for it.
    pub path: Path,
}

impl RefusedLink {
    /// Why the link is not made, in the Gateway API's word.
    pub fn reason(&self) -> RefusalReason {
        self.cause.reason()
    }
}

/// Why a link is not made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCause {
    /// A route or a ListenerSet is not attached to its parent.
    Parent(ParentRefusal),
    /// A rule cannot use a backend.
    Backend(BackendRefusal),
    /// A rule does not delegate to a route.
    Delegation(DelegationRefusal),
    /// A listener, or all listeners of an object, are not valid.
    Listener(ListenerRefusal),
    /// A listener cannot use a certificate.
    Certificate(CertificateRefusal),
}

impl RefusalCause {
    /// The Gateway API's word for this cause.
    pub fn reason(&self) -> RefusalReason {
        match self {
            RefusalCause::Parent(refusal) => refusal.reason(),
            RefusalCause::Backend(refusal) => refusal.reason(),
            RefusalCause::Delegation(refusal) => refusal.reason(),
            RefusalCause::Listener(refusal) => refusal.reason(),
            RefusalCause::Certificate(refusal) => refusal.reason(),
        }
    }

    /// The ReferenceGrant that would allow the link, if that is what it lacks.
    pub fn missing_grant(&self) -> Option<&MissingGrant> {
        match self {
            RefusalCause::Backend(BackendRefusal::NotGranted(grant))
            | RefusalCause::Certificate(CertificateRefusal::NotGranted(grant)) => Some(grant),
            _ => None,
        }
    }
}

/// The message for people.
impl fmt::Display for RefusalCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusalCause::Parent(refusal) => refusal.fmt(f),
            RefusalCause::Backend(refusal) => refusal.fmt(f),
            RefusalCause::Delegation(refusal) => refusal.fmt(f),
            RefusalCause::Listener(refusal) => refusal.fmt(f),
            RefusalCause::Certificate(refusal) => refusal.fmt(f),
        }
    }
}

impl From<ParentRefusal> for RefusalCause {
    fn from(refusal: ParentRefusal) -> Self {
        RefusalCause::Parent(refusal)
    }
}

impl From<BackendRefusal> for RefusalCause {
    fn from(refusal: BackendRefusal) -> Self {
        RefusalCause::Backend(refusal)
    }
}

impl From<DelegationRefusal> for RefusalCause {
    fn from(refusal: DelegationRefusal) -> Self {
        RefusalCause::Delegation(refusal)
    }
}

impl From<ListenerRefusal> for RefusalCause {
    fn from(refusal: ListenerRefusal) -> Self {
        RefusalCause::Listener(refusal)
    }
}

impl From<CertificateRefusal> for RefusalCause {
    fn from(refusal: CertificateRefusal) -> Self {
        RefusalCause::Certificate(refusal)
    }
}

/// Every link that was refused, sorted by what people read. Of those that read the same only one is listed: an object may
/// ask for a link twice.
pub(super) fn list(topology: &Topology, objects: &Objects) -> Vec<RefusedLink> {
    let text =
        |it: &RefusedLink| (it.parent.to_string(), it.child.to_string(), it.reason().as_str(), it.cause.to_string());
    let mut refused: Vec<_> = stored::explain_all(topology, objects).map(|it| (text(&it), it)).collect();
    refused.sort_by(|(a, this), (b, other)| a.cmp(b).then_with(|| (this.by, &this.path).cmp(&(other.by, &other.path))));
    refused.dedup_by(|(a, _), (b, _)| a == b);
    refused.into_iter().map(|(_, it)| it).collect()
}
