//! How much of a policy is in force: on how many effective targets, and how many of its rules.

use std::collections::{BTreeSet, HashMap};

use attache_engine::{ChainId, FoldOutcome, Model, NodeId, Path, PolicyId, TargetsWithChains};
use serde::Serialize;

use crate::scopes::common_kind;
use crate::snapshot::Snapshot;

/// How much of a policy is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    pub targets: TargetCounts,
    pub rules: RuleCounts,
}

/// The effective targets that a policy reaches, such as the backends below its Gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetCounts {
    /// Their kind, if all have the same: `Service`, `HTTPRoute rule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The number of targets.
    pub total: usize,
    /// The number of targets on which some of the policy is in force.
    pub in_force: usize,
}

/// The rules of a policy: the values, or named rules, that merge one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleCounts {
    /// The number of rules that could be in force somewhere.
    pub total: usize,
    /// The number of rules that are in force wherever some of the policy is.
    pub in_force: usize,
}

/// The coverage of every policy of one kind, or of one of them.
pub(crate) fn coverage(snapshot: &Snapshot, model: &Model, only: Option<PolicyId>) -> HashMap<PolicyId, Coverage> {
    let view = snapshot.engine.view();
    let is_wanted = |policy: PolicyId| only.is_none_or(|only| only == policy);
    let mut targets: HashMap<PolicyId, Targets> = HashMap::new();
    let mut chains: BTreeSet<ChainId> = BTreeSet::new();
    // Targets with the same chains are counted together.
    for TargetsWithChains { chains: common, targets: nodes } in model.targets_by_chains(view) {
        let mut here: HashMap<PolicyId, bool> = HashMap::new();
        for (chain, _) in common {
            chains.insert(*chain);
            let outcomes = model.effective(view, *chain).outcomes.iter();
            for (policy, outcome) in outcomes.filter(|(it, outcome)| is_wanted(*it) && outcome.unhandled.is_none()) {
                *here.entry(*policy).or_default() |= is_in_force(outcome);
            }
        }
        for (policy, in_force) in here {
            let counts = targets.entry(policy).or_default();
            counts.total += nodes.len();
            counts.in_force += if in_force { nodes.len() } else { 0 };
            counts.samples.extend(nodes.first());
        }
    }
    let mut rules: HashMap<PolicyId, Rules> = HashMap::new();
    for chain in chains {
        collect_rules(model, snapshot, chain, &is_wanted, &mut rules);
    }
    let coverage = |(policy, counts): (PolicyId, Targets)| {
        let kind = common_kind(snapshot, &counts.samples);
        let targets = TargetCounts { kind, total: counts.total, in_force: counts.in_force };
        (policy, Coverage { targets, rules: rules.get(&policy).map(Rules::counts).unwrap_or_default() })
    };
    targets.into_iter().map(coverage).collect()
}

#[derive(Default)]
struct Targets {
    total: usize,
    in_force: usize,
    /// One target of each set of chains.
    samples: Vec<NodeId>,
}

/// Whether some of a policy is in force, or nothing of it is missing.
fn is_in_force(outcome: &FoldOutcome) -> bool {
    outcome.contributes || !outcome.lost && !outcome.inactive
}

#[derive(Default)]
struct Rules<'m> {
    /// Every rule that is in force in some chain, or lost in one.
    all: BTreeSet<&'m Path>,
    /// The rules that are in force in each chain in which some of the policy is.
    in_force: BTreeSet<Vec<&'m Path>>,
}

fn collect_rules<'m>(
    model: &'m Model,
    snapshot: &'m Snapshot,
    chain: ChainId,
    is_wanted: &impl Fn(PolicyId) -> bool,
    rules: &mut HashMap<PolicyId, Rules<'m>>,
) {
    let effective = model.effective(snapshot.engine.view(), chain);
    let outcomes = effective.outcomes.iter().filter(|(_, outcome)| outcome.unhandled.is_none());
    for (policy, outcome) in outcomes.filter(|(policy, _)| is_wanted(*policy)) {
        let in_force = effective.origins.iter().filter(|it| it.policy == *policy).map(|it| &it.path);
        let in_force: Vec<&Path> = in_force.collect();
        let lost = effective.superseded.iter().filter(|it| it.policy == *policy).map(|it| &it.path);
        let rules = rules.entry(*policy).or_default();
        rules.all.extend(in_force.iter().copied().chain(lost));
        if outcome.contributes {
            rules.in_force.insert(in_force);
        }
    }
}

impl Rules<'_> {
    fn counts(&self) -> RuleCounts {
        // A part that is in force or lost separately counts as a rule, instead of the value that contains it.
        let is_part = |rule: &&&Path| !self.all.iter().any(|other| other != *rule && other.starts_with(rule));
        let is_in_force = |rule: &&&Path, chain: &[&Path]| chain.iter().any(|path| rule.starts_with(path));
        let rules: Vec<&&Path> = self.all.iter().filter(is_part).collect();
        let everywhere = rules.iter().filter(|rule| self.in_force.iter().all(|chain| is_in_force(rule, chain)));
        let in_force = if self.in_force.is_empty() { 0 } else { everywhere.count() };
        RuleCounts { total: rules.len(), in_force }
    }
}
