//! The reach of a policy: what it affects, which of its rules are in force where, and which policies override it.

use std::collections::{BTreeMap, BTreeSet};

use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::fold::Superseded;
use crate::model::{Model, Scope, TargetsWithChains, stack_node};
use crate::policy::PolicyId;
use crate::topology::NodeId;
use crate::value::Path;

/// The reach of one policy.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// The nodes at or below its targets, in the scopes where some of it is in force; sorted.
    pub affected: Vec<NodeId>,
    /// Its scopes, grouped by what is in force and what is overridden.
    pub parts: Vec<ReachPart>,
    /// The effective targets that have scopes in several parts, or scopes that the policy does not reach. There, the
    /// result depends on the path.
    pub divided: BTreeSet<NodeId>,
}

/// Scopes in which the same rules of a policy are in force, and the same are overridden by the same policies.
#[derive(Clone, Debug)]
pub struct ReachPart {
    /// The scopes, sorted by their effective targets.
    pub scopes: Vec<Scope>,
    /// The paths that are in force. An empty path means the whole policy.
    pub in_force: Vec<Path>,
    /// The paths that are overridden.
    pub lost: Vec<Superseded>,
}

impl ReachPart {
    /// The effective targets of the scopes, each once, sorted.
    pub fn ends(&self) -> Vec<NodeId> {
        let mut ends: Vec<NodeId> = self.scopes.iter().filter_map(Scope::end).collect();
        ends.dedup();
        ends
    }
}

impl Engine {
    /// The reach of a policy, or of one rule of it. A rule is a dotted path, or the last name of one.
    pub fn reach(&self, policy: PolicyId, rule: Option<&str>) -> Reach {
        let Some(model) = self.model(self.policy(policy).kind) else { return Reach::default() };
        let (mut affected, mut divided) = (Vec::new(), BTreeSet::new());
        let mut parts: BTreeMap<ChainId, ReachPart> = BTreeMap::new();
        for TargetsWithChains { chains, mut targets } in model.targets_by_chains(self.view()) {
            let reached = chains.iter().map(|(chain, _)| *chain).filter(|chain| is_in_chain(model, *chain, policy));
            let reached: Vec<ChainId> = reached.collect();
            if reached.is_empty() {
                continue;
            }
            if reached.len() < chains.len() {
                divided.extend(&targets);
            }
            let mut add = |scope: Scope| {
                if !reached.contains(&scope.chain) {
                    return;
                }
                let part = parts.entry(scope.chain).or_insert_with(|| self.part(model, scope.chain, policy, rule));
                if !part.in_force.is_empty() {
                    let first =
                        scope.nodes.iter().position(|node| is_on_node(model, stack_node(self.view(), *node), policy));
                    let first = first.unwrap_or(scope.nodes.len());
                    affected.extend_from_slice(&scope.nodes[first..]);
                }
                part.scopes.push(scope);
            };
            targets.sort_unstable();
            targets.into_iter().for_each(|target| model.scopes(self.view(), target, &mut add));
        }
        affected.sort_unstable();
        affected.dedup();
        let parts = parts.into_values().filter(|part| !(part.in_force.is_empty() && part.lost.is_empty()));
        let parts = merged(parts);
        let mut ends: Vec<NodeId> = parts.iter().flat_map(ReachPart::ends).collect();
        ends.sort_unstable();
        divided.extend(ends.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]));
        Reach { affected, parts, divided }
    }

    fn part(&self, model: &Model, chain: ChainId, policy: PolicyId, rule: Option<&str>) -> ReachPart {
        let effective = model.effective(self.view(), chain);
        let is_selected = |path: &Path| rule.is_none_or(|rule| path.matches_name(rule));
        let own = effective.origins.iter().filter(|it| it.policy == policy).map(|it| &it.path);
        let applied = effective.applied.iter().filter(|it| it.policy == policy && rule.is_none());
        let lost = effective.superseded.iter().filter(|it| it.policy == policy && is_selected(&it.path));
        ReachPart {
            scopes: Vec::new(),
            in_force: own.filter(|path| is_selected(path)).cloned().chain(applied.map(|_| Path::default())).collect(),
            lost: lost.cloned().collect(),
        }
    }
}

/// Merges the parts that have the same rules in force and the same rules overridden.
fn merged(parts: impl Iterator<Item = ReachPart>) -> Vec<ReachPart> {
    let mut found: Vec<ReachPart> = Vec::new();
    for part in parts {
        match found.iter_mut().find(|it| it.in_force == part.in_force && it.lost == part.lost) {
            Some(same) => same.scopes.extend(part.scopes),
            None => found.push(part),
        }
    }
    found.iter_mut().for_each(|part| part.scopes.sort_by_key(Scope::end));
    found
}

fn is_in_chain(model: &Model, chain: ChainId, policy: PolicyId) -> bool {
    model.links(chain).filter_map(Link::node).any(|node| is_on_node(model, node, policy))
}

fn is_on_node(model: &Model, node: NodeId, policy: PolicyId) -> bool {
    model.stack(node).is_some_and(|stack| stack.all().any(|attachment| attachment.policy == policy))
}
