//! The built-in strategies.

use super::{Decision, Granularity, MergeStrategy, Overlap, Participation, Strategy};
use crate::kinds::Concatenate;

/// One policy for each target; the most specific one counts.
#[derive(Debug)]
pub struct NoneStrategy;

/// A block is taken as a whole or not at all.
#[derive(Debug)]
pub struct AtomicStrategy;

/// Rule by rule.
#[derive(Debug)]
pub struct RulesStrategy;

/// Scalar by scalar, as RFC 7386 (JSON Merge Patch) merges.
#[derive(Debug)]
pub struct PatchStrategy;

/// Top-level field by top-level field, or by the `rules` that the kind declares.
#[derive(Debug)]
pub struct ShallowStrategy;

/// As `shallow`, but fields in which the kind concatenates lists are merged field by field.
#[derive(Debug)]
pub struct DeepStrategy;

/// As `patch`, with the lists that the kind matches by `keys` or concatenates.
#[derive(Debug)]
pub struct StrategicStrategy;

/// All policies apply, one after the other.
#[derive(Debug)]
pub struct AccumulateStrategy;

/// The first policy that matches a request counts.
#[derive(Debug)]
pub struct FirstMatchStrategy;

impl MergeStrategy for NoneStrategy {
    fn name(&self) -> &str {
        "none"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        overlap.preferred()
    }

    fn participation(&self) -> Participation {
        Participation::MostSpecific
    }
}

impl MergeStrategy for AtomicStrategy {
    fn name(&self) -> &str {
        "atomic"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        overlap.preferred()
    }

    fn participation(&self) -> Participation {
        Participation::MostSpecific
    }
}

impl MergeStrategy for RulesStrategy {
    fn name(&self) -> &str {
        "merge"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        if overlap.is_unit() || overlap.is_item() { for_unit(overlap) } else { Decision::Fields }
    }

    fn granularity(&self) -> Granularity {
        Granularity::Entry
    }
}

impl MergeStrategy for PatchStrategy {
    fn name(&self) -> &str {
        "patch"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        // A kind that has both strategies declares its keys for `strategic`.
        let matches_items = !overlap.kind().merging.strategies.contains(&Strategy::STRATEGIC);
        for_fields(overlap, matches_items)
    }
}

impl MergeStrategy for ShallowStrategy {
    fn name(&self) -> &str {
        "shallow"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        let is_divided = overlap.path().is_empty() || overlap.has_rules_below() && !overlap.both_lists();
        if is_divided { Decision::Fields } else { for_unit(overlap) }
    }

    fn granularity(&self) -> Granularity {
        Granularity::Field
    }

    fn allows_blocks(&self) -> bool {
        false
    }
}

impl MergeStrategy for DeepStrategy {
    fn name(&self) -> &str {
        "deep"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        if overlap.path().is_empty() {
            Decision::Fields
        } else if overlap.concatenates_within_unit() {
            deeply(overlap)
        } else {
            for_unit(overlap)
        }
    }

    fn granularity(&self) -> Granularity {
        Granularity::Field
    }

    fn participation(&self) -> Participation {
        Participation::MergedByLevel
    }

    fn allows_blocks(&self) -> bool {
        false
    }
}

impl MergeStrategy for StrategicStrategy {
    fn name(&self) -> &str {
        "strategic"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        match (for_fields(overlap, true), overlap.concatenation()) {
            (Decision::Keep, Some(order)) => concatenate(overlap, order),
            (decision, _) => decision,
        }
    }

    fn allows_blocks(&self) -> bool {
        false
    }
}

impl MergeStrategy for AccumulateStrategy {
    fn name(&self) -> &str {
        "accumulate"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        overlap.preferred()
    }

    fn participation(&self) -> Participation {
        Participation::All
    }

    fn allows_blocks(&self) -> bool {
        false
    }
}

impl MergeStrategy for FirstMatchStrategy {
    fn name(&self) -> &str {
        "firstMatch"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        overlap.preferred()
    }

    fn participation(&self) -> Participation {
        Participation::MostSpecific
    }

    fn allows_blocks(&self) -> bool {
        false
    }
}

/// Merges the policies at one level: unit by unit, and deeply in the fields of `deepAtOneLevel`. PolicyKinds cannot
/// name it.
#[derive(Debug)]
pub struct OneLevelStrategy;

impl MergeStrategy for OneLevelStrategy {
    fn name(&self) -> &str {
        "oneLevel"
    }

    fn decide(&self, overlap: &Overlap<'_>) -> Decision {
        if overlap.is_deep_at_one_level() {
            deeply(overlap)
        } else if overlap.is_unit() || overlap.is_item() {
            for_unit(overlap)
        } else {
            Decision::Fields
        }
    }
}

/// Keeps or takes a unit as a whole. A default list can add items with new keys.
fn for_unit(overlap: &Overlap<'_>) -> Decision {
    match overlap.item_key() {
        Some(key) if overlap.both_lists() && !overlap.prefers_incoming() => Decision::MatchItems(key.clone()),
        _ => overlap.preferred(),
    }
}

/// Merges maps field by field and keyed lists item by item; takes one of any other two values.
fn for_fields(overlap: &Overlap<'_>, matches_items: bool) -> Decision {
    if overlap.both_maps() && !overlap.is_whole() {
        return Decision::Fields;
    }
    match overlap.item_key() {
        Some(key) if matches_items && overlap.both_lists() => Decision::MatchItems(key.clone()),
        _ => overlap.preferred(),
    }
}

/// Merges maps field by field, unless one of them has a decisive field, and concatenates lists as the kind says.
fn deeply(overlap: &Overlap<'_>) -> Decision {
    match overlap.decisive() {
        (true, false) => return Decision::Keep,
        (false, true) => return Decision::Take,
        (true, true) => return overlap.preferred(),
        (false, false) => {}
    }
    match overlap.concatenation() {
        Some(order) => concatenate(overlap, order),
        None if overlap.both_maps() && !overlap.is_whole() => Decision::Fields,
        None => overlap.preferred(),
    }
}

fn concatenate(overlap: &Overlap<'_>, order: Concatenate) -> Decision {
    Decision::Concatenate { incoming_first: (order == Concatenate::PreferredFirst) == overlap.prefers_incoming() }
}
