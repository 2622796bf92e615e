//! Why listeners and their certificates are not valid.

use std::fmt;

use smol_str::SmolStr;

use super::{MissingGrant, MissingObject, RefusalReason, Shortlist};
use crate::object::{GroupKind, ObjectRef};
use crate::topology::listeners::Listener;

/// Why a listener, or all listeners of an object, are not valid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenerRefusal {
    /// The Gateway or ListenerSet has no listeners.
    NoListeners,
    /// The Gateway or ListenerSet has listeners, and none of them is valid.
    NoneValid,
    /// The Gateway, or an older ListenerSet of it, has a conflicting listener.
    ConflictsWithOlder {
        /// The property in which they conflict.
        conflict: ListenerConflict,
        /// The claim of the listener.
        claim: ListenerClaim,
    },
    /// Listeners of the same object conflict with each other.
    ConflictsWithin {
        /// The property in which they conflict.
        conflict: ListenerConflict,
        /// The claim of the listener.
        claim: ListenerClaim,
        /// The Gateway or ListenerSet.
        owner: ObjectRef,
    },
    /// The Gateway API does not define the protocol.
    UnsupportedProtocol(SmolStr),
    /// The listener lists kinds of routes that its protocol cannot serve.
    UnsupportedRouteKinds {
        /// The kinds.
        kinds: Shortlist<SmolStr>,
        /// Whether it is served for other kinds.
        is_served: bool,
    },
    /// The listener requests client certificates, and has no CA certificate to validate them.
    NoTrustedClients,
}

impl ListenerRefusal {
    /// The reason as the Gateway API names it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            ListenerRefusal::NoListeners | ListenerRefusal::NoneValid => RefusalReason::ListenersNotValid,
            ListenerRefusal::ConflictsWithOlder { conflict, .. }
            | ListenerRefusal::ConflictsWithin { conflict, .. } => conflict.reason(),
            ListenerRefusal::UnsupportedProtocol(_) => RefusalReason::UnsupportedProtocol,
            ListenerRefusal::UnsupportedRouteKinds { .. } => RefusalReason::InvalidRouteKinds,
            ListenerRefusal::NoTrustedClients => RefusalReason::NoValidCACertificate,
        }
    }

    /// Whether the listener conflicts with others.
    pub fn is_conflict(&self) -> bool {
        matches!(self, ListenerRefusal::ConflictsWithOlder { .. } | ListenerRefusal::ConflictsWithin { .. })
    }

    /// Whether a listener is not served for this cause. With other causes it is.
    pub fn is_unserved(&self) -> bool {
        match self {
            ListenerRefusal::ConflictsWithOlder { .. }
            | ListenerRefusal::ConflictsWithin { .. }
            | ListenerRefusal::UnsupportedProtocol(_)
            | ListenerRefusal::NoTrustedClients => true,
            ListenerRefusal::UnsupportedRouteKinds { is_served, .. } => !is_served,
            ListenerRefusal::NoListeners | ListenerRefusal::NoneValid => false,
        }
    }
}

impl fmt::Display for ListenerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenerRefusal::NoListeners => f.write_str("it has no listeners"),
            ListenerRefusal::NoneValid => f.write_str("none of its listeners is valid"),
            ListenerRefusal::ConflictsWithOlder { claim, .. } => write!(f, "an older listener already claims {claim}"),
            ListenerRefusal::ConflictsWithin { conflict: ListenerConflict::Hostname, claim, owner } => {
                write!(f, "more than one listener of {owner} claims {claim}: none of them is served")
            }
            ListenerRefusal::ConflictsWithin { conflict: ListenerConflict::Protocol, claim, owner } => {
                let ListenerClaim { port, protocol, .. } = claim;
                let others = format_args!("other listeners of {owner} claim port {port}");
                write!(f, "{others}, and {protocol} cannot share it with them: none of them is served")
            }
            ListenerRefusal::UnsupportedProtocol(protocol) => {
                write!(f, "protocol `{protocol}` is none of HTTP, HTTPS, TLS, TCP and UDP: no route can attach")
            }
            ListenerRefusal::UnsupportedRouteKinds { kinds, is_served } => {
                write!(f, "a listener of its protocol cannot serve {kinds}")?;
                if *is_served { Ok(()) } else { f.write_str(": it is not served") }
            }
            ListenerRefusal::NoTrustedClients => f.write_str(
                "it requests client certificates, but none of its CA certificates can be used to validate them",
            ),
        }
    }
}

/// The property in which listeners conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListenerConflict {
    /// They use one port with protocols that cannot share it.
    Protocol,
    /// They have the same port and hostname, and protocols that can share a port.
    Hostname,
}

impl ListenerConflict {
    /// The reason as the Gateway API names it.
    pub fn reason(self) -> RefusalReason {
        match self {
            ListenerConflict::Protocol => RefusalReason::ProtocolConflict,
            ListenerConflict::Hostname => RefusalReason::HostnameConflict,
        }
    }
}

/// The port, protocol and hostname that a listener claims. Its `Display` is ``port 80 (HTTP) for `example.com` ``.
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
    /// The certificate is not a Secret.
    InvalidKind(GroupKind),
    /// The Secret does not exist.
    NotFound(MissingObject),
    /// The Secret holds no PEM certificate.
    NotPem {
        /// The Secret.
        secret: ObjectRef,
    },
    /// The CA certificate is neither a ConfigMap nor a Secret.
    InvalidAuthorityKind(GroupKind),
    /// The CA certificate does not exist.
    AuthorityNotFound(MissingObject),
    /// It is in another namespace, and no ReferenceGrant allows the reference.
    NotGranted(MissingGrant),
}

impl CertificateRefusal {
    /// The reason as the Gateway API names it.
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
            CertificateRefusal::InvalidKind(kind) if kind.kind == "Secret" => {
                write!(f, "the group of a Secret is empty, not `{}`", kind.group)
            }
            CertificateRefusal::InvalidKind(kind) => write!(f, "a certificate must be a Secret, not a `{}`", kind.kind),
            CertificateRefusal::NotFound(missing) | CertificateRefusal::AuthorityNotFound(missing) => missing.fmt(f),
            CertificateRefusal::NotPem { secret } => write!(f, "`tls.crt` of {secret} is not a PEM certificate"),
            CertificateRefusal::InvalidAuthorityKind(kind) if ["ConfigMap", "Secret"].contains(&&*kind.kind) => {
                write!(f, "the group of a {} is empty, not `{}`", kind.kind, kind.group)
            }
            CertificateRefusal::InvalidAuthorityKind(kind) => {
                write!(f, "a CA certificate must be a ConfigMap, not a `{}`", kind.kind)
            }
            CertificateRefusal::NotGranted(grant) => grant.fmt(f),
        }
    }
}
