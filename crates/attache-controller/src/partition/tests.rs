use std::collections::BTreeSet;

use attache_engine::{Edit, Object, ObjectRef, Objects};
use serde_json::{Value, json};

use super::*;

const API: &str = "gateway.networking.k8s.io";

/// A cluster, and the part of it that a controller follows.
struct World {
    partition: Partition,
    followed: Vec<Object>,
}

impl World {
    fn new(classes: GatewayClasses) -> World {
        World { partition: Partition::new(&classes).expect("a part"), followed: Vec::new() }
    }

    fn apply(&mut self, edits: Vec<Edit>) -> Vec<String> {
        let taken = self.partition.take(edits, &Objects::new(self.followed.clone()));
        for edit in taken.edits {
            self.followed.retain(|object| object.id != *edit.id());
            if let Edit::Put(object) = edit {
                self.followed.push(object);
            }
        }
        let mut moved: Vec<String> = taken.moved.iter().map(ToString::to_string).collect();
        moved.sort();
        moved
    }

    fn put(&mut self, objects: &[Value]) -> Vec<String> {
        self.apply(objects.iter().map(|it| Edit::Put(Object::from_json(it).expect("an object"))).collect())
    }

    fn delete(&mut self, group: &str, kind: &str, name: &str) -> Vec<String> {
        self.apply(vec![Edit::Delete(ObjectRef::new(group, kind, "ns", name))])
    }

    /// The names of what is followed. With a star: what the controller is responsible for.
    fn shown(&self) -> String {
        let mut names: Vec<String> = self
            .followed
            .iter()
            .map(|it| format!("{}{}", it.id.name, if self.partition.is_responsible(&it.id) { "*" } else { "" }))
            .collect();
        names.sort();
        names.join(" ")
    }
}

fn only(name: &str) -> GatewayClasses {
    GatewayClasses::Only(BTreeSet::from([name.to_owned()]))
}

fn except(names: &[&str]) -> GatewayClasses {
    GatewayClasses::Except(names.iter().map(|name| (*name).to_owned()).collect())
}

fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ns"}, "spec": spec})
}

fn gateway(name: &str, class: &str) -> Value {
    object(&format!("{API}/v1"), "Gateway", name, json!({"gatewayClassName": class}))
}

fn route(name: &str, gateways: &[&str], services: &[&str]) -> Value {
    let parents: Vec<Value> = gateways.iter().map(|name| json!({"name": name})).collect();
    let backends: Vec<Value> = services.iter().map(|name| json!({"name": name, "port": 80})).collect();
    object(
        &format!("{API}/v1"),
        "HTTPRoute",
        name,
        json!({"parentRefs": parents, "rules": [{"backendRefs": backends}]}),
    )
}

fn service(name: &str) -> Value {
    object("v1", "Service", name, json!({"selector": {"app": name}}))
}

fn policy(name: &str, kind: &str, target: &str) -> Value {
    let group = if matches!(kind, "Service" | "Namespace") { "" } else { API };
    let target = json!({"group": group, "kind": kind, "name": target});
    object("example.io/v1", "ColorPolicy", name, json!({"targetRefs": [target]}))
}

/// Two classes with a Gateway, a route, a Service and a policy on each level; and a Service that nobody uses.
fn two_classes() -> Vec<Value> {
    let mut objects = vec![service("unused")];
    for class in ["a", "b"] {
        let name = |kind: &str| format!("{class}-{kind}");
        let (gateway_name, route_name, service_name) = (name("gw"), name("route"), name("svc"));
        objects.extend([
            gateway(&gateway_name, class),
            route(&route_name, &[&gateway_name], &[&service_name]),
            service(&service_name),
            policy(&name("on-gw"), "Gateway", &gateway_name),
            policy(&name("on-route"), "HTTPRoute", &route_name),
            policy(&name("on-svc"), "Service", &service_name),
        ]);
    }
    objects
}

#[test]
fn a_class_has_what_is_below_its_gateways() {
    let mut world = World::new(only("a"));
    world.put(&two_classes());
    assert_eq!(world.shown(), "a-gw* a-on-gw* a-on-route* a-on-svc* a-route* a-svc* b-gw unused");
    let mut world = World::new(except(&["a"]));
    world.put(&two_classes());
    assert_eq!(world.shown(), "a-gw a-on-gw b-gw* b-on-gw* b-on-route* b-on-svc* b-route* b-svc* unused*");
}

