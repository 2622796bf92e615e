//! Kinds of which all policies apply, one after the other.

use std::borrow::Cow;

use hashbrown::HashSet;

use super::result::outcome;
use super::{Applied, EffectivePolicy, Fold};
use crate::kinds::{PolicyKind, Priority};
use crate::policy::PolicyRank;
use crate::value::Value;

/// The sort key of a policy among all that apply. The least is first; of equal ones, the policy at the higher level.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AppliedOrder<'a> {
    priority: Cow<'a, [i64]>,
    /// The name and the namespace, for kinds that sort by age.
    name: Option<(&'a str, &'a str)>,
}

impl Fold<'_> {
    /// Sorts all policies: by priority, then the highest level first, then by their order on one node. A policy that is
    /// attached to several nodes of the chain applies once.
    pub(super) fn accumulate(&mut self) -> EffectivePolicy {
        let mut applied: Vec<(AppliedOrder<'_>, Applied)> = Vec::new();
        let mut orders = AppliedOrders::new(self.kind);
        let mut seen = HashSet::new();
        for (i, layer) in self.layers.iter().enumerate().rev() {
            for &attachment in &layer.accepted {
                let policy = self.policy(attachment);
                let is_first = self.layers.len() == 1 || seen.insert(attachment.policy);
                for block in &policy.blocks {
                    let Some(source) = self.next_block(i, attachment, block.kind) else { break };
                    if attachment.is_void() {
                        self.void.push((source, &block.spec));
                    }
                    if !is_first || attachment.is_void() {
                        continue;
                    }
                    let spec = match (&block.spec, attachment.patch.as_deref()) {
                        (Value::Map(spec), Some((field, value))) => Value::Map(spec.with(field, value.clone())),
                        (spec, _) => spec.clone(),
                    };
                    let it = Applied { policy: attachment.policy, target: attachment.node, spec };
                    applied.push((orders.order(&policy.rank), it));
                }
            }
        }
        applied.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut applied: Vec<Applied> = applied.into_iter().map(|(_, it)| it).collect();
        if let Some(items) = &self.kind.merging.items {
            applied = each_item(&applied, &items.list, &items.sorted_by);
        }
        let mut effective = self.finish();
        for it in &applied {
            outcome(&mut effective.outcomes, it.policy).contributes = true;
        }
        effective.applied = applied;
        effective
    }
}

/// Assigns sort keys to policies. Policies come from the highest level down.
struct AppliedOrders<'a> {
    /// The index of the namespace among the priorities.
    namespace: Option<usize>,
    sorts_by_age: bool,
    /// The namespaces of the policies so far, in the order of levels.
    namespaces: Vec<&'a str>,
}

impl<'a> AppliedOrders<'a> {
    fn new(kind: &PolicyKind) -> Self {
        let priorities = &kind.order.priority;
        AppliedOrders {
            namespace: priorities.iter().position(|it| matches!(it, Priority::Namespace(_))),
            sorts_by_age: priorities.contains(&Priority::Age),
            namespaces: Vec::new(),
        }
    }

    fn order(&mut self, rank: &'a PolicyRank) -> AppliedOrder<'a> {
        let name = self.sorts_by_age.then_some((rank.name.as_str(), rank.namespace.as_str()));
        let mut priority = Cow::Borrowed(rank.priority.as_slice());
        if let Some(number) = self.namespace.and_then(|at| priority.to_mut().get_mut(at)) {
            let known = self.namespaces.iter().position(|it| *it == rank.namespace);
            let position = known.unwrap_or_else(|| {
                self.namespaces.push(&rank.namespace);
                self.namespaces.len() - 1
            });
            *number = (*number << 32) + position as i64;
        }
        AppliedOrder { priority, name }
    }
}

/// Each item of a list separately, sorted by one of its fields, together with the other settings of its policy.
fn each_item(applied: &[Applied], list: &str, sorted_by: &str) -> Vec<Applied> {
    let mut found: Vec<(Value, Applied)> = Vec::new();
    for it in applied {
        let Value::Map(spec) = &it.spec else { continue };
        for item in it.spec.list_at(list) {
            let spec = Value::Map(spec.with(list, Value::list(vec![item.clone()])));
            found.push((item.get(sorted_by).cloned().unwrap_or_default(), Applied { spec, ..it.clone() }));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.into_iter().map(|(_, it)| it).collect()
}
