//! The changes whose cost docs/performance.md promises, in a world of any size.

use attache_engine::incremental::{Edit, IncrementalEngine};
use attache_engine::kinds::{Settings, built_in};
use attache_engine::object::{Object, Objects};
use attache_gen::{ALL, Level, Policies, Shape, edited, generate, object_from};
use serde_json::{Value, json};

/// A change, and what takes it back.
pub struct Change {
    pub name: &'static str,
    /// Whether it makes a difference.
    pub affected: bool,
    pub there: Vec<Edit>,
    pub back: Vec<Edit>,
}

/// Ten gateways that let in routes from Namespaces with a label; every tenth route has a policy of its own. From one
/// namespace routes send requests to another one, and policies of a second kind target its Services.
pub fn world(routes: usize, namespaces: usize) -> Vec<Object> {
    let policies = [(Level::Gateway, ALL), (Level::Route, routes / 10)];
    let shape = Shape {
        gateways: 10,
        routes,
        services: routes / 10,
        namespaces,
        policies: policies.map(|(level, count)| Policies { level, count }).to_vec(),
        ..Shape::default()
    };
    let label = json!({"routes": "welcome"});
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
    // Somebody has seen how things stand.
    incremental.now().fold_all();
    incremental
}

pub fn changes(objects: &[Object]) -> Vec<Change> {
    // Somewhere in the middle, so that nothing is first or last.
    let middle = |kind: &str, name: &str| {
        let all: Vec<&Object> =
            objects.iter().filter(|it| it.id.kind == kind && it.id.name.starts_with(name)).collect();
        all[all.len() / 2].clone()
    };
    let change = |name, affected, object: &Object, edit: &dyn Fn(&mut Value)| Change {
        name,
        affected,
        there: vec![Edit::Put(edited(object, edit))],
        back: vec![Edit::Put(object.clone())],
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
        Change { name: "route added", affected: true, there: vec![added.clone()], back: vec![removed.clone()] },
        Change { name: "route removed", affected: true, there: vec![removed], back: vec![added] },
        change("policy of a gateway", true, &of_gateway, &stricter),
        Change {
            name: "policy of a gateway added",
            affected: true,
            there: vec![put.clone()],
            back: vec![delete.clone()],
        },
        Change { name: "policy of a gateway removed", affected: true, there: vec![delete], back: vec![put] },
        Change {
            name: "grant removed",
            affected: true,
            there: vec![Edit::Delete(grant().id)],
            back: vec![Edit::Put(grant())],
        },
        change("label of a namespace", true, &namespace, &|it| it["metadata"]["labels"]["routes"] = json!("unwelcome")),
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
