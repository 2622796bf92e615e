//! Chains through a Gateway whose controller does not handle the policies: none of them is in force.

use super::result::outcome;
use super::{EffectivePolicy, Fold, FoldStep, Loss};
use crate::topology::NodeId;
use crate::value::Value;

impl<'a> Fold<'a> {
    /// Records that all policies lost everything, because the controller of `root` does not handle them.
    pub(super) fn lose_unhandled(&mut self, root: NodeId) -> EffectivePolicy {
        let mut lost: Vec<(FoldStep<'a>, &'a Value)> = Vec::new();
        let layers = self.layers;
        'layers: for (i, layer) in layers.iter().enumerate() {
            for &attachment in &layer.accepted {
                for block in &self.policy(attachment).blocks {
                    if self.next_block(i, attachment, block.kind).is_none() {
                        break 'layers;
                    }
                    lost.extend(self.folded.last().map(|step| (*step, &block.spec)));
                }
            }
        }
        let mut effective = self.finish();
        for (step, spec) in lost {
            self.merge.units.each(spec, &mut Vec::new(), &mut |path, _| {
                effective.superseded.push(step.superseded(path, None, Loss::NotHandled));
            });
        }
        for attachment in layers.iter().flat_map(|layer| &layer.accepted) {
            outcome(&mut effective.outcomes, attachment.policy).unhandled = Some(root);
        }
        effective
    }
}
