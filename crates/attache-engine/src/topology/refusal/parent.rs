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
    /// The Gateway or ListenerSet has no listener with this name and port.
    NoSuchListener {
        /// The Gateway or ListenerSet.
        parent: ObjectRef,
        /// The name in the parentRef.
        section: Option<SmolStr>,
        /// The port in the parentRef.
        port: Option<i64>,
        /// The listeners of the parent.
        existing: Shortlist<ListenerPort>,
    },
    /// The Service has no such port.
    NoSuchPort(MissingPort),
    /// No listener that the parentRef matches allows the route.
    NotAllowedByListeners(Shortlist<ClosedListener>),
    /// The route shares no hostname with the listeners that allow it.
    NoCommonHostname {
        /// The hostnames of the route.
        hostnames: Shortlist<SmolStr>,
        /// The hostnames of the listeners.
        listeners: Shortlist<ListenerHostname>,
        /// Whether they share a hostname that another listener on the port serves alone.
        is_served_elsewhere: bool,
    },
    /// The parent is a route, and no rule of it delegates to the child.
    NotDelegated {
        /// The route that is named as the parent.
        parent: ObjectRef,
    },
    /// An older route of the other kind holds the hostname.
    Conflicted {
        /// The kind of the older route.
        older: RouteKind,
        /// The hostname that both have; empty for any.
        hostname: SmolStr,
        /// The listener that both attach to.
        listener: SmolStr,
    },
    /// The route is attached but not served: of several TCPRoutes or UDPRoutes on a listener, only the oldest is.
    NotOldest {
        /// The route that is served.
        oldest: ObjectRef,
    },
    /// The TCPRoute is attached but not served: the controller serves only the TLSRoutes of the listener.
    BesideTlsRoute {
        /// The oldest of the TLSRoutes.
        route: ObjectRef,
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
    /// The reason as the Gateway API names it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            ParentRefusal::NotFound(_)
            | ParentRefusal::NoSuchListener { .. }
            | ParentRefusal::NoSuchPort(_)
            | ParentRefusal::NotDelegated { .. } => RefusalReason::NoMatchingParent,
            ParentRefusal::NotAllowedByListeners(_) => RefusalReason::NotAllowedByListeners,
            ParentRefusal::NoCommonHostname { .. } => RefusalReason::NoMatchingListenerHostname,
            ParentRefusal::Conflicted { .. }
            | ParentRefusal::NotOldest { .. }
            | ParentRefusal::BesideTlsRoute { .. } => RefusalReason::Conflicted,
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
            ParentRefusal::NoCommonHostname { hostnames, listeners, is_served_elsewhere: true } => {
                let names = listeners.first.iter().map(|it| format!("`{}`", it.listener)).collect::<Vec<_>>();
                write!(f, "another listener on the port serves its hostnames {hostnames}, not {}", names.join(", "))?;
                if listeners.more == 0 { Ok(()) } else { write!(f, " and {} more", listeners.more) }
            }
            ParentRefusal::NoCommonHostname { hostnames, listeners, is_served_elsewhere: false } => {
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
            ParentRefusal::NotOldest { oldest } => {
                write!(f, "the listener serves the older {oldest} only: their requests cannot be distinguished")
            }
            ParentRefusal::BesideTlsRoute { route } => {
                write!(f, "the listener has {route}: its controller then serves no TCPRoutes on it")
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

/// The hostname of a listener. Its `Display` is `*.example.com (http)`.
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
