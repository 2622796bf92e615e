//! Selects the models to update; adds models for kinds whose first policy is added, and removes those of kinds whose
//! last policy is removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{ImpactRegion, UpdateContext};
use crate::chain::Hierarchy;
use crate::engine::Engine;
use crate::incremental::changed::ObjectChange;
use crate::incremental::object_index::ObjectIndex;
use crate::kinds::KindId;
use crate::model::{Model, RefCounts};
use crate::models::Models;

/// The engine before the changes with newly built models, restricted to a region if there is one, and their reference
/// counts.
pub(super) fn build(
    context: &UpdateContext<'_>,
    before: &Arc<Engine>,
    region: Option<&ImpactRegion>,
    ref_counts: &mut Vec<RefCounts>,
) -> Arc<Engine> {
    let models = match region {
        Some(ImpactRegion { nodes: [nodes, _], kinds, .. }) => {
            before.all_models().restricted_to(before.parts(), || Arc::clone(nodes), |kind| kinds.contains(&kind))
        }
        None => before.models().to_vec(),
    };
    *ref_counts = models.par_iter().map(|model| RefCounts::new(model, before.view())).collect();
    let before = Arc::new(before.with_models(Models::from_built(models)));
    with_new_kinds(context, &before, ref_counts)
}

/// The engine before the changes with an empty model for each kind whose first policy is added.
pub(super) fn with_new_kinds(
    context: &UpdateContext<'_>,
    before: &Arc<Engine>,
    ref_counts: &mut Vec<RefCounts>,
) -> Arc<Engine> {
    let new: BTreeSet<KindId> = context.kinds_of_new_policies().filter(|kind| before.model(*kind).is_none()).collect();
    if new.is_empty() {
        return Arc::clone(before);
    }
    let parts = before.parts();
    let mut models = before.models().to_vec();
    for id in new {
        let kind = parts.kinds.get(id);
        let alike = models.iter().find(|model| model.kind.shape() == kind.shape());
        let hierarchy = match alike {
            Some(model) => Arc::clone(model.hierarchy()),
            None => Arc::new(Hierarchy::new(&parts.objects, &parts.topology, kind.shape())),
        };
        let model = Model::new(parts.view(), id, kind, hierarchy, parts.build_stacks(id));
        let at = models.partition_point(|model| model.id < id);
        ref_counts.insert(at, RefCounts::new(&model, parts.view()));
        models.insert(at, model);
    }
    Arc::new(before.with_models(Models::from_built(models)))
}

/// The engine after the changes without the models of kinds whose last policy was removed.
pub(in crate::incremental) fn without_unused_models(
    after: &Arc<Engine>,
    changes: &[ObjectChange],
    objects: &ObjectIndex,
    ref_counts: &mut Vec<RefCounts>,
) -> Arc<Engine> {
    let kinds = after.kinds();
    let mut removed = changes.iter().filter(|change| change.is_removed()).map(ObjectChange::reference);
    if !removed.any(|id| kinds.find(&id.group, &id.kind).is_some()) {
        return Arc::clone(after);
    }
    let used = kinds.iter().filter(|(_, kind)| objects.has_kind(&kind.group, &kind.kind));
    let used: BTreeSet<KindId> = used.map(|(kind, _)| kinds.leader(kind)).collect();
    if after.models().iter().all(|model| used.contains(&model.id)) {
        return Arc::clone(after);
    }
    let models = after.models().iter().cloned().zip(std::mem::take(ref_counts));
    let (models, used_counts) = models.filter(|(model, _)| used.contains(&model.id)).unzip();
    *ref_counts = used_counts;
    Arc::new(after.with_models(Models::from_built(models)))
}
