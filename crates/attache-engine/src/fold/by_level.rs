//! Kinds whose policies at one level are merged before they are merged into those below.

use super::merge::Arbiter;
use super::tree::Tree;
use super::{Fold, Inheritance, Layer};
use crate::attachment::Attachment;
use crate::kinds::{OneLevelStrategy, SameLevel, Strategy};
use crate::value::Segment;

impl<'a> Fold<'a> {
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
        let is_one_level =
            |layer: &Layer<'_>| self.kind.hierarchy.one_level.iter().any(|name| name.level() == layer.level);
        let is_joined = |layer: &Layer<'_>| self.kind.order.is_joined(layer.level);
        let first = &layers[0];
        let meets_first = |layer: &&Layer<'_>| {
            is_one_level(first) && is_one_level(layer) && layer.owner == first.owner
                || is_joined(first) && is_joined(layer)
        };
        1 + layers[1..].iter().take_while(meets_first).count()
    }

    /// The policies of some layers as one. The first policy that sets a unit wins.
    fn merge_level(&mut self, start: usize, end: usize) -> Tree {
        let arbiter = Arbiter { strategy: &OneLevelStrategy, prefers_incoming: false };
        let mut level = Tree::default();
        for (i, attachment) in self.in_order(start, end) {
            for block in &self.policy(attachment).blocks {
                let Some(source) = self.next_block(i, attachment, block.kind) else { break };
                match attachment.is_void() {
                    true => self.void.push((source, &block.spec)),
                    false => self.merge.block(arbiter, &mut level, &block.spec, source),
                }
            }
        }
        for (i, layer) in self.layers.iter().enumerate().take(end).skip(start) {
            let (counting, ignored) = self.split_layer(layer);
            self.lose_ignored(i, counting, ignored);
        }
        level
    }

    /// The policies of some layers that count, each with its layer, the winner first. On joined levels each policy
    /// counts once.
    fn in_order(&self, start: usize, end: usize) -> Vec<(usize, &'a Attachment)> {
        let layers = self.layers.iter().enumerate().take(end).skip(start);
        let counting = layers.flat_map(|(i, layer)| self.split_layer(layer).0.iter().map(move |it| (i, *it)));
        let mut counting: Vec<(usize, &'a Attachment)> = counting.collect();
        if end - start > 1 && self.kind.order.is_joined(self.layers[start].level) {
            let rank = |it: &Attachment| &self.policies[it.policy].rank;
            counting.sort_by(|(_, a), (_, b)| {
                let (a, b) = (rank(a), rank(b));
                let by_name = || (&a.name, &a.namespace).cmp(&(&b.name, &b.namespace));
                a.priority.cmp(&b.priority).then_with(|| a.by_age(b)).then_with(by_name)
            });
            counting.dedup_by_key(|(_, it)| it.policy);
        }
        if self.kind.same_level() == SameLevel::OldestIsHigher {
            counting.reverse();
        }
        counting
    }
}

/// The arbiter at a path: the route's annotation, or else the kind's strategy with the lower policy preferred.
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
