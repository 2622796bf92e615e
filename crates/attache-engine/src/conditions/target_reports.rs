//! The conditions or annotations of the objects that policies affect.

use std::collections::BTreeMap;

use hashbrown::HashSet;

use super::StatusCondition;
use super::policy_facts::fill;
use crate::engine::Engine;
use crate::kinds::{Crd, KindId};
use crate::names::{plural, qualified};
use crate::object::{GroupKind, ObjectRef};
use crate::policy::PolicyId;
use crate::status::TargetStatus;
use crate::topology::NodeId;

/// Kinds of Kubernetes itself that have no `status.conditions`.
const WITHOUT_CONDITIONS: [(&str, &str); 5] = [
    ("", "ConfigMap"),
    ("", "Secret"),
    ("", "ServiceAccount"),
    ("", "Endpoints"),
    ("discovery.k8s.io", "EndpointSlice"),
];

/// The conditions or annotations of an object that policies affect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetReport {
    /// One condition for each kind of policy that affects it, sorted by type.
    pub conditions: Vec<StatusCondition>,
    /// Annotations with the same content, for an object that has no `status.conditions`.
    pub annotations: BTreeMap<String, String>,
}

impl Engine {
    /// The report of each target.
    pub fn target_reports(&self, statuses: &[TargetStatus]) -> Vec<TargetReport> {
        let definitions = self.objects().each_of_kind("apiextensions.k8s.io", "CustomResourceDefinition");
        let without = definitions.filter_map(|(_, it)| Crd::read(it)).filter(|crd| crd.lacks_conditions());
        let without: HashSet<GroupKind> = without.map(|crd| GroupKind::new(crd.group(), crd.kind())).collect();
        let has_conditions = |id: &ObjectRef| {
            let is_core = WITHOUT_CONDITIONS.iter().any(|(group, kind)| *kind == id.kind && *group == id.group);
            !is_core && (without.is_empty() || !without.contains(&GroupKind::new(&id.group, &id.kind)))
        };
        let report = |status: &TargetStatus| {
            let conditions = self.target_conditions(status);
            match has_conditions(self.topology().id(self.objects(), status.target)) {
                true => TargetReport { conditions, ..TargetReport::default() },
                false => TargetReport {
                    annotations: conditions.into_iter().map(|it| (it.r#type, "true".to_owned())).collect(),
                    ..TargetReport::default()
                },
            }
        };
        statuses.iter().map(report).collect()
    }

    /// The conditions of a target, one for each kind of policy that affects it.
    fn target_conditions(&self, status: &TargetStatus) -> Vec<StatusCondition> {
        let owner = self.topology()[status.target].owner.object();
        let observed_generation = owner.and_then(|owner| self.objects()[owner].generation());
        let mut conditions = Vec::new();
        // Policies are sorted by kind.
        for policies in status.affected_by.chunk_by(|a, b| self.policy(*a).kind == self.policy(*b).kind) {
            let Some(first) = policies.first() else { continue };
            let id = self.policy(*first).kind;
            let kind = self.kinds().get(id);
            let is_reported =
                |policy: &PolicyId| !kind.status.affected.targets_only || self.is_attached(*policy, status.target);
            let policies: Vec<PolicyId> = policies.iter().copied().filter(is_reported).collect();
            if policies.is_empty() {
                continue;
            }
            let placeholder = |name: &str| match name {
                "kind" => Some(kind.kind.to_string()),
                "domain" => Some(self.domain(id)),
                "by" => Some(self.policy_names(policies.iter().copied())),
                _ => None,
            };
            let template = &kind.status.affected;
            conditions.push(StatusCondition {
                r#type: fill(&template.r#type, placeholder),
                is_true: true,
                reason: fill(&template.reason, placeholder),
                message: fill(&template.message, placeholder),
                observed_generation,
            });
        }
        conditions.sort();
        conditions
    }

    /// Whether a policy is attached to a node, or to a section of its object.
    fn is_attached(&self, policy: PolicyId, node: NodeId) -> bool {
        let attached = &self.attachments().for_policy(policy).to;
        attached.iter().any(|it| it.node == node || self.topology().whole(it.node) == node)
    }

    /// The domain of the conditions of targets. If two kinds share a name, it contains the plural and group of the
    /// kind.
    fn domain(&self, id: KindId) -> String {
        let kind = self.kinds().get(id);
        match kind.status.controller_name.is_none() && self.kinds().is_ambiguous(self.objects(), &kind.kind) {
            true => qualified(&kind.group, &plural(&kind.kind.to_lowercase())),
            false => kind.status.domain().to_owned(),
        }
    }
}
