//! Targets that set the fields themselves which policies merge into.

use super::Model;
use crate::engine_view::EngineView;
use crate::fold::{EffectivePolicy, FoldOutcome};
use crate::kinds::{Pattern, PatternStep};
use crate::object::Object;
use crate::policy::PolicyId;
use crate::topology::NodeId;
use crate::value::{Map, Path, Segment, Value};

impl Model {
    /// Whether policies merge into fields of an effective target.
    #[inline]
    pub(super) fn merges_into(&self, view: EngineView<'_>, node: NodeId) -> bool {
        self.has_own && self.has_merged_fields(view, node)
    }

    fn has_merged_fields(&self, view: EngineView<'_>, node: NodeId) -> bool {
        self.is_effective_target(view, node)
            && view.topology[node].owner.object().is_some_and(|id| {
                let kind = &view.objects[id].id.kind;
                self.kind.merging.merges_into.iter().any(|into| into.kind == *kind)
            })
    }

    /// The paths of an object that policies merge into.
    pub(crate) fn merge_paths<'a>(&'a self, object: &'a Object) -> impl Iterator<Item = Path> + 'a {
        let into = self.kind.merging.merges_into.iter().filter(|into| into.kind == object.id.kind);
        into.flat_map(|into| matching_paths(&object.body, &into.path))
    }

    /// What a target itself has at each of the paths that policies merge into.
    fn own_values(&self, view: EngineView<'_>, target: NodeId) -> Vec<Value> {
        let Some(id) = view.topology[target].owner.object() else { return Vec::new() };
        let object = &view.objects[id];
        let whole = view.topology.whole(target);
        let position = view.topology.sections(whole).position(|section| section == target);
        let is_in_target = |path: &Path| {
            let index = path.segments().iter().find_map(|segment| match segment {
                Segment::Index(index) => Some(*index),
                Segment::Key(_) => None,
            });
            position.is_none() || index == position
        };
        let paths = self.merge_paths(object).filter(is_in_target);
        paths.map(|path| without_empty(path.resolve(&object.body).unwrap_or(&Value::Null))).collect()
    }

    /// The fold over what a target sets itself. Nothing is in force on a target that lacks the fields, and none of the
    /// policies counts there.
    pub(super) fn fold_over_target(
        &self,
        view: EngineView<'_>,
        target: NodeId,
        fold: impl Fn(&Value) -> EffectivePolicy,
    ) -> EffectivePolicy {
        let mut found = self.own_values(view, target).into_iter().map(|own| fold(&own));
        let Some(mut effective) = found.next() else { return EffectivePolicy::default() };
        for other in found {
            for (policy, outcome) in &other.outcomes {
                add_outcome(&mut effective.outcomes, *policy, outcome);
            }
            effective.superseded.extend(other.superseded);
        }
        if !effective.outcomes.iter().any(|(_, outcome)| outcome.contributes) {
            effective.spec = None;
        }
        effective
    }
}

/// Adds what becomes of a policy in another field of the same target.
fn add_outcome(outcomes: &mut [(PolicyId, FoldOutcome)], policy: PolicyId, other: &FoldOutcome) {
    let Ok(at) = outcomes.binary_search_by_key(&policy, |(policy, _)| *policy) else { return };
    let outcome = &mut outcomes[at].1;
    outcome.contributes |= other.contributes;
    outcome.lost |= other.lost;
    outcome.inactive |= other.inactive;
    outcome.by.extend(&other.by);
    outcome.by.sort();
    outcome.by.dedup();
    outcome.invalid_with.extend(&other.invalid_with);
    outcome.invalid_with.sort();
    outcome.invalid_with.dedup();
}

/// The paths in `body` that a pattern names. A missing field counts, but not in an item of a list: an item that lacks it
/// is of another type.
fn matching_paths(body: &Value, pattern: &Pattern) -> Vec<Path> {
    let mut found = vec![(Path::default(), Some(body), false)];
    for step in pattern.steps() {
        let mut next = Vec::new();
        for (path, value, listed) in found {
            match step {
                PatternStep::Key(key) => {
                    let child = value.and_then(|value| value.get(key));
                    if child.is_some() || !listed {
                        next.push((path.key(key.clone()), child, listed));
                    }
                }
                PatternStep::AnyKey => {
                    let entries = value.map_or(&[][..], Value::entries);
                    next.extend(entries.iter().map(|(key, child)| (path.key(key.clone()), Some(child), listed)));
                }
                PatternStep::AnyIndex => {
                    let items = value.map_or(&[][..], Value::items);
                    next.extend(items.iter().enumerate().map(|(i, child)| (path.index(i), Some(child), true)));
                }
            }
        }
        found = next;
    }
    found.into_iter().map(|(path, ..)| path).collect()
}

/// Whether a value counts as missing: null, and empty lists and strings.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Str(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

/// A value without what counts as missing.
pub(crate) fn without_empty(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let present = map.entries().iter().filter(|(_, child)| !is_empty(child));
            Value::Map(Map::from_entries(present.map(|(key, child)| (key.clone(), without_empty(child))).collect()))
        }
        empty if is_empty(empty) => Value::Map(Map::default()),
        other => other.clone(),
    }
}
