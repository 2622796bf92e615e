//! What an object names: the objects above and below it, its targets, and what is attached to it.

use attache_engine::{Object, ObjectRef, Value};
use smol_str::SmolStr;

/// The group of the Gateway API.
const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// What an object names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The objects above it: the Gateways of a route, for example.
    pub above: Vec<ObjectRef>,
    /// The objects below it: the backends of a route.
    pub below: Vec<ObjectRef>,
    /// The targets of a policy.
    pub targets: Vec<ObjectRef>,
    /// What it has attached to itself: the filters of a route.
    pub attached: Vec<ObjectRef>,
    /// Whether it has targets that it does not name, but selects.
    pub selects: bool,
}

impl Links {
    /// The links of an object.
    pub fn read(object: &Object) -> Links {
        let mut links = Links::default();
        links.collect(object.spec(), &object.id.namespace);
        for list in [&mut links.above, &mut links.below, &mut links.targets, &mut links.attached] {
            list.sort_unstable();
            list.dedup();
        }
        links
    }

    /// Whether the object names nothing.
    pub fn is_empty(&self) -> bool {
        *self == Links::default()
    }

    /// All objects that are named.
    pub fn all(&self) -> impl Iterator<Item = &ObjectRef> {
        self.above.iter().chain(&self.below).chain(&self.targets).chain(&self.attached)
    }

    fn collect(&mut self, value: &Value, namespace: &str) {
        for (key, child) in value.entries() {
            let references = || std::iter::once(child).filter(|it| it.as_map().is_some()).chain(child.items());
            match key.as_str() {
                "parentRef" | "parentRefs" => references().for_each(|it| self.add_parent(it, namespace)),
                "backendRef" | "backendRefs" => {
                    self.below.extend(references().filter_map(|it| reference(it, "Service", namespace)));
                }
                "targetRef" | "targetRefs" => references().for_each(|it| match reference(it, "", namespace) {
                    Some(target) => self.targets.push(target),
                    None => self.selects = true,
                }),
                "targetSelectors" => self.selects |= !child.items().is_empty(),
                "extensionRef" => {
                    self.attached.extend(references().filter_map(|it| reference(it, "", namespace)));
                }
                _ => {}
            }
            self.collect(child, namespace);
        }
        for item in value.items() {
            self.collect(item, namespace);
        }
    }

    fn add_parent(&mut self, value: &Value, namespace: &str) {
        let Some(parent) = reference(value, "Gateway", namespace) else { return };
        match is_service(&parent) {
            false => self.above.push(parent),
            // A route of a mesh: it is in no class, and the requests that it routes are those to the Service.
            true => {
                self.above.push(no_class());
                self.below.push(parent);
            }
        }
    }
}

/// Stands above objects that are in no class.
pub fn no_class() -> ObjectRef {
    ObjectRef::default()
}

/// The name of the class that an object is in because it says so: a GatewayClass, or a Gateway.
pub fn own_class(object: &Object) -> Option<SmolStr> {
    match (object.id.group.as_str(), object.id.kind.as_str()) {
        (GATEWAY_API, "GatewayClass") => Some(object.id.name.clone()),
        (GATEWAY_API, "Gateway") => object.spec().get_str("gatewayClassName").map(SmolStr::new),
        _ => None,
    }
}

/// Whether objects of its kind are few, and part of many hierarchies.
pub fn is_frame(id: &ObjectRef) -> bool {
    matches!(id.kind.as_str(), "GatewayClass" | "Gateway" | "ListenerSet" | "XListenerSet")
        && matches!(id.group.as_str(), GATEWAY_API | "gateway.networking.x-k8s.io")
}

/// Whether an object is a route of which a listener serves one only: whether it is served depends on the others.
pub fn excludes_others(id: &ObjectRef) -> bool {
    id.group == GATEWAY_API && matches!(id.kind.as_str(), "TCPRoute" | "UDPRoute")
}

fn is_service(id: &ObjectRef) -> bool {
    id.kind == "Service" && id.group.is_empty()
}

fn reference(value: &Value, default_kind: &str, namespace: &str) -> Option<ObjectRef> {
    let text = |key: &str| value.get_str(key).filter(|it| !it.is_empty());
    let (kind, name) = (text("kind").unwrap_or(default_kind), text("name")?);
    let group = match value.get_str("group") {
        Some("core") => "",
        Some(group) => group,
        None => usual_group(kind),
    };
    let namespace = if is_cluster_scoped(group, kind) { "" } else { text("namespace").unwrap_or(namespace) };
    Some(ObjectRef::new(group, kind, namespace, name))
}

fn is_cluster_scoped(group: &str, kind: &str) -> bool {
    matches!((group, kind), ("", "Namespace") | (GATEWAY_API, "GatewayClass"))
}

/// The usual group of a kind, for references without a group.
fn usual_group(kind: &str) -> &'static str {
    match kind {
        "XListenerSet" => "gateway.networking.x-k8s.io",
        "Gateway" | "GatewayClass" | "ListenerSet" => GATEWAY_API,
        _ if kind.ends_with("Route") => GATEWAY_API,
        _ => "",
    }
}
