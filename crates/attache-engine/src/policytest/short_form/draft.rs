//! Objects of the short form under construction, and the manifests they become.

use serde_json::{Value as Json, json};
use smol_str::SmolStr;

use crate::object::{Object, ObjectRef, Source};

pub const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// The GatewayClass of Gateways whose line names none.
const DEFAULT_CLASS: &str = "example";

/// The role of a kind in the topology, which determines the possible links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    GatewayClass,
    Namespace,
    Gateway,
    ListenerSet,
    Route,
    /// A Service, or any other kind that a route can name as its backend.
    Backend,
}

/// The group and the role of a kind. Unknown kinds are backends.
pub fn role(kind: &str) -> (&'static str, Role) {
    match kind {
        "GatewayClass" => (GATEWAY_API, Role::GatewayClass),
        "Gateway" => (GATEWAY_API, Role::Gateway),
        "ListenerSet" => (GATEWAY_API, Role::ListenerSet),
        "XListenerSet" => ("gateway.networking.x-k8s.io", Role::ListenerSet),
        "HTTPRoute" | "GRPCRoute" | "TLSRoute" | "TCPRoute" | "UDPRoute" => (GATEWAY_API, Role::Route),
        "Namespace" => ("", Role::Namespace),
        _ => ("", Role::Backend),
    }
}

/// The API version of a kind.
pub fn version(kind: &str) -> &'static str {
    match kind {
        "XListenerSet" => "v1alpha1",
        "TCPRoute" | "UDPRoute" => "v1alpha2",
        _ => "v1",
    }
}

/// An object to which lines can still add parents and sections.
#[derive(Clone, Debug)]
pub struct DraftObject {
    pub role: Role,
    pub version: &'static str,
    /// The GatewayClass of a Gateway.
    pub class: Option<SmolStr>,
    pub parents: Vec<Json>,
    pub allows_listener_sets: bool,
    /// Listeners, rules or ports.
    pub sections: Vec<DraftSection>,
}

#[derive(Clone, Debug)]
pub struct DraftSection {
    /// Rules and ports may have no name.
    pub name: Option<SmolStr>,
    /// The port of a listener or of a Service.
    pub port: usize,
    /// The protocol of a listener.
    pub protocol: &'static str,
    /// The backends of a rule.
    pub backends: Vec<Json>,
}

impl DraftObject {
    pub fn new(role: Role, version: &'static str) -> DraftObject {
        DraftObject {
            role,
            version,
            class: None,
            parents: Vec::new(),
            allows_listener_sets: false,
            sections: Vec::new(),
        }
    }

    /// The `spec` of the object.
    pub fn spec(&self) -> Json {
        let sections = |write: fn(&DraftSection) -> Json| self.sections.iter().map(write).collect::<Vec<Json>>();
        match self.role {
            // Without a `controllerName`, it can belong to any controller.
            Role::GatewayClass => json!({}),
            Role::Namespace => json!({}),
            Role::Gateway => {
                let class = self.class.as_deref().unwrap_or(DEFAULT_CLASS);
                let mut spec = json!({"gatewayClassName": class, "listeners": sections(listener)});
                if self.allows_listener_sets {
                    spec["allowedListeners"] = json!({"namespaces": {"from": "All"}});
                }
                spec
            }
            Role::ListenerSet => json!({"parentRef": self.parents.first(), "listeners": sections(listener)}),
            Role::Route => json!({"parentRefs": self.parents, "rules": sections(rule)}),
            Role::Backend => json!({"ports": sections(port)}),
        }
    }
}

fn listener(section: &DraftSection) -> Json {
    let mut listener = json!({
        "name": section.name.as_deref(),
        "port": section.port,
        "protocol": section.protocol,
        "allowedRoutes": {"namespaces": {"from": "All"}},
    });
    if section.protocol == "TLS" {
        listener["tls"] = json!({"mode": "Passthrough"});
    }
    listener
}

fn rule(section: &DraftSection) -> Json {
    let mut rule = json!({"backendRefs": section.backends});
    if let Some(name) = &section.name {
        rule["name"] = json!(name.as_str());
    }
    rule
}

fn port(section: &DraftSection) -> Json {
    let mut port = json!({"port": section.port});
    if let Some(name) = &section.name {
        port["name"] = json!(name.as_str());
    }
    port
}

pub fn object(id: ObjectRef, version: &str, spec: Json) -> Object {
    let api_version = if id.group.is_empty() { version.to_owned() } else { format!("{}/{version}", id.group) };
    let mut metadata = json!({"name": &*id.name});
    if !id.namespace.is_empty() {
        metadata["namespace"] = json!(&*id.namespace);
    }
    let body = json!({"apiVersion": api_version, "kind": &*id.kind, "metadata": metadata, "spec": spec});
    Object::assemble(id, version.into(), body.into(), Source::default()).0
}
