//! The reasons of the Gateway API for refused links.

use std::fmt;

/// Why a link is refused, as a reason in a condition of the Gateway API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // The Gateway API documents them.
pub enum RefusalReason {
    BackendNotFound,
    Conflicted,
    HostnameConflict,
    InvalidCACertificateKind,
    InvalidCACertificateRef,
    InvalidCertificateRef,
    InvalidKind,
    InvalidRouteKinds,
    ListenersNotValid,
    NoMatchingListenerHostname,
    NoMatchingParent,
    NoValidCACertificate,
    NotAllowed,
    NotAllowedByListeners,
    ProtocolConflict,
    RefNotPermitted,
    UnsupportedProtocol,
    UnsupportedValue,
}

impl RefusalReason {
    /// The reason as it is written in a condition.
    pub fn as_str(self) -> &'static str {
        match self {
            RefusalReason::BackendNotFound => "BackendNotFound",
            RefusalReason::Conflicted => "Conflicted",
            RefusalReason::HostnameConflict => "HostnameConflict",
            RefusalReason::InvalidCACertificateKind => "InvalidCACertificateKind",
            RefusalReason::InvalidCACertificateRef => "InvalidCACertificateRef",
            RefusalReason::InvalidCertificateRef => "InvalidCertificateRef",
            RefusalReason::InvalidKind => "InvalidKind",
            RefusalReason::InvalidRouteKinds => "InvalidRouteKinds",
            RefusalReason::ListenersNotValid => "ListenersNotValid",
            RefusalReason::NoMatchingListenerHostname => "NoMatchingListenerHostname",
            RefusalReason::NoMatchingParent => "NoMatchingParent",
            RefusalReason::NoValidCACertificate => "NoValidCACertificate",
            RefusalReason::NotAllowed => "NotAllowed",
            RefusalReason::NotAllowedByListeners => "NotAllowedByListeners",
            RefusalReason::ProtocolConflict => "ProtocolConflict",
            RefusalReason::RefNotPermitted => "RefNotPermitted",
            RefusalReason::UnsupportedProtocol => "UnsupportedProtocol",
            RefusalReason::UnsupportedValue => "UnsupportedValue",
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
