//! The tools that manage an object, according to its labels, annotations and owners.

use attache_engine::Object;
use serde::Serialize;

/// The last change of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastChangeDocument {
    /// The field manager.
    pub manager: String,
    /// The time.
    pub time: String,
}

pub(crate) fn last_change(object: &Object) -> Option<LastChangeDocument> {
    let change = object.last_change.as_deref()?;
    Some(LastChangeDocument { manager: change.manager.to_string(), time: change.time.to_string() })
}

/// A tool that manages an object. It reverts edits of the object itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManagedBy {
    /// The type of tool, as in `Helm release`, or the kind of an owner.
    pub kind: String,
    /// Its name, with the namespace if it is known.
    pub name: String,
}

impl std::fmt::Display for ManagedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Tools that mark the objects they manage with a label or annotation for their name and one for their namespace.
const MARKS: [(&str, &str, &str); 4] = [
    ("Helm release", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"),
    ("Flux Kustomization", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"),
    ("Flux HelmRelease", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"),
    ("Argo CD application", "argocd.argoproj.io/instance", ""),
];

/// `application:group/Kind:namespace/name`, as Argo CD tracks objects by default.
const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";

/// Everything that manages an object, according to the object.
pub(crate) fn managed_by(object: &Object) -> Vec<ManagedBy> {
    let mark = |key: &str| object.annotation(key).or_else(|| object.label(key)).filter(|value| !value.is_empty());
    let mut found: Vec<ManagedBy> = Vec::new();
    for (kind, name, namespace) in MARKS {
        if let Some(name) = mark(name) {
            let name = mark(namespace).map_or(name.to_owned(), |namespace| format!("{namespace}/{name}"));
            found.push(ManagedBy { kind: kind.to_owned(), name });
        }
    }
    if let Some((application, _)) = object.annotation(TRACKING_ID).and_then(|id| id.split_once(':')) {
        found.retain(|it| it.name != application);
        found.push(ManagedBy { kind: "Argo CD application".to_owned(), name: application.to_owned() });
    }
    let owners = object.body.at(&["metadata", "ownerReferences"]).map(|owners| owners.items()).unwrap_or_default();
    found.extend(owners.iter().filter_map(|owner| {
        Some(ManagedBy { kind: owner.get_str("kind")?.to_owned(), name: owner.get_str("name")?.to_owned() })
    }));
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn managers(metadata: serde_json::Value) -> Vec<String> {
        let mut document = json!({"apiVersion": "v1", "kind": "K", "metadata": metadata});
        document["metadata"]["name"] = json!("n");
        let object = Object::from_json(&document).unwrap_or_default();
        managed_by(&object).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tools_are_known_by_their_marks() {
        let helm = json!({"meta.helm.sh/release-name": "bakery", "meta.helm.sh/release-namespace": "shop"});
        assert_eq!(managers(json!({"annotations": helm})), ["Helm release shop/bakery"]);
        let flux =
            json!({"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"});
        assert_eq!(managers(json!({"labels": flux})), ["Flux Kustomization flux-system/apps"]);
        let tracked = json!({"argocd.argoproj.io/tracking-id": "bakery:example.io/RetryPolicy:baker/be-patient"});
        assert_eq!(managers(json!({"annotations": tracked})), ["Argo CD application bakery"]);
        assert_eq!(managers(json!({"labels": {"argocd.argoproj.io/instance": "shop"}})), ["Argo CD application shop"]);
        let owners = json!([{"apiVersion": "example.io/v1", "kind": "Bakery", "name": "main", "uid": "1"}]);
        assert_eq!(managers(json!({"ownerReferences": owners})), ["Bakery main"]);
        assert_eq!(managers(json!({})), [""; 0]);
    }
}
