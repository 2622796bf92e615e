//! An engine that takes batches of edits, and reports what each batch changes.
//!
//! A batch goes through five stages. Each is a module, and hands a typed value to the next one:
//!
//! ```text
//!            Edit
//! 1 changed     which objects change, and what of each      ─→ ObjectChange
//! 2 dependents  what depends on them                        ─→ Affected: routes, Gateways, policies
//! 3 update      what is built again: nodes, links,          ─→ Update: the next engine, with
//!               attachments, stacks, hierarchies, chains       the nodes and chains that were updated
//! 4 compare     which of that differs                       ─→ Differences
//! 5 report      what is reported, found on demand           ─→ Report
//! ```
//!
//! An update shares everything that stays the same with the engine before it, and costs as much as what depends on the
//! batch. Objects that decide something together are decided again together, with the functions that build a topology:
//! Gateways with their ListenerSets, and HTTPRoutes with GRPCRoutes that have the same hostnames.
//!
//! Some changes are not applied incrementally: see `rebuild`. Everything is then built again, the two engines are compared
//! as a whole, and [`Report::rebuild_reason`] says why.
//!
//! Between two batches the engine keeps, beside its models, the dependency index (`dependents`), the objects by kind and
//! namespace (`object_index`), the uses of chains (`RefCounts` of the models) and the contributions of policies
//! (`compare::contributions`).

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
use crate::engine_parts::EngineParts;
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
pub use changed::Edit;
pub use report::Report;

/// An engine that takes batches of edits, and reports what each batch changes.
#[derive(Debug)]
pub struct IncrementalEngine {
    engine: Arc<Engine>,
    built_in: Vec<PolicyKind>,
    settings: Settings,
    dependencies: DependencyIndex,
    objects: ObjectIndex,
    /// `None` if models are built for each batch.
    kept: Option<KeptCounts>,
    /// The ids of objects that were deleted.
    free_ids: Vec<ObjectId>,
    /// The parts of the topology whose nodes were removed.
    free_parts: Vec<(u32, u32)>,
}

impl IncrementalEngine {
    /// An engine for many batches. It computes all effective policies at once.
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> IncrementalEngine {
        IncrementalEngine::build(objects, built_in.to_vec(), settings, true)
    }

    /// An engine for one batch or two. It is ready sooner, and computes for each batch what the batch can affect.
    pub fn one_shot(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> IncrementalEngine {
        IncrementalEngine::build(objects, built_in.to_vec(), settings, false)
    }

    fn build(objects: Objects, built_in: Vec<PolicyKind>, settings: Settings, keeps_counts: bool) -> IncrementalEngine {
        let engine = Arc::new(Engine::new(objects, &built_in, settings.clone()));
        let parts = engine.parts();
        let counts = || (ObjectIndex::new(&parts.objects), keeps_counts.then(|| KeptCounts::new(&engine)));
        let (dependencies, (objects, kept)) = rayon::join(|| DependencyIndex::new(parts), counts);
        let (free_ids, free_parts) = (Vec::new(), Vec::new());
        IncrementalEngine { engine, built_in, settings, dependencies, objects, kept, free_ids, free_parts }
    }

    /// The engine after all batches so far. A clone of it stays as it is when further batches are applied.
    pub fn now(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Applies a batch of edits. Of several edits of the same object only the last one counts.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Edit>) -> Report {
        let before = Arc::clone(&self.engine);
        let edits = changed::effective_edits(before.objects(), batch);
        if edits.is_empty() {
            return Report::unchanged(Arc::clone(&before), before);
        }
        let (objects, changes) = changed::apply_edits(before.objects(), edits, &mut self.free_ids);
        if !changes.iter().any(|change| change.can_affect_others(&before)) {
            let parts = EngineParts { objects, ..before.parts().clone() };
            self.engine = Arc::new(before.with_equivalent_parts(parts));
            return Report::unchanged(before, Arc::clone(&self.engine));
        }
        match self.update(&before, objects.clone(), &changes) {
            Ok(update) => {
                let report = Report::updated(before, Arc::clone(&self.engine), update);
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

    /// Applies changes incrementally. After an error nothing that is kept is of any use.
    fn update(
        &mut self,
        before: &Arc<Engine>,
        objects: Objects,
        changes: &[ObjectChange],
    ) -> Result<Update, NeedsRebuild> {
        self.objects.update(changes);
        let context = UpdateContext { before, changes, dependencies: &self.dependencies, objects: &self.objects };
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

    /// Builds everything again.
    fn rebuild(&mut self, objects: Objects) {
        let (built_in, settings) = (std::mem::take(&mut self.built_in), std::mem::take(&mut self.settings));
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
        IncrementalEngine::build(objects, kinds, settings, true)
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
