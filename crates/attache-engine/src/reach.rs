//! How far a policy reaches: what feels it, which of its rules where, and who beats it where.

use std::collections::{BTreeMap, BTreeSet};

use crate::chain::{ChainId, Link};
use crate::engine::Engine;
use crate::fold::Superseded;
use crate::model::{Model, Scope, stack_node};
use crate::policy::PolicyId;
use crate::topology::NodeId;
use crate::value::Path;

#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Everything at or below its targets in the scopes where some of it is in force, in order.
    pub affected: Vec<NodeId>,
    /// Scopes in which the same becomes of it.
    pub parts: Vec<Part>,
    /// Where the scopes of several parts end: what becomes of it there depends on the way.
    pub divided: BTreeSet<NodeId>,
}

#[derive(Clone, Debug)]
pub struct Part {
    /// In the order of their ends.
    pub scopes: Vec<Scope>,
    pub in_force: Vec<Path>,
    pub lost: Vec<Superseded>,
}

impl Part {
    /// Where the scopes end, each once, in order.
    pub fn ends(&self) -> Vec<NodeId> {
        let mut ends: Vec<NodeId> = self.scopes.iter().filter_map(Scope::end).collect();
        ends.dedup();
        ends
    }
}

impl Engine {
    /// How far a policy reaches, or one rule of it: a dotted path, or the last word of one.
    pub fn reach(&self, policy: PolicyId, rule: Option<&str>) -> Reach {
        let Some(model) = self.model(self.policy(policy).kind) else { return Reach::default() };
        let mut affected = BTreeSet::new();
        let mut parts: BTreeMap<ChainId, Part> = BTreeMap::new();
        for target in model.effective_targets(self.view()) {
            if !model.chains_at(self.view(), target).iter().any(|(chain, _)| is_in(model, *chain, policy)) {
                continue;
            }
            model.scopes(self.view(), target, &mut |scope| {
                if !is_in(model, scope.chain, policy) {
                    return;
                }
                let part = parts.entry(scope.chain).or_insert_with(|| self.part(model, scope.chain, policy, rule));
                if !part.in_force.is_empty() {
                    let first =
                        scope.nodes.iter().position(|node| is_on(model, stack_node(self.view(), *node), policy));
                    let first = first.unwrap_or(scope.nodes.len());
                    affected.extend(&scope.nodes[first..]);
                }
                part.scopes.push(scope);
            });
        }
        let parts = parts.into_values().filter(|part| !(part.in_force.is_empty() && part.lost.is_empty()));
        let parts = together(parts);
        let mut ends: Vec<NodeId> = parts.iter().flat_map(Part::ends).collect();
        ends.sort_unstable();
        let divided = ends.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        Reach { affected: affected.into_iter().collect(), parts, divided }
    }

    fn part(&self, model: &Model, chain: ChainId, policy: PolicyId, rule: Option<&str>) -> Part {
        let effective = model.effective(self.view(), chain);
        let meant = |path: &Path| rule.is_none_or(|rule| path.matches_name(rule));
        let own = effective.origins.iter().filter(|it| it.policy == policy).map(|it| &it.path);
        let applied = effective.applied.iter().filter(|it| it.policy == policy && rule.is_none());
        let lost = effective.superseded.iter().filter(|it| it.policy == policy && meant(&it.path));
        Part {
            scopes: Vec::new(),
            in_force: own.filter(|path| meant(path)).cloned().chain(applied.map(|_| Path::default())).collect(),
            lost: lost.cloned().collect(),
        }
    }
}

/// Parts in which the same rules are in force and the same lost to the same, as one.
fn together(parts: impl Iterator<Item = Part>) -> Vec<Part> {
    let mut found: Vec<Part> = Vec::new();
    for part in parts {
        match found.iter_mut().find(|it| it.in_force == part.in_force && it.lost == part.lost) {
            Some(same) => {
                same.scopes.extend(part.scopes);
                same.scopes.sort_by_key(Scope::end);
            }
            None => found.push(part),
        }
    }
    found
}

fn is_in(model: &Model, chain: ChainId, policy: PolicyId) -> bool {
    model.links(chain).filter_map(Link::node).any(|node| is_on(model, node, policy))
}

fn is_on(model: &Model, node: NodeId, policy: PolicyId) -> bool {
    model.stack(node).is_some_and(|stack| stack.all().any(|attachment| attachment.policy == policy))
}
