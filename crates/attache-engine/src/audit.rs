//! What lacks a policy that it should have.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::chain::ChainId;
use crate::engine::Engine;
use crate::fold::EffectivePolicy;
use crate::kinds::{Class, KindId, LevelName, PolicyKind};
use crate::topology::{Level, NodeId};
use crate::value::Path;

/// What must be in force, and on what.
#[derive(Clone, Debug)]
pub struct Requirement {
    pub kind: KindId,
    /// A dotted path, or the last word of one.
    pub rule: Option<String>,
    /// The effective targets of the kind, if nothing else is said.
    pub on: Option<Level>,
}

impl Requirement {
    /// Whether what is required is in force.
    pub fn is_met_by(&self, effective: &EffectivePolicy) -> bool {
        let Some(rule) = self.rule.as_deref() else { return effective.spec.is_some() || !effective.applied.is_empty() };
        let path = Path::parse(rule);
        let in_spec = |spec| path.resolve(spec).is_some_and(|value| !value.is_null());
        effective.spec.iter().any(in_spec)
            || effective.applied.iter().any(|applied| in_spec(&applied.spec))
            || effective.origins.iter().any(|origin| origin.path.matches_name(rule))
    }
}

/// Whether policies of a kind can be in force on something at a level, or on what is below it.
pub fn can_be_on(kind: &PolicyKind, level: Level) -> bool {
    let deepest = kind.hierarchy.effective_targets.iter().map(LevelName::level).max();
    kind.hierarchy.levels.iter().any(|name| name.level() == level)
        && (kind.class == Class::Direct || deepest.is_some_and(|deepest| level <= deepest))
}

/// Something that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audited {
    pub node: NodeId,
    pub scopes: u64,
    /// Scopes in which it lacks what is required.
    pub lacking: u64,
}

impl Engine {
    /// Everything a requirement is about, in order.
    pub fn audit(&self, requirement: &Requirement) -> Vec<Audited> {
        let mut found: BTreeMap<NodeId, Audited> = BTreeMap::new();
        let mut count = |node: NodeId, scopes: u64, lacks: bool| {
            let audited = found.entry(node).or_insert(Audited { node, scopes: 0, lacking: 0 });
            audited.scopes = audited.scopes.saturating_add(scopes);
            audited.lacking = audited.lacking.saturating_add(if lacks { scopes } else { 0 });
        };
        let view = self.view();
        let Some(model) = self.model(requirement.kind) else {
            // There is no policy of this kind at all: whatever could have one lacks it.
            let targets = &self.kinds().get(requirement.kind).hierarchy.effective_targets;
            let meant = |level| match requirement.on {
                Some(on) => on == level,
                None => targets.iter().any(|target| target.level() == level),
            };
            let nodes = self.topology().nodes().filter(|(node, it)| meant(it.level) && self.topology().live(*node));
            nodes.for_each(|(node, _)| count(node, 1, true));
            return found.into_values().collect();
        };
        let mut known: HashMap<ChainId, bool> = HashMap::new();
        let mut lacks = |chain: ChainId| {
            *known.entry(chain).or_insert_with(|| !requirement.is_met_by(model.effective(view, chain)))
        };
        for target in model.effective_targets(view) {
            // Nothing else on the way to a backend is one: its scopes need only be counted.
            let is_alone = |level: Level| level == Level::Backend && self.topology()[target].level == level;
            let Some(level) = requirement.on.filter(|level| !is_alone(*level)) else {
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
}
