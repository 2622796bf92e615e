//! The units in which origins and losses are reported: a rule, or else a single leaf.

use super::{Granularity, Pattern, PatternFit, PolicyKind};
use crate::value::{Segment, Value};

/// How a kind divides the settings of its policies into units.
#[derive(Clone, Debug)]
pub struct Units {
    rules: Vec<Pattern>,
    whole: Vec<Pattern>,
    /// The granularity where no rule is declared.
    granularity: Granularity,
}

impl PolicyKind {
    /// The units of the kind's policies.
    pub fn units(&self) -> Units {
        let coarsest = || self.merging.strategies.iter().map(|strategy| strategy.granularity()).max();
        let granularity = match self.merging.rules.is_empty() {
            true => coarsest().unwrap_or(Granularity::Leaf),
            false => Granularity::Field,
        };
        Units { rules: self.merging.rules.clone(), whole: self.merging.whole.clone(), granularity }
    }
}

impl Units {
    /// Every leaf is a unit.
    pub fn leaves() -> Units {
        Units { rules: Vec::new(), whole: Vec::new(), granularity: Granularity::Leaf }
    }

    /// Values that match these patterns are units, and so is each other top-level field.
    pub fn for_rules(rules: &[Pattern]) -> Units {
        Units { rules: rules.to_vec(), whole: Vec::new(), granularity: Granularity::Field }
    }

    /// Whether the value at `path` is a unit.
    pub fn is_unit(&self, path: &[Segment], value: &Value) -> bool {
        match value.as_map() {
            None => true,
            Some(map) => map.is_empty() && !path.is_empty() || self.is_unit_map(path),
        }
    }

    /// Whether a map at `path` that has fields is a unit.
    pub fn is_unit_map(&self, path: &[Segment]) -> bool {
        if self.is_whole(path) {
            return true;
        }
        match self.fit(path) {
            PatternFit::Exact => true,
            PatternFit::Prefix => false,
            PatternFit::No => match self.granularity {
                Granularity::Leaf => false,
                Granularity::Entry => path.len() >= 2,
                Granularity::Field => !path.is_empty(),
            },
        }
    }

    /// The length of the prefix of `path` that leads to a unit; the whole length if none of its maps is a unit.
    pub fn unit_depth(&self, path: &[Segment]) -> usize {
        (1..path.len()).find(|depth| self.is_unit_map(&path[..*depth])).unwrap_or(path.len())
    }

    /// Whether a policy can name the value at `path` as a rule: it is a declared rule, or else a top-level field or an
    /// entry of a top-level map.
    pub fn is_rule(&self, path: &[Segment], value: &Value) -> bool {
        if self.rules.is_empty() { path.len() <= 2 } else { self.is_unit(path, value) }
    }

    /// Whether a map at `path` is replaced whole.
    pub fn is_whole(&self, path: &[Segment]) -> bool {
        self.whole.iter().any(|pattern| pattern.fit(path.iter()) == PatternFit::Exact)
    }

    /// Calls `found` for every unit of `value`, which is at `path`.
    pub fn each<'v>(&self, value: &'v Value, path: &mut Vec<Segment>, found: &mut impl FnMut(&[Segment], &'v Value)) {
        if self.is_unit(path, value) {
            found(path, value);
            return;
        }
        for (key, child) in value.entries() {
            path.push(Segment::Key(key.clone()));
            self.each(child, path, found);
            path.pop();
        }
    }

    fn fit(&self, path: &[Segment]) -> PatternFit {
        let fits = || self.rules.iter().map(|pattern| pattern.fit(path.iter()));
        // The longer of two patterns counts: `a.b.*` divides a value that `a.*` would take as a whole.
        if fits().any(|fit| fit == PatternFit::Prefix) {
            PatternFit::Prefix
        } else if fits().any(|fit| fit == PatternFit::Exact) {
            PatternFit::Exact
        } else {
            PatternFit::No
        }
    }
}
