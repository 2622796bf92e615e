//! The changes whose costs docs/performance.md lists, in a cluster of any size.

use attache_engine::kinds::{Settings, built_in};
use attache_engine::{Edit, IncrementalEngine};
use attache_engine::{Object, Objects};
use attache_gen::{ManifestShape, edited, generate, object_from};
use serde_json::{Value, json};

/// A change to measure.
pub struct MeasuredChange {
    pub name: &'static str,
    /// Whether it affects any policy or target.
    pub affected: bool,
    pub apply: Vec<Edit>,
    /// The edits that undo it.
    pub undo: Vec<Edit>,
}

/// Ten gateways that admit routes from Namespaces with a label; every tenth route has a policy. The routes of one namespace have
/// backends in another one, whose Services are targets of a second kind of policies.
pub fn cluster(routes: usize, namespaces: usize) -> Vec<Object> {
    let shape = ManifestShape { namespaces, ..ManifestShape::one_in_ten(routes) };
    let label = json!({"routes": "allowed"});
    let selector = json!({"namespaces": {"from": "Selector", "selector": {"matchLabels": &label}}});
    let mut objects = generate(&shape);
    for object in &mut objects {
        match object.id.kind.as_str() {
            "Namespace" => *object = edited(object, |it| it["metadata"]["labels"] = label.clone()),
            "Gateway" => *object = edited(object, |it| it["spec"]["listeners"][0]["allowedRoutes"] = selector.clone()),
            "HTTPRoute" if object.id.namespace == GUEST => {
                *object = edited(object, |it| it["spec"]["rules"][0]["backendRefs"][0]["namespace"] = json!(HOST));
            }
            _ => {}
        }
    }
    let services = objects.iter().filter(|it| it.id.kind == "Service" && it.id.namespace == HOST);
    let guests: Vec<Object> = services.map(|service| guest(&service.id.name)).collect();
    objects.extend(guests);
    objects.extend([guest_kind(), grant()]);
    objects
}

const GUEST: &str = "team-003";
const HOST: &str = "team-004";

fn guest_kind() -> Object {
    object_from(json!({
        "apiVersion": "attache.dev/v1alpha1", "kind": "PolicyKind", "metadata": {"name": "guestpolicies.bench.attache.dev"},
        "spec": {
            "group": "bench.attache.dev", "kind": "GuestPolicy", "class": "Direct", "hierarchy": ["Backend"],
            "crossNamespace": "Granted",
        },
    }))
}

fn guest(service: &str) -> Object {
    object_from(json!({
        "apiVersion": "bench.attache.dev/v1", "kind": "GuestPolicy", "metadata": {"name": service, "namespace": GUEST},
        "spec": {"targetRef": {"group": "", "kind": "Service", "name": service, "namespace": HOST}, "retries": 2},
    }))
}

fn grant() -> Object {
    object_from(json!({
        "apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
        "metadata": {"name": "guests", "namespace": HOST, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "from": [
                {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": GUEST},
                {"group": "bench.attache.dev", "kind": "GuestPolicy", "namespace": GUEST},
            ],
            "to": [{"group": "", "kind": "Service"}],
        },
    }))
}

pub fn incremental(objects: &[Object]) -> IncrementalEngine {
    let incremental = IncrementalEngine::new(Objects::new(objects.to_vec()), &built_in().0, Settings::default());
    // As after a first query.
    incremental.now().fold_all();
    incremental
}

pub fn changes(objects: &[Object]) -> Vec<MeasuredChange> {
    // From the middle: the first or last object may be a special case.
    let middle = |kind: &str, name: &str| {
        let all: Vec<&Object> =
            objects.iter().filter(|it| it.id.kind == kind && it.id.name.starts_with(name)).collect();
        all[all.len() / 2].clone()
    };
    let change = |name, affected, object: &Object, edit: &dyn Fn(&mut Value)| MeasuredChange {
        name,
        affected,
        apply: vec![Edit::Put(edited(object, edit))],
        undo: vec![Edit::Put(object.clone())],
    };
    let stricter = |it: &mut Value| it["spec"]["defaults"]["limits"] = json!({"limit-0": {"rate": 7, "window": "1s"}});
    let route = middle("HTTPRoute", "");
    let another = edited(&route, |it| it["metadata"]["name"] = json!("route-new"));
    let added = Edit::Put(another.clone());
    let removed = Edit::Delete(another.id);
    let namespace = middle("Namespace", "team");
    let of_gateway = middle("LimitPolicy", "gateway");
    let (put, delete) = (Edit::Put(of_gateway.clone()), Edit::Delete(of_gateway.id.clone()));
    vec![
        change("policy of a route", true, &middle("LimitPolicy", "httproute"), &stricter),
        MeasuredChange { name: "route added", affected: true, apply: vec![added.clone()], undo: vec![removed.clone()] },
        MeasuredChange { name: "route removed", affected: true, apply: vec![removed], undo: vec![added] },
        change("policy of a gateway", true, &of_gateway, &stricter),
        MeasuredChange {
            name: "policy of a gateway added",
            affected: true,
            apply: vec![put.clone()],
            undo: vec![delete.clone()],
        },
        MeasuredChange { name: "policy of a gateway removed", affected: true, apply: vec![delete], undo: vec![put] },
        MeasuredChange {
            name: "grant removed",
            affected: true,
            apply: vec![Edit::Delete(grant().id)],
            undo: vec![Edit::Put(grant())],
        },
        change("label of a namespace", true, &namespace, &|it| it["metadata"]["labels"]["routes"] = json!("denied")),
        change("listener of a gateway added", true, &middle("Gateway", ""), &|it| {
            let mut another = it["spec"]["listeners"][0].clone();
            (another["name"], another["port"]) = (json!("another"), json!(8081));
            it["spec"]["listeners"].as_array_mut().expect("listeners").push(another);
        }),
        change("the same again", false, &route, &|_| ()),
        change("status", false, &route, &|it| it["status"] = json!({"parents": []})),
        change("label that nobody selects", false, &route, &|it| it["metadata"]["labels"] = json!({"color": "blue"})),
    ]
}
