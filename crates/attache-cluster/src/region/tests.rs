//! An answer from the part of a cluster is the answer from all of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_answers::describe::{DescribeQuery, describe};
use attache_answers::effective::{EffectivePolicies, EffectiveQuery};
use attache_answers::explain::{ExplainQuery, explain};
use attache_answers::reach::{ReachQuery, reach};
use attache_answers::{ObjectQuery, Snapshot};
use attache_engine::kinds::{PolicyKind, Registry, Settings, built_in};
use attache_engine::{Engine, NodeRef, ObjectRef, Objects, policytest, text};
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::list::ListExtent;
use crate::wanted::always_matters;
use crate::{ApiResource, Discovery};

/// A cluster as it is listed.
struct Listed {
    pages: Vec<RawPage>,
    objects: Vec<Object>,
    kinds: Registry,
    mentions: Mentions,
    discovery: Discovery,
}

impl Listed {
    fn new(objects: &[Json], kinds: &[PolicyKind]) -> Listed {
        let parsed: Vec<Object> = objects.iter().filter_map(|it| Object::from_json(it).ok()).collect();
        let registry = Registry::new(kinds, &Objects::new(parsed), &Settings::default()).0;
        let is_policy = |group: &str, kind: &str| registry.iter().any(|(_, it)| it.group == group && it.kind == kind);
        let mut by_kind: BTreeMap<(String, String), Vec<&Json>> = BTreeMap::new();
        for object in objects {
            let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
            by_kind.entry((text("apiVersion"), text("kind"))).or_default().push(object);
        }
        let is_policies: Vec<bool> = by_kind
            .keys()
            .map(|(api_version, kind)| is_policy(api_version.split_once('/').map_or("", |(group, _)| group), kind))
            .collect();
        let mut listed = Listed {
            pages: Vec::new(),
            objects: Vec::new(),
            kinds: registry,
            mentions: Mentions::default(),
            discovery: Discovery::default(),
        };
        for (((api_version, kind), objects), is_policies) in by_kind.into_iter().zip(is_policies) {
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            let resource = resource(group, version, &kind);
            listed.discovery.resources.push(resource.clone());
            let body = json!({"apiVersion": api_version, "kind": format!("{kind}List"), "items": objects}).to_string();
            let (mut page, mentions) = RawPage::read(&body, &resource, &ListExtent::Whole).expect("a list");
            page.is_policies = is_policies;
            listed.mentions.add(mentions);
            match always_matters(group, &kind) {
                true => listed.objects.extend(page.parse(|_| true).objects),
                false => listed.pages.push(page),
            }
        }
        for (group, kind) in [("", "Service"), ("", "Namespace"), (GATEWAY_API, "Gateway"), (GATEWAY_API, "HTTPRoute")]
        {
            listed.discovery.resources.push(resource(group, "v1", kind));
        }
        listed
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            objects: &self.objects,
            kinds: &self.kinds,
            mentions: &self.mentions,
            discovery: &self.discovery,
            is_complete: true,
        }
    }

    /// What is parsed for a question about an object. `None` if names do not tell.
    fn part(&self, kind: &str, name: &str) -> Option<Region> {
        let subject = Subject { kind: kind.to_owned(), name: Some(name.to_owned()) };
        select(&self.pages, &subject, self.frame())?;
        Some(self.with_frame(parse(&self.pages, Some(&subject), self.frame())))
    }

    fn all(&self) -> Region {
        self.with_frame(parse(&self.pages, None, self.frame()))
    }

    fn with_frame(&self, region: Region) -> Region {
        Region { objects: self.objects.iter().cloned().chain(region.objects).collect(), ..region }
    }
}

const GATEWAY_API: &str = "gateway.networking.k8s.io";

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: format!("{}s", kind.to_lowercase()),
        namespaced: true,
        short_names: Vec::new(),
    }
}

