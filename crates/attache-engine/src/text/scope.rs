//! Which objects live in a namespace. A second pass over all objects, because a CRD may come after them.

use hashbrown::HashMap;
use smol_str::SmolStr;

use crate::object::{Object, ObjectRef};
use crate::problem::Problem;

/// The kinds that are cluster-scoped and whose CRD is rarely in the input.
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
    ("attache.dev", "PolicyKind"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("cluster.open-cluster-management.io", "ManagedCluster"),
    ("cluster.open-cluster-management.io", "ManagedClusterSet"),
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

/// Gives every namespaced object without a namespace the namespace `default`, and takes it from cluster-scoped
/// ones; so it is done with the objects that problems are about. A kind is cluster-scoped if a CRD or a PolicyKind among
/// the objects says so, else if `cluster_scoped` says so, else if it is known to be.
pub fn settle_scopes(objects: &mut [Object], problems: &mut [Problem], cluster_scoped: impl Fn(&str, &str) -> bool) {
    let declared: HashMap<(SmolStr, SmolStr), bool> = objects.iter().filter_map(declaration).collect();
    let is_cluster_scoped = |id: &ObjectRef| {
        declared.get(&(id.group.clone(), id.kind.clone())).copied().unwrap_or_else(|| {
            cluster_scoped(&id.group, &id.kind)
                || CLUSTER_SCOPED.binary_search(&(id.group.as_str(), id.kind.as_str())).is_ok()
        })
    };
    let settle = |id: &mut ObjectRef, cluster: bool| {
        if cluster {
            id.namespace = SmolStr::default();
        } else if id.namespace.is_empty() {
            id.namespace = SmolStr::new_static("default");
        }
    };
    let is_alike = |a: &Object, b: &Object| a.id.kind == b.id.kind && a.id.group == b.id.group;
    for alike in objects.chunk_by_mut(is_alike) {
        let cluster = alike.first().is_some_and(|object| is_cluster_scoped(&object.id));
        alike.iter_mut().for_each(|object| settle(&mut object.id, cluster));
    }
    for id in problems.iter_mut().filter_map(|problem| problem.object.as_deref_mut()) {
        settle(id, is_cluster_scoped(id));
    }
}

/// Whether an object says if those of some kind are cluster-scoped.
pub fn declares_scope(object: &Object) -> bool {
    declaration(object).is_some()
}

/// The kind that a CRD or a PolicyKind is about, and whether it is cluster-scoped.
fn declaration(object: &Object) -> Option<((SmolStr, SmolStr), bool)> {
    let (group, kind) = described_kind(object)?;
    let cluster = object.spec().get_str("scope")? == "Cluster";
    Some(((group.into(), kind.into()), cluster))
}

/// The group and kind of the objects that a CRD or a PolicyKind describes.
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
    fn the_table_is_sorted() {
        assert!(CLUSTER_SCOPED.is_sorted());
    }
}
