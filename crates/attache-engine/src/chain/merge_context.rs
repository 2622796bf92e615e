//! How the nodes of a chain change the merging of policies.

use crate::kinds::{PatternStep, PolicyKind, Strategy};
use crate::object::Objects;
use crate::topology::{Level, NodeId, Topology};
use crate::value::Value;

/// Changes to the merging of policies that the nodes of a chain make. Chains with equal contexts can be shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MergeContext {
    /// The index in the kind's `strategy_on` of the strategy that replaces the kind's own.
    strategy: Option<u16>,
    /// Bit `n` is set if the rule itself sets what the kind's `yields_to_rule[n]` names.
    rule_sets: u64,
    /// The port of the listener, if the kind has settings for ports. Zero if the listener has none.
    port: Option<u16>,
}

impl MergeContext {
    /// Whether nodes can change how policies of a kind merge.
    pub fn applies_to(kind: &PolicyKind) -> bool {
        let merging = &kind.merging;
        !merging.strategy_on.is_empty() || !merging.yields_to_rule.is_empty() || merging.per_port.is_some()
    }

    /// What one node changes.
    pub fn at(kind: &PolicyKind, objects: &Objects, topology: &Topology, node: NodeId) -> MergeContext {
        let mut context = MergeContext::default();
        match topology[node].level {
            Level::Route => {
                let id = topology.id(objects, node);
                let own = kind.merging.strategy_on.iter().find(|(name, _)| name.is(&id.group, &id.kind));
                // The first index with this strategy, so that kinds of routes with one strategy share chains.
                let first =
                    own.and_then(|(_, own)| kind.merging.strategy_on.iter().position(|(_, other)| other == own));
                context.strategy = first.and_then(|position| u16::try_from(position).ok());
            }
            Level::RouteRule => {
                let Some(rule) = topology.section_value(objects, node) else { return context };
                for (i, yielding) in kind.merging.yields_to_rule.iter().enumerate().take(64) {
                    context.rule_sets |= u64::from(is_set(rule, yielding.path.steps())) << i;
                }
            }
            Level::Listener if kind.merging.per_port.is_some() => {
                let port = topology.section_value(objects, node).and_then(|listener| listener.get("port")?.as_int());
                context.port = Some(port.and_then(|port| u16::try_from(port).ok()).unwrap_or_default());
            }
            _ => {}
        }
        context
    }

    /// Combines two contexts, of which `self` is the lower one.
    pub fn and(self, above: MergeContext) -> MergeContext {
        MergeContext {
            strategy: self.strategy.or(above.strategy),
            rule_sets: self.rule_sets | above.rule_sets,
            port: self.port.or(above.port),
        }
    }

    /// The strategy that replaces the kind's own.
    pub fn strategy(self, kind: &PolicyKind) -> Option<&Strategy> {
        kind.merging.strategy_on.get(usize::from(self.strategy?)).map(|(_, strategy)| strategy)
    }

    /// The port of the listener, if the kind has settings for ports.
    pub fn port(self) -> Option<u16> {
        self.port
    }

    /// The same without a port, so that settings for all ports are merged.
    pub fn for_all_ports(self) -> MergeContext {
        MergeContext { port: None, ..self }
    }

    /// Whether the rule itself sets what the kind's `yields_to_rule[n]` names.
    pub fn rule_sets(self, n: usize) -> bool {
        n < 64 && self.rule_sets >> n & 1 == 1
    }
}

/// Whether a pattern matches a path that has a value.
fn is_set(value: &Value, steps: &[PatternStep]) -> bool {
    match steps {
        [] => !value.is_null(),
        [PatternStep::Key(key), rest @ ..] => value.get(key).is_some_and(|value| is_set(value, rest)),
        [PatternStep::AnyKey, rest @ ..] => value.entries().iter().any(|(_, value)| is_set(value, rest)),
        [PatternStep::AnyIndex, rest @ ..] => value.items().iter().any(|value| is_set(value, rest)),
    }
}
