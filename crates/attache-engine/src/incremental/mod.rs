//! An engine that applies batches of edits, and reports what each batch changes.
//!
//! A batch passes through five stages. Each is a module, and passes a typed value to the next one:
//!
//! ```text
//!            Edit
//! 1 changed     which objects change, and which fields      ─→ ObjectChange
//! 2 dependents  which objects depend on them                ─→ Affected: routes, Gateways, policies
//! 3 update      rebuilds their nodes, links, attachments,   ─→ Update: the next engine, with
//!               stacks, hierarchies and chains                 the nodes and chains that were updated
//! 4 compare     which results differ                        ─→ Differences
//! 5 report      the changes, computed on demand             ─→ Report
//! ```
//!
//! An update shares everything that stays the same with the previous engine, so its cost depends on what the batch
//! affects. Objects whose links depend on each other are relinked together, with the functions that build a topology:
//! Gateways with their ListenerSets, and HTTPRoutes with GRPCRoutes that have the same hostnames.
//!
//! Some changes are not applied incrementally: see `rebuild`. Everything is then rebuilt, the two engines are compared
//! as a whole, and [`Report::rebuild_reason`] says why.
//!
//! Between two batches the engine keeps, beside its models, the dependency index (`dependents`), the objects by kind
//! and namespace (`object_index`), the uses of chains (`RefCounts` of the models) and the contributions of policies
//! (`compare::contributions`).

mod batch_edits;
mod both_sides;
mod changed;
mod compare;
mod dependents;
mod object_index;
mod rebuild;
mod report;
#[cfg(test)]
mod tests;
mod update;

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::engine::{Engine, EngineBuilder};
use crate::kinds::{PolicyKind, Settings};
use crate::model::RefCounts;
use crate::models::Models;
use crate::object::{ObjectId, Objects};
use changed::ObjectChange;
use compare::ContributionCounts;
use dependents::DependencyIndex;
use object_index::ObjectIndex;
use update::{KeptCounts, Update, UpdateContext, update, without_unused_models};

pub use crate::topology::NeedsRebuild;
pub(crate) use batch_edits::LintRegion;
pub use changed::Edit;
pub use report::Report;

/// An engine that applies batches of edits, and reports what each batch changes. A clone shares its data with the original
/// and is cheap.
#[derive(Clone, Debug)]
pub struct IncrementalEngine {
    engine: Arc<Engine>,
    built_in: Arc<[PolicyKind]>,
    settings: Arc<Settings>,
    dependencies: DependencyIndex,
    objects: ObjectIndex,
    /// `None` if models are built for each batch.
    kept: Option<KeptCounts>,
    /// The ids of deleted objects, for reuse.
    free_ids: Vec<ObjectId>,
    /// The parts of the topology whose nodes were removed, for reuse.
    free_parts: Vec<(u32, u32)>,
}

impl IncrementalEngine {
    /// An engine for many batches. It computes all effective policies at once.
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> IncrementalEngine {
        IncrementalEngine::build(objects, built_in.into(), Arc::new(settings), true)
    }

