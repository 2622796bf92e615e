//! Discovery: the resources of the API, for clients and the API server.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

use super::error::json as answer;
use super::request::accepts;
use super::resource::Resource;
use super::{API_VERSION, GROUP, VERSION};

/// `/apis`: all groups. A client that asks for aggregated discovery gets everything at once.
pub fn groups(headers: &HeaderMap) -> Response {
    if accepts(headers, &["as=APIGroupDiscoveryList", "g=apidiscovery.k8s.io", "v=v2"]) {
        let media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        return answer(StatusCode::OK, media_type, &aggregated());
    }
    let groups = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group_document()]});
    answer(StatusCode::OK, "application/json", &groups)
}

/// `/apis/GROUP`.
pub fn group() -> Response {
    answer(StatusCode::OK, "application/json", &group_document())
}

/// `/apis/GROUP/VERSION`.
pub fn resources() -> Response {
    let resource = |resource: Resource| {
        json!({
            "name": resource.plural(),
            "singularName": resource.singular(),
            "shortNames": [resource.short_name()],
            "namespaced": true,
            "kind": resource.kind(),
            "verbs": VERBS,
        })
    };
    let document = json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": API_VERSION,
        "resources": Resource::ALL.map(resource),
    });
    answer(StatusCode::OK, "application/json", &document)
}

const VERBS: [&str; 3] = ["get", "list", "watch"];

fn group_document() -> Value {
    let version = json!({"groupVersion": API_VERSION, "version": VERSION});
    json!({
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": GROUP,
        "versions": [version],
        "preferredVersion": version,
    })
}

fn aggregated() -> Value {
    let resource = |resource: Resource| {
        json!({
            "resource": resource.plural(),
            "responseKind": {"group": GROUP, "version": VERSION, "kind": resource.kind()},
            "scope": "Namespaced",
            "singularResource": resource.singular(),
            "shortNames": [resource.short_name()],
            "verbs": VERBS,
        })
    };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [{
            "metadata": {"name": GROUP, "creationTimestamp": null},
            "versions": [{
                "version": VERSION,
                "resources": Resource::ALL.map(resource),
                "freshness": "Current",
            }],
        }],
    })
}
