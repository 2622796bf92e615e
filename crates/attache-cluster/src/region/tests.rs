//! An answer from the part of a cluster is the answer from all of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use attache_answers::describe::{DescribeQuery, describe};
use attache_answers::effective::{EffectivePolicies, EffectiveQuery};
use attache_answers::explain::{ExplainQuery, explain};
use attache_answers::reach::{ReachQuery, reach};
use attache_answers::{ObjectQuery, QueryError, Snapshot};
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
        let mut listed = Listed {
            pages: Vec::new(),
            objects: Vec::new(),
            mentions: Mentions::default(),
            discovery: Discovery::default(),
        };
        for ((api_version, kind), objects) in by_kind {
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            let resource = resource(group, version, &kind);
            listed.discovery.resources.push(resource.clone());
            let body = json!({"apiVersion": api_version, "kind": format!("{kind}List"), "items": objects}).to_string();
            let (mut page, mentions) = RawPage::read(&body, &resource, &ListExtent::Whole).expect("a list");
            page.is_policies = is_policy(group, &kind);
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

    fn around(&self) -> Surroundings<'_> {
        Surroundings { objects: &self.objects, mentions: &self.mentions, discovery: &self.discovery }
    }

    /// The objects that are parsed for a question about an object. `None` if names do not tell.
    fn part(&self, name: &str) -> Option<Vec<Object>> {
        let names = [name.to_owned()];
        select(&self.pages, &names, self.around())?;
        Some(self.with_around(parse(&self.pages, &names, self.around())))
    }

    fn all(&self) -> Vec<Object> {
        self.with_around(parse_some(&self.pages, |_, _| true))
    }

    fn with_around(&self, parsed: Parsed) -> Vec<Object> {
        self.objects.iter().cloned().chain(parsed.objects).collect()
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

/// What the commands about one object answer.
fn answers(objects: Vec<Object>, kinds: &[PolicyKind], id: &ObjectRef) -> Vec<String> {
    fn shown(answer: Result<impl serde::Serialize, QueryError>) -> String {
        answer.map_or_else(|error| format!("{error:?}"), |it| serde_json::to_string_pretty(&it).unwrap_or_default())
    }
    let engine = Engine::new(Objects::new(objects), kinds, Settings::default());
    let snapshot = Snapshot::new(Arc::new(engine), Vec::new());
    let query = ObjectQuery::exactly(&NodeRef { object: id.clone(), section: None });
    let effective = EffectiveQuery { object: Some(query.clone()), kind: None, namespace: None };
    let explained =
        ExplainQuery { object: query.clone(), field: None, kind: None, namespace: None, steps: true, names: 100 };
    vec![
        shown(describe(&snapshot, &DescribeQuery { object: query.clone(), namespace: None })),
        shown(explain(&snapshot, &explained)),
        shown(EffectivePolicies::find(&snapshot, &effective).map(|it| serde_json::to_value(it.list()).ok())),
        shown(reach(&snapshot, &ReachQuery { policy: query, rule: None, namespace: None })),
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

#[test]
fn the_answers_about_an_object_are_the_same_without_what_is_not_connected_to_it() {
    let kinds = built_in().0;
    let (mut parts, mut smaller) = (0, 0);
    for (name, objects) in policy_tests(&kinds) {
        let objects: Vec<Json> = objects.iter().cloned().chain(renamed(&objects)).collect();
        let listed = Listed::new(&objects, &kinds);
        let all = listed.all();
        let ids = all.iter().skip(listed.objects.len()).map(|object| object.id.clone());
        for id in ids.filter(|id| !id.name.ends_with("-copy")) {
            let Some(part) = listed.part(&id.name) else { continue };
            parts += 1;
            smaller += usize::from(part.len() < all.len());
            let [expected, actual] = [all.clone(), part].map(|objects| answers(objects, &kinds, &id));
            for (expected, actual) in expected.into_iter().zip(actual) {
                assert_eq!(expected, actual, "{name}: {id}");
            }
        }
    }
    assert!(parts > 1000 && smaller > 800, "only {parts} parts, {smaller} of them smaller than the cluster");
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
    let part = Listed::new(&objects, &built_in().0).part("cakes")?;
    let mut names: Vec<String> = part.iter().map(|it| format!("{}/{}", it.id.namespace, it.id.name)).collect();
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
    for object in [selecting, without_target, on_class, wildcard, labelled, target_kind] {
        assert_eq!(part(std::slice::from_ref(&object)), None, "{object}");
    }
}
