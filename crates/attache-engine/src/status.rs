//! What each policy and each target deserves as its status.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::attachment::{Attachment, Refusal, RejectionReason};
use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::fold::FoldOutcome;
use crate::model::{Free, Model};
use crate::persistent::PersistentVec;
use crate::policy::PolicyId;
use crate::topology::NodeId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatus {
    pub policy: PolicyId,
    /// Why it is not accepted, if it is not.
    pub refused: Option<RejectionReason>,
    pub message: String,
    pub enforcement: Enforcement,
    /// Who took what is not in force, sorted.
    pub by: Vec<PolicyId>,
    pub scopes: ScopeCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Enforcement {
    Enforced,
    PartiallyEnforced,
    Overridden,
    NotEnforced,
}

impl Enforcement {
    pub fn name(self) -> &'static str {
        match self {
            Enforcement::Enforced => "Enforced",
            Enforcement::PartiallyEnforced => "PartiallyEnforced",
            Enforcement::Overridden => "Overridden",
            Enforcement::NotEnforced => "NotEnforced",
        }
    }
}

/// In how many scopes a policy is met, and what became of it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeCounts {
    pub total: u64,
    /// All of it is in force.
    pub enforced: u64,
    pub partial: u64,
    /// None of it, because others took it.
    pub overridden: u64,
}

/// A target, and the policies of one kind that contribute to what is in force there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStatus {
    pub target: NodeId,
    /// In the order of names.
    pub affected_by: Vec<PolicyId>,
}

/// What became of each policy in all scopes together, by the number of its object.
pub(crate) type Tallies = PersistentVec<Option<Arc<Tally>>>;

pub(crate) fn tally_of(tallies: &Tallies, policy: PolicyId) -> Arc<Tally> {
    tallies.get(policy.0.0 as usize).cloned().flatten().unwrap_or_default()
}

impl Engine {
    /// The status of every policy, in the order of names.
    pub fn policy_statuses(&self) -> Vec<PolicyStatus> {
        self.tally();
        self.policies().map(|(policy, _)| self.policy_status(policy)).collect()
    }

    /// Counts what became of every policy.
    pub(crate) fn tally(&self) {
        self.models().par_iter().for_each(|model| _ = model.tallies(self.view()));
    }

    pub fn policy_status(&self, policy: PolicyId) -> PolicyStatus {
        let model = self.policies.get(policy).and_then(|it| self.model(it.kind));
        let tally = model.map(|model| tally_of(model.tallies(self.view()), policy)).unwrap_or_default();
        let is_it = |attachment: &Attachment| attachment.policy == policy;
        let accepted = self.stacks_of(policy).any(|stack| stack.accepted.iter().any(is_it));
        let refused = self.refusals(policy);
        let mut status = policy_status(policy, &tally, accepted, self.policy(policy).disabled, &refused);
        if !accepted {
            status.by = self.rivals(policy).map(|(_, winner)| winner).collect();
        }
        status.by.sort_by(|a, b| self.policy_id(*a).cmp(self.policy_id(*b)));
        status.by.dedup();
        status
    }

    /// Every node to whose scopes policies at it or above it contribute, in the order of the topology.
    pub fn target_statuses(&self) -> Vec<TargetStatus> {
        self.target_statuses_among(self.models(), self.topology().order().iter().rev().copied())
    }

    /// The same by models that know some nodes, looking only at those. It is right for those whose scopes all end among
    /// them.
    pub fn target_statuses_within(&self, models: &[Model], nodes: &BTreeSet<NodeId>) -> Vec<TargetStatus> {
        let (topology, deepest) = (self.topology(), self.topology().deepest());
        let mut order = Vec::from_iter(nodes.iter().copied());
        order.sort_by_cached_key(|node| Reverse(topology.rank(deepest, *node)));
        self.target_statuses_among(models, order.into_iter())
    }

    /// Looking at some nodes, children before parents.
    fn target_statuses_among(
        &self,
        models: &[Model],
        nodes: impl Iterator<Item = NodeId> + Clone + Sync,
    ) -> Vec<TargetStatus> {
        let by_kind: Vec<_> = models.par_iter().map(|model| self.affected(model, nodes.clone())).collect();
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        for (node, policies) in by_kind.into_iter().flatten() {
            affected.entry(node).or_default().extend(policies);
        }
        let mut targets: Vec<TargetStatus> = affected
            .into_iter()
            .filter(|(_, affected_by)| !affected_by.is_empty())
            .map(|(target, mut affected_by)| {
                affected_by.sort_by(|a, b| self.policy_id(*a).cmp(self.policy_id(*b)));
                affected_by.dedup();
                TargetStatus { target, affected_by }
            })
            .collect();
        targets.sort_by_key(|status| status.target);
        targets
    }

