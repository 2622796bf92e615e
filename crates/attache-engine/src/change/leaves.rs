//! Which values of an effective policy differ, and which policies set them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Leaf, LeafChange, LeafPath};
use crate::engine_view::EngineView;
use crate::fold::{EffectivePolicy, ValueOrigin};
use crate::object::ObjectRef;
use crate::value::{Path, Segment, Value};

/// The values that differ between two effective policies. `None` if the policies are equal; an empty list if the same
/// policies apply in a different order.
pub(crate) fn leaf_changes(
    views: [EngineView<'_>; 2],
    effective: [Option<&EffectivePolicy>; 2],
) -> Option<Vec<LeafChange>> {
    let mut all: BTreeMap<LeafPath, [Option<Leaf>; 2]> = BTreeMap::new();
    for side in 0..2 {
        for (path, leaf) in effective[side].into_iter().flat_map(|effective| leaves(views[side], effective)) {
            all.entry(path).or_default()[side] = Some(leaf);
        }
    }
    let differing = all.into_iter().filter(|(_, [before, after])| before != after);
    let leaves: Vec<LeafChange> = differing.map(|(path, [before, after])| LeafChange { path, before, after }).collect();
    (!leaves.is_empty() || order_differs(views, effective)).then_some(leaves)
}

/// Whether the policies of a kind whose policies all apply have a different order.
fn order_differs(views: [EngineView<'_>; 2], effective: [Option<&EffectivePolicy>; 2]) -> bool {
    let [before, after] = [0, 1].map(|side| {
        let applied = effective[side].into_iter().flat_map(|effective| &effective.applied);
        applied.map(move |applied| views[side].policy_ref(applied.policy))
    });
    !before.eq(after)
}

/// The leaves of an effective policy, each with the policies that set it. Where all policies apply, each is one leaf.
fn leaves(view: EngineView<'_>, effective: &EffectivePolicy) -> Vec<(LeafPath, Leaf)> {
    let mut found = Vec::new();
    if let Some(spec) = &effective.spec {
        flatten(spec, &mut Vec::new(), &mut |path, value| {
            let path = Path::new(path.to_vec());
            let policies = setters(view, &effective.origins, &path);
            found.push((LeafPath::Field(path), Leaf { value: value.clone(), policies }));
        });
    }
    // A policy whose items apply one by one occurs several times.
    let mut applied: BTreeMap<&ObjectRef, Vec<Value>> = BTreeMap::new();
    for it in &effective.applied {
        applied.entry(view.policy_ref(it.policy)).or_default().push(it.spec.clone());
    }
    found.extend(applied.into_iter().map(|(policy, mut specs)| {
        let value = if specs.len() == 1 { specs.remove(0) } else { Value::list(specs) };
        (LeafPath::Policy(policy.clone()), Leaf { value, policies: vec![policy.clone()] })
    }));
    found
}

/// The policy that sets the value at `path` or one that contains it; otherwise the policies that set parts of it.
fn setters(view: EngineView<'_>, origins: &[ValueOrigin], path: &Path) -> Vec<ObjectRef> {
    let name = |origin: &ValueOrigin| view.policy_ref(origin.policy).clone();
    if let Some(origin) = origins.iter().find(|origin| path.starts_with(&origin.path)) {
        return vec![name(origin)];
    }
    let parts: BTreeSet<ObjectRef> = origins.iter().filter(|origin| origin.path.starts_with(path)).map(name).collect();
    parts.into_iter().collect()
}

fn flatten<'v>(value: &'v Value, path: &mut Vec<Segment>, found: &mut impl FnMut(&[Segment], &'v Value)) {
    if value.entries().is_empty() {
        found(path, value);
    }
    for (key, child) in value.entries() {
        path.push(Segment::Key(key.clone()));
        flatten(child, path, found);
        path.pop();
    }
}