/// What the commands about one object answer, with everything that is shown as text only.
fn answers(region: Region, kinds: &[PolicyKind], id: &ObjectRef) -> [String; 5] {
    let engine = Engine::new(Objects::new(region.objects), kinds, Settings::default());
    let snapshot = Snapshot::new(Arc::new(engine), Vec::new()).with_policies_left_out(region.policies_left_out);
    let query = ObjectQuery::exactly(&NodeRef { object: id.clone(), section: None });
    let effective = EffectiveQuery { object: Some(query.clone()), kind: None, namespace: None };
    let explained =
        ExplainQuery { object: query.clone(), field: None, kind: None, namespace: None, steps: true, names: 100 };
    let found = EffectivePolicies::find(&snapshot, &effective);
    let nothing = found.as_ref().ok().map(EffectivePolicies::nothing_in_force);
    let list = found.map(|it| serde_json::to_value(it.list()).unwrap_or_default());
    [
        format!("{:#?}", describe(&snapshot, &DescribeQuery { object: query.clone(), namespace: None })),
        format!("{:#?}", explain(&snapshot, &explained)),
        format!("{list:#?}"),
        format!("{nothing:#?}"),
        format!("{:#?}", reach(&snapshot, &ReachQuery { policy: query, rule: None, namespace: None })),
    ]
}

/// The objects of all PolicyTests.
fn policy_tests(kinds: &[PolicyKind]) -> Vec<(String, Vec<Json>)> {
    let mut tests = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    for file in files(&root) {
        for document in read(&file).iter().filter(|it| policytest::is_test(it)) {
            let Ok(test) = policytest::read(document) else { continue };
            let folder = file.parent().unwrap_or(Path::new(""));
            let others = test.files.iter().flat_map(|(name, _)| read(&folder.join(name.as_str()))).collect();
            let objects = test.objects(others, kinds);
            tests.push((test.name.to_string(), objects.iter().map(as_served).collect()));
        }
    }
    tests
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn read(file: &Path) -> Vec<Object> {
    let content = fs::read_to_string(file).unwrap_or_default();
    text::read(&Arc::from(&*file.to_string_lossy()), &content).objects
}

/// The document that an API server would serve: it always contains the namespace.
fn as_served(object: &Object) -> Json {
    let mut document = serde_json::to_value(&object.body).unwrap_or_default();
    if !object.id.namespace.is_empty() {
        document["metadata"]["namespace"] = json!(object.id.namespace.as_str());
    }
    document
}

/// The same objects with other names, each reference with the new name.
fn renamed(objects: &[Json]) -> Vec<Json> {
    fn rename(value: &mut Json, names: &[String]) {
        match value {
            Json::String(text) if names.contains(text) => text.push_str("-copy"),
            Json::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
            Json::Object(fields) => fields.values_mut().for_each(|field| rename(field, names)),
            _ => {}
        }
    }
    let copied = objects.iter().filter(|it| {
        let api_version = it["apiVersion"].as_str().unwrap_or_default();
        !always_matters(api_version.split('/').next().unwrap_or_default(), it["kind"].as_str().unwrap_or_default())
    });
    let copied: Vec<&Json> = copied.collect();
    let names: Vec<String> = copied.iter().filter_map(|it| Some(it["metadata"]["name"].as_str()?.to_owned())).collect();
    let kept = ["namespace", "kind", "apiVersion", "group", "sectionName"];
    let mut copies: Vec<Json> = copied.into_iter().cloned().collect();
    for copy in &mut copies {
        rename_except(copy, &kept, &|value| rename(value, &names));
    }
    copies
}

/// Changes a document, but not the fields with these names.
fn rename_except(value: &mut Json, kept: &[&str], change: &dyn Fn(&mut Json)) {
    match value {
        Json::Object(fields) => {
            let changed: Map<String, Json> = std::mem::take(fields)
                .into_iter()
                .map(|(key, mut field)| {
                    if !kept.contains(&key.as_str()) {
                        rename_except(&mut field, kept, change);
                    }
                    (key, field)
                })
                .collect();
            *fields = changed;
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rename_except(item, kept, change)),
        scalar => change(scalar),
    }
}

/// Beside the objects of a test, the cluster has a copy of them, and a copy of the objects of the next test.
#[test]
fn the_answers_about_an_object_are_the_same_without_what_is_not_connected_to_it() {
    let kinds = built_in().0;
    let (mut parts, mut smaller) = (0, 0);
    let tests = policy_tests(&kinds);
    for (at, (name, objects)) in tests.iter().enumerate() {
        let next = tests.get(at + 1).map(|(_, objects)| renamed(objects)).unwrap_or_default();
        let copies = renamed(objects);
        let is_other =
            |it: &Json| !copies.iter().any(|copy| copy["kind"] == it["kind"] && copy["metadata"] == it["metadata"]);
        let next = next.into_iter().filter(is_other);
        let objects: Vec<Json> = objects.iter().cloned().chain(copies.iter().cloned()).chain(next).collect();
        let listed = Listed::new(&objects, &kinds);
        let all = listed.all();
        let ids: Vec<ObjectRef> = all.objects.iter().map(|object| object.id.clone()).collect();
        for id in ids.iter().filter(|id| !id.name.ends_with("-copy")) {
            let Some(part) = listed.part(&format!("{}.{}", id.kind, id.group), &id.name) else { continue };
            parts += 1;
            smaller += usize::from(part.objects.len() < all.objects.len());
            let whole = Region { objects: all.objects.clone(), ..Region::default() };
            let [expected, actual] = [whole, part].map(|region| answers(region, &kinds, id));
            for (expected, actual) in expected.into_iter().zip(actual) {
                assert_eq!(expected, actual, "{name}: {id}");
            }
        }
    }
    assert!(parts > 600 && smaller > 500, "only {parts} parts, {smaller} of them smaller than the cluster");
}

fn route(name: &str, gateway: &str, service: &str) -> Json {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"parentRefs": [{"group": GATEWAY_API, "kind": "Gateway", "name": gateway, "namespace": "infra"}],
            "rules": [{"backendRefs": [{"group": "", "kind": "Service", "name": service, "port": 80}]}]}})
}

