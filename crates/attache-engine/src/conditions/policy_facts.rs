//! The conditions of a policy from the templates of its kind.

use std::collections::BTreeSet;

use super::StatusCondition;
use super::coexistence::Coexistence;
use crate::attachment::{Attachment, AttachmentError, RejectionReason};
use crate::engine::Engine;
use crate::handling::UnhandledRoot;
use crate::kinds::{ConditionStatus, ConditionTemplate, PolicyKind, PolicyState};
use crate::object::ObjectRef;
use crate::policy::{PolicyId, TargetSpec};
use crate::status::{Enforcement, PolicyStatus, StatusExplanation, SupersededParts};
use crate::topology::{Level, NodeId, NodeRef};

/// The most policies, and the most parts of each, that a message names.
const MOST: usize = 5;

/// The target that the conditions of a policy mention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ReportedTarget {
    /// The type of target that templates distinguish by.
    target_type: String,
    kind: String,
    namespace: String,
    name: String,
    section: String,
    /// The section as the policy names it, even if the object does not exist.
    written_section: String,
}

/// The values of the placeholders in a policy's conditions.
pub(super) struct PolicyFacts<'a> {
    pub engine: &'a Engine,
    pub kind: &'a PolicyKind,
    pub status: &'a PolicyStatus,
    refused: Option<RejectionReason>,
    superseded: &'a [SupersededParts],
    coexistence: &'a Coexistence,
    target: ReportedTarget,
}

impl ReportedTarget {
    fn new(target_type: String, target: &NodeRef) -> ReportedTarget {
        let section = target.section.as_ref().map(ToString::to_string).unwrap_or_default();
        ReportedTarget {
            target_type,
            kind: target.object.kind.to_string(),
            namespace: target.object.namespace.to_string(),
            name: target.object.name.to_string(),
            written_section: section.clone(),
            section,
        }
    }

    /// The name, with the section that the policy names.
    fn written_name(&self) -> String {
        match self.written_section.as_str() {
            "" => self.name.clone(),
            section => format!("{}#{section}", self.name),
        }
    }

    /// A target as the policy names it.
    fn named(target: &NodeRef) -> ReportedTarget {
        let kind = target.object.kind.to_string();
        ReportedTarget::new(if target.section.is_some() { "Section".to_owned() } else { kind }, target)
    }
}

impl Engine {
    /// The first target that is refused for the reason that is reported, or else the first that the policy names.
    fn reported_target(&self, status: &PolicyStatus, refused: Option<RejectionReason>) -> ReportedTarget {
        let mut refusals = status.refusals().iter().filter(|error| Some(error.reason()) == refused);
        if let Some((error, target)) = refusals.find_map(|error| Some((error, error.target()?))) {
            let node = self.rivals(status.policy).find(|(node, _)| self.view().node_ref(*node) == target);
            return match (error, node) {
                (AttachmentError::Conflicted { .. }, Some((node, _))) => {
                    ReportedTarget::new(self.target_type(node), &target)
                }
                _ => {
                    let written_section = self.written_section(status.policy, &target);
                    ReportedTarget { written_section, ..ReportedTarget::named(&target) }
                }
            };
        }
        let own = &self.policy_id(status.policy).namespace;
        match self.policy(status.policy).targets.first().map(|target| &target.spec) {
            Some(TargetSpec::Object { group, kind, namespace, name, section }) => {
                let object = ObjectRef::new(group, kind, namespace.as_ref().unwrap_or(own), name);
                ReportedTarget::named(&NodeRef { object, section: section.clone() })
            }
            Some(TargetSpec::OwnNamespace | TargetSpec::Chosen(_)) => {
                ReportedTarget { target_type: "Chosen".to_owned(), ..ReportedTarget::default() }
            }
            Some(TargetSpec::Selected(_) | TargetSpec::Host(_)) | None => ReportedTarget::default(),
        }
    }
}

impl Engine {
    /// The section of an object that a policy names.
    fn written_section(&self, policy: PolicyId, target: &NodeRef) -> String {
        let mut sections = self.policy(policy).targets.iter().filter_map(|it| match &it.spec {
            TargetSpec::Object { kind, name, section, .. } => {
                section.as_ref().filter(|_| *kind == target.object.kind && *name == target.object.name)
            }
            _ => None,
        });
        target.section.as_ref().or_else(|| sections.next()).map(ToString::to_string).unwrap_or_default()
    }
}

