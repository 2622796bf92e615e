//! The status of policies and targets in the words of their system, as Kubernetes conditions.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::attachment::RejectionReason;
use crate::chain::ChainId;
use crate::engine::Engine;
use crate::kinds::{ConditionStatus, ConditionTemplate, DictatedBy, KindId, LowerPolicyField, PolicyKind, PolicyState};
use crate::model::Model;
use crate::object::ObjectRef;
use crate::policy::{PolicyId, TargetSpec};
use crate::status::{Enforcement, PolicyStatus, TargetStatus};
use crate::topology::{Level, NodeId};

/// As Kubernetes has it, without the time of the last transition: that is for who writes it to the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatusCondition {
    pub r#type: String,
    pub is_true: bool,
    pub reason: String,
    pub message: String,
    pub observed_generation: Option<i64>,
}

/// What became of a policy beside the others, over all scopes.
#[derive(Clone, Debug, Default)]
struct Coexistence {
    /// The policies above it with which it is in force somewhere.
    higher: BTreeSet<PolicyId>,
    /// Where the policies below it stand with which it is in force.
    lower: BTreeSet<NodeId>,
    /// Where those stand that took all of it.
    takers: BTreeSet<NodeId>,
    merged: bool,
}

/// The target about which there is something to say.
#[derive(Clone, Debug, Default)]
struct Subject {
    sort: String,
    kind: String,
    namespace: String,
    name: String,
    section: String,
}