fn gateway(name: &str) -> Json {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": name, "namespace": "infra"},
        "spec": {"gatewayClassName": "gc", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}})
}

fn service(namespace: &str, name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}}})
}

fn policy(target: Json) -> Json {
    json!({"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
        "metadata": {"name": "limits", "namespace": "shop"}, "spec": {"targetRef": target}})
}

/// The names of the part for `cakes`.
fn part(more: &[Json]) -> Option<String> {
    let objects = [
        gateway("one"),
        gateway("two"),
        route("cakes", "one", "oven"),
        route("bread", "one", "oven"),
        route("tea", "two", "kettle"),
        service("shop", "oven"),
        service("infra", "oven"),
        service("shop", "kettle"),
    ];
    let objects: Vec<Json> = objects.into_iter().chain(more.iter().cloned()).collect();
    let part = Listed::new(&objects, &built_in().0).part("httproute", "cakes")?;
    let mut names: Vec<String> = part.objects.iter().map(|it| format!("{}/{}", it.id.namespace, it.id.name)).collect();
    names.sort();
    Some(names.join(" "))
}

#[test]
fn a_part_has_everything_that_is_connected_by_names() {
    // The Service of the Gateway's namespace is in it because the routes name its namespace.
    assert_eq!(part(&[]).as_deref(), Some("infra/one infra/oven shop/bread shop/cakes shop/oven"));
    let on_route = policy(json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": "bread"}));
    assert_eq!(part(&[on_route]).as_deref(), Some("infra/one infra/oven shop/bread shop/cakes shop/limits shop/oven"));
    let on_other = policy(json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": "tea"}));
    assert_eq!(part(&[on_other]).as_deref(), Some("infra/one infra/oven shop/bread shop/cakes shop/oven"));
}

#[test]
fn a_policy_on_a_namespace_connects_everything_in_it() {
    let on_namespace = policy(json!({"group": "", "kind": "Namespace", "name": "shop"}));
    assert_eq!(
        part(&[on_namespace]).as_deref(),
        Some("infra/one infra/oven infra/two shop/bread shop/cakes shop/kettle shop/limits shop/oven shop/tea")
    );
}

#[test]
fn a_label_of_a_namespace_connects_everything_in_it_with_what_it_names() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"istio.io/use-waypoint": "kettle", "kubernetes.io/metadata.name": "shop"}}});
    assert_eq!(
        part(&[namespace]).as_deref(),
        Some("/shop infra/one infra/oven infra/two shop/bread shop/cakes shop/kettle shop/oven shop/tea")
    );
}

