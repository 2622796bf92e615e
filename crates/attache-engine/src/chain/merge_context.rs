//! The terms on which policies meet at a node, as far as the node itself sets them.

use crate::kinds::{PatternStep, PolicyKind, Strategy};
use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// Nodes on the same terms share their chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MergeContext {
    /// How policies meet here, if not as the kind says.
    pub strategy: Option<Strategy>,
    /// Bit `n` stands for the kind's `yields_to_rule[n]`: the rule sets it itself.
    rule_sets: u64,
}

impl MergeContext {
    /// Whether nodes can set terms for policies of a kind.
    pub fn matter(kind: &PolicyKind) -> bool {
        !kind.strategy_on.is_empty() || !kind.yields_to_rule.is_empty()
    }

    pub fn of(kind: &PolicyKind, objects: &Objects, topology: &Topology, node: NodeId) -> MergeContext {
        let mut terms = MergeContext::default();
        match topology.node(node).level {
            Level::Route => {
                let id = topology.id(objects, node);
                let own = kind.strategy_on.iter().find(|(name, _)| name.is(&id.group, &id.kind));
                terms.strategy = own.map(|(_, strategy)| *strategy);
            }
            Level::RouteRule => {
                let Some(rule) = topology.section_value(objects, node) else { return terms };
                for (i, yielding) in kind.yields_to_rule.iter().enumerate().take(64) {
                    terms.rule_sets |= u64::from(is_set(rule, yielding.path.steps())) << i;
                }
            }
            _ => {}
        }
        terms
    }

    pub fn and(self, other: MergeContext) -> MergeContext {
        MergeContext { strategy: self.strategy.or(other.strategy), rule_sets: self.rule_sets | other.rule_sets }
    }

    /// Whether the rule sets the `n`th of what policies yield to.
    pub fn rule_sets(self, n: usize) -> bool {
        n < 64 && self.rule_sets >> n & 1 == 1
    }
}

/// Whether something is at a path that a pattern names.
fn is_set(value: &Value, steps: &[PatternStep]) -> bool {
    match steps {
        [] => !value.is_null(),
        [PatternStep::Key(key), rest @ ..] => value.get(key).is_some_and(|value| is_set(value, rest)),
        [PatternStep::AnyKey, rest @ ..] => value.entries().iter().any(|(_, value)| is_set(value, rest)),
        [PatternStep::AnyIndex, rest @ ..] => value.items().iter().any(|value| is_set(value, rest)),
    }
}
