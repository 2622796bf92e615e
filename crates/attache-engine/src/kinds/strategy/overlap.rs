//! The input of a strategy's decision.

use std::fmt;

use smol_str::SmolStr;

use super::Decision;
use crate::kinds::{Concatenate, PatternFit, PatternStep, PolicyKind, Units};
use crate::value::{Path, Segment, Value};

/// A path at which the policies folded so far and the next block both have a value.
pub struct Overlap<'m> {
    pub(crate) kind: &'m PolicyKind,
    pub(crate) units: &'m Units,
    pub(crate) path: &'m [Segment],
    pub(crate) held: &'m dyn OverlapSide,
    pub(crate) incoming: &'m dyn OverlapSide,
    pub(crate) prefers_incoming: bool,
}

/// A value during the fold, with the sources of its parts. A plain [`Value`] is built from it only if a strategy asks
/// for it.
pub(crate) trait OverlapSide {
    fn is_map(&self) -> bool;
    fn is_empty_map(&self) -> bool;
    fn is_list(&self) -> bool;
    fn has_field(&self, key: &str) -> bool;
    fn value(&self) -> Value;
}

impl<'m> Overlap<'m> {
    /// The path of the values, from the root of a block.
    pub fn path(&self) -> &'m [Segment] {
        self.path
    }

    /// Whether the values are at this path, such as `retry.attempts`.
    pub fn is_at(&self, path: &str) -> bool {
        Path::parse(path).segments() == self.path
    }

    /// The value of the policies folded so far. `Null` if one of them removed it.
    pub fn held(&self) -> Value {
        self.held.value()
    }

    /// The value of the next block. `Null` if it removes the held value.
    pub fn incoming(&self) -> Value {
        self.incoming.value()
    }

    /// The kind of the policies.
    pub fn kind(&self) -> &'m PolicyKind {
        self.kind
    }

    /// Whether the incoming value has precedence: it does if the block is an override, or if a route prefers the higher
    /// policy. The block is a higher policy, or one beside it.
    pub fn prefers_incoming(&self) -> bool {
        self.prefers_incoming
    }

    /// The decision for the side that has precedence: [`Decision::Take`] for overrides, [`Decision::Keep`] for defaults.
    pub fn preferred(&self) -> Decision {
        if self.prefers_incoming { Decision::Take } else { Decision::Keep }
    }

    /// Whether both values are maps.
    pub fn both_maps(&self) -> bool {
        self.held.is_map() && self.incoming.is_map()
    }

    /// Whether both values are lists.
    pub fn both_lists(&self) -> bool {
        self.held.is_list() && self.incoming.is_list()
    }

    /// Whether the values are items of lists that [`Decision::MatchItems`] has matched.
    pub fn is_item(&self) -> bool {
        matches!(self.path.last(), Some(Segment::Index(_)))
    }

    /// Whether the incoming value is one unit: a declared rule, or a unit of [`MergeStrategy::granularity`].
    ///
    /// [`MergeStrategy::granularity`]: super::MergeStrategy::granularity
    pub fn is_unit(&self) -> bool {
        let is_leaf = !self.incoming.is_map() || self.incoming.is_empty_map() && !self.path.is_empty();
        is_leaf || self.units.is_unit_map(self.path)
    }

    /// Whether the kind declares `rules` below the path.
    pub fn has_rules_below(&self) -> bool {
        self.kind.merging.rules.iter().any(|rule| rule.fit(self.path.iter()) == PatternFit::Prefix)
    }

    /// Whether the kind declares the map at the path to be replaced `whole`.
    pub fn is_whole(&self) -> bool {
        self.units.is_whole(self.path)
    }

    /// The field by which the kind matches the items of the list at the path, from its `keys`.
    pub fn item_key(&self) -> Option<&'m SmolStr> {
        let found = self.kind.merging.keys.iter().find(|(list, _)| list.fit(self.path.iter()) == PatternFit::Exact);
        found.map(|(_, key)| key)
    }

    /// How the kind concatenates the list at the path, from `concatenate`.
    pub fn concatenation(&self) -> Option<Concatenate> {
        let found =
            self.kind.merging.concatenated.iter().find(|(list, _)| list.fit(self.path.iter()) == PatternFit::Exact);
        found.map(|(_, order)| *order)
    }

    /// Whether the kind concatenates a list in the unit that the path is part of.
    pub fn concatenates_within_unit(&self) -> bool {
        let unit = &self.path[..self.units.unit_depth(self.path)];
        self.kind.merging.concatenated.iter().any(|(list, _)| list.fit(unit.iter()) != PatternFit::No)
    }

    /// Whether the kind merges policies at one level deeply at the path, or above it.
    pub(crate) fn is_deep_at_one_level(&self) -> bool {
        let above = |depth: usize| self.path[..depth].iter();
        let is_deep = |depth| {
            self.kind.merging.deep_at_one_level.iter().any(|field| field.fit(above(depth)) == PatternFit::Exact)
        };
        (1..=self.path.len()).any(is_deep)
    }

    /// Whether the held map and the incoming one set a field that the kind declares `decisive`.
    pub fn decisive(&self) -> (bool, bool) {
        let mut has = (false, false);
        for pattern in &self.kind.merging.decisive {
            if let Some((PatternStep::Key(field), parents)) = pattern.steps().split_last()
                && parents.len() == self.path.len()
                && pattern.fit(self.path.iter()) == PatternFit::Prefix
            {
                has.0 |= self.held.has_field(field);
                has.1 |= self.incoming.has_field(field);
            }
        }
        has
    }
}

impl fmt::Debug for Overlap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overlap")
            .field("path", &self.path)
            .field("held", &self.held())
            .field("incoming", &self.incoming())
            .field("prefers_incoming", &self.prefers_incoming)
            .finish_non_exhaustive()
    }
}