#[test]
fn what_belongs_to_two_classes_is_the_default_controllers_which_follows_all_it_depends_on() {
    let shared = [route("a-more", &["a-gw"], &["shared", "a-svc"]), route("b-more", &["b-gw"], &["shared"])];
    let shared = || shared.iter().cloned().chain([service("shared"), policy("on-shared", "Service", "shared")]);
    let objects: Vec<Value> = two_classes().into_iter().chain(shared()).collect();
    let mut world = World::new(only("a"));
    world.put(&objects);
    assert!(world.shown().contains(" a-more* ") && !world.shown().contains("b-more"), "{}", world.shown());
    assert!(world.shown().contains(" on-shared shared "), "{}", world.shown());
    let mut world = World::new(except(&["a", "b"]));
    world.put(&objects);
    assert_eq!(world.shown(), "a-gw a-more a-on-gw b-gw b-more b-on-gw on-shared* shared* unused*");
    // The route of the other class is gone: the class takes over.
    let moved = world.delete(API, "HTTPRoute", "b-more");
    assert_eq!(moved, ["ColorPolicy/ns/on-shared", "Service/ns/shared"]);
    assert_eq!(world.shown(), "a-gw a-on-gw b-gw b-on-gw unused*");
}

#[test]
fn the_order_of_objects_does_not_matter() {
    let objects = two_classes();
    for classes in [only("a"), except(&["a"])] {
        let mut expected = World::new(classes.clone());
        expected.put(&objects);
        for turned in 0..objects.len() {
            let mut world = World::new(classes.clone());
            let mut objects = objects.clone();
            objects.rotate_left(turned);
            objects.iter().rev().for_each(|object| _ = world.put(std::slice::from_ref(object)));
            assert_eq!(world.shown(), expected.shown(), "{turned}");
        }
    }
}

#[test]
fn a_gateway_that_changes_its_class_takes_everything_along() {
    let mut world = World::new(only("a"));
    world.put(&two_classes());
    world.put(&[gateway("b-gw", "a")]);
    assert_eq!(
        world.shown(),
        "a-gw* a-on-gw* a-on-route* a-on-svc* a-route* a-svc* b-gw* b-on-gw* b-on-route* b-on-svc* b-route* b-svc* unused"
    );
    // What is left out and comes back is as it was.
    let unpacked = world.followed.iter().find(|it| it.id.name == "b-route").expect("it is followed");
    assert_eq!(*unpacked, Object::from_json(&route("b-route", &["b-gw"], &["b-svc"])).expect("an object"));
    world.delete(API, "Gateway", "a-gw");
    assert_eq!(world.shown(), "b-gw* b-on-gw* b-on-route* b-on-svc* b-route* b-svc* unused");
}

#[test]
fn what_is_in_no_class_is_the_default_controllers() {
    let mesh = object(
        &format!("{API}/v1"),
        "HTTPRoute",
        "mesh",
        json!({"parentRefs": [{"group": "", "kind": "Service", "name": "a-svc"}], "rules": [{"backendRefs": [{"name": "unused"}]}]}),
    );
    let objects: Vec<Value> = two_classes()
        .into_iter()
        .chain([mesh, route("lost", &["nowhere"], &["lost-svc"]), service("lost-svc")])
        .collect();
    let mut world = World::new(only("a"));
    world.put(&objects);
    // The Service is that of a mesh, too.
    assert_eq!(world.shown(), "a-gw* a-on-gw* a-on-route* a-on-svc a-route* a-svc b-gw");
    let mut world = World::new(except(&["a", "b"]));
    world.put(&objects);
    assert_eq!(
        world.shown(),
        "a-gw a-on-gw a-on-route a-on-svc* a-route a-svc* b-gw b-on-gw lost* lost-svc* mesh* unused*"
    );
    world.put(&[gateway("nowhere", "a")]);
    assert!(!world.shown().contains("lost"), "{}", world.shown());
}

#[test]
fn a_policy_for_a_namespace_keeps_everything_in_it() {
    let mut world = World::new(except(&["a", "b"]));
    let objects: Vec<Value> = two_classes().into_iter().chain([policy("on-ns", "Namespace", "ns")]).collect();
    world.put(&objects);
    assert_eq!(world.followed.len(), objects.len());
    assert!(world.shown().contains("on-ns*") && world.shown().contains("a-route "), "{}", world.shown());
    world.delete("example.io", "ColorPolicy", "on-ns");
    assert_eq!(world.shown(), "a-gw a-on-gw b-gw b-on-gw unused*");
}

#[test]
fn what_is_left_out_can_be_asked_for_with_what_it_depends_on() {
    let mut world = World::new(except(&["a", "b"]));
    world.put(&two_classes());
    let names = |objects: Vec<Object>| {
        let mut names: Vec<String> = objects.into_iter().map(|it| it.id.name.to_string()).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(
        names(world.partition.left_out_of(Some("ns"), false)),
        "a-on-route a-on-svc a-route a-svc b-on-route b-on-svc b-route b-svc"
    );
    assert_eq!(names(world.partition.left_out_of(Some("other"), false)), "");
    let new = Object::from_json(&route("new", &["b-gw"], &["a-svc"])).expect("an object");
    assert_eq!(world.partition.would_be_responsible(&new), Some(false));
    assert_eq!(names(world.partition.named_by(&new)), "a-on-route a-on-svc a-route a-svc");
}
