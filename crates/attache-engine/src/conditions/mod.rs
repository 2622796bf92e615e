//! The status of policies and targets as Kubernetes conditions, in the words of their system.
//!
//! A kind's [`StatusTemplate`](crate::kinds::StatusTemplate) lists conditions, each for some states of a policy. The first
//! template of a type whose state holds becomes a condition: placeholders such as `{by}` are filled in.

mod coexistence;

use std::collections::BTreeSet;

use crate::attachment::RejectionReason;
use crate::engine::Engine;
use crate::kinds::{ConditionStatus, ConditionTemplate, KindId, PolicyKind, PolicyState};
use crate::object::ObjectRef;
use crate::policy::{PolicyId, TargetSpec};
use crate::status::{Enforcement, PolicyStatus, TargetStatus};
use crate::topology::{Level, NodeId};
use coexistence::Coexistence;

/// A condition as Kubernetes has it, without the time of the last transition, which only the writer knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatusCondition {
    /// The type of the condition: `Accepted`.
    pub r#type: String,
    /// Whether its status is `True`; otherwise it is `False`.
    pub is_true: bool,
    /// One word for why.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// The generation of the object that the condition is about.
    pub observed_generation: Option<i64>,
}

/// The target that the conditions of a policy speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ReportedTarget {
    /// The type of target that templates distinguish by.
    target_type: String,
    kind: String,
    namespace: String,
    name: String,
    section: String,
}

/// What the placeholders of a policy's conditions are filled with.
struct PolicyFacts<'a> {
    engine: &'a Engine,
    kind: &'a PolicyKind,
    status: &'a PolicyStatus,
    coexistence: &'a Coexistence,
    target: ReportedTarget,
}

impl Engine {
    /// The conditions of each policy, sorted by type.
    pub fn policy_conditions(&self, statuses: &[PolicyStatus]) -> Vec<Vec<StatusCondition>> {
        let kinds: BTreeSet<KindId> =
            statuses.iter().map(|status| self.kinds().leader(self.policy(status.policy).kind)).collect();
        let (coexistences, alone) = (self.coexistences(kinds), Coexistence::default());
        let conditions = |status: &PolicyStatus| {
            let facts = PolicyFacts {
                engine: self,
                kind: self.kinds().get(self.policy(status.policy).kind),
                status,
                coexistence: coexistences.get(&status.policy).unwrap_or(&alone),
                target: self.reported_target(status),
            };
            facts.conditions()
        };
        statuses.iter().map(conditions).collect()
    }