impl Engine {
    /// The conditions of each policy, sorted by type.
    pub fn policy_conditions(&self, statuses: &[PolicyStatus]) -> Vec<Vec<StatusCondition>> {
        let kinds: BTreeSet<KindId> =
            statuses.iter().map(|status| self.kinds().leader(self.policy(status.policy).kind)).collect();
        let (company, alone) = (self.company(kinds), Coexistence::default());
        let of = |status: &PolicyStatus| {
            let subject = self.subject(status, self.rejected_from(status.policy));
            self.conditions_of(status, company.get(&status.policy).unwrap_or(&alone), &subject)
        };
        statuses.iter().map(of).collect()
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
            let word = |name: &str| match name {
                "kind" => Some(kind.kind.to_string()),
                "by" => Some(self.names(policies.iter().copied())),
                _ => None,
            };
            let affected = &kind.status.affected;
            conditions.push(StatusCondition {
                r#type: fill(&affected.r#type, word),
                is_true: true,
                reason: fill(&affected.reason, word),
                message: fill(&affected.message, word),
                observed_generation,
            });
        }
        conditions.sort();
        conditions
    }

    fn conditions_of(&self, status: &PolicyStatus, company: &Coexistence, subject: &Subject) -> Vec<StatusCondition> {
        let kind = self.kinds().get(self.policy(status.policy).kind);
        let observed_generation = self.policy_object(status.policy).generation();
        let mut conditions: Vec<StatusCondition> = Vec::new();
        for row in &kind.status.conditions {
            let is_meant = row.targets.is_empty() || row.targets.iter().any(|sort| *sort == subject.sort);
            let holds = row.when.iter().any(|state| holds(*state, status, company));
            if !is_meant || !holds || conditions.iter().any(|known| known.r#type == row.r#type) {
                continue;
            }
            let word = |name: &str| self.word(name, kind, row, status, company, subject);
            if !row.places.is_empty() && word("places").is_some_and(|places| places.is_empty()) {
                continue;
            }
            conditions.push(StatusCondition {
                r#type: row.r#type.to_string(),
                is_true: row.status == ConditionStatus::True,
                reason: fill(&row.reason, word),
                message: fill(&row.message, word),
                observed_generation,
            });
        }
        conditions.sort();
        conditions
    }

    /// What stands for `{name}` in a message.
    fn word(
        &self,
        name: &str,
        kind: &PolicyKind,
        row: &ConditionTemplate,
        status: &PolicyStatus,
        company: &Coexistence,
        subject: &Subject,
    ) -> Option<String> {
        let places = if row.when.contains(&PolicyState::MergedWithLower) { &company.lower } else { &company.takers };
        Some(match name {
            "kind" => kind.kind.to_string(),
            "policy" => self.names([status.policy]),
            "reason" => status.refused.map_or("Accepted", RejectionReason::name).to_owned(),
            "message" => status.message.clone(),
            "errors" => match &self.policy(status.policy).invalid {
                Some(invalid) => invalid.message.clone(),
                None => status.message.clone(),
            },
            "by" => self.names(status.by.iter().copied()),
            "with" => self.names(company.higher.iter().copied()),
            "places" => self.places(row, places),
            "sections" => {
                let places = self.in_order(places);
                let sections = places.iter().filter_map(|node| self.topology()[*node].section.as_deref());
                sections.collect::<Vec<_>>().join(" ")
            }
            "targetKind" => subject.kind.clone(),
            "targetNamespace" => subject.namespace.clone(),
            "target" => subject.name.clone(),
            "section" => subject.section.clone(),
            _ => return None,
        })
    }

    /// `namespace/name`, with spaces between them.
    fn names(&self, policies: impl IntoIterator<Item = PolicyId>) -> String {
        let mut ids: Vec<&ObjectRef> = policies.into_iter().map(|policy| self.policy_id(policy)).collect();
        ids.sort();
        let names = ids.into_iter().map(|id| {
            if id.namespace.is_empty() { id.name.to_string() } else { format!("{}/{}", id.namespace, id.name) }
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// By the names of objects; the sections of one object as they stand in it.
    fn in_order(&self, nodes: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = nodes.iter().copied().collect();
        nodes.sort_by_key(|node| (self.topology().id(self.objects(), *node), *node));
        nodes
    }

    /// `these routes: [a b] and these route rules: [c]`, in the order of the row.
    fn places(&self, row: &ConditionTemplate, nodes: &BTreeSet<NodeId>) -> String {
        let topology = self.topology();
        let nodes = self.in_order(nodes);
        let mut parts = Vec::new();
        for (sort, status_template) in row.places.iter() {
            let names = nodes.iter().filter(|node| self.sort(**node) == *sort).map(|node| {
                let id = topology.id(self.objects(), *node);
                match &topology[*node].section {
                    Some(section) if sort == "RouteRule" => section.to_string(),
                    Some(section) => format!("{}/{}/{section}", id.namespace, id.name),
                    None => format!("{}/{}", id.namespace, id.name),
                }
            });
            let names: Vec<String> = names.collect();
            if !names.is_empty() {
                parts.push(format!("{status_template}: [{}]", names.join(" ")));
            }
        }
        parts.join(" and ")
    }

    /// What sort of target a node is: its kind, or the name of its level for a section.
    fn sort(&self, node: NodeId) -> String {
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

    /// The first node from which a policy was rejected because of another.
    fn rejected_from(&self, policy: PolicyId) -> Option<NodeId> {
        let nodes: BTreeSet<NodeId> = self.rivals(policy).map(|(node, _)| node).collect();
        self.in_order(&nodes).first().copied()
    }

    /// The target on which the policy was rejected, or else the first that it names.
    fn subject(&self, status: &PolicyStatus, rejected: Option<NodeId>) -> Subject {
        let topology = self.topology();
        if let Some(node) = rejected.filter(|_| status.refused == Some(RejectionReason::Conflicted)) {
            let id = topology.id(self.objects(), node);
            return Subject {
                sort: self.sort(node),
                kind: id.kind.to_string(),
                namespace: id.namespace.to_string(),
                name: id.name.to_string(),
                section: topology[node].section.as_ref().map(ToString::to_string).unwrap_or_default(),
            };
        }
        let own = &self.policy_id(status.policy).namespace;
        match self.policy(status.policy).targets.first().map(|target| &target.spec) {
            Some(TargetSpec::Object { kind, namespace, name, section, .. }) => Subject {
                sort: if section.is_some() { "Section".to_owned() } else { kind.to_string() },
                kind: kind.to_string(),
                namespace: namespace.as_ref().unwrap_or(own).to_string(),
                name: name.to_string(),
                section: section.as_ref().map(ToString::to_string).unwrap_or_default(),
            },
            Some(TargetSpec::OwnNamespace | TargetSpec::Chosen(_)) => {
                Subject { sort: "Chosen".to_owned(), ..Subject::default() }
            }
            _ => Subject::default(),
        }
    }

    /// What every policy of some kinds has to do with others.
    fn company(&self, kinds: BTreeSet<KindId>) -> HashMap<PolicyId, Coexistence> {
        let mut company = HashMap::new();
        for model in kinds.into_iter().filter_map(|kind| self.model(kind)) {
            for &(chain, _) in model.scope_counts(self.view()) {
                self.meet(model, chain, &mut company);
            }
        }
        company
    }

    fn meet(&self, model: &Model, chain: ChainId, company: &mut HashMap<PolicyId, Coexistence>) {
        let effective = model.effective(self.view(), chain);
        let contributes = |policy: &PolicyId| {
            let found = effective.outcomes.binary_search_by_key(policy, |(policy, _)| *policy);
            found.is_ok_and(|at| effective.outcomes[at].1.contributes)
        };
        let standing = self.standing(model, chain);
        let joined = self.joined(model, &standing);
        for (at, (policy, node)) in standing.iter().enumerate() {
            let mine = company.entry(*policy).or_default();
            let is_beside = |other: &NodeId| self.apart(model, *node) == self.apart(model, *other);
            let beside = standing.iter().enumerate().filter(|(_, (_, other))| is_beside(other));
            let counts = |policy: &PolicyId| contributes(policy) || joined.contains(policy);
            if !counts(policy) {
                let lost = || effective.superseded.iter().filter(|lost| lost.policy == *policy);
                let took = |other: &PolicyId| lost().any(|lost| lost.by == Some(*other));
                let takers = beside.filter(|(position, (other, _))| *position < at && other != policy || took(other));
                mine.takers.extend(takers.map(|(_, (_, node))| *node));
                continue;
            }
            for (position, (other, node)) in beside.filter(|(_, (other, _))| other != policy && counts(other)) {
                mine.merged = true;
                if position > at {
                    mine.higher.insert(*other);
                } else {
                    mine.lower.insert(*node);
                }
            }
        }
    }

    /// The policies of a chain with where they stand, lowest first.
    fn standing(&self, model: &Model, chain: ChainId) -> Vec<(PolicyId, NodeId)> {
        let mut standing = Vec::new();
        for link in model.links(chain) {
            if let Some(node) = link.node() {
                let stack = model.stack(node).into_iter().flat_map(|stack| &stack.accepted);
                standing.extend(stack.map(|attachment| (attachment.policy, node)));
            }
        }
        standing
    }

    /// The lowest policy and the one it asked to be merged with: they are merged, though nothing may be left of one.
    fn joined(&self, model: &Model, standing: &[(PolicyId, NodeId)]) -> Vec<PolicyId> {
        let (DictatedBy::Lower(LowerPolicyField { with, .. }), Some((lowest, node))) =
            (&model.kind.merging.dictated_by, standing.first())
        else {
            return Vec::new();
        };
        let may_join = |node: NodeId| with.iter().any(|name| name.level() == self.topology()[node].level);
        if self.policy(*lowest).requested_strategy.is_none() || may_join(*node) {
            return Vec::new();
        }
        let other = standing.iter().find(|(_, node)| may_join(*node));
        other.map_or(Vec::new(), |(other, _)| vec![*lowest, *other])
    }

    /// Whether policies at a node are reported apart from those at other levels.
    fn apart(&self, model: &Model, node: NodeId) -> bool {
        let level = self.topology()[node].level;
        model.kind.status.apart.iter().any(|name| name.level() == level)
    }
}

fn holds(state: PolicyState, status: &PolicyStatus, company: &Coexistence) -> bool {
    let accepted = status.refused.is_none();
    let is = |enforcement| accepted && status.enforcement == enforcement;
    match state {
        PolicyState::Accepted => accepted,
        PolicyState::Conflicted => status.refused == Some(RejectionReason::Conflicted),
        PolicyState::Invalid => status.refused == Some(RejectionReason::Invalid),
        PolicyState::TargetNotFound => status.refused == Some(RejectionReason::TargetNotFound),
        PolicyState::RefNotPermitted => status.refused == Some(RejectionReason::RefNotPermitted),
        PolicyState::Enforced => is(Enforcement::Enforced),
        PolicyState::PartiallyEnforced => is(Enforcement::PartiallyEnforced),
        PolicyState::Overridden => is(Enforcement::Overridden),
        PolicyState::NotEnforced => is(Enforcement::NotEnforced),
        PolicyState::OverriddenSomewhere => accepted && !company.takers.is_empty(),
        PolicyState::Merged => accepted && company.merged,
        PolicyState::MergedWithHigher => accepted && !company.higher.is_empty(),
        PolicyState::MergedWithLower => accepted && !company.lower.is_empty(),
    }
}

/// A text with what stands for each `{name}` in it. Unknown names stay as they are.
fn fill(template: &str, word: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let found = after.split_once('}').and_then(|(name, behind)| Some((word(name)?, behind)));
        match found {
            Some((word, behind)) => {
                text.push_str(&word);
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
