//! Changes between two states, for `plan` and `watch`.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use attache_engine::{
    EffectiveChange, GroupKind, Leaf, LeafChange, LeafPath, NodeId, NodeRef, ObjectRef, Path, Problem, Report,
    ScopeRef, Value,
};
use serde::{Serialize, Serializer};

use crate::scopes::{ScopeDocument, TargetOrPath};
use crate::snapshot::Snapshot;

/// A value of an effective policy, before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeafDocument {
    /// The path of the value.
    pub path: LeafPath,
    /// The value before the change. `None` if it was not set.
    pub before: Option<SetValue>,
    /// The value after the change. `None` if it is not set.
    pub after: Option<SetValue>,
}

/// A value, and the policies that set it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetValue {
    /// The value.
    pub value: Value,
    /// The policies that set it. Several, if each sets a part of it.
    #[serde(rename = "policy", serialize_with = "joined")]
    pub policies: Vec<ObjectRef>,
}

/// Scopes of one policy kind in which the same values change.
#[derive(Clone, Debug)]
pub struct ChangeGroup {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The number of scopes.
    pub scopes: usize,
    /// The effective targets of the scopes, each once, sorted.
    pub targets: Vec<NodeRef>,
    /// The targets, sorted by name. If other scopes at a target change differently, its paths are listed instead.
    pub places: Vec<TargetOrPath>,
    /// The values. Empty if the same policies apply in a different order.
    pub leaves: Vec<LeafDocument>,
}

/// Scopes of one policy kind in which the same values change, in numbers.
#[derive(Clone, Debug)]
pub struct ChangeSummary {
    /// The kind of the policies.
    pub policy_kind: GroupKind,
    /// The number of scopes.
    pub scopes: usize,
    /// The number of effective targets.
    pub targets: usize,
    /// The first places, sorted by name: targets, and paths to targets at which other scopes change differently.
    pub places: Vec<TargetOrPath>,
    /// The number of all places.
    pub place_count: usize,
    /// The values. Empty if the same policies apply in a different order.
    pub leaves: Vec<LeafDocument>,
}

impl ChangeSummary {
    /// A group in numbers, with the names of at most `most` places, or one more.
    pub fn new(group: ChangeGroup, most: usize) -> ChangeSummary {
        let ChangeGroup { policy_kind, scopes, targets, mut places, leaves } = group;
        let place_count = places.len();
        places.truncate(most + 1);
        ChangeSummary { policy_kind, scopes, targets: targets.len(), places, place_count, leaves }
    }
}

/// The changes of a report in numbers, with the names of at most `most` places of each, or one more.
pub(crate) fn summaries(report: &Report, most: usize) -> Vec<ChangeSummary> {
    let outline = report.effective_outline();
    let mut found: Vec<ChangeSummary> =
        groups(&outline.scopes).into_iter().map(|group| ChangeSummary::new(group, most)).collect();
    for changed in &outline.targets {
        let leaves = leaf_documents(&changed.leaves);
        let is_same = |it: &&mut ChangeSummary| it.policy_kind == changed.policy_kind && it.leaves == leaves;
        let places = first_places(report, &changed.targets, most + 1);
        let (scopes, targets) = (usize::try_from(changed.scopes).unwrap_or(usize::MAX), changed.targets.len());
        match found.iter_mut().find(is_same) {
            Some(same) => {
                same.scopes = same.scopes.saturating_add(scopes);
                same.targets += targets;
                same.place_count += targets;
                same.places.extend(places);
                same.places.sort_by_cached_key(ToString::to_string);
                same.places.truncate(most + 1);
            }
            None => {
                let (policy_kind, place_count) = (changed.policy_kind.clone(), targets);
                found.push(ChangeSummary { policy_kind, scopes, targets, places, place_count, leaves });
            }
        }
    }
    found.sort_by_cached_key(|it| (it.policy_kind.clone(), it.places.first().map(ToString::to_string)));
    found
}

/// The first targets by name.
fn first_places(report: &Report, targets: &[NodeId], most: usize) -> Vec<TargetOrPath> {
    let named = targets.iter().map(|target| report.after.view().node_ref(*target));
    let mut named: Vec<(String, NodeRef)> = named.map(|target| (target.to_string(), target)).collect();
    if named.len() > most {
        named.select_nth_unstable_by(most, |(a, _), (b, _)| a.cmp(b));
        named.truncate(most);
    }
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    named.into_iter().map(|(_, target)| TargetOrPath::Target(target)).collect()
}