    /// The conditions of a target, one for each kind of policy that affects it.
    pub fn target_conditions(&self, status: &TargetStatus) -> Vec<StatusCondition> {
        let owner = self.topology()[status.target].owner.object();
        let observed_generation = owner.and_then(|owner| self.objects()[owner].generation());
        let mut conditions = Vec::new();
        // Policies are sorted by kind.
        for policies in status.affected_by.chunk_by(|a, b| self.policy(*a).kind == self.policy(*b).kind) {
            let Some(first) = policies.first() else { continue };
            let kind = self.kinds().get(self.policy(*first).kind);
            let placeholder = |name: &str| match name {
                "kind" => Some(kind.kind.to_string()),
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

    /// `namespace/name` of policies, separated by spaces.
    fn policy_names(&self, policies: impl IntoIterator<Item = PolicyId>) -> String {
        let mut ids: Vec<&ObjectRef> = policies.into_iter().map(|policy| self.policy_id(policy)).collect();
        ids.sort();
        let names = ids.into_iter().map(|id| {
            if id.namespace.is_empty() { id.name.to_string() } else { format!("{}/{}", id.namespace, id.name) }
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// Nodes in the order of the names of their objects, sections as they are listed in the object.
    fn sorted_nodes(&self, nodes: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = nodes.iter().copied().collect();
        nodes.sort_by_key(|node| (self.topology().id(self.objects(), *node), *node));
        nodes
    }

    /// What templates call a node: by the level of a section or a route, and by the kind of any other object.
    fn target_type(&self, node: NodeId) -> String {
        let topology = self.topology();
        let owner = topology[topology.whole(node)].level;
        match topology[node].level {
            Level::Listener if owner == Level::ListenerSet => "ListenerSetListener".to_owned(),
            Level::Listener => "Listener".to_owned(),
            Level::Route => "Route".to_owned(),
            Level::RouteRule => "RouteRule".to_owned(),
            Level::BackendPort => "BackendPort".to_owned(),
            _ => topology.id(self.objects(), node).kind.to_string(),
        }
    }

    /// The first target on which the policy conflicts with another, or else the first that it names.
    fn reported_target(&self, status: &PolicyStatus) -> ReportedTarget {
        let topology = self.topology();
        if status.refused == Some(RejectionReason::Conflicted) {
            let nodes: BTreeSet<NodeId> = self.rivals(status.policy).map(|(node, _)| node).collect();
            if let Some(&node) = self.sorted_nodes(&nodes).first() {
                let id = topology.id(self.objects(), node);
                return ReportedTarget {
                    target_type: self.target_type(node),
                    kind: id.kind.to_string(),
                    namespace: id.namespace.to_string(),
                    name: id.name.to_string(),
                    section: topology[node].section.as_ref().map(ToString::to_string).unwrap_or_default(),
                };
            }
        }
        let own = &self.policy_id(status.policy).namespace;
        match self.policy(status.policy).targets.first().map(|target| &target.spec) {
            Some(TargetSpec::Object { kind, namespace, name, section, .. }) => ReportedTarget {
                target_type: if section.is_some() { "Section".to_owned() } else { kind.to_string() },
                kind: kind.to_string(),
                namespace: namespace.as_ref().unwrap_or(own).to_string(),
                name: name.to_string(),
                section: section.as_ref().map(ToString::to_string).unwrap_or_default(),
            },
            Some(TargetSpec::OwnNamespace | TargetSpec::Chosen(_)) => {
                ReportedTarget { target_type: "Chosen".to_owned(), ..ReportedTarget::default() }
            }
            Some(TargetSpec::Selected(_) | TargetSpec::Host(_)) | None => ReportedTarget::default(),
        }
    }
}

impl PolicyFacts<'_> {
    /// The first condition of each type whose template holds, sorted by type.
    fn conditions(&self) -> Vec<StatusCondition> {
        let observed_generation = self.engine.policy_object(self.status.policy).generation();
        let mut conditions: Vec<StatusCondition> = Vec::new();
        for template in &self.kind.status.conditions {
            let is_known = conditions.iter().any(|known| known.r#type == template.r#type);
            if is_known || !self.applies(template) {
                continue;
            }
            let placeholder = |name: &str| self.placeholder(name, template);
            conditions.push(StatusCondition {
                r#type: template.r#type.to_string(),
                is_true: template.status == ConditionStatus::True,
                reason: fill(&template.reason, placeholder),
                message: fill(&template.message, placeholder),
                observed_generation,
            });
        }
        conditions.sort();
        conditions
    }

    fn applies(&self, template: &ConditionTemplate) -> bool {
        let is_for_target =
            template.targets.is_empty() || template.targets.iter().any(|it| *it == self.target.target_type);
        is_for_target
            && template.when.iter().any(|state| holds(*state, self.status, self.coexistence))
            && (template.places.is_empty() || !self.places(template).is_empty())
    }

    /// What is written in the place of `{name}`.
    fn placeholder(&self, name: &str, template: &ConditionTemplate) -> Option<String> {
        let (engine, status) = (self.engine, self.status);
        Some(match name {
            "kind" => self.kind.kind.to_string(),
            "policy" => engine.policy_names([status.policy]),
            "reason" => status.refused.map_or("Accepted", RejectionReason::name).to_owned(),
            "message" => status.message(),
            "errors" => match &engine.policy(status.policy).invalid {
                Some(invalid) => invalid.message.clone(),
                None => status.message(),
            },
            "by" => engine.policy_names(status.by.iter().copied()),
            "with" => engine.policy_names(self.coexistence.merged_higher.iter().copied()),
            "places" => self.places(template),
            "sections" => {
                let nodes = engine.sorted_nodes(self.other_nodes(template));
                let sections = nodes.iter().filter_map(|node| engine.topology()[*node].section.as_deref());
                sections.collect::<Vec<_>>().join(" ")
            }
            "targetKind" => self.target.kind.clone(),
            "targetNamespace" => self.target.namespace.clone(),
            "target" => self.target.name.clone(),
            "section" => self.target.section.clone(),
            _ => return None,
        })
    }

    /// The nodes of the policies that a template speaks of.
    fn other_nodes(&self, template: &ConditionTemplate) -> &BTreeSet<NodeId> {
        match template.when.contains(&PolicyState::MergedWithLower) {
            true => &self.coexistence.merged_lower,
            false => &self.coexistence.overridden_by,
        }
    }

    /// `these routes: [a b] and these route rules: [c]`, in the order of the template.
    fn places(&self, template: &ConditionTemplate) -> String {
        let (engine, topology) = (self.engine, self.engine.topology());
        let nodes = engine.sorted_nodes(self.other_nodes(template));
        let mut parts = Vec::new();
        for (target_type, title) in template.places.iter() {
            let names = nodes.iter().filter(|node| engine.target_type(**node) == *target_type).map(|node| {
                let id = topology.id(engine.objects(), *node);
                match &topology[*node].section {
                    Some(section) if target_type == "RouteRule" => section.to_string(),
                    Some(section) => format!("{}/{}/{section}", id.namespace, id.name),
                    None => format!("{}/{}", id.namespace, id.name),
                }
            });
            let names: Vec<String> = names.collect();
            if !names.is_empty() {
                parts.push(format!("{title}: [{}]", names.join(" ")));
            }
        }
        parts.join(" and ")
    }
}

/// Whether a policy is in a state.
fn holds(state: PolicyState, status: &PolicyStatus, coexistence: &Coexistence) -> bool {
    let is_accepted = status.refused.is_none();
    let is = |enforcement| is_accepted && status.enforcement == enforcement;
    match state {
        PolicyState::Accepted => is_accepted,
        PolicyState::Conflicted => status.refused == Some(RejectionReason::Conflicted),
        PolicyState::Invalid => status.refused == Some(RejectionReason::Invalid),
        PolicyState::TargetNotFound => status.refused == Some(RejectionReason::TargetNotFound),
        PolicyState::RefNotPermitted => status.refused == Some(RejectionReason::RefNotPermitted),
        PolicyState::Enforced => is(Enforcement::Enforced),
        PolicyState::PartiallyEnforced => is(Enforcement::PartiallyEnforced),
        PolicyState::Overridden => is(Enforcement::Overridden),
        PolicyState::NotEnforced => is(Enforcement::NotEnforced),
        PolicyState::OverriddenSomewhere => is_accepted && !coexistence.overridden_by.is_empty(),
        PolicyState::Merged => is_accepted && coexistence.is_merged(),
        PolicyState::MergedWithHigher => is_accepted && !coexistence.merged_higher.is_empty(),
        PolicyState::MergedWithLower => is_accepted && !coexistence.merged_lower.is_empty(),
    }
}

/// A text with each `{name}` replaced by its placeholder's value. Unknown names stay as they are.
fn fill(template: &str, placeholder: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let found = after.split_once('}').and_then(|(name, behind)| Some((placeholder(name)?, behind)));
        match found {
            Some((value, behind)) => {
                text.push_str(&value);
                rest = behind;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests;
