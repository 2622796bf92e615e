//! Kinds of which only the most specific policy counts, unless it asks to be merged with one above.

use super::Fold;
use super::merge::Arbiter;
use super::tree::{BlockSource, Sources, Tree};
use crate::kinds::{DictatedBy, Strategy};
use crate::value::Value;

impl Fold<'_> {
    /// Applies the lowest policy. It can ask to be merged with the nearest policy above it, at the levels that the kind
    /// names, and with no other.
    pub(super) fn most_specific(&mut self) {
        let merge_levels = match &self.kind.merging.dictated_by {
            DictatedBy::Lower(lower) => lower.with.as_slice(),
            DictatedBy::Higher | DictatedBy::Annotation(_) => &[],
        };
        let in_context = self.context.strategy(self.kind);
        let mut lowest = None;
        let mut wanted: Option<&Strategy> = None;
        let mut merged = None;
        for (i, layer) in self.layers.iter().enumerate() {
            let is_merge_level = merge_levels.iter().any(|name| name.level() == layer.level);
            for &attachment in &layer.accepted {
                let policy = self.policy(attachment);
                let Some(block) = policy.blocks.first() else { continue };
                let Some(source) = self.next_block(i, attachment, block.kind) else { return };
                match (lowest, wanted.filter(|_| is_merge_level)) {
                    (_, wanted) if attachment.is_void() => {
                        if !attachment.is_excluded() {
                            lowest = lowest.or(Some(source));
                            merged = merged.or(wanted.map(|_| source));
                        }
                        self.void.push((source, &block.spec));
                    }
                    (None, _) => {
                        lowest = Some(source);
                        self.is_single = true;
                        self.take_or_lose(&block.spec, source);
                        wanted = policy.requested_strategy.as_ref().filter(|_| !is_merge_level);
                    }
                    (Some(_), Some(strategy)) => {
                        self.fill(strategy, &block.spec, source);
                        wanted = None;
                        merged = Some(source);
                    }
                    (Some(lowest), None) => match in_context {
                        Some(strategy) => self.fill(strategy, &block.spec, source),
                        None => {
                            let winner = merged.filter(|_| is_merge_level).unwrap_or(lowest);
                            self.merge.lose_block(&block.spec, source, &Sources::One(winner));
                        }
                    },
                }
            }
        }
    }

    /// Takes a block as a whole, unless the object itself sets a value.
    fn take_or_lose(&mut self, spec: &Value, source: BlockSource) {
        match self.tree.sources().filter(|_| !self.tree.is_empty()) {
            Some(own) => self.merge.lose_block(spec, source, &own),
            None => self.tree = Tree::Piece(spec.clone(), source),
        }
    }

    /// Merges a block as a default.
    fn fill(&mut self, strategy: &Strategy, spec: &Value, source: BlockSource) {
        let arbiter = Arbiter { strategy: &**strategy, prefers_incoming: false };
        self.merge.block(arbiter, &mut self.tree, spec, source);
    }
}
