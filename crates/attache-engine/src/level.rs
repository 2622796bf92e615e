//! The levels of the hierarchy, from GatewayClass down to backend port.

/// The position of a node in the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A GatewayClass.
    GatewayClass,
    /// A Namespace.
    Namespace,
    /// A Gateway.
    Gateway,
    /// A Service that routes name as their parent (mesh): the Service as its clients see it.
    Frontend,
    /// A ListenerSet.
    ListenerSet,
    /// A listener of a Gateway or of a ListenerSet.
    Listener,
    /// A route of any kind.
    Route,
    /// A rule of a route.
    RouteRule,
    /// A Service, or an object of another kind that a route can send requests to.
    Backend,
    /// A port of a backend.
    BackendPort,
    /// A Pod, or an object that creates Pods from a template.
    Workload,
    /// An object of any other kind.
    Other,
}

impl Level {
    /// Every level, highest first.
    pub const ALL: [Level; 12] = [
        Level::GatewayClass,
        Level::Namespace,
        Level::Gateway,
        Level::Frontend,
        Level::ListenerSet,
        Level::Listener,
        Level::Route,
        Level::RouteRule,
        Level::Backend,
        Level::BackendPort,
        Level::Workload,
        Level::Other,
    ];

    /// Whether nodes at this level are sections of an object.
    pub fn is_section(self) -> bool {
        matches!(self, Level::Listener | Level::RouteRule | Level::BackendPort)
    }

    /// Whether nodes at this level are sections of the nodes at `whole`.
    pub fn is_section_of(self, whole: Level) -> bool {
        match self {
            Level::Listener => matches!(whole, Level::Gateway | Level::ListenerSet),
            Level::RouteRule => whole == Level::Route,
            Level::BackendPort => whole == Level::Backend,
            _ => false,
        }
    }
}
