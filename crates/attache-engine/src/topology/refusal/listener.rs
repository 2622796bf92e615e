//! Why listeners and their certificates are not valid.

use std::fmt;

use smol_str::SmolStr;

use super::{MissingGrant, MissingObject, RefusalReason, Shortlist};
use crate::object::ObjectRef;
use crate::topology::listeners::Listener;

/// Why a listener, or all listeners of an object, are not valid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenerRefusal {
    /// The Gateway or ListenerSet has no listeners.
    NoListeners,
    /// The Gateway or ListenerSet has listeners, and none of them is valid.
    NoneValid,
    /// The Gateway, or an older ListenerSet of it, has a listener that conflicts.
    ConflictsWithOlder {
        /// In what they conflict.
        conflict: ListenerConflict,
        /// What the listener claims.
        claim: ListenerClaim,
    },
    /// Listeners of the same object conflict with each other.
    ConflictsWithin {
        /// In what they conflict.
        conflict: ListenerConflict,
        /// What the listener claims.
        claim: ListenerClaim,
        /// The Gateway or ListenerSet.
        owner: ObjectRef,
    },
    /// The Gateway API does not define the protocol.
    UnsupportedProtocol(SmolStr),
    /// The listener asks for kinds of routes that its protocol cannot serve.
    UnsupportedRouteKinds(Shortlist<SmolStr>),
    /// The listener asks clients for a certificate, and has no CA certificate to check it with.
    NoTrustedClients,
}

impl ListenerRefusal {
    /// The Gateway API's word for it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            ListenerRefusal::NoListeners | ListenerRefusal::NoneValid => RefusalReason::ListenersNotValid,
            ListenerRefusal::ConflictsWithOlder { conflict, .. }
            | ListenerRefusal::ConflictsWithin { conflict, .. } => conflict.reason(),
            ListenerRefusal::UnsupportedProtocol(_) => RefusalReason::UnsupportedProtocol,
            ListenerRefusal::UnsupportedRouteKinds(_) => RefusalReason::InvalidRouteKinds,
            ListenerRefusal::NoTrustedClients => RefusalReason::NoValidCACertificate,
        }
    }

    /// Whether the listener conflicts with others.
    pub fn is_conflict(&self) -> bool {
        matches!(self, ListenerRefusal::ConflictsWithOlder { .. } | ListenerRefusal::ConflictsWithin { .. })
    }

    /// Whether this keeps a listener from being served. The other causes do not.
    pub fn is_unserved(&self) -> bool {
        match self {
            ListenerRefusal::ConflictsWithOlder { .. }
            | ListenerRefusal::ConflictsWithin { .. }
            | ListenerRefusal::UnsupportedProtocol(_)
            | ListenerRefusal::NoTrustedClients => true,
            ListenerRefusal::NoListeners | ListenerRefusal::NoneValid | ListenerRefusal::UnsupportedRouteKinds(_) => {
                false
            }
        }
    }
}

impl fmt::Display for ListenerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenerRefusal::NoListeners => f.write_str("it has no listeners"),
            ListenerRefusal::NoneValid => f.write_str("none of its listeners is valid"),
            ListenerRefusal::ConflictsWithOlder { claim, .. } => write!(f, "{claim} is taken by an older claim"),
            ListenerRefusal::ConflictsWithin { claim, owner, .. } => {
                write!(f, "more than one listener of {owner} claims {claim}: none of them is served")
            }
            ListenerRefusal::UnsupportedProtocol(protocol) => {
                write!(f, "protocol `{protocol}` is none of HTTP, HTTPS, TLS, TCP and UDP: no route can attach")
            }
            ListenerRefusal::UnsupportedRouteKinds(kinds) => {
                write!(f, "a listener of its protocol cannot serve {kinds}")
            }
            ListenerRefusal::NoTrustedClients => f.write_str(
                "it asks clients for a certificate, and none of the CA certificates to check it with can be used",
            ),
        }
    }
}

/// In what listeners conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListenerConflict {
    /// They use one port with protocols that cannot share it.
    Protocol,
    /// They have the same port, protocol and hostname.
    Hostname,
}

impl ListenerConflict {
    /// The Gateway API's word for it.
    pub fn reason(self) -> RefusalReason {
        match self {
            ListenerConflict::Protocol => RefusalReason::ProtocolConflict,
            ListenerConflict::Hostname => RefusalReason::HostnameConflict,
        }
    }
}

/// What a listener claims for itself. Displayed as ``port 80 (HTTP) for `example.com` ``.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListenerClaim {
    /// The number of the port.
    pub port: i64,
    /// The protocol, as written.
    pub protocol: SmolStr,
    /// The hostname, empty for any; `None` if the protocol has no hostnames.
    pub hostname: Option<SmolStr>,
}

impl From<&Listener<'_>> for ListenerClaim {
    fn from(listener: &Listener<'_>) -> ListenerClaim {
        ListenerClaim {
            port: listener.port,
            protocol: listener.spec.get_str("protocol").unwrap_or_default().into(),
            hostname: listener.protocol.has_hostnames().then(|| listener.hostname.into()),
        }
    }
}

impl fmt::Display for ListenerClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} ({})", self.port, self.protocol)?;
        match self.hostname.as_deref() {
            None => Ok(()),
            Some("") => f.write_str(" for any hostname"),
            Some(hostname) => write!(f, " for `{hostname}`"),
        }
    }
}

/// Why a listener cannot use a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CertificateRefusal {
    /// The certificate is of a kind that is no Secret.
    InvalidKind(SmolStr),
    /// The Secret does not exist.
    NotFound(MissingObject),
    /// The Secret holds no PEM certificate.
    NotPem {
        /// The Secret.
        secret: ObjectRef,
    },
    /// The CA certificate is of a kind that is neither a ConfigMap nor a Secret.
    InvalidAuthorityKind(SmolStr),
    /// The CA certificate does not exist.
    AuthorityNotFound(MissingObject),
    /// It is in another namespace, and no ReferenceGrant allows to refer to it.
    NotGranted(MissingGrant),
}

impl CertificateRefusal {
    /// The Gateway API's word for it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            CertificateRefusal::InvalidKind(_)
            | CertificateRefusal::NotFound(_)
            | CertificateRefusal::NotPem { .. } => RefusalReason::InvalidCertificateRef,
            CertificateRefusal::InvalidAuthorityKind(_) => RefusalReason::InvalidCACertificateKind,
            CertificateRefusal::AuthorityNotFound(_) => RefusalReason::InvalidCACertificateRef,
            CertificateRefusal::NotGranted(_) => RefusalReason::RefNotPermitted,
        }
    }
}

impl fmt::Display for CertificateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateRefusal::InvalidKind(kind) => write!(f, "a certificate must be a Secret, not a `{kind}`"),
            CertificateRefusal::NotFound(missing) | CertificateRefusal::AuthorityNotFound(missing) => missing.fmt(f),
            CertificateRefusal::NotPem { secret } => write!(f, "`tls.crt` of {secret} is not a PEM certificate"),
            CertificateRefusal::InvalidAuthorityKind(kind) => {
                write!(f, "a CA certificate must be a ConfigMap, not a `{kind}`")
            }
            CertificateRefusal::NotGranted(grant) => grant.fmt(f),
        }
    }
}
