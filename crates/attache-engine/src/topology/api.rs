//! The kinds of the Gateway API and of Kubernetes that have a level in the topology.

use std::fmt;

use super::Level;
use super::conventions::Conventions;
use crate::object::{ObjectId, Objects};

pub const GATEWAY_API: &str = "gateway.networking.k8s.io";
pub const EXPERIMENTAL: &str = "gateway.networking.x-k8s.io";

/// The label that the API server gives every namespace. Manifests need not have it.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The kinds whose objects have listeners.
pub const LISTENER_OWNERS: [(&str, &str); 3] =
    [(GATEWAY_API, "Gateway"), (GATEWAY_API, "ListenerSet"), (EXPERIMENTAL, "XListenerSet")];

pub const LISTENER_SETS: [(&str, &str); 2] = [(GATEWAY_API, "ListenerSet"), (EXPERIMENTAL, "XListenerSet")];

/// The level of objects of a kind.
pub fn level(group: &str, kind: &str) -> Level {
    match (group, kind) {
        (GATEWAY_API, "GatewayClass") => Level::GatewayClass,
        (GATEWAY_API, "Gateway") => Level::Gateway,
        (GATEWAY_API, "ListenerSet") | (EXPERIMENTAL, "XListenerSet") => Level::ListenerSet,
        (GATEWAY_API, kind) if RouteKind::named(kind).is_some() => Level::Route,
        ("", "Namespace") => Level::Namespace,
        ("", "Pod")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job" | "CronJob") => Level::Workload,
        _ if is_backend(group, kind) => Level::Backend,
        _ if Conventions::built_in().is_workload(group, kind) => Level::Workload,
        _ => Level::Other,
    }
}

/// Whether objects of a kind are backends. Objects of other kinds become backends when a route refers to them.
fn is_backend(group: &str, kind: &str) -> bool {
    matches!(
        (group, kind),
        ("", "Service")
            | ("multicluster.x-k8s.io", "ServiceImport")
            | ("inference.networking.k8s.io", "InferencePool")
            | ("inference.networking.x-k8s.io", "InferencePool")
    ) || Conventions::built_in().is_backend(group, kind)
}

/// Whether backends of a kind have no objects, and exist because a route refers to them.
pub fn is_virtual_backend(group: &str, kind: &str) -> bool {
    Conventions::built_in().is_virtual_backend(group, kind)
}

/// Whether mesh routes may have objects of a kind as their parent.
pub fn is_frontend(group: &str, kind: &str) -> bool {
    matches!((group, kind), ("", "Service") | ("multicluster.x-k8s.io", "ServiceImport"))
        || Conventions::built_in().is_frontend(group, kind)
}

/// A kind of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// HTTPRoute.
    Http,
    /// GRPCRoute.
    Grpc,
    /// TLSRoute.
    Tls,
    /// TCPRoute.
    Tcp,
    /// UDPRoute.
    Udp,
}

impl RouteKind {
    /// All kinds.
    pub const ALL: [RouteKind; 5] = [RouteKind::Http, RouteKind::Grpc, RouteKind::Tls, RouteKind::Tcp, RouteKind::Udp];

    /// The kind of this name.
    pub fn named(kind: &str) -> Option<RouteKind> {
        RouteKind::ALL.into_iter().find(|route| route.name() == kind)
    }

    /// The `kind` in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            RouteKind::Http => "HTTPRoute",
            RouteKind::Grpc => "GRPCRoute",
            RouteKind::Tls => "TLSRoute",
            RouteKind::Tcp => "TCPRoute",
            RouteKind::Udp => "UDPRoute",
        }
    }

    /// Whether its routes have hostnames.
    pub fn has_hostnames(self) -> bool {
        !matches!(self, RouteKind::Tcp | RouteKind::Udp)
    }
}

/// All routes, kind by kind.
pub fn routes(objects: &Objects) -> impl Iterator<Item = ObjectId> {
    RouteKind::ALL.into_iter().flat_map(|kind| objects.of_kind(GATEWAY_API, kind.name())).copied()
}

/// A set of route kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RouteKinds(u8);

impl RouteKinds {
    /// Whether the set contains a kind.
    pub fn contains(self, kind: RouteKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Adds a kind.
    pub fn insert(&mut self, kind: RouteKind) {
        self.0 |= 1 << kind as u8;
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<RouteKind> for RouteKinds {
    fn from_iter<I: IntoIterator<Item = RouteKind>>(kinds: I) -> Self {
        let mut set = RouteKinds::default();
        kinds.into_iter().for_each(|kind| set.insert(kind));
        set
    }
}

/// `HTTPRoute, GRPCRoute`.
impl fmt::Display for RouteKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            RouteKind::ALL.into_iter().filter(|kind| self.contains(*kind)).map(RouteKind::name).collect();
        f.write_str(&names.join(", "))
    }
}

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    Http,
    Https,
    Tls,
    Tcp,
    Udp,
    /// A protocol that the Gateway API does not define.
    Unknown,
}

impl Protocol {
    pub fn named(name: &str) -> Protocol {
        match name {
            "HTTP" => Protocol::Http,
            "HTTPS" => Protocol::Https,
            "TLS" => Protocol::Tls,
            "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            _ => Protocol::Unknown,
        }
    }

    /// The kinds of route that a listener of this protocol can serve.
    pub fn route_kinds(self) -> RouteKinds {
        let kinds: &[RouteKind] = match self {
            Protocol::Http | Protocol::Https => &[RouteKind::Http, RouteKind::Grpc],
            Protocol::Tls => &[RouteKind::Tls],
            Protocol::Tcp => &[RouteKind::Tcp],
            Protocol::Udp => &[RouteKind::Udp],
            Protocol::Unknown => &[],
        };
        kinds.iter().copied().collect()
    }

    /// Whether listeners on one port can differ in their hostname.
    pub fn has_hostnames(self) -> bool {
        matches!(self, Protocol::Http | Protocol::Https | Protocol::Tls)
    }
}
