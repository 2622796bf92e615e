//! Kinds of which all policies apply, one after the other.

use super::result::outcome;
use super::{Applied, EffectivePolicy, Fold};
use crate::value::Value;

impl Fold<'_> {
    /// Sorts all policies: by priority, then the highest level first, then by their order on one node.
    pub(super) fn accumulate(&mut self) -> EffectivePolicy {
        let mut applied: Vec<(&[i64], Applied)> = Vec::new();
        for (i, layer) in self.layers.iter().enumerate().rev() {
            for &attachment in &layer.accepted {
                let policy = self.policy(attachment);
                for block in &policy.blocks {
                    if self.next_block(i, attachment, block.kind).is_none() {
                        break;
                    }
                    let spec = match (&block.spec, attachment.patch.as_deref()) {
                        (Value::Map(spec), Some((field, value))) => Value::Map(spec.with(field, value.clone())),
                        (spec, _) => spec.clone(),
                    };
                    let it = Applied { policy: attachment.policy, target: attachment.node, spec };
                    applied.push((&policy.rank.priority, it));
                }
            }
        }
        applied.sort_by_key(|(priority, _)| *priority);
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

/// Each item of a list on its own, sorted by one of its fields, with everything else that its policy sets.
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
