//! The hierarchy along which policies of a kind are inherited.

use smol_str::SmolStr;

use super::{LevelName, LevelNames};
use crate::document::{OneOrMany, document, words};
use crate::level::Level;

document! {
    /// The hierarchy along which policies are inherited.
    pub struct KindHierarchy {
        /// The levels, highest first: `GatewayClass`, `Namespace`, `Gateway`, `Frontend`, `ListenerSet`, `Listener`, `Route`,
        /// `RouteRule`, `Backend`, `BackendPort`, `Workload`, or any kind as `Kind` or `Kind.group`.
        #[field("hierarchy", default = LevelNames::default_hierarchy())]
        pub levels: LevelNames,

        /// The levels at which effective policies are computed.
        #[field("effectiveTarget", unset = "the deepest level in `targets`, at least `RouteRule`")]
        pub effective_targets: OneOrMany<LevelName>,

        /// What nodes inherit from.
        #[field("paths", default = InheritancePaths::Topology)]
        pub paths: InheritancePaths,

        /// The namespace at the top of every path. Its policies can target cluster-scoped objects.
        #[field("rootNamespace")]
        pub root_namespace: Option<SmolStr>,

        /// Gateways in front of the Services that name them by a label.
        #[field("waypoints")]
        pub waypoints: Option<Waypoints>,

        /// Levels whose policies meet as if they were on one node, the more specific first.
        #[field("oneLevel")]
        pub one_level: LevelNames,
    }
}

words! {
    /// What nodes inherit from.
    pub enum InheritancePaths {
        /// from every node above them.
        Topology = "Topology",
        /// from their Namespaces alone.
        Namespaces = "Namespaces",
    }
}

document! {
    /// Gateways in front of the Services that name them by a label. Only policies that name the class, the Gateway or the
    /// Service reach them: policies of Namespaces do not.
    #[derive(Hash)]
    pub struct Waypoints {
        /// The GatewayClass of such Gateways.
        #[field("class", required)]
        pub class: SmolStr,

        /// The label, of a Service or its Namespace, that names the Gateway.
        #[field("label", required)]
        pub label: SmolStr,

        /// The label that names the namespace of the Gateway, if it is another one.
        #[field("namespaceLabel", required)]
        pub namespace_label: SmolStr,
    }
}

impl KindHierarchy {
    /// The position of a level, highest first.
    pub(super) fn depth(&self, name: &LevelName) -> Option<usize> {
        let is_same =
            |level: &LevelName| level == name || level.level() == name.level() && level.level() != Level::Other;
        self.levels.iter().position(is_same)
    }
}
