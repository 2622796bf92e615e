//! Why a rule cannot use a backend.

use std::fmt;

use smol_str::SmolStr;

use super::{MissingGrant, MissingObject, MissingPort, RefusalReason};

/// Why a rule cannot use a backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BackendRefusal {
    /// It does not exist.
    NotFound(MissingObject),
    /// It has no such port.
    NoSuchPort(MissingPort),
    /// Objects of its kind cannot be backends.
    InvalidKind {
        /// The API group of the kind.
        group: SmolStr,
        /// The kind.
        kind: SmolStr,
        /// Whether the kind has no other role in a topology: objects of it could be backends, but none exists.
        none_exists: bool,
    },
    /// It is in another namespace, and no ReferenceGrant allows the reference.
    NotGranted(MissingGrant),
}

impl BackendRefusal {
    /// The reason as the Gateway API names it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            BackendRefusal::NotFound(_) | BackendRefusal::NoSuchPort(_) => RefusalReason::BackendNotFound,
            BackendRefusal::InvalidKind { .. } => RefusalReason::InvalidKind,
            BackendRefusal::NotGranted(_) => RefusalReason::RefNotPermitted,
        }
    }
}

impl fmt::Display for BackendRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendRefusal::NotFound(missing) => missing.fmt(f),
            BackendRefusal::NoSuchPort(missing) => missing.fmt(f),
            BackendRefusal::InvalidKind { group, kind, none_exists } => {
                let dot = if group.is_empty() { "" } else { "." };
                let none = if *none_exists { ", and none is there" } else { "" };
                write!(f, "a `{kind}{dot}{group}` cannot be a backend{none}; a backend is usually a Service")
            }
            BackendRefusal::NotGranted(grant) => grant.fmt(f),
        }
    }
}
