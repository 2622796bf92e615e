//! What all policy kinds refer to, collected once. Questions about one object then need not look at every policy kind.

use smol_str::SmolStr;

use super::{Bindings, KindName, Placements, PolicyKind};
use crate::object::GroupKind;

/// Kinds of objects that policy kinds refer to, and names that policy kinds share.
#[derive(Debug, Default)]
pub(super) struct RelatedKinds {
    /// The kinds of objects that have settings of controllers.
    pub settings: Vec<GroupKind>,
    /// The kinds of objects that bind policies to their targets.
    pub bindings: Vec<KindName>,
    /// The kinds of targets that exist because they are referred to.
    pub virtual_targets: Vec<KindName>,
    /// The names that several policy kinds have.
    pub shared_names: Vec<SmolStr>,
}

impl RelatedKinds {
    pub fn new(kinds: &[PolicyKind]) -> RelatedKinds {
        let mut related = RelatedKinds::default();
        let mut names: Vec<&SmolStr> = kinds.iter().map(|kind| &kind.kind).collect();
        names.sort_unstable();
        for shared in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            add(&mut related.shared_names, shared[0].clone());
        }
        for kind in kinds {
            for setting in &kind.settings {
                add(&mut related.settings, GroupKind::new(&setting.object.group, &setting.object.kind));
            }
            for name in kind.targets.bindings.iter().flat_map(kinds_that_bind) {
                add(&mut related.bindings, name.clone());
            }
            for name in &kind.targets.virtual_targets {
                add(&mut related.virtual_targets, name.clone());
            }
        }
        related
    }
}

/// Adds an item, unless the list has it.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn kinds_that_bind(bindings: &Bindings) -> impl Iterator<Item = &KindName> {
    let Placements { kind, decisions, targets, sets, .. } = &bindings.placements;
    let policy_sets = bindings.sets.as_ref().map(|sets| &sets.kind);
    [kind, decisions, targets, &sets.kind, &sets.bindings, &bindings.kind].into_iter().chain(policy_sets)
}
