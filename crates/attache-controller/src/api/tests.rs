//! Requests to the API, answered from manifests.

use std::sync::Arc;

use attache_engine::kinds::{Settings, built_in};
use attache_engine::{Edit, IncrementalEngine, ObjectRef, text};
use axum::body::{Body, to_bytes};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::Value;

use super::EffectivePolicyApi;
use super::versions::Versions;
use crate::follow::followed;
use crate::options::GatewayClasses;
use crate::partition::SharedPartition;
use crate::state::{State, StatePublisher};

const BAKERY: &str = concat!(
    include_str!("../../../../examples/bakery/kind.yaml"),
    "\n---\n",
    include_str!("../../../../examples/bakery/gateway.yaml"),
    "\n---\n",
    include_str!("../../../../examples/bakery/baker.yaml"),
    "\n---\n",
    include_str!("../../../../examples/bakery/policies.yaml"),
);

const RESOURCES: &str = "/apis/effective.attache.dev/v1alpha1";

/// A cluster, and the API over it.
struct World {
    engine: IncrementalEngine,
    revision: u64,
    publisher: StatePublisher,
    server: EffectivePolicyApi,
    partition: Option<SharedPartition>,
}

impl World {
    fn new(manifests: &str) -> World {
        World::part(manifests, &GatewayClasses::default())
    }

    /// A cluster, of which some GatewayClasses are followed.
    fn part(manifests: &str, classes: &GatewayClasses) -> World {
        let partition = SharedPartition::new(classes);
        let objects = followed(partition.as_ref(), text::read(&"cluster.yaml".into(), manifests).objects);
        let engine = IncrementalEngine::new(objects, &built_in().0, Settings::default());
        let (publisher, reader) = StatePublisher::new();
        let server = EffectivePolicyApi { reader, versions: Arc::new(Versions::new()) };
        let mut world = World { engine, revision: 0, publisher, server, partition };
        world.publish();
        world
    }

    fn publish(&mut self) {
        self.revision += 1;
        let (revision, partition) = (self.revision, self.partition.clone());
        let state = State::first(self.engine.clone(), Vec::new());
        self.publisher.publish(State { revision, content: revision, partition, ..state });
    }

    fn delete(&mut self, object: ObjectRef) {
        self.engine.apply([Edit::Delete(object)]);
        self.publish();
    }

    async fn ask(&self, method: Method, path: &str, accept: &'static str) -> Response {
        let uri: Uri = format!("{RESOURCES}{path}").parse().expect("a path");
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        self.server.answer(&method, &uri, &headers).await.unwrap_or_else(IntoResponse::into_response)
    }

    async fn get(&self, path: &str) -> Value {
        json(self.ask(Method::GET, path, "application/json").await).await
    }
}

async fn json(response: Response) -> Value {
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    serde_json::from_slice(&body).expect("JSON")
}

