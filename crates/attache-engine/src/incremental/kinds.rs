//! The models that a step works on, and kinds whose first policy comes, or whose last one goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::impact_region::ImpactRegion;
use super::step::Step;
use super::touched::Touched;
use super::{IncrementalEngine, Kept};
use crate::chain::Hierarchy;
use crate::engine::Engine;
use crate::kinds::KindId;
use crate::model::{Model, RefCounts};
use crate::models::Models;

impl Step<'_> {
    /// The kinds of which there are policies before or after, each the one that leads those that decide with it. Some more
    /// than once.
    pub(super) fn kinds(&self) -> impl Iterator<Item = KindId> {
        self.before.models.kinds().chain(self.kinds_touched())
    }

    fn kinds_touched(&self) -> impl Iterator<Item = KindId> {
        let after = self.touched.iter().filter_map(|touched| Some(&touched.after.as_ref()?.id));
        let kinds = after.filter_map(|id| self.before.kinds.find(&id.group, &id.kind));
        kinds.map(|kind| self.before.kinds.leader(kind))
    }

    /// Gives the state before the models that it has not kept, as far as it is looked `around`.
    pub(super) fn build_models(&mut self, around: Option<&ImpactRegion>) -> Vec<RefCounts> {
        let models = match around {
            Some(ImpactRegion { nodes: [nodes, _], kinds, .. }) => {
                self.before.models_among(nodes, |kind| kinds.contains(&kind))
            }
            None => self.before.models().to_vec(),
        };
        let mut ref_counts = models.par_iter().map(|model| RefCounts::of(model, self.before.view())).collect();
        self.put_models(models);
        self.add_models(&mut ref_counts);
        ref_counts
    }

    /// Gives the state before an empty model for each kind of which there are policies only after.
    pub(super) fn add_models(&mut self, ref_counts: &mut Vec<RefCounts>) {
        let before = Arc::clone(&self.before);
        let new: BTreeSet<KindId> = self.kinds_touched().filter(|kind| before.model(*kind).is_none()).collect();
        if new.is_empty() {
            return;
        }
        let mut models = before.models().to_vec();
        for id in new {
            let kind = before.kinds.get(id);
            let known = models.iter().find(|model| model.kind.shape() == kind.shape());
            let hierarchy = match known {
                Some(model) => Arc::clone(model.hierarchy()),
                None => Arc::new(Hierarchy::new(&before.objects, &before.topology, kind.shape())),
            };
            let model = Model::new(before.view(), id, kind, hierarchy, before.build_stacks(id));
            let at = models.partition_point(|model| model.id < id);
            ref_counts.insert(at, RefCounts::of(&model, before.view()));
            models.insert(at, model);
        }
        self.put_models(models);
    }

    fn put_models(&mut self, models: Vec<Model>) {
        let mut with = Engine::clone(&self.before);
        with.models.put(models);
        self.next.models = with.models.clone();
        self.before = Arc::new(with);
    }
}

impl IncrementalEngine {
    /// The state after, with the models that are kept: those of kinds of which there are policies.
    pub(super) fn keeping(&mut self, after: &Arc<Engine>, touched: &[Touched]) -> Arc<Engine> {
        let Some(Kept { ref_counts, .. }) = &mut self.kept else {
            let mut without = Engine::clone(after);
            without.models = Models::new(&after.kinds, &after.policies);
            return Arc::new(without);
        };
        let kinds = &after.kinds;
        let gone = touched.iter().filter(|it| it.after.is_none()).filter_map(Touched::name);
        if !gone.into_iter().any(|id| kinds.find(&id.group, &id.kind).is_some()) {
            return Arc::clone(after);
        }
        let used = kinds.iter().filter(|(_, kind)| self.object_counts.count(&kind.group, &kind.kind) > 0);
        let used: BTreeSet<KindId> = used.map(|(kind, _)| kinds.leader(kind)).collect();
        if after.models().iter().all(|model| used.contains(&model.id)) {
            return Arc::clone(after);
        }
        let models = after.models().iter().cloned().zip(std::mem::take(ref_counts));
        let (models, of_them) = models.filter(|(model, _)| used.contains(&model.id)).unzip();
        *ref_counts = of_them;
        let mut without = Engine::clone(after);
        without.models.put(models);
        Arc::new(without)
    }
}
