//! What policies lose to others than those of their own kind and chain.

use super::tree::{Source, Tree};
use super::{Fold, result};
use crate::attachment::Attachment;
use crate::kinds::Pattern;
use crate::policy::BlockKind;
use crate::value::Value;

impl<'a> Fold<'a> {
    /// Removes the fields in which a policy of another kind on the same target counts instead.
    pub(super) fn yield_to_kinds(&mut self) {
        for (i, layer) in self.layers.iter().enumerate() {
            for (other, fields) in layer.yields {
                let winner = self.step(i, other, BlockKind::Bare);
                self.steps[winner.0 as usize].foreign = true;
                self.yield_fields(fields, winner);
            }
        }
    }

    /// Removes the fields in which the rule of the route counts instead.
    pub(super) fn yield_to_rule(&mut self) {
        for (i, yielding) in self.kind.merging.yields_to_rule.iter().enumerate() {
            if self.context.rule_sets(i) {
                self.yield_fields(&yielding.fields, result::OWN);
            }
        }
    }

    fn yield_fields(&mut self, fields: &[Pattern], winner: Source) {
        for field in fields {
            let mut path = field.keys();
            let Some(held) = self.tree.get_mut(&path) else { continue };
            self.merge.lose_tree(held, &mut path.clone(), winner, false);
            *held = Tree::Piece(Value::Null, winner);
            // A map goes with its last field.
            while path.pop().is_some() && !path.is_empty() {
                let Some(above) = self.tree.get_mut(&path) else { break };
                let Tree::Split(fields) = above else { break };
                if !fields.iter().all(|(_, field)| field.is_removal()) {
                    break;
                }
                *above = Tree::Piece(Value::Null, winner);
            }
        }
    }

    /// Notes the policies that were rejected because of others.
    pub(super) fn conflicts(&mut self) {
        for (i, layer) in self.layers.iter().enumerate() {
            for &(loser, winner) in &layer.rejected {
                self.conflict(i, loser, winner);
            }
        }
    }

    fn conflict(&mut self, layer: usize, loser: &'a Attachment, winner: &'a Attachment) {
        let winner = self.step(layer, winner, BlockKind::Bare);
        // It may have been accepted on another node.
        self.steps[winner.0 as usize].foreign = true;
        for block in &self.policy(loser).blocks {
            let Some(loser) = self.next_block(layer, loser, block.kind) else { return };
            self.conflicted.push((loser, winner, &block.spec));
        }
    }
}
