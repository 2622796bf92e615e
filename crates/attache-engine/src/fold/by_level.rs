//! Kinds whose policies at one level become one before they are merged into those below.

use super::merge::Arbiter;
use super::tree::Tree;
use super::{Fold, Inheritance, Layer};
use crate::kinds::{OneLevelStrategy, Strategy};
use crate::value::Segment;

impl Fold<'_> {
    /// Merges level by level, the lowest first.
    pub(super) fn by_level(&mut self) {
        let mut start = 0;
        while start < self.layers.len() {
            let end = start + self.same_level(&self.layers[start..]);
            let inheritance = self.layers[start..end].iter().find_map(|layer| layer.inheritance.as_ref());
            let level = self.merge_level(start, end);
            level.each_unit(self.merge.units, &mut Vec::new(), &mut |path, unit| {
                let arbiter = arbiter(self.kind.default_strategy(), inheritance, path);
                self.merge.at(arbiter, &mut self.tree, path, unit);
            });
            start = end;
        }
    }

    /// How many of the first layers count as one level.
    fn same_level(&self, layers: &[Layer<'_>]) -> usize {
        let is_joint = |layer: &Layer<'_>| self.kind.hierarchy.one_level.iter().any(|name| name.level() == layer.level);
        let first = &layers[0];
        let more =
            layers[1..].iter().take_while(|layer| is_joint(first) && is_joint(layer) && layer.owner == first.owner);
        1 + more.count()
    }

    /// The policies of some layers as one. The first to set a unit wins.
    fn merge_level(&mut self, start: usize, end: usize) -> Tree {
        let arbiter = Arbiter { strategy: &OneLevelStrategy, prefers_incoming: false };
        let mut level = Tree::default();
        for (i, layer) in self.layers.iter().enumerate().take(end).skip(start) {
            let (counting, ignored) = self.split_layer(layer);
            for &attachment in counting {
                for block in &self.policy(attachment).blocks {
                    let Some(source) = self.next_block(i, attachment, block.kind) else { break };
                    self.merge.block(arbiter, &mut level, &block.spec, source);
                }
            }
            self.lose_ignored(i, counting, ignored);
        }
        level
    }
}

/// Who decides at a path: the route's annotation, or else the kind's strategy with the lower policy preferred.
fn arbiter<'s>(default: &'s Strategy, inheritance: Option<&'s Inheritance>, path: &[Segment]) -> Arbiter<'s> {
    let Some(Inheritance { inherit, except }) = inheritance else {
        return Arbiter { strategy: &**default, prefers_incoming: false };
    };
    let field = match path.first() {
        Some(Segment::Key(key)) => key.as_str(),
        Some(Segment::Index(_)) | None => "",
    };
    let is_excepted = except.iter().any(|name| name == "*" || name.eq_ignore_ascii_case(field));
    Arbiter { strategy: &*inherit.strategy, prefers_incoming: inherit.prefers_higher() && !is_excepted }
}