#[test]
fn there_is_no_part_where_names_do_not_tell() {
    let empty_targets = json!({"apiVersion": "security.istio.io/v1", "kind": "AuthorizationPolicy",
        "metadata": {"name": "deny-all", "namespace": "shop"}, "spec": {"targetRefs": [], "action": "DENY"}});
    let nested_targets = json!({"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
        "metadata": {"name": "limits", "namespace": "shop"}, "spec": {"more": {"targetRef": {"name": "tea"}}}});
    let selecting = json!({"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
        "metadata": {"name": "limits", "namespace": "shop"},
        "spec": {"targetRefs": [], "targetSelectors": [{"kind": "HTTPRoute", "matchLabels": {"a": "b"}}]}});
    let without_target = json!({"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
        "metadata": {"name": "limits", "namespace": "shop"}, "spec": {"retry": {}}});
    let on_class = policy(json!({"group": GATEWAY_API, "kind": "GatewayClass", "name": "gc"}));
    let wildcard = route("all", "two", "*");
    let mut labelled = route("labelled", "two", "oven");
    labelled["spec"]["rules"][0]["backendRefs"][0]["kind"] = json!("label");
    let target_kind = json!({"apiVersion": "attache.dev/v1alpha1", "kind": "TargetKind", "metadata": {"name": "a"}});
    for object in [selecting, without_target, empty_targets, nested_targets, on_class, wildcard, labelled, target_kind]
    {
        assert_eq!(part(std::slice::from_ref(&object)), None, "{object}");
    }
}

#[test]
fn the_kind_of_the_object_counts() {
    let objects = [gateway("one"), service("shop", "one"), gateway("two")];
    let listed = Listed::new(&objects, &built_in().0);
    let names = |kind: &str| {
        let part = listed.part(kind, "one")?;
        Some(part.objects.iter().map(|it| it.id.to_string()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(names("svc").as_deref(), Some("Service/shop/one"));
    assert_eq!(names("gateway").as_deref(), Some("Gateway/infra/one"));
    assert_eq!(names("gatewayclass"), None);
    assert_eq!(names("httproute"), None);
}

#[test]
fn everything_is_parsed_if_a_reference_leads_nowhere() {
    let objects = [gateway("one"), gateway("two"), route("one", "none", "oven"), service("shop", "oven")];
    let part = Listed::new(&objects, &built_in().0).part("httproute", "one").expect("a part");
    assert_eq!((part.objects.len(), part.policies_left_out), (4, 0));
}

#[test]
fn policies_outside_of_the_part_are_counted() {
    let target = json!({"group": GATEWAY_API, "kind": "HTTPRoute", "name": "tea"});
    let objects =
        [gateway("one"), gateway("two"), route("cakes", "one", "oven"), route("tea", "two", "kettle"), policy(target)];
    let services = [service("shop", "oven"), service("shop", "kettle")];
    let objects: Vec<Json> = objects.into_iter().chain(services).collect();
    let part = Listed::new(&objects, &built_in().0).part("httproute", "cakes").expect("a part");
    assert_eq!(part.policies_left_out, 1);
}
