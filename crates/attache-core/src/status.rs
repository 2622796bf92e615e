//! What each policy and each target deserves as its status.

use hashbrown::HashMap;

use crate::attachment::{Reason, Refusal};
use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::model::{Free, Model};
use crate::policy::PolicyId;
use crate::topology::NodeId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatus {
    pub policy: PolicyId,
    /// Why it is not accepted, if it is not.
    pub refused: Option<Reason>,
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
    pub affected_by: Vec<PolicyId>,
}

impl Engine {
    /// The status of every policy, in order.
    pub fn policy_statuses(&self) -> Vec<PolicyStatus> {
        let mut tallies: Vec<Tally> = self.policies().map(|_| Tally::default()).collect();
        for model in self.models() {
            for (chain, scopes) in model.scope_counts(self.world()) {
                for (policy, outcome) in &model.effective(self.world(), chain).outcomes {
                    tallies[policy.0 as usize].add(scopes, outcome);
                }
            }
        }
        let mut refusals: HashMap<PolicyId, Vec<&Refusal>> = HashMap::new();
        for refusal in &self.attachments().refused {
            refusals.entry(refusal.policy).or_default().push(refusal);
        }
        let mut accepted = vec![false; tallies.len()];
        for model in self.models() {
            for attachment in model.stacks().values().flat_map(|stack| &stack.accepted) {
                accepted[attachment.policy.0 as usize] = true;
            }
        }
        let mut rivals = self.rivals();
        let tallies = tallies.into_iter().enumerate();
        tallies
            .map(|(i, tally)| {
                let policy = PolicyId(i as u32);
                let refused = refusals.get(&policy).map_or(&[][..], Vec::as_slice);
                let mut status = policy_status(policy, tally, accepted[i], self.policy(policy).disabled, refused);
                if !accepted[i] {
                    status.by = rivals.remove(&policy).unwrap_or_default();
                }
                status
            })
            .collect()
    }

    /// The policies because of which each one was not accepted somewhere.
    fn rivals(&self) -> HashMap<PolicyId, Vec<PolicyId>> {
        let mut rivals: HashMap<PolicyId, Vec<PolicyId>> = HashMap::new();
        for (loser, winner) in
            self.models().iter().flat_map(|model| model.stacks().values()).flat_map(|it| &it.rejected)
        {
            rivals.entry(loser.policy).or_default().push(winner.policy);
        }
        for winners in rivals.values_mut() {
            winners.sort();
            winners.dedup();
        }
        rivals
    }

    /// Every node to whose scopes policies at it or above it contribute, in the order of the topology.
    pub fn target_statuses(&self) -> Vec<TargetStatus> {
        self.target_statuses_within(|_| true)
    }

    /// The same, looking only at some nodes. It is right for those whose scopes all end among them.
    pub fn target_statuses_within(&self, within: impl Fn(NodeId) -> bool) -> Vec<TargetStatus> {
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        for model in self.models() {
            for (node, policies) in self.affected(model, &within) {
                affected.entry(node).or_default().extend(policies);
            }
        }
        let mut targets: Vec<TargetStatus> = affected
            .into_iter()
            .filter(|(_, affected_by)| !affected_by.is_empty())
            .map(|(target, mut affected_by)| {
                affected_by.sort();
                affected_by.dedup();
                TargetStatus { target, affected_by }
            })
            .collect();
        targets.sort_by_key(|status| status.target);
        targets
    }

    /// From the effective targets up, what contributes below each node, as far as it stands at the node or above.
    fn affected(&self, model: &Model, within: impl Fn(NodeId) -> bool) -> HashMap<NodeId, Vec<PolicyId>> {
        let world = self.world();
        let mut below: HashMap<(NodeId, ChainId), Vec<PolicyId>> = HashMap::new();
        let mut affected: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
        let mut free = Free::default();
        let mut in_chains: HashMap<ChainId, Vec<PolicyId>> = HashMap::new();
        for &node in self.topology().order().iter().rev().filter(|node| within(**node)) {
            let is_target = model.is_effective_target(world, node);
            for &(chain, _) in model.chains_at(node).iter().filter(|(chain, _)| *chain != ChainId::EMPTY) {
                let mut policies = below.remove(&(node, chain)).unwrap_or_default();
                if is_target {
                    let outcomes = &model.effective(world, chain).outcomes;
                    policies.extend(outcomes.iter().filter(|(_, it)| it.contributes).map(|(policy, _)| *policy));
                }
                if policies.is_empty() {
                    continue;
                }
                policies.sort();
                policies.dedup();
                affected.entry(node).or_default().extend(&policies);
                for (above, known) in model.above_on(world, node, chain, &mut free) {
                    affected.entry(above).or_default().extend(policies.iter().filter(|it| known.contains(it)));
                }
                for (parent, before) in model.before(world, node, chain) {
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

fn policy_status(policy: PolicyId, tally: Tally, accepted: bool, disabled: bool, refused: &[&Refusal]) -> PolicyStatus {
    let messages: Vec<&str> = refused.iter().map(|refusal| refusal.message.as_str()).collect();
    let why = messages.join("; ");
    let lost_to_nobody = tally.lost && tally.by.is_empty();
    let mut status = PolicyStatus {
        policy,
        refused: None,
        message: why,
        enforcement: tally.enforcement(),
        by: tally.by,
        scopes: tally.scopes,
    };
    if !accepted {
        // A policy that only filters name is fine, and waits for one that does.
        status.refused = refused.first().map(|refusal| refusal.reason);
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

/// What became of one policy in all scopes together.
#[derive(Debug, Default)]
struct Tally {
    scopes: ScopeCounts,
    contributes: bool,
    lost: bool,
    by: Vec<PolicyId>,
}

impl Tally {
    fn add(&mut self, scopes: u64, outcome: &crate::fold::Outcome) {
        let counts = &mut self.scopes;
        counts.total = counts.total.saturating_add(scopes);
        let whole = !outcome.lost && !outcome.inactive;
        let count = match (outcome.contributes, outcome.lost) {
            _ if whole => &mut counts.enforced,
            (true, _) => &mut counts.partial,
            (false, true) => &mut counts.overridden,
            (false, false) => return,
        };
        *count = count.saturating_add(scopes);
        self.contributes |= outcome.contributes || whole;
        self.lost |= outcome.lost;
        for by in &outcome.by {
            if let Err(at) = self.by.binary_search(by) {
                self.by.insert(at, *by);
            }
        }
    }

    fn enforcement(&self) -> Enforcement {
        let ScopeCounts { total, enforced, .. } = self.scopes;
        match (self.contributes, self.lost) {
            (true, _) if enforced == total => Enforcement::Enforced,
            (true, _) => Enforcement::PartiallyEnforced,
            (false, true) => Enforcement::Overridden,
            (false, false) => Enforcement::NotEnforced,
        }
    }
}