/// The events of a watch, as `TYPE name`.
struct Events(futures_util::stream::BoxStream<'static, String>);

impl Events {
    fn new(body: Body) -> Events {
        let lines = body.into_data_stream().flat_map(|chunk| {
            let text = String::from_utf8(chunk.expect("a chunk").to_vec()).expect("text");
            futures_util::stream::iter(text.lines().map(str::to_owned).collect::<Vec<_>>())
        });
        Events(lines.boxed())
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(std::time::Duration::from_secs(60), self.0.next()).await;
        serde_json::from_str(&line.expect("an event in time").expect("an event")).expect("JSON")
    }

    async fn next_name(&mut self) -> String {
        let event = self.next().await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", text(&event["type"]), text(&event["object"]["metadata"]["name"]))
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().filter_map(|it| it["metadata"]["name"].as_str()).collect()
}

fn version(list: &Value) -> &str {
    list["metadata"]["resourceVersion"].as_str().expect("a version")
}

#[tokio::test]
async fn a_namespace_lists_its_objects_with_what_is_in_force() {
    let world = World::new(BAKERY);
    let list = world.get("/namespaces/baker/effectivepolicies").await;
    assert_eq!(list["kind"], "EffectivePolicyList");
    let orders = "service.orders.retrypolicy-example-io";
    assert!(names(&list).contains(&"httproute.cakes.retrypolicy-example-io"), "{:?}", names(&list));
    assert!(names(&list).contains(&orders), "{:?}", names(&list));
    let one = world.get(&format!("/namespaces/baker/effectivepolicies/{orders}")).await;
    assert_eq!(one["spec"]["object"]["kind"], "Service");
    assert_eq!(one["spec"]["policyKind"], "RetryPolicy.example.io");
    let scope = &one["status"]["scopes"][0];
    assert_eq!(scope["spec"]["timeout"], "10s");
    assert_eq!(scope["superseded"][0]["by"], "RetryPolicy/infra/time-limit");
    let all = world.get("/effectivepolicies").await;
    assert!(names(&all).contains(&"gateway.main.retrypolicy-example-io"), "{:?}", names(&all));
    assert!(names(&all).len() > names(&list).len());
    assert_eq!(names(&world.get("/namespaces/nowhere/effectivepolicies").await), Vec::<&str>::new());
}

#[tokio::test]
async fn objects_that_other_controllers_are_for_are_listed_too() {
    // Without the policy for the whole namespace, which makes the default controller follow everything in it.
    let manifests = BAKERY.replace("kind: Namespace\n    name: baker", "kind: HTTPRoute\n    name: pies");
    let whole = World::new(&manifests);
    let classes = GatewayClasses::Except(["shop".to_owned()].into());
    let part = World::part(&manifests, &classes);
    let followed = |world: &World| world.engine.now().objects().len();
    assert!(followed(&part) < followed(&whole), "{} of {}", followed(&part), followed(&whole));
    for path in [
        "/namespaces/baker/effectivepolicies",
        "/namespaces/baker/policyreaches",
        "/namespaces/infra/policyreaches",
        "/effectivepolicies",
    ] {
        let (found, expected) = (part.get(path).await, whole.get(path).await);
        let statuses = |list: &Value| {
            let items = list["items"].as_array().cloned().unwrap_or_default().into_iter();
            items.map(|mut it| it["status"].take()).collect::<Vec<_>>()
        };
        assert_eq!(names(&found), names(&expected), "{path}");
        assert_eq!(statuses(&found), statuses(&expected), "{path}");
    }
}

#[tokio::test]
async fn a_policy_says_how_far_it_reaches() {
    let world = World::new(BAKERY);
    let list = world.get("/namespaces/baker/policyreaches").await;
    assert_eq!(names(&list), ["retrypolicy-example-io.be-patient", "retrypolicy-example-io.pay-once"]);
    let status = &list["items"][0]["status"];
    assert_eq!(status["enforcement"], "PartiallyEnforced");
    assert_eq!(status["by"].as_array().map(Vec::len), Some(2));
    let one = world.get("/namespaces/baker/policyreaches/retrypolicy-example-io.be-patient").await;
    assert_eq!(one, list["items"][0]);
}

#[tokio::test]
async fn selectors_select() {
    let world = World::new(BAKERY);
    for (selector, count) in [
        ("fieldSelector=spec.object.kind%3DHTTPRoute", 4),
        ("fieldSelector=spec.object.kind%3DHTTPRoute,spec.object.name!%3Dcakes", 3),
        ("fieldSelector=spec.policyKind%3DRetryPolicy.example.io,spec.object.name%3Dorders", 1),
        ("fieldSelector=metadata.name%3Dhttproute.cakes.retrypolicy-example-io", 1),
        ("labelSelector=app%3Dnothing", 0),
    ] {
        let list = world.get(&format!("/namespaces/baker/effectivepolicies?{selector}")).await;
        assert_eq!(names(&list).len(), count, "{selector}");
    }
    let refused = world.get("/effectivepolicies?fieldSelector=spec.color%3Dred").await;
    assert_eq!((&refused["code"], &refused["reason"]), (&400.into(), &"BadRequest".into()));
}

#[tokio::test]
async fn pages_are_of_one_state_or_refused() {
    let mut world = World::new(BAKERY);
    let whole = world.get("/effectivepolicies").await;
    let first = world.get("/effectivepolicies?limit=3").await;
    let mut found: Vec<String> = names(&first).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 3);
    // Changes between two pages are not visible.
    world.delete(ObjectRef::new("example.io", "RetryPolicy", "baker", "be-patient"));
    let mut page = first;
    while let Some(token) = page["metadata"]["continue"].as_str() {
        page = world.get(&format!("/effectivepolicies?limit=3&continue={token}")).await;
        assert_eq!(version(&page), version(&whole));
        found.extend(names(&page).iter().map(ToString::to_string));
    }
    assert_eq!(found, names(&whole));
    let gone = world.get("/effectivepolicies?limit=3&continue=v1.17.3").await;
    assert_eq!((&gone["code"], &gone["reason"]), (&410.into(), &"Expired".into()));
    let bad = world.get("/effectivepolicies?limit=3&continue=x").await;
    assert_eq!(bad["code"], 400);
}

#[tokio::test]
async fn a_watch_continues_where_the_list_ended() {
    let mut world = World::new(BAKERY);
    let path = "/namespaces/baker/effectivepolicies";
    let list = world.get(path).await;
    let only = "fieldSelector=spec.object.kind%3DService";
    let watch = format!("{path}?watch=true&{only}&resourceVersion={}", version(&list));
    // The first change is between the list and the watch.
    let patient = ObjectRef::new("example.io", "RetryPolicy", "baker", "be-patient");
    let policy = world.engine.now().objects().find(&patient).map(|id| world.engine.now().objects()[id].clone());
    world.delete(patient);
    let mut events = Events::new(world.ask(Method::GET, &watch, "application/json").await.into_body());
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(events.next_name().await);
    }
    assert!(seen.contains(&"MODIFIED service.orders.retrypolicy-example-io".to_owned()), "{seen:?}");
    world.engine.apply([Edit::Put(policy.expect("the policy"))]);
    world.publish();
    let event = events.next().await;
    assert_eq!(event["type"], "MODIFIED");
    assert_eq!(event["object"]["status"]["scopes"][0]["spec"]["retry"]["attempts"], 5);
    world.delete(ObjectRef::new("", "Service", "baker", "bread"));
    loop {
        let name = events.next_name().await;
        if name == "DELETED service.bread.retrypolicy-example-io" {
            break;
        }
        assert!(name.starts_with("MODIFIED"), "{name}");
    }
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_everything() {
    let world = World::new(BAKERY);
    let path = "/namespaces/baker/policyreaches?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
                &resourceVersionMatch=NotOlderThan";
    let mut events = Events::new(world.ask(Method::GET, path, "application/json").await.into_body());
    assert_eq!(events.next_name().await, "ADDED retrypolicy-example-io.be-patient");
    assert_eq!(events.next_name().await, "ADDED retrypolicy-example-io.pay-once");
    let bookmark = events.next().await;
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn a_version_of_another_process_has_expired() {
    let (world, other) = (World::new(BAKERY), World::new(BAKERY));
    let list = other.get("/effectivepolicies").await;
    let gone = world.get(&format!("/effectivepolicies?watch=true&resourceVersion={}", version(&list))).await;
    assert_eq!((&gone["code"], &gone["reason"]), (&410.into(), &"Expired".into()));
    let gone = world.get("/effectivepolicies?resourceVersion=1&resourceVersionMatch=Exact").await;
    assert_eq!(gone["code"], 410);
}

#[tokio::test]
async fn requests_that_cannot_be_answered_get_a_status() {
    let world = World::new(BAKERY);
    let missing = world.get("/namespaces/baker/effectivepolicies/nothing").await;
    assert_eq!((&missing["kind"], &missing["code"]), (&"Status".into(), &404.into()));
    assert_eq!(missing["message"], "effectivepolicies.effective.attache.dev \"nothing\" not found");
    assert_eq!(world.get("/bananas").await["code"], 404);
    let path = "/namespaces/baker/effectivepolicies";
    assert_eq!(json(world.ask(Method::DELETE, path, "*/*").await).await["code"], 405);
    assert_eq!(json(world.ask(Method::POST, path, "*/*").await).await["reason"], "MethodNotAllowed");
    assert_eq!(json(world.ask(Method::GET, path, "application/vnd.kubernetes.protobuf").await).await["code"], 406);
    let (publisher, reader) = StatePublisher::new();
    let world = World { publisher, server: EffectivePolicyApi { reader, ..world.server }, ..world };
    assert_eq!(world.get(path).await["code"], 503);
}

#[tokio::test]
async fn a_table_has_what_kubectl_prints() {
    let world = World::new(BAKERY);
    let path = "/namespaces/baker/effectivepolicies?fieldSelector=spec.object.name%3Dorders";
    let table =
        json(world.ask(Method::GET, path, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await);
    let table = table.await;
    let columns = table["columnDefinitions"].as_array().expect("columns").iter();
    let shown = columns.filter(|column| column["priority"] == 0).filter_map(|column| column["name"].as_str());
    assert_eq!(shown.collect::<Vec<_>>(), ["Object", "Policy Kind", "Settings", "From", "Age"]);
    let cells = &table["rows"][0]["cells"];
    assert_eq!(cells[0], "Service/orders");
    assert_eq!(cells[3], "RetryPolicy/baker/be-patient, RetryPolicy/infra/time-limit");
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

/// A Service behind two hundred routes on a Gateway with two hundred listeners: 40,000 paths lead to it.
#[tokio::test]
async fn many_scopes_are_counted_and_the_first_listed() {
    let mut manifests = String::from(include_str!("../../../../examples/bakery/kind.yaml"));
    let listeners = (0..200).map(|i| format!("{{name: l{i}, port: {}, protocol: HTTP}}", i + 1000));
    let listeners = listeners.collect::<Vec<_>>().join(", ");
    manifests += &format!(
        "
---
{{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{name: g, namespace: big}}, spec: {{gatewayClassName: c, listeners: [{listeners}]}}}}
---
{{apiVersion: v1, kind: Service, metadata: {{name: s, namespace: big}}, spec: {{ports: [{{port: 80}}]}}}}
---
{{apiVersion: example.io/v1, kind: RetryPolicy, metadata: {{name: p, namespace: big}}, spec: {{targetRef: {{group: '', kind: Service, name: s}}, timeout: 1s}}}}"
    );
    for i in 0..200 {
        manifests += &format!(
            "
---
{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: r{i}, namespace: big}}, spec: {{parentRefs: [{{name: g}}], rules: [{{backendRefs: [{{name: s, port: 80}}]}}]}}}}"
        );
    }
    let world = World::new(&manifests);
    let service = world.get("/namespaces/big/effectivepolicies/service.s.retrypolicy-example-io").await;
    assert_eq!(service["status"]["scopeCount"], 40_000, "{service}");
    assert_eq!(service["status"]["scopes"].as_array().map(Vec::len), Some(100));
    let list = world.get("/namespaces/big/effectivepolicies?limit=50").await;
    assert_eq!(names(&list).len(), 50);
    assert_eq!(list["items"][1]["status"]["scopeCount"], 200);
    let reach = world.get("/namespaces/big/policyreaches").await;
    assert_eq!(reach["items"][0]["status"]["scopes"]["total"], 40_000);
}

/// Every field of an answer has a description, which `kubectl explain` shows.
#[tokio::test]
async fn the_schema_describes_every_field() {
    let world = World::new(BAKERY);
    let schemas = super::openapi::v3_document()["components"]["schemas"].take();
    for (path, kind) in [("/effectivepolicies", "EffectivePolicy"), ("/policyreaches", "PolicyReach")] {
        let schema = &schemas[format!("dev.attache.effective.v1alpha1.{kind}")];
        for object in world.get(path).await["items"].as_array().expect("items") {
            check(object, schema, kind);
        }
    }
}

fn check(value: &Value, schema: &Value, at: &str) {
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true || at.ends_with(".metadata");
    match value {
        Value::Object(fields) if !is_open => {
            for (name, value) in fields {
                let property = &schema["properties"][name];
                assert!(property["description"].is_string(), "{at}.{name} has no description");
                check(value, property, &format!("{at}.{name}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check(item, &schema["items"], at)),
        _ => {}
    }
}
