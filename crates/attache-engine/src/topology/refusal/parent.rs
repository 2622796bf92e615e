//! Why a route or a ListenerSet is not attached to its parent.

use std::fmt;

use smol_str::SmolStr;

use super::{ListenerPort, MissingObject, MissingPort, RefusalReason, Shortlist};
use crate::object::ObjectRef;
use crate::topology::api::{RouteKind, RouteKinds};
use crate::topology::namespaces::AllowedNamespaces;

/// Why a route or a ListenerSet is not attached to its parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ParentRefusal {
    /// The parent does not exist, or is of a kind that cannot be a parent.
    NotFound(MissingObject),
    /// The Gateway or ListenerSet has no listener of that name and port.
    NoSuchListener {
        /// The Gateway or ListenerSet.
        parent: ObjectRef,
        /// The name that the parentRef asks for.
        section: Option<SmolStr>,
        /// The port that the parentRef asks for.
        port: Option<i64>,
        /// The listeners of the parent.
        existing: Shortlist<ListenerPort>,
    },
    /// The Service has no such port.
    NoSuchPort(MissingPort),
    /// None of the listeners that the parentRef asks for allows the route.
    NotAllowedByListeners(Shortlist<ClosedListener>),
    /// The route has no hostname in common with the listeners that allow it.
    NoCommonHostname {
        /// The hostnames of the route.
        hostnames: Shortlist<SmolStr>,
        /// The hostnames of the listeners.
        listeners: Shortlist<ListenerHostname>,
    },
    /// The parent is a route, and no rule of it delegates to the child.
    NotDelegated {
        /// The route that is named as the parent.
        parent: ObjectRef,
    },
    /// An older route of the other kind has the hostname.
    Conflicted {
        /// The kind of the older route.
        older: RouteKind,
        /// The hostname that both have; empty for any.
        hostname: SmolStr,
        /// The listener that both attach to.
        listener: SmolStr,
    },
    /// The Gateway does not allow ListenerSets from that namespace.
    ListenerSetNotAllowed {
        /// The Gateway.
        gateway: ObjectRef,
        /// The namespaces that it allows.
        allowed: AllowedNamespaces,
    },
}

impl ParentRefusal {
    /// The Gateway API's word for it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            ParentRefusal::NotFound(_)
            | ParentRefusal::NoSuchListener { .. }
            | ParentRefusal::NoSuchPort(_)
            | ParentRefusal::NotDelegated { .. } => RefusalReason::NoMatchingParent,
            ParentRefusal::NotAllowedByListeners(_) => RefusalReason::NotAllowedByListeners,
            ParentRefusal::NoCommonHostname { .. } => RefusalReason::NoMatchingListenerHostname,
            ParentRefusal::Conflicted { .. } => RefusalReason::Conflicted,
            ParentRefusal::ListenerSetNotAllowed { .. } => RefusalReason::NotAllowed,
        }
    }
}

impl fmt::Display for ParentRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParentRefusal::NotFound(missing) => missing.fmt(f),
            ParentRefusal::NoSuchListener { parent, section, port, existing } => {
                write!(f, "{parent} has no listener")?;
                section.as_ref().map_or(Ok(()), |section| write!(f, " `{section}`"))?;
                port.map_or(Ok(()), |port| write!(f, " on port {port}"))?;
                if existing.is_empty() { Ok(()) } else { write!(f, ", only {existing}") }
            }
            ParentRefusal::NoSuchPort(missing) => missing.fmt(f),
            ParentRefusal::NotAllowedByListeners(Shortlist { first, more }) => {
                for (at, listener) in first.iter().enumerate() {
                    write!(f, "{}{listener}", if at == 0 { "" } else { "; " })?;
                }
                if *more == 0 { Ok(()) } else { write!(f, "; and {more} more do not let it in") }
            }
            ParentRefusal::NoCommonHostname { hostnames, listeners } => {
                write!(f, "its hostnames {hostnames} have nothing in common with those of the listeners, {listeners}")
            }
            ParentRefusal::NotDelegated { parent } => {
                write!(f, "{parent} does not delegate to it: no rule of it names it as a backend")
            }
            ParentRefusal::Conflicted { older, hostname, listener } => {
                write!(f, "an older {} has ", older.name())?;
                if hostname.is_empty() {
                    f.write_str("any hostname")?
                } else {
                    write!(f, "hostname `{hostname}`")?
                }
                write!(f, " on listener `{listener}`")
            }
            ParentRefusal::ListenerSetNotAllowed { gateway, allowed } => {
                let from = allowed.describe(&gateway.namespace);
                write!(f, "{gateway} lets in listeners from {from}: see its `spec.allowedListeners`")
            }
        }
    }
}

/// A listener that does not allow a route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClosedListener {
    /// It does not serve routes of that kind.
    Kind {
        /// The name of the listener.
        listener: SmolStr,
        /// The kinds that it serves.
        served: RouteKinds,
    },
    /// It does not allow routes from that namespace.
    Namespace {
        /// The name of the listener.
        listener: SmolStr,
        /// The namespace of the Gateway or ListenerSet.
        own: SmolStr,
        /// The namespaces that it allows.
        allowed: AllowedNamespaces,
    },
}

impl fmt::Display for ClosedListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClosedListener::Kind { listener, served } if served.is_empty() => {
                write!(f, "listener `{listener}` lets in no kind of route")
            }
            ClosedListener::Kind { listener, served } => write!(f, "listener `{listener}` lets in {served} only"),
            ClosedListener::Namespace { listener, own, allowed } => {
                write!(f, "listener `{listener}` lets in routes from {}", allowed.describe(own))
            }
        }
    }
}

/// The hostname of a listener. Displayed as `*.example.com (http)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListenerHostname {
    /// The name of the listener.
    pub listener: SmolStr,
    /// Its hostname; empty for any.
    pub hostname: SmolStr,
}

impl fmt::Display for ListenerHostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.hostname, self.listener)
    }
}
