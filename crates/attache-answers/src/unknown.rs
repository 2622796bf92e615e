//! Objects that an answer depends on and that are not in the input.

use std::collections::BTreeSet;

use attache_engine::{NodeId, NodeRef, ObjectRef, Unknown};
use serde::Serialize;

use crate::snapshot::Snapshot;

/// Something that is not in the input, and that could change the answer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnknownDocument {
    /// What is unknown: `GatewayClass`, `Parent`, `PolicyKind` or `ReferenceGrant`.
    pub reason: &'static str,
    /// Its name.
    pub name: String,
    /// What is assumed, or may differ.
    pub message: String,
    /// The objects whose answers depend on it.
    pub objects: Vec<ObjectRef>,
    /// For policy kinds: the policies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<ObjectRef>,
}

impl From<&Unknown> for UnknownDocument {
    fn from(unknown: &Unknown) -> UnknownDocument {
        let (reason, name) = match unknown {
            Unknown::Class { class, .. } => ("GatewayClass", class.to_string()),
            Unknown::Parent { parent, .. } => ("Parent", parent.to_string()),
            Unknown::PolicyKind { kind, .. } => ("PolicyKind", kind.to_string()),
            Unknown::Grants { namespace, .. } => ("ReferenceGrant", namespace.to_string()),
        };
        let policies = match unknown {
            Unknown::PolicyKind { policies, .. } => policies.iter().map(|it| it.policy.clone()).collect(),
            _ => Vec::new(),
        };
        let objects = unknown.objects().into_iter().cloned().collect();
        UnknownDocument { reason, name, message: unknown.to_string(), objects, policies }
    }
}

impl Snapshot {
    /// The policies of unknown kinds that target an object.
    pub(crate) fn unknown_policies_on(&self, object: &ObjectRef) -> Vec<ObjectRef> {
        let mut found = Vec::new();
        for unknown in self.unknown() {
            if let Unknown::PolicyKind { policies, .. } = unknown {
                let on_object = policies.iter().filter(|it| it.targets.contains(object));
                found.extend(on_object.map(|it| it.policy.clone()));
            }
        }
        found
    }

    /// Whether an object looks like a policy, and its kind is unknown.
    pub(crate) fn is_unknown_policy(&self, object: &ObjectRef) -> bool {
        self.unknown().iter().any(|unknown| match unknown {
            Unknown::PolicyKind { policies, .. } => policies.iter().any(|it| it.policy == *object),
            _ => false,
        })
    }

    /// What the answer about an object or a policy depends on and the input does not contain.
    pub fn unknown_about(&self, object: &NodeRef) -> Vec<Unknown> {
        let (engine, topology) = (&self.engine, self.engine.topology());
        let nodes: Vec<NodeId> = match engine.find_policy(&object.object) {
            Some(policy) => engine.attachments().for_policy(policy).to.iter().map(|it| it.node).collect(),
            None => self.nodes(object),
        };
        let around: BTreeSet<NodeId> =
            topology.above(nodes.iter().copied()).into_iter().chain(topology.below(nodes)).collect();
        let names: BTreeSet<&ObjectRef> = around.iter().map(|node| topology.id(engine.objects(), *node)).collect();
        let concerns = |unknown: &Unknown| unknown.objects().into_iter().any(|it| names.contains(it));
        self.unknown().iter().filter(|unknown| concerns(unknown)).cloned().collect()
    }
}