    /// From the effective targets up, what contributes below each node, as far as it stands at the node or above.
    fn affected(&self, model: &Model, nodes: impl Iterator<Item = NodeId>) -> HashMap<NodeId, Vec<PolicyId>> {
        let view = self.view();
        let mut below: HashMap<(NodeId, ChainId), Vec<PolicyId>> = HashMap::new();
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        let mut free = Free::default();
        let mut in_chains: HashMap<ChainId, Vec<PolicyId>> = HashMap::new();
        for node in nodes {
            // Nothing beyond contributes to anything.
            if model.is_beyond(view, node) {
                continue;
            }
            let is_target = model.is_effective_target(view, node);
            for &(chain, _) in model.chains_at(view, node).iter().filter(|(chain, _)| *chain != ChainId::EMPTY) {
                let mut policies = below.remove(&(node, chain)).unwrap_or_default();
                if is_target {
                    let outcomes = &model.effective(view, chain).outcomes;
                    policies.extend(outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy));
                }
                if policies.is_empty() {
                    continue;
                }
                policies.sort();
                policies.dedup();
                affected.entry(node).or_default().extend(&policies);
                for (above, known) in model.above_on(view, node, chain, &mut free) {
                    affected.entry(above).or_default().extend(policies.iter().filter(|it| known.contains(it)));
                }
                for (parent, before) in model.before(view, node, chain) {
                    if before == ChainId::EMPTY {
                        continue;
                    }
                    let known = in_chains.entry(before).or_insert_with(|| in_chain(model, before));
                    let passed = below.entry((parent, before)).or_default();
                    passed.extend(policies.iter().filter(|policy| known.contains(policy)));
                }
            }
        }
        affected
    }
}

/// The policies that a chain meets.
fn in_chain(model: &Model, chain: ChainId) -> Vec<PolicyId> {
    let stacks = model.links(chain).filter_map(Link::node).filter_map(|node| model.stack(node));
    stacks.flat_map(|stack| stack.accepted.iter().map(|attachment| attachment.policy)).collect()
}

fn policy_status(policy: PolicyId, tally: &Tally, accepted: bool, disabled: bool, refused: &[Refusal]) -> PolicyStatus {
    let messages: Vec<String> = refused.iter().map(|refusal| refusal.error.to_string()).collect();
    let lost_to_nobody = tally.lost > 0 && tally.by.is_empty();
    let mut status = PolicyStatus {
        policy,
        refused: None,
        message: messages.join("; "),
        enforcement: tally.enforcement(),
        by: tally.by.iter().map(|(policy, _)| *policy).collect(),
        scopes: tally.scopes(),
    };
    if !accepted {
        // A policy that only filters name is fine, and waits for one that does.
        status.refused = refused.first().map(Refusal::reason);
        status.enforcement = Enforcement::NotEnforced;
    }
    if status.message.is_empty() {
        status.message = match status.enforcement {
            Enforcement::NotEnforced if disabled => "it is disabled".to_string(),
            Enforcement::NotEnforced if status.scopes.total == 0 => {
                "it is not in the path to any route, rule or backend that it could affect".to_string()
            }
            Enforcement::NotEnforced => "its condition holds nowhere".to_string(),
            Enforcement::Overridden if lost_to_nobody => "what it targets sets all of it itself".to_string(),
            Enforcement::PartiallyEnforced if lost_to_nobody => "what it targets sets part of it itself".to_string(),
            _ => String::new(),
        };
    }
    status
}

/// What became of one policy in all scopes together. Counts of scopes, of which some are gone again, never overflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    total: i128,
    enforced: i128,
    partial: i128,
    overridden: i128,
    contributes: i128,
    lost: i128,
    /// Who took something, and in how many scopes; in the order of ids.
    by: Vec<(PolicyId, i128)>,
}

impl Tally {
    /// Counts scopes in which this became of the policy, or, if there are less than none, takes them back.
    pub fn count(&mut self, scopes: i128, outcome: &FoldOutcome) {
        self.total += scopes;
        let whole = !outcome.lost && !outcome.inactive;
        match (outcome.contributes, outcome.lost) {
            _ if whole => self.enforced += scopes,
            (true, _) => self.partial += scopes,
            (false, true) => self.overridden += scopes,
            (false, false) => return,
        }
        if outcome.contributes || whole {
            self.contributes += scopes;
        }
        if outcome.lost {
            self.lost += scopes;
        }
        for by in &outcome.by {
            match self.by.binary_search_by_key(by, |(policy, _)| *policy) {
                Err(at) => self.by.insert(at, (*by, scopes)),
                Ok(at) => {
                    self.by[at].1 += scopes;
                    if self.by[at].1 == 0 {
                        self.by.remove(at);
                    }
                }
            }
        }
    }

    /// Whether nothing is left to tell.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether another tally comes to the same status.
    pub fn tells_the_same(&self, other: &Tally) -> bool {
        let by = |tally: &Tally| tally.by.iter().map(|(policy, _)| *policy).collect::<Vec<_>>();
        self.scopes() == other.scopes()
            && self.enforcement() == other.enforcement()
            && (self.lost > 0) == (other.lost > 0)
            && by(self) == by(other)
    }

    fn scopes(&self) -> ScopeCounts {
        let count = |count: i128| u64::try_from(count).unwrap_or(u64::MAX);
        ScopeCounts {
            total: count(self.total),
            enforced: count(self.enforced),
            partial: count(self.partial),
            overridden: count(self.overridden),
        }
    }

    fn enforcement(&self) -> Enforcement {
        match (self.contributes > 0, self.lost > 0) {
            (true, _) if self.enforced == self.total => Enforcement::Enforced,
            (true, _) => Enforcement::PartiallyEnforced,
            (false, true) => Enforcement::Overridden,
            (false, false) => Enforcement::NotEnforced,
        }
    }
}
