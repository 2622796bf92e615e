//! Controllers of Gateways: the names by which GatewayClasses refer to them, and what they support.

use std::fmt;

use smol_str::SmolStr;

use super::KindName;
use crate::document::{Diagnostics, DocumentReader, Location, OrderedMap, document, words, written_as_string};
use crate::object::Object;
use crate::problem::Problem;

/// The kind of GatewayController documents.
pub const GATEWAY_CONTROLLER: &str = "GatewayController";

document! {
    /// A controller of Gateways: the names by which GatewayClasses refer to it, and what it supports.
    ///
    /// It is data: a `GatewayController` document. The `controllers` of a PolicyKind refer to it by its name.
    ///
    /// ```
    /// use attache_engine::kinds::{GatewayController, ListenerIsolation};
    /// use attache_engine::text;
    ///
    /// let document = "
    /// apiVersion: attache.dev/v1alpha1
    /// kind: GatewayController
    /// metadata: {name: acme-gateway}
    /// spec:
    ///   title: Acme Gateway
    ///   controllerNames: [gateway.acme.io/*]
    ///   supports: {listenerIsolation: Never}
    /// ";
    /// let objects = text::read(&"acme.yaml".into(), document).objects;
    /// let controller = GatewayController::read(&objects[0]).expect("no mistakes");
    /// assert!(controller.controller_names[0].matches("gateway.acme.io/controller"));
    /// assert_eq!(controller.supports.listener_isolation, ListenerIsolation::Never);
    /// ```
    pub struct GatewayController {
        /// The name of the document.
        #[field(skip)]
        pub name: SmolStr,

        /// What people call it.
        #[field("title", required)]
        pub title: SmolStr,

        /// The values of `controllerName` by which GatewayClasses refer to it. `*` at the end stands for any text.
        #[field("controllerNames", required)]
        pub controller_names: Vec<ControllerPattern>,

        /// The GatewayClasses that it creates itself, each with its `controllerName`. They are known even if they are not in
        /// the input.
        #[field("classes")]
        pub classes: OrderedMap<SmolStr, SmolStr>,

        /// What it supports.
        #[field("supports", nested)]
        pub supports: ControllerFeatures,
    }
}

document! {
    /// What a controller supports.
    pub struct ControllerFeatures {
        /// Whether HTTPRoutes and GRPCRoutes of the same hostname can be attached to one listener. The Gateway API says that
        /// only the older one is attached.
        #[field("sharedHostnames")]
        pub shared_hostnames: bool,

        /// Which of the listeners on a port serves a hostname.
        #[field("listenerIsolation", default = ListenerIsolation::MostSpecific)]
        pub listener_isolation: ListenerIsolation,

        /// Whether a listener that allows kinds of routes which its protocol cannot serve is served for the other kinds.
        #[field("partialRouteKinds", default = true)]
        pub partial_route_kinds: bool,

        /// Whether of several TCP or UDP listeners of a Gateway on one port the first is served. The Gateway API says that
        /// none is.
        #[field("firstStreamListener")]
        pub first_stream_listener: bool,

        /// Whether Gateways have ListenerSets.
        #[field("listenerSets", default = true)]
        pub listener_sets: bool,

        /// Whether TCPRoutes can be attached to a listener that terminates TLS.
        #[field("tcpOnTlsTermination", default = true)]
        pub tcp_on_tls_termination: bool,

        /// Whether a listener that has TLSRoutes serves a TCPRoute, too.
        #[field("tcpBesideTlsRoutes", default = true)]
        pub tcp_beside_tls_routes: bool,

        /// Protocols of listeners, beside those of the Gateway API.
        #[field("protocols")]
        pub protocols: Vec<SmolStr>,

        /// The kinds of backends, beside Services.
        #[field("backends", unset = "any kind")]
        pub backends: Vec<KindName>,
    }
}

words! {
    /// Which of the listeners on a port serves a hostname.
    pub enum ListenerIsolation {
        /// the most specific one that matches it, alone: GatewayHTTPListenerIsolation.
        MostSpecific = "MostSpecific",
        /// the one that has this very hostname, alone. If there is none, every one that matches it.
        SameHostname = "SameHostname",
        /// every one that matches it.
        Never = "Never",
    }
}

/// Those of a controller that nothing is known about.
impl Default for ControllerFeatures {
    fn default() -> Self {
        ControllerFeatures {
            shared_hostnames: false,
            listener_isolation: ListenerIsolation::MostSpecific,
            partial_route_kinds: true,
            first_stream_listener: false,
            listener_sets: true,
            tcp_on_tls_termination: true,
            tcp_beside_tls_routes: true,
            protocols: Vec::new(),
            backends: Vec::new(),
        }
    }
}

impl GatewayController {
    /// Reads a GatewayController document, or reports everything that is wrong with it.
    pub fn read(document: &Object) -> Result<GatewayController, Vec<Problem>> {
        let mut diagnostics = Diagnostics::default();
        let controller =
            DocumentReader::read(document.spec(), &Location::top("spec"), &mut diagnostics, Self::read_fields);
        let problems = diagnostics.into_problems(document);
        match controller {
            Some(controller) if problems.is_empty() => {
                Ok(GatewayController { name: document.id.name.clone(), ..controller })
            }
            _ => Err(problems),
        }
    }

    /// Whether GatewayClasses refer to it by this `controllerName`.
    pub fn has_name(&self, controller_name: &str) -> bool {
        self.controller_names.iter().any(|pattern| pattern.matches(controller_name))
    }
}

/// A `controllerName`, or the start of one followed by `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ControllerPattern(SmolStr);

written_as_string!(ControllerPattern, ControllerPattern::parse, "controller name");

impl ControllerPattern {
    /// Reads `gateway.acme.io/*`. Every text is a pattern.
    pub fn parse(text: &str) -> ControllerPattern {
        ControllerPattern(text.into())
    }

    /// Whether a `controllerName` matches.
    pub fn matches(&self, controller_name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => controller_name.starts_with(start),
            None => self.0 == controller_name,
        }
    }
}

impl fmt::Display for ControllerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
