//! Where somebody else than the higher policy says how two of them merge: the lower one, or a route's annotation.

use super::deep::Deep;
use super::tree::{Source, Tree};
use super::{Fold, Inheritance, Layer};
use crate::kinds::{DictatedBy, PatternFit, Strategy};
use crate::value::{Segment, Value};

impl<'a> Fold<'a> {
    /// The lowest policy counts. If it wants to, it merges with the nearest one above it at the levels where it may.
    pub(super) fn nearest(&mut self, layers: &[Layer<'a>]) {
        let with = match &self.kind.dictated_by {
            DictatedBy::Lower { with, .. } => with.as_slice(),
            _ => &[],
        };
        let mut joins = None;
        let mut joined = None;
        for (i, layer) in layers.iter().enumerate() {
            let may_join = with.iter().any(|name| name.level() == layer.level);
            for &attachment in &layer.stack {
                let policy = self.policy(attachment);
                let Some(block) = policy.blocks.first() else { continue };
                let Some(source) = self.turn(i, attachment, block.which) else { return };
                match (self.taken, joins.filter(|_| may_join)) {
                    (None, _) => {
                        self.taken = Some(source);
                        self.merge.fill_whole(&mut self.tree, &block.spec, source);
                        joins = policy.joins.filter(|_| !may_join);
                    }
                    (_, Some(strategy)) => {
                        self.fill(&block.spec, source, strategy);
                        joins = None;
                        joined = Some(source);
                    }
                    (Some(_), None) if self.terms.strategy.is_some() => self.meet(&block.spec, source),
                    // It merges with one of them, and no other.
                    (Some(lowest), None) => {
                        self.merge.lose_whole(&self.tree, &block.spec, source, joined.unwrap_or(lowest));
                    }
                }
            }
        }
    }

    /// As a default, where the terms say how.
    fn meet(&mut self, spec: &Value, source: Source) {
        if self.terms.strategy != Some(Strategy::Shallow) {
            return self.merge.fill_patch(&mut self.tree, spec, source);
        }
        for (field, value) in spec.entries() {
            self.merge.fill_at(&mut self.tree, &[Segment::Key(field.clone())], Tree::Piece(value.clone(), source));
        }
    }

    /// The policies of one route, and of each level above, become one before they meet those below.
    pub(super) fn inherited(&mut self, layers: &[Layer<'a>]) {
        let mut at = 0;
        while at < layers.len() {
            let end = at + self.same_level(&layers[at..]);
            let below = std::mem::take(&mut self.tree);
            for (i, layer) in layers.iter().enumerate().take(end).skip(at) {
                let (stack, beaten) = self.contenders(layer);
                for &attachment in stack {
                    for block in &self.policy(attachment).blocks {
                        let Some(source) = self.turn(i, attachment, block.which) else { break };
                        self.beside(&block.spec, source);
                    }
                }
                self.beat(i, stack, beaten);
            }
            let level = std::mem::replace(&mut self.tree, below);
            let inheritance = layers[at..end].iter().find_map(|layer| layer.inherit.as_ref());
            level.each_unit(&mut Vec::new(), &mut |path, unit| self.inherit(path, unit.clone(), inheritance));
            at = end;
        }
    }

    /// At one level the first to set a field wins, but for the fields that are merged deeply there.
    fn beside(&mut self, spec: &Value, source: Source) {
        if self.kind.deep_at_one_level.is_empty() {
            return self.merge.fill_units(&mut self.tree, spec, source);
        }
        let deep = Deep { kind: self.kind, prefer_new: false };
        self.merge.units.each(spec, &mut Vec::new(), &mut |path, unit| {
            let unit = Tree::Piece(unit.clone(), source);
            let is_deep = deep.kind.deep_at_one_level.iter().any(|field| field.fit(path.iter()) == PatternFit::Exact);
            match self.tree.get_mut(path).filter(|_| is_deep) {
                Some(held) => deep.merge(&mut self.merge, held, unit, &mut path.to_vec()),
                None => self.merge.fill_at(&mut self.tree, path, unit),
            }
        });
    }

    /// How many of the first layers are one level.
    fn same_level(&self, layers: &[Layer<'a>]) -> usize {
        let joint = |layer: &Layer<'_>| self.kind.one_level.iter().any(|name| name.level() == layer.level);
        let first = &layers[0];
        let more = layers[1..].iter().take_while(|layer| joint(first) && joint(layer) && layer.owner == first.owner);
        1 + more.count()
    }

    fn inherit(&mut self, path: &[Segment], unit: Tree, inheritance: Option<&Inheritance>) {
        let field = match path.first() {
            Some(Segment::Key(key)) => key.as_str(),
            _ => "",
        };
        let (prefer_new, strategy) =
            inheritance.map_or((false, self.kind.default_strategy()), |Inheritance { inherit, except }| {
                let excepted = except.iter().any(|name| name == "*" || name.eq_ignore_ascii_case(field));
                (inherit.prefer_higher && !excepted, inherit.strategy)
            });
        let deep = Deep { kind: self.kind, prefer_new };
        let held = self.tree.get_mut(path).filter(|_| strategy == Strategy::Deep && deep.reaches(path));
        match held {
            Some(held) => deep.merge(&mut self.merge, held, unit, &mut path.to_vec()),
            None if prefer_new => self.merge.replace_at(&mut self.tree, path, unit),
            None => self.merge.fill_at(&mut self.tree, path, unit),
        }
    }

    /// As a default; only `strategic` matches the items of lists, or joins lists, where a kind says so.
    fn fill(&mut self, spec: &Value, source: Source, strategy: Strategy) {
        let strategic = strategy == Strategy::Strategic;
        self.merge.keys = if strategic { &self.kind.keys } else { &[] };
        self.merge.joined = if strategic { &self.kind.concatenated } else { &[] };
        self.merge.fill_patch(&mut self.tree, spec, source);
    }
}
