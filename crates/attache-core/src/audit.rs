//! What lacks a policy that it should have.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::fold::Effective;
use crate::kinds::KindId;
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
        let mut count = |node: NodeId, lacks: bool| {
            let audited = found.entry(node).or_insert(Audited { node, scopes: 0, lacking: 0 });
            audited.scopes += 1;
            audited.lacking += u64::from(lacks);
        };
        let world = self.world();
        let Some(model) = self.model(requirement.kind) else {
            // There is no policy of this kind at all: whatever could have one lacks it.
            let targets = &self.kinds().get(requirement.kind).effective_targets;
            let meant = |level| match requirement.on {
                Some(on) => on == level,
                None => targets.iter().any(|target| target.level() == level),
            };
            let nodes = self.topology().nodes().filter(|(node, it)| meant(it.level) && self.topology().live(*node));
            nodes.for_each(|(node, _)| count(node, true));
            return found.into_values().collect();
        };
        for target in model.effective_targets(world) {
            model.scopes(world, target, &mut |scope| {
                let lacks = !has(model.effective(world, scope.chain), requirement.rule.as_deref());
                match requirement.on {
                    None => count(target, lacks),
                    Some(level) => {
                        let at_level = |node: &&NodeId| self.topology().node(**node).level == level;
                        scope.nodes.iter().filter(at_level).for_each(|node| count(*node, lacks));
                    }
                }
            });
        }
        found.into_values().collect()
    }
}

/// Whether something is in force, and the rule that is meant is part of it.
fn has(effective: &Effective, rule: Option<&str>) -> bool {
    let Some(rule) = rule else { return effective.spec.is_some() || !effective.applied.is_empty() };
    let path = Path::parse(rule);
    let in_spec = |spec| path.resolve(spec).is_some_and(|value| !value.is_null());
    effective.spec.iter().any(in_spec)
        || effective.applied.iter().any(|applied| in_spec(&applied.spec))
        || effective.origins.iter().any(|origin| origin.path.is_called(rule))
}
