//! Finds the targets on which a required policy is not in force.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::kinds::{Class, KindId, LevelName, PolicyKind};
use crate::topology::{Level, NodeId};
use crate::value::{Path, Value};

/// A policy that must be in force.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// The kind of the policy.
    pub kind: KindId,
    /// A rule that must be set: a dotted path, or the last name of one. `None` if any policy of the kind is enough.
    pub rule: Option<String>,
    /// The level at which it must be in force. `None` for the effective targets of the kind.
    pub on: Option<Level>,
}

impl Requirement {
    /// Whether an effective policy meets the requirement. An empty map or list sets no rule.
    pub fn is_met_by(&self, effective: &EffectivePolicy) -> bool {
        let Some(rule) = self.rule.as_deref() else { return effective.spec.is_some() || !effective.applied.is_empty() };
        let path = Path::parse(rule);
        let in_spec = |spec| path.resolve(spec).is_some_and(|value| !is_empty(value));
        effective.spec.iter().any(in_spec)
            || effective.applied.iter().any(|applied| in_spec(&applied.spec))
            || effective.origins.iter().any(|origin| origin.path.matches_name(rule))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Map(map) => map.entries().is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether policies of a kind can be in force on nodes of a level, or below them.
pub fn can_be_on(kind: &PolicyKind, level: Level) -> bool {
    let deepest = kind.hierarchy.effective_targets.iter().map(LevelName::level).max();
    kind.hierarchy.levels.iter().any(|name| name.level() == level)
        && (kind.class == Class::Direct || deepest.is_some_and(|deepest| level <= deepest))
}

/// A node on which a policy is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The node.
    pub node: NodeId,
    /// The number of its scopes.
    pub scopes: u64,
    /// The number of scopes in which the requirement is not met.
    pub lacking: u64,
}

impl Engine {
    /// All nodes on which a requirement must be met, sorted.
    pub fn audit(&self, requirement: &Requirement) -> Vec<Audited> {
        let mut found: BTreeMap<NodeId, Audited> = BTreeMap::new();
        let mut count = |node: NodeId, scopes: u64, lacks: bool| {
            let audited = found.entry(node).or_insert(Audited { node, scopes: 0, lacking: 0 });
            audited.scopes = audited.scopes.saturating_add(scopes);
            audited.lacking = audited.lacking.saturating_add(if lacks { scopes } else { 0 });
        };
        let view = self.view();
        let Some(model) = self.model(requirement.kind) else {
            // There is no policy of this kind: no node meets the requirement.
            let targets = &self.kinds().get(requirement.kind).hierarchy.effective_targets;
            let is_required = |level| match requirement.on {
                Some(on) => on == level,
                None => targets.iter().any(|target| target.level() == level),
            };
            let nodes =
                self.topology().nodes().filter(|(node, it)| is_required(it.level) && self.topology().live(*node));
            nodes.for_each(|(node, _)| count(node, 1, true));
            return found.into_values().collect();
        };
        let mut known: HashMap<ChainId, bool> = HashMap::new();
        let mut lacks = |chain: ChainId| {
            *known.entry(chain).or_insert_with(|| !requirement.is_met_by(model.effective(view, chain)))
        };
        for target in model.effective_targets(view) {
            // No scope of a backend contains another backend, so its scopes need not be enumerated.
            let is_only = |level: Level| level == Level::Backend && self.topology()[target].level == level;
            let Some(level) = requirement.on.filter(|level| !is_only(*level)) else {
                let chains = model.chains_at(view, target).iter();
                chains.for_each(|(chain, scopes)| count(target, *scopes, lacks(*chain)));
                continue;
            };
            model.scopes(view, target, &mut |scope| {
                let at_level = |node: &&NodeId| self.topology()[**node].level == level;
                let lacks = lacks(scope.chain);
                scope.nodes.iter().filter(at_level).for_each(|node| count(*node, 1, lacks));
            });
        }
        found.into_values().collect()
    }

    /// The routes that no request of the input reaches, but that have a parent which is not in the input. Whether a requirement
    /// must be met on them, and whether it is, is unknown: they count as lacking it.
    pub fn audit_unknown(&self, requirement: &Requirement) -> Vec<Audited> {
        let level = requirement.on.unwrap_or(Level::Route);
        if !(Level::Route..=Level::BackendPort).contains(&level)
            || !can_be_on(self.kinds().get(requirement.kind), Level::Route)
        {
            return Vec::new();
        }
        let topology = self.topology();
        let routes = self.unknown_parents().into_values().flatten();
        let nodes = routes.filter_map(|route| topology.find(self.objects(), &route));
        let unattached = nodes.filter(|node| topology[*node].level == Level::Route && !topology.live(*node));
        let routes: BTreeSet<NodeId> = unattached.collect();
        routes.into_iter().map(|node| Audited { node, scopes: 1, lacking: 1 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_map_or_list_sets_no_rule() {
        let requirement = |rule: &str| Requirement { kind: KindId(0), rule: Some(rule.to_owned()), on: None };
        let spec = json!({"rules": {"authentication": {}, "metadata": {"anonymous": {}}, "response": []}, "on": false});
        let effective = EffectivePolicy { spec: Some(spec.into()), ..EffectivePolicy::default() };
        for (rule, is_met) in [
            ("rules.authentication", false),
            ("rules.metadata", true),
            ("rules.response", false),
            ("rules", true),
            ("rules.missing", false),
            ("on", true),
        ] {
            assert_eq!(requirement(rule).is_met_by(&effective), is_met, "{rule}");
        }
    }
}
