//! Refused links: of routes to their parents, of rules to their backends, of ListenerSets to their Gateway, of
//! listeners to their certificates.
//!
//! ```text
//! finding links ─→ StoredRefusal, kept by the topology ─→ RefusedLink with its RefusalCause ─→ reason and message
//! ```
//!
//! A cause holds the facts as types. [`RefusalCause::reason`] is the reason as the Gateway API names it, and its
//! `Display` is the message for users.

mod backend;
mod delegation;
mod facts;
mod listener;
mod parent;
mod reason;
mod stored;

use std::collections::BTreeSet;
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

/// A link that an object requests, and that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefusedLink {
    /// The node that would be the parent. It need not exist.
    pub parent: NodeRef,
    /// The node that would be the child. It need not exist: for a refused backend, the route is the parent.
    pub child: NodeRef,
    /// Why the link is refused.
    pub cause: RefusalCause,
    /// The object that requests the link.
    pub by: ObjectId,
    /// The field of that object that requests it.
    pub path: Path,
}

impl RefusedLink {
    /// The reason as the Gateway API names it.
    pub fn reason(&self) -> RefusalReason {
        self.cause.reason()
    }
}

/// Why a link is refused.
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
    /// The reason as the Gateway API names it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            RefusalCause::Parent(refusal) => refusal.reason(),
            RefusalCause::Backend(refusal) => refusal.reason(),
            RefusalCause::Delegation(refusal) => refusal.reason(),
            RefusalCause::Listener(refusal) => refusal.reason(),
            RefusalCause::Certificate(refusal) => refusal.reason(),
        }
    }

    /// The ReferenceGrant that would allow the link, if only that is missing.
    pub fn missing_grant(&self) -> Option<&MissingGrant> {
        match self {
            RefusalCause::Backend(BackendRefusal::NotGranted(grant))
            | RefusalCause::Certificate(CertificateRefusal::NotGranted(grant)) => Some(grant),
            _ => None,
        }
    }
}

/// The message for users.
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

/// Every refused link, sorted by its displayed form. Of links that are displayed alike only one is listed: an object
/// may request a link twice.
pub(super) fn list(topology: &Topology, objects: &Objects) -> Vec<RefusedLink> {
    sorted(stored::explain_all(topology, objects))
}

/// The refused links that some objects request, sorted in the same way.
pub(super) fn list_by(topology: &Topology, objects: &Objects, by: &BTreeSet<ObjectId>) -> Vec<RefusedLink> {
    sorted(stored::explain_by(topology, objects, by))
}

fn sorted(refused: impl Iterator<Item = RefusedLink>) -> Vec<RefusedLink> {
    let text =
        |it: &RefusedLink| (it.parent.to_string(), it.child.to_string(), it.reason().as_str(), it.cause.to_string());
    let mut refused: Vec<_> = refused.map(|it| (text(&it), it)).collect();
    refused.sort_by(|(a, this), (b, other)| a.cmp(b).then_with(|| (this.by, &this.path).cmp(&(other.by, &other.path))));
    refused.dedup_by(|(a, _), (b, _)| a == b);
    refused.into_iter().map(|(_, it)| it).collect()
}