impl<'a> PolicyFacts<'a> {
    /// The facts of a policy that is reported as `refused`.
    pub fn new(
        engine: &'a Engine,
        kind: &'a PolicyKind,
        status: &'a PolicyStatus,
        refused: Option<RejectionReason>,
        superseded: &'a [SupersededParts],
        coexistence: &'a Coexistence,
    ) -> Self {
        let target = engine.reported_target(status, refused);
        PolicyFacts { engine, kind, status, refused, superseded, coexistence, target }
    }

    /// The first condition of each type whose template holds, sorted by type.
    pub fn conditions(&self) -> Vec<StatusCondition> {
        self.some_conditions(|_| true)
    }

    /// The conditions of those templates that `is_wanted`.
    pub fn some_conditions(&self, is_wanted: impl Fn(&ConditionTemplate) -> bool) -> Vec<StatusCondition> {
        let observed_generation = self.engine.policy_object(self.status.policy).generation();
        let mut conditions: Vec<StatusCondition> = Vec::new();
        for template in &self.kind.status.conditions {
            let is_known = conditions.iter().any(|known| known.r#type == template.r#type);
            if is_known || !is_wanted(template) || !self.applies(template) {
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
            && template.when.iter().any(|state| self.holds(*state))
            && (!self.status.is_unhandled() || template.when.contains(&PolicyState::NotHandled))
            && (template.places.is_empty() || !self.places(template).is_empty())
            && (!template.message.contains("{sections}") || !self.sections(template).is_empty())
    }

    /// The value of the placeholder `{name}`.
    fn placeholder(&self, name: &str, template: &ConditionTemplate) -> Option<String> {
        let (engine, status) = (self.engine, self.status);
        Some(match name {
            "kind" => self.kind.kind.to_string(),
            "policy" => engine.policy_names([status.policy]),
            "reason" => self.refused.map_or("Accepted", RejectionReason::name).to_owned(),
            "message" => status.message(),
            "errors" => match &engine.policy(status.policy).invalid {
                Some(invalid) => invalid.message.clone(),
                None => status.message(),
            },
            "by" => engine.policy_names(status.by.iter().copied()),
            "with" => engine.policy_names(self.coexistence.merged_higher.iter().map(|(policy, _)| *policy)),
            "gateways" => self.gateways(),
            "superseded" => self.superseded(),
            "domain" => self.kind.status.domain().to_owned(),
            "places" => self.places(template),
            "sections" => self.sections(template),
            "targetKind" => self.target.kind.clone(),
            "targetNamespace" => self.target.namespace.clone(),
            "target" => self.target.name.clone(),
            "section" => self.target.section.clone(),
            "otherRoute" => self.other_route(),
            "targetRef" => self.target.written_name(),
            _ => return None,
        })
    }

    /// `namespace/name` of the route that has the same hostname and path as the target.
    fn other_route(&self) -> String {
        let mut others = self.status.refusals().iter().filter_map(|error| match error {
            AttachmentError::SharedPath { other, .. } => {
                Some(format!("{}/{}", other.object.namespace, other.object.name))
            }
            _ => None,
        });
        others.next().unwrap_or_default()
    }

    /// `Gateway (namespace/name)` of the Gateways whose controllers do not handle the policy.
    fn gateways(&self) -> String {
        let Some(StatusExplanation::NotHandled(roots)) = &self.status.explanation else { return String::new() };
        let name = |root: &UnhandledRoot| {
            let id = &root.node().object;
            format!("{} ({}/{})", id.kind, id.namespace, id.name)
        };
        roots.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// The nodes of the policies that a template refers to.
    fn other_nodes(&self, template: &ConditionTemplate) -> &BTreeSet<NodeId> {
        match template.when.contains(&PolicyState::MergedWithLower) {
            true => &self.coexistence.merged_lower,
            false => &self.coexistence.overridden_by,
        }
    }

    /// The names of the listeners of the policies that a template refers to. A ListenerSet stands for its listeners, if its
    /// Gateway allows it.
    fn sections(&self, template: &ConditionTemplate) -> String {
        let (engine, topology) = (self.engine, self.engine.topology());
        let nodes = self.other_nodes(template).iter().flat_map(|node| match topology[*node].level {
            Level::ListenerSet if topology.is_admitted(engine.objects(), *node) => {
                topology.sections(*node).filter(|listener| !self.is_excluded_on(*listener)).collect()
            }
            Level::ListenerSet => Vec::new(),
            _ => vec![*node],
        });
        let nodes: BTreeSet<NodeId> = nodes.collect();
        let mut sections: Vec<&str> = nodes.iter().filter_map(|node| topology[*node].section.as_deref()).collect();
        sections.sort_unstable();
        sections.join(" ")
    }

    /// Whether the policy of a ListenerSet does not count on one of its listeners.
    fn is_excluded_on(&self, listener: NodeId) -> bool {
        let model = self.engine.model(self.engine.kinds().leader(self.engine.policy(self.status.policy).kind));
        let stack = model.and_then(|model| model.stack(listener));
        stack.is_some_and(|stack| stack.accepted.iter().any(Attachment::is_excluded))
    }

    /// `these routes: [a b] and these route rules: [c]`, in the order of the template.
    fn places(&self, template: &ConditionTemplate) -> String {
        let (engine, topology) = (self.engine, self.engine.topology());
        let nodes = self.other_nodes(template);
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
            let mut names: Vec<String> = names.collect();
            names.sort_unstable();
            if !names.is_empty() {
                parts.push(format!("{title}: [{}]", names.join(" ")));
            }
        }
        parts.join(" and ")
    }

    /// The parts that are not in force, and the policies that they lost to: `a, b by [default/p]; c by the target
    /// itself`.
    fn superseded(&self) -> String {
        if self.superseded.is_empty() {
            let message = self.status.message();
            return if message.is_empty() { "its condition does not hold everywhere".to_owned() } else { message };
        }
        let parts = self.superseded.iter().take(MOST).map(|parts| {
            let by = match parts.by {
                Some(by) => format!("[{}]", self.engine.policy_names([by])),
                None => "the target itself".to_owned(),
            };
            format!("{} by {by}", parts.shown_paths(MOST))
        });
        let mut text = format!("overridden in part: {}", parts.collect::<Vec<_>>().join("; "));
        if self.superseded.len() > MOST {
            text.push_str(&format!("; and by {} more policies", self.superseded.len() - MOST));
        }
        text
    }

    /// Whether the policy is in a state.
    pub fn holds(&self, state: PolicyState) -> bool {
        let PolicyFacts { status, refused, coexistence, .. } = self;
        let (is_accepted, is_accepted_somewhere) = (refused.is_none(), status.refused.is_none());
        let is = |enforcement| is_accepted && status.enforcement == enforcement;
        match state {
            PolicyState::Accepted => is_accepted,
            PolicyState::PartlyAccepted => is_accepted && !status.refusals().is_empty(),
            PolicyState::Conflicted => *refused == Some(RejectionReason::Conflicted),
            PolicyState::Invalid => *refused == Some(RejectionReason::Invalid),
            PolicyState::TargetNotFound => *refused == Some(RejectionReason::TargetNotFound),
            PolicyState::RefNotPermitted => *refused == Some(RejectionReason::RefNotPermitted),
            PolicyState::TargetConflict => *refused == Some(RejectionReason::TargetConflict),
            PolicyState::Enforced => is(Enforcement::Enforced),
            PolicyState::PartiallyEnforced => is(Enforcement::PartiallyEnforced),
            PolicyState::Overridden => is(Enforcement::Overridden),
            PolicyState::NotEnforced => is(Enforcement::NotEnforced),
            PolicyState::NotHandled => status.is_unhandled(),
            PolicyState::ConditionFalse => is_accepted && status.explanation == Some(StatusExplanation::ConditionFalse),
            PolicyState::OverriddenSomewhere => is_accepted_somewhere && !coexistence.overridden_by.is_empty(),
            PolicyState::Merged => is_accepted_somewhere && coexistence.is_merged(),
            PolicyState::MergedWithHigher => is_accepted_somewhere && !coexistence.merged_higher.is_empty(),
            PolicyState::MergedWithLower => is_accepted_somewhere && !coexistence.merged_lower.is_empty(),
        }
    }
}

/// A text with each `{name}` replaced by its placeholder's value. Unknown names stay as they are.
pub(super) fn fill(template: &str, placeholder: impl Fn(&str) -> Option<String>) -> String {
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
