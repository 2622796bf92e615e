//! Targets of one kind that are selected by a selector instead of a target reference.

use super::{AttachmentError, AttachmentPoint, Resolved, ResolvedTarget, TargetResolver, Via};
use crate::kinds::{CrossNamespace, PolicyKind};
use crate::object::{Object, ObjectId, ObjectRef};
use crate::policy::{NamespaceSelection, TargetSelector};
use crate::selector::selects;
use crate::topology::{Namespace, NodeId};

impl<'o> TargetResolver<'o> {
    /// The selected objects, or sections of them, that the policy may target.
    pub(super) fn select_objects(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        selector: &TargetSelector,
    ) -> Resolved<ResolvedTarget> {
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        let is_global = is_global(policy, kind);
        for (id, object) in self.selected_objects(policy, kind, selector) {
            let from = match self.consumer(policy, kind, &object.id) {
                Ok(from) => from,
                Err(_) if is_global => None,
                Err(_) => continue,
            };
            let node = NodeId::whole(id);
            let node = match &selector.section {
                Some(section) => match self.topology.section(node, section) {
                    Some(section) => section,
                    None => continue,
                },
                None => node,
            };
            match (self.check_targetable(policy, kind, node), self.shared_port(kind, node, from)) {
                (Err(error), _) => {
                    found.extend(AttachmentPoint::claim(node, from, &error));
                    refused.push(*error);
                }
                (Ok(()), Some(shared)) => {
                    found.extend(shared.points);
                    refused.extend(shared.refused);
                }
                (Ok(()), None) => found.push(AttachmentPoint::new(node, from, Via::Target)),
            }
        }
        if found.is_empty() && refused.is_empty() {
            let ungranted = self.ungranted(policy, kind, selector).into_iter().cloned().collect();
            return Err(AttachmentError::NoObjectSelected { kind: selector.kind.clone(), ungranted }.into());
        }
        Ok(ResolvedTarget { points: found, refused })
    }

    /// What a selector selects, whether the policy may target it or not.
    fn selected_objects(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        selector: &TargetSelector,
    ) -> impl Iterator<Item = (ObjectId, &'o Object)> {
        let is_global = is_global(policy, kind);
        self.objects.each_of_kind(&selector.group, &selector.kind).filter(move |(_, object)| {
            let is_own = object.id.namespace == policy.id.namespace;
            let is_in_reach = match &selector.namespaces {
                NamespaceSelection::Same => is_own || is_global,
                NamespaceSelection::All => true,
                NamespaceSelection::Selected(labels) => {
                    let namespace = Namespace::named(self.objects, &object.id.namespace);
                    selects(labels, |key| namespace.label(key))
                }
            };
            is_in_reach && selects(&selector.labels, |key| object.labels().get_str(key))
        })
    }

    /// The objects that a selector selects, but that no ReferenceGrant lets the policy target.
    pub(crate) fn ungranted(
        &self,
        policy: &Object,
        kind: &PolicyKind,
        selector: &TargetSelector,
    ) -> Vec<&'o ObjectRef> {
        if kind.targets.cross_namespace != CrossNamespace::Granted || is_global(policy, kind) {
            return Vec::new();
        }
        let selected = self.selected_objects(policy, kind, selector).map(|(_, object)| &object.id);
        selected.filter(|id| self.consumer(policy, kind, id).is_err()).collect()
    }
}

/// Whether the policy is in the namespace whose policies may select targets everywhere.
fn is_global(policy: &Object, kind: &PolicyKind) -> bool {
    kind.targets.global_namespace.as_ref() == Some(&policy.id.namespace)
}
