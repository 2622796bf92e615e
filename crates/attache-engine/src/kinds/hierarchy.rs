//! The hierarchy along which policies of a kind are inherited.

use smol_str::SmolStr;

use super::{KindName, LevelName, LevelNames};
use crate::document::{OneOrMany, OrderedMap, document, words};
use crate::level::Level;
use crate::value::Path;

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

        /// The kinds of objects that, with their sections, have effective policies.
        #[field("effectiveKinds", unset = "every kind")]
        pub effective_kinds: Vec<KindName>,

        /// What nodes inherit from.
        #[field("paths", default = InheritancePaths::Topology)]
        pub paths: InheritancePaths,

        /// The namespace at the top of every path. Its policies can target cluster-scoped objects.
        #[field("rootNamespace")]
        pub root_namespace: Option<SmolStr>,

        /// Gateways in front of the Services that name them by a label.
        #[field("waypoints")]
        pub waypoints: Option<Waypoints>,

        /// What holds for the Pods of a Gateway: those with the label `gateway.networking.k8s.io/gateway-name`.
        #[field("gatewayPods", default = GatewayPods::Workloads)]
        pub gateway_pods: GatewayPods,

        /// Workloads that policies do not hold for.
        #[field("leavesOut")]
        pub leaves_out: Vec<WorkloadFilter>,

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

words! {
    /// What holds for the Pods of a Gateway.
    pub enum GatewayPods {
        /// what holds for other workloads.
        Workloads = "Workloads",
        /// also policies that target the Gateway; for the Pods of a waypoint nothing else.
        Gateway = "Gateway",
        /// nothing.
        Nothing = "Nothing",
    }
}

document! {
    /// Workloads that have all of these labels, and whose Pods have the field set to true.
    #[derive(Hash)]
    pub struct WorkloadFilter {
        /// Labels of their Pods.
        #[field("labels")]
        pub labels: OrderedMap<SmolStr, SmolStr>,

        /// A field of the `spec` of their Pods.
        #[field("field")]
        pub field: Option<Path>,
    }
}

document! {
    /// Gateways in front of the Services that name them by a label. Selectors do not select them.
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

        /// The label, of a Gateway or else of its class, that says what traffic it is for.
        #[field("trafficLabel")]
        pub traffic_label: Option<SmolStr>,

        /// The values of `trafficLabel` with which a Gateway is for Services. Without the label it is.
        #[field("serviceTraffic")]
        pub service_traffic: Vec<SmolStr>,

        /// The listener whose `allowedRoutes` say from which namespaces Services can use the Gateway. Without such a listener
        /// only those of its own namespace can.
        #[field("listener", unset = "Services of all namespaces can")]
        pub listener: Option<WaypointListener>,

        /// Labels of Services that are never behind such a Gateway, with their values.
        #[field("exempt")]
        pub exempt: OrderedMap<SmolStr, Vec<SmolStr>>,

        /// Whether policies of Namespaces hold for such Gateways and the Services behind them.
        #[field("namespaces")]
        pub namespaces: bool,

        /// Whether a policy on such a Gateway holds for the Services of other namespaces behind it. If not, the policies of the
        /// Gateway's Namespace do.
        #[field("acrossNamespaces", default = true)]
        pub across_namespaces: bool,
    }
}

document! {
    /// A listener, by protocol and port.
    #[derive(Hash)]
    pub struct WaypointListener {
        /// The protocol of the listener.
        #[field("protocol", required)]
        pub protocol: SmolStr,

        /// The port of the listener.
        #[field("port", required)]
        pub port: i64,
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
