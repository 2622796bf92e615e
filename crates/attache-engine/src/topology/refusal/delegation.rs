//! Why a rule does not delegate to a route.

use std::fmt;

use smol_str::SmolStr;

use super::{MissingObject, RefusalReason, Shortlist};
use crate::object::ObjectRef;

/// Why a rule does not delegate to a route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DelegationRefusal {
    /// The route does not exist.
    NotFound(MissingObject),
    /// No route is selected, or no selected route accepts the parent.
    NoneFound(DelegationQuery),
    /// None of the routes that the rule refers to is linked to it.
    NoneLinked,
    /// The child has parentRefs, and none of them names the parent.
    ParentNotNamed {
        /// The route that delegates.
        parent: ObjectRef,
        /// The route that it delegates to.
        child: ObjectRef,
    },
    /// The child has hostnames of its own.
    HasHostnames {
        /// The route that is delegated to.
        child: ObjectRef,
    },
    /// No match of the child lies within those of the rule.
    NoMatchWithin {
        /// The route that is delegated to.
        child: ObjectRef,
    },
    /// The routes delegate to each other in a cycle, and this link closes it.
    Cycle(Shortlist<ObjectRef>),
    /// The delegation is too deep.
    TooDeep {
        /// The maximum depth.
        limit: u32,
    },
}

impl DelegationRefusal {
    /// The reason as the Gateway API names it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            DelegationRefusal::NotFound(_) | DelegationRefusal::NoneFound(_) | DelegationRefusal::NoneLinked => {
                RefusalReason::BackendNotFound
            }
            DelegationRefusal::ParentNotNamed { .. }
            | DelegationRefusal::Cycle(_)
            | DelegationRefusal::TooDeep { .. } => RefusalReason::RefNotPermitted,
            DelegationRefusal::HasHostnames { .. } | DelegationRefusal::NoMatchWithin { .. } => {
                RefusalReason::UnsupportedValue
            }
        }
    }
}

impl fmt::Display for DelegationRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelegationRefusal::NotFound(missing) => missing.fmt(f),
            DelegationRefusal::NoneFound(query) => {
                write!(f, "there is no HTTPRoute {query} that it could delegate to")
            }
            DelegationRefusal::NoneLinked => f.write_str("it delegates to no route"),
            DelegationRefusal::ParentNotNamed { parent, child } => {
                write!(f, "{child} has parentRefs, and none of them names {parent}")
            }
            DelegationRefusal::HasHostnames { child } => {
                write!(f, "{child} has hostnames: a route that is delegated to takes those of its parent")
            }
            DelegationRefusal::NoMatchWithin { child } => {
                write!(f, "no match of {child} lies within those of the rule that delegates to it")
            }
            DelegationRefusal::Cycle(routes) => {
                write!(f, "the routes {routes} delegate in a circle: this step, which closes it, is left out")
            }
            DelegationRefusal::TooDeep { limit } => {
                write!(f, "{limit} routes in a row delegate before it, and no more may")
            }
        }
    }
}

/// A selection of routes to delegate to, other than by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DelegationQuery {
    /// All routes of a namespace.
    Namespace(SmolStr),
    /// All routes with a label.
    Label {
        /// The key of the label.
        label: SmolStr,
        /// Its value.
        value: SmolStr,
        /// The namespace of the routes; `None` for any.
        namespace: Option<SmolStr>,
    },
}

impl fmt::Display for DelegationQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelegationQuery::Namespace(namespace) => write!(f, "in namespace `{namespace}`"),
            DelegationQuery::Label { label, value, namespace: None } => {
                write!(f, "with label `{label}: {value}` in any namespace")
            }
            DelegationQuery::Label { label, value, namespace: Some(namespace) } => {
                write!(f, "with label `{label}: {value}` in namespace `{namespace}`")
            }
        }
    }
}
