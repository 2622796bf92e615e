//! Which kinds are namespaced and which are cluster-scoped. A second pass over all objects: a CRD may come after them.

use std::sync::LazyLock;

use hashbrown::HashMap;
use smol_str::SmolStr;

use crate::object::{Object, ObjectRef};
use crate::problem::Problem;
use crate::value::Value;

use super::read_value;

/// Cluster-scoped kinds of Kubernetes, the Gateway API and Attaché.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("attache.dev", "GatewayController"),
    ("attache.dev", "PolicyKind"),
    ("attache.dev", "TargetKind"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("gateway.networking.k8s.io", "GatewayClass"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("policy.networking.k8s.io", "AdminNetworkPolicy"),
    ("policy.networking.k8s.io", "BaselineAdminNetworkPolicy"),
    ("policy.networking.k8s.io", "ClusterNetworkPolicy"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

/// Cluster-scoped kinds of other systems whose CRD is rarely in the input: `clusterScoped` in `kinds/conventions.yaml`.
static OF_SYSTEMS: LazyLock<Vec<(SmolStr, SmolStr)>> = LazyLock::new(|| {
    // A test reads the document.
    let document = read_value(include_str!("../../../../kinds/conventions.yaml")).unwrap_or_default();
    let kind = |it: &Value| Some((it.get_str("group")?.into(), it.get_str("kind")?.into()));
    document.list_at("clusterScoped").iter().filter_map(kind).collect()
});

/// Puts namespaced objects without a namespace into `default`, and removes the namespace of cluster-scoped objects. Does the
/// same for the objects that problems are about.
///
/// A kind is cluster-scoped if a CRD or PolicyKind among the objects says so. If none describes the kind, `cluster_scoped`
/// decides, and then a list of well-known kinds.
pub fn settle_namespaces(
    objects: &mut [Object],
    problems: &mut [Problem],
    cluster_scoped: impl Fn(&str, &str) -> bool,
) {
    let declared: HashMap<(SmolStr, SmolStr), bool> = objects.iter().filter_map(declared_scope).collect();
    let is_cluster_scoped = |id: &ObjectRef| {
        declared.get(&(id.group.clone(), id.kind.clone())).copied().unwrap_or_else(|| {
            cluster_scoped(&id.group, &id.kind)
                || CLUSTER_SCOPED.binary_search(&(id.group.as_str(), id.kind.as_str())).is_ok()
                || OF_SYSTEMS.iter().any(|(group, kind)| *group == id.group && *kind == id.kind)
        })
    };
    let settle = |id: &mut ObjectRef, cluster: bool| {
        if cluster {
            id.namespace = SmolStr::default();
        } else if id.namespace.is_empty() {
            id.namespace = SmolStr::new_static("default");
        }
    };
    let same_kind = |a: &Object, b: &Object| a.id.kind == b.id.kind && a.id.group == b.id.group;
    for of_one_kind in objects.chunk_by_mut(same_kind) {
        let cluster = of_one_kind.first().is_some_and(|object| is_cluster_scoped(&object.id));
        of_one_kind.iter_mut().for_each(|object| settle(&mut object.id, cluster));
    }
    for id in problems.iter_mut().filter_map(|problem| problem.object.as_deref_mut()) {
        settle(id, is_cluster_scoped(id));
    }
}

/// Whether an object declares a kind to be namespaced or cluster-scoped.
pub fn declares_resource_scope(object: &Object) -> bool {
    declared_scope(object).is_some()
}

/// The kind that a CRD or PolicyKind describes, and whether it is cluster-scoped.
fn declared_scope(object: &Object) -> Option<((SmolStr, SmolStr), bool)> {
    let (group, kind) = described_kind(object)?;
    let cluster = object.spec().get_str("scope")? == "Cluster";
    Some(((group.into(), kind.into()), cluster))
}

/// The group and kind that a CRD or PolicyKind describes.
pub fn described_kind(object: &Object) -> Option<(&str, &str)> {
    let kind: &[&str] = match (object.id.group.as_str(), object.id.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &["names", "kind"],
        ("attache.dev", "PolicyKind") => &["kind"],
        _ => return None,
    };
    let spec = object.spec();
    Some((spec.get_str("group")?, spec.at(kind)?.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conventions_list_cluster_scoped_kinds() {
        assert!(OF_SYSTEMS.iter().any(|(_, kind)| kind == "ManagedCluster"));
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(CLUSTER_SCOPED.is_sorted());
    }
}