    /// An engine for one or two batches. It is ready sooner, and computes for each batch only what the batch can
    /// affect.
    pub fn one_shot(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> IncrementalEngine {
        IncrementalEngine::build(objects, built_in.into(), Arc::new(settings), false)
    }

    fn build(
        objects: Objects,
        built_in: Arc<[PolicyKind]>,
        settings: Arc<Settings>,
        keeps_counts: bool,
    ) -> IncrementalEngine {
        let engine = Arc::new(Engine::new(objects, &built_in, Settings::clone(&settings)));
        let parts = engine.parts();
        let counts = || (ObjectIndex::new(&parts.objects), keeps_counts.then(|| KeptCounts::new(&engine)));
        let (dependencies, (objects, kept)) = rayon::join(|| DependencyIndex::new(parts), counts);
        let (free_ids, free_parts) = (Vec::new(), Vec::new());
        IncrementalEngine { engine, built_in, settings, dependencies, objects, kept, free_ids, free_parts }
    }

    /// The engine after all batches so far. Further batches do not change a clone of it.
    pub fn now(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Applies a batch of edits. Of several edits of the same object only the last one counts.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Edit>) -> Report {
        let before = Arc::clone(&self.engine);
        let edits = changed::effective_edits(before.objects(), batch);
        if edits.is_empty() {
            return Report::unchanged(Arc::clone(&before), before, Vec::new());
        }
        let (objects, changes) = changed::apply_edits(before.objects(), edits, &mut self.free_ids);
        if !changes.iter().any(|change| change.can_affect_others(&before)) {
            let parts = before.parts().with_objects(objects);
            self.engine = Arc::new(before.with_equivalent_parts(parts));
            return Report::unchanged(before, Arc::clone(&self.engine), changes);
        }
        match self.update(&before, objects.clone(), &changes, false) {
            Ok(update) => {
                let report = Report::updated(before, Arc::clone(&self.engine), update, changes);
                if self.engine.objects().is_sparse() {
                    self.rebuild(self.engine.objects().compacted());
                }
                report
            }
            Err(reason) => {
                self.rebuild(objects.compacted());
                Report::rebuilt(before, Arc::clone(&self.engine), reason)
            }
        }
    }

    /// Applies a batch of edits to a copy, if that can be done incrementally: to learn what it would change. It never takes
    /// the time of a new engine.
    ///
    /// # Errors
    ///
    /// If everything would have to be built again.
    pub fn try_batch(&self, batch: impl IntoIterator<Item = Edit>) -> Result<Report, NeedsRebuild> {
        let mut trial = self.clone();
        let before = Arc::clone(&self.engine);
        let edits = changed::effective_edits(before.objects(), batch);
        let (objects, changes) = changed::apply_edits(before.objects(), edits, &mut trial.free_ids);
        if !changes.iter().any(|change| change.can_affect_others(&before)) {
            let after = Arc::new(before.with_equivalent_parts(before.parts().with_objects(objects)));
            return Ok(Report::unchanged(before, after, changes));
        }
        let update = trial.update(&before, objects, &changes, true)?;
        Ok(Report::updated(before, trial.engine, update, changes))
    }

    /// Applies changes incrementally. After an error, the kept state is unusable.
    fn update(
        &mut self,
        before: &Arc<Engine>,
        objects: Objects,
        changes: &[ObjectChange],
        is_trial: bool,
    ) -> Result<Update, NeedsRebuild> {
        self.objects.update(changes);
        let (dependencies, objects_after) = (&self.dependencies, &self.objects);
        let context = UpdateContext { before, changes, dependencies, objects: objects_after, is_trial };
        let free_parts = std::mem::take(&mut self.free_parts);
        let mut update = update(&context, before, objects, free_parts, self.kept.as_mut())?;
        self.free_parts = std::mem::take(&mut update.free_parts);
        self.free_ids.extend(changes.iter().filter(|change| change.is_removed()).map(|change| change.id));
        let [before, after] = &update.sides;
        for id in &update.reindexed {
            self.dependencies.update(before.parts(), after.parts(), *id);
        }
        self.engine = match &mut self.kept {
            Some(kept) => without_unused_models(after, changes, &self.objects, &mut kept.ref_counts),
            None => {
                let parts = after.parts();
                Arc::new(after.with_models(Models::new(&parts.kinds, &parts.policies)))
            }
        };
        Ok(update)
    }

    /// Rebuilds everything.
    fn rebuild(&mut self, objects: Objects) {
        let (built_in, settings) = (Arc::clone(&self.built_in), Arc::clone(&self.settings));
        *self = IncrementalEngine::build(objects, built_in, settings, self.kept.is_some());
    }
}

impl EngineBuilder {
    /// Builds an engine that takes batches of edits.
    ///
    /// ```
    /// use attache_engine::{Edit, Engine, Object};
    ///
    /// let mut incremental = Engine::builder().build_incremental();
    /// let namespace = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "baker"}});
    /// let report = incremental.apply([Edit::Put(Object::from_json(&namespace).unwrap())]);
    /// assert!(report.is_empty(), "a Namespace without policies changes no effective policy");
    /// assert_eq!(report.rebuild_reason(), None);
    /// assert_eq!(incremental.now().objects().len(), 1);
    /// ```
    pub fn build_incremental(self) -> IncrementalEngine {
        let (objects, kinds, settings) = self.into_parts();
        IncrementalEngine::build(objects, kinds.into(), Arc::new(settings), true)
    }
}

impl KeptCounts {
    fn new(engine: &Engine) -> KeptCounts {
        engine.build_tallies();
        let ref_counts = || engine.models().par_iter().map(|model| RefCounts::new(model, engine.view())).collect();
        let (ref_counts, contributions) = rayon::join(ref_counts, || ContributionCounts::new(engine));
        KeptCounts { contributions, ref_counts }
    }
}