pub(crate) fn leaf_documents(leaves: &[LeafChange]) -> Vec<LeafDocument> {
    let set = |leaf: &Leaf| SetValue { value: leaf.value.clone(), policies: leaf.policies.clone() };
    let document = |leaf: &LeafChange| LeafDocument {
        path: leaf.path.clone(),
        before: leaf.before.as_ref().map(set),
        after: leaf.after.as_ref().map(set),
    };
    leaves.iter().map(document).collect()
}

/// Leaves out the values that are not shown to readers of a snapshot.
pub(crate) fn redact_leaves(snapshot: &Snapshot, kind: &GroupKind, leaves: &mut [LeafDocument]) {
    for leaf in leaves {
        let path = match &leaf.path {
            LeafPath::Field(path) => path.clone(),
            LeafPath::Policy(_) => Path::default(),
        };
        for set in leaf.before.iter_mut().chain(&mut leaf.after) {
            set.value = snapshot.shown_of(kind, &path, &set.value);
        }
    }
}

/// As [`redact_leaves`], for groups.
pub(crate) fn redact_groups(snapshot: &Snapshot, groups: &mut [ChangeGroup]) {
    for group in groups {
        redact_leaves(snapshot, &group.policy_kind, &mut group.leaves);
    }
}

pub(crate) fn scope_documents(scopes: &[ScopeRef]) -> Vec<ScopeDocument> {
    scopes.iter().map(scope_document).collect()
}

fn scope_document(scope: &ScopeRef) -> ScopeDocument {
    ScopeDocument {
        scope: scope.nodes.iter().map(|node| NodeRef::clone(node)).collect(),
        from: scope.from.as_deref().cloned(),
    }
}

/// `a, b`, or null if there are none.
fn joined<S: Serializer>(policies: &[ObjectRef], serializer: S) -> Result<S::Ok, S::Error> {
    match policies {
        [] => serializer.serialize_none(),
        policies => serializer.serialize_str(&policies.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Groups scopes in which the same values change.
pub(crate) fn groups(changes: &[EffectiveChange]) -> Vec<ChangeGroup> {
    let mut scopes: Vec<(&EffectiveChange, Vec<&ScopeRef>)> = Vec::new();
    let mut known: HashMap<(&GroupKind, &[LeafChange]), usize> = HashMap::new();
    for change in changes {
        match known.entry((&change.policy_kind, &change.leaves)) {
            Entry::Occupied(group) => scopes[*group.get()].1.extend(&change.scopes),
            Entry::Vacant(group) => {
                group.insert(scopes.len());
                scopes.push((change, change.scopes.iter().collect()));
            }
        }
    }
    // The number of groups of a kind that contain a target.
    let mut groups_at: HashMap<(&GroupKind, Option<&NodeRef>), usize> = HashMap::new();
    for (change, scopes) in &scopes {
        let targets: BTreeSet<Option<&NodeRef>> = scopes.iter().map(|scope| scope.target()).collect();
        for target in targets {
            *groups_at.entry((&change.policy_kind, target)).or_default() += 1;
        }
    }
    let place = |kind: &GroupKind, scope: &ScopeRef| match (scope.target(), scope.from.as_deref()) {
        (target, _) if groups_at.get(&(kind, target)).is_some_and(|groups| *groups > 1) => {
            TargetOrPath::Path(scope_document(scope))
        }
        (Some(target), None) => TargetOrPath::Target(target.clone()),
        (target, from) => {
            TargetOrPath::Path(ScopeDocument { scope: target.into_iter().cloned().collect(), from: from.cloned() })
        }
    };
    let group = |(change, scopes): &(&EffectiveChange, Vec<&ScopeRef>)| {
        let targets: BTreeSet<&NodeRef> = scopes.iter().filter_map(|scope| scope.target()).collect();
        let places = scopes.iter().map(|scope| place(&change.policy_kind, scope));
        let places: BTreeMap<String, TargetOrPath> = places.map(|place| (place.to_string(), place)).collect();
        ChangeGroup {
            policy_kind: change.policy_kind.clone(),
            scopes: scopes.len(),
            targets: targets.into_iter().cloned().collect(),
            places: places.into_values().collect(),
            leaves: leaf_documents(&change.leaves),
        }
    };
    scopes.iter().map(group).collect()
}

/// The problems of the input that a change causes.
pub fn new_problems(report: &Report) -> Vec<&Problem> {
    // The line of a problem can change without the problem being new.
    let key = |problem: &'_ Problem| (problem.object.clone(), problem.path.clone(), problem.message.clone());
    let known: BTreeSet<_> = report.before.problems().iter().map(key).collect();
    report.after.problems().iter().filter(|problem| !known.contains(&key(problem))).collect()
}
