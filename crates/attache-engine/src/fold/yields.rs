//! Fields in which policies yield to policies of other kinds, or to the rule of a route; and rejected policies.

use std::collections::BTreeSet;

use super::tree::{BlockSource, Sources, Tree};
use super::{ConflictedBlock, Fold, result};
use crate::kinds::Pattern;
use crate::order::Rejected;
use crate::policy::{BlockKind, PolicyId};
use crate::value::Value;

impl<'a> Fold<'a> {
    /// Removes the fields in which a policy of another kind on the same target takes precedence.
    pub(super) fn yield_to_kinds(&mut self) {
        for (i, layer) in self.layers.iter().enumerate() {
            for (other, fields) in layer.yields {
                let winner = self.step(i, other, BlockKind::Bare);
                self.steps[winner.0 as usize].foreign = true;
                self.yield_fields(fields, winner);
            }
        }
    }

    /// Removes the fields in which the rule of the route takes precedence.
    pub(super) fn yield_to_rule(&mut self) {
        for (i, yielding) in self.kind.merging.yields_to_rule.iter().enumerate() {
            if self.context.rule_sets(i) {
                self.yield_fields(&yielding.fields, result::OWN);
            }
        }
    }

    fn yield_fields(&mut self, fields: &[Pattern], winner: BlockSource) {
        for field in fields {
            let mut path = field.keys();
            let Some(held) = self.tree.get_mut(&path) else { continue };
            self.merge.lose_tree(held, &mut path.clone(), &Sources::One(winner), false);
            *held = Tree::Piece(Value::Null, winner);
            // A map is removed with its last field.
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

    /// Records the policies that were rejected because of others.
    pub(super) fn conflicts(&mut self) {
        for (i, layer) in self.layers.iter().enumerate() {
            for rejected in &layer.rejected {
                self.conflict(i, rejected);
            }
        }
    }

    fn conflict(&mut self, layer: usize, rejected: &'a Rejected) {
        let mut rivals = rejected.rivals.iter().map(|rival| rival.policy);
        let Some(by) = rivals.next() else { return };
        let also_by: BTreeSet<PolicyId> = rivals.filter(|rival| *rival != by).collect();
        for block in &self.policy(&rejected.attachment).blocks {
            let Some(loser) = self.next_block(layer, &rejected.attachment, block.kind) else { return };
            let also_by = also_by.iter().copied().collect();
            self.conflicted.push(ConflictedBlock { loser, by, also_by, spec: &block.spec });
        }
    }
}
