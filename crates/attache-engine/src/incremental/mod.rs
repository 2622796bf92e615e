//! A model that lives: objects go in and out, and after each batch it knows what is different.
//!
//! ```text
//! edits ─→ touched objects ─→ who looks at them ─→ links ─→ attachments ─→ stacks ─→ hierarchies ─→ chains ─→ effects ─→ report
//! ```
//!
//! Each step works on a clone of the engine, which shares with it all that stays the same. What several objects decide
//! together is decided again by all of them and nobody else, with the functions that build a topology: Gateways with their
//! ListenerSets, and HTTPRoutes and GRPCRoutes whose hostnames meet.
//!
//! A few changes are not followed: then everything is built anew, and the two states are compared. They are those of policy
//! kinds and CRDs, of what binds policies to places, of what policies make exist by naming it, of routes that delegate to
//! others, of objects that are backends only because a route names them, of what stands before waypoints, of the root
//! namespace of a kind, and the first GRPCRoute beside HTTPRoutes.

mod affected;
mod contribution_counts;
mod dependency_index;
mod effects;
mod impact_region;
mod kinds;
mod names;
mod object_counts;
mod propagate_update;
mod reattach;
mod relink_gateways;
mod report;
mod rivals;
mod step;
mod touched;

use std::sync::Arc;

use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::engine::Engine;
use crate::kinds::{PolicyKind, Settings};
use crate::model::RefCounts;
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::topology::{NeedsRebuild, TopologyChanges};
use contribution_counts::ContributionCounts;
use dependency_index::DependencyIndex;
use effects::{Effects, effects};
use impact_region::ImpactRegion;
use object_counts::ObjectCounts;
use step::{Step, Stepped};
use touched::{Touched, What};

pub use report::Report;

/// What becomes of one object.
#[derive(Clone, Debug)]
pub enum Edit {
    /// It is new, or says something else than before.
    Put(Object),
    Delete(ObjectRef),
}

impl Edit {
    pub fn id(&self) -> &ObjectRef {
        match self {
            Edit::Put(object) => &object.id,
            Edit::Delete(id) => id,
        }
    }
}

impl Edit {
    /// Whether anything is another after it.
    fn matters(&self, objects: &Objects) -> bool {
        let Some(was) = objects.find(self.id()).map(|id| &objects[id]) else { return matches!(self, Edit::Put(_)) };
        match self {
            Edit::Delete(_) => true,
            Edit::Put(is) => is.created != was.created || is.source != was.source || is.body != was.body,
        }
    }
}

fn last_of_each(edits: Vec<Edit>) -> Vec<Edit> {
    if edits.len() < 2 {
        return edits;
    }
    let last: HashMap<ObjectRef, usize> = edits.iter().enumerate().map(|(at, it)| (it.id().clone(), at)).collect();
    let edits = edits.into_iter().enumerate();
    edits.filter(|(at, edit)| last.get(edit.id()) == Some(at)).map(|(_, edit)| edit).collect()
}

/// What is kept for the next batch.
#[derive(Debug)]
pub struct IncrementalEngine {
    now: Arc<Engine>,
    built_in: Vec<PolicyKind>,
    settings: Settings,
    dependency_index: DependencyIndex,
    object_counts: ObjectCounts,
    /// Nothing, if the models of one batch are of no use to the next.
    kept: Option<Kept>,
    /// Ids of objects, and places of parts, that nobody has any more.
    free_ids: Vec<ObjectId>,
    free_parts: Vec<(u32, u32)>,
}

/// What is kept beside the models of all kinds.
#[derive(Debug)]
struct Kept {
    /// Whether, and how, each target is affected.
    contribution_counts: ContributionCounts,
    /// In the order of the models.
    ref_counts: Vec<RefCounts>,
}

/// A change that was followed.
struct Followed {
    sides: [Arc<Engine>; 2],
    effects: Effects,
    around: Option<ImpactRegion>,
}

impl IncrementalEngine {
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> IncrementalEngine {
        let now = Engine::new(objects, built_in, settings.clone());
        IncrementalEngine::of(now, built_in.to_vec(), settings, true)
    }

    /// For a batch or two: it is there sooner, and builds models anew for each, as far as it can be felt.
    pub fn one_shot(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> IncrementalEngine {
        let now = Engine::new(objects, built_in, settings.clone());
        IncrementalEngine::of(now, built_in.to_vec(), settings, false)
    }

    fn of(engine: Engine, built_in: Vec<PolicyKind>, settings: Settings, for_long: bool) -> IncrementalEngine {
        let kept = || {
            engine.build_tallies();
            let ref_counts = || engine.models().par_iter().map(|model| RefCounts::of(model, engine.view())).collect();
            let (ref_counts, contribution_counts) = rayon::join(ref_counts, || ContributionCounts::of(&engine));
            Kept { contribution_counts, ref_counts }
        };
        let beside = || (ObjectCounts::of(&engine), for_long.then(kept));
        let (dependency_index, (object_counts, kept)) = rayon::join(|| DependencyIndex::of(&engine), beside);
        let (free_ids, free_parts) = (Vec::new(), Vec::new());
        IncrementalEngine {
            dependency_index,
            object_counts,
            kept,
            free_ids,
            free_parts,
            now: Arc::new(engine),
            built_in,
            settings,
        }
    }

    /// How things stand. Whoever keeps a clone of it has a consistent answer to everything, whatever comes next.
    pub fn now(&self) -> &Arc<Engine> {
        &self.now
    }

    /// Takes a batch of edits, of which the last counts for each object, and tells what they change.
    pub fn apply(&mut self, batch: impl IntoIterator<Item = Edit>) -> Report {
        let before = Arc::clone(&self.now);
        let edits = last_of_each(batch.into_iter().collect());
        let edits: Vec<Edit> = edits.into_iter().filter(|edit| edit.matters(&before.objects)).collect();
        if edits.is_empty() {
            return Report::nothing(before);
        }
        let mut next = Engine::clone(&before);
        let touched = self.edit(&before, &mut next, edits);
        if !touched.iter().any(|touched| touched.matters(&before)) {
            self.now = Arc::new(next);
            return Report::nothing(before);
        }
        let gone: Vec<ObjectId> = touched.iter().filter(|it| it.after.is_none()).map(|it| it.id).collect();
        let objects = next.objects.clone();
        let Ok(Followed { sides, effects, around }) = self.follow(&before, next, &touched) else {
            self.rebuild(&objects);
            return Report::between(before, Arc::clone(&self.now));
        };
        self.now = self.keeping(&sides[1], &touched);
        self.free_ids.extend(gone);
        let report = Report::of(before, Arc::clone(&self.now), sides, effects, around);
        if self.now.objects().is_sparse() {
            let objects = self.now.objects().clone();
            self.rebuild(&objects);
        }
        report
    }

    /// Builds everything anew, with ids that have no gaps.
    fn rebuild(&mut self, objects: &Objects) {
        let engine = Engine::new(objects.compacted(), &self.built_in, self.settings.clone());
        *self = IncrementalEngine::of(
            engine,
            std::mem::take(&mut self.built_in),
            std::mem::take(&mut self.settings),
            self.kept.is_some(),
        );
    }

    /// Edits the objects, and tells which of them are others than before.
    fn edit(&mut self, before: &Engine, next: &mut Engine, edits: Vec<Edit>) -> Vec<Touched> {
        let free = &mut self.free_ids;
        let mut touched = Vec::with_capacity(edits.len());
        for edit in edits {
            let id = match edit {
                Edit::Put(object) => next.objects.put(Arc::new(object), || free.pop()),
                Edit::Delete(name) => {
                    let Some(id) = next.objects.find(&name) else { continue };
                    next.objects.remove(id);
                    id
                }
            };
            let (was, is) = (before.objects.shared(id).cloned(), next.objects.shared(id).cloned());
            let what = was.as_ref().zip(is.as_ref()).map_or(What::exists(), |(was, is)| What::between(was, is));
            touched.push(Touched { id, before: was, after: is, what });
        }
        touched.sort_by_key(|touched| touched.id);
        touched
    }

    /// Follows a change step by step. If it cannot be followed, nothing that is kept is of any use.
    fn follow(&mut self, before: &Arc<Engine>, next: Engine, touched: &[Touched]) -> Result<Followed, NeedsRebuild> {
        let edited = TopologyChanges::new(std::mem::take(&mut self.free_parts));
        let (dependency_index, object_counts) = (&mut self.dependency_index, &mut self.object_counts);
        let mut step = Step { before: Arc::clone(before), next, dependency_index, object_counts, touched, edited };
        let mut around = None;
        let mut for_now = Vec::new();
        let (ref_counts, contribution_counts) = match &mut self.kept {
            Some(Kept { ref_counts, contribution_counts }) => (ref_counts, Some(contribution_counts)),
            None => (&mut for_now, None),
        };
        let stepped = match step.link()? {
            None => step.end(),
            Some(linked) => {
                if contribution_counts.is_some() {
                    step.add_models(ref_counts);
                } else {
                    around = step.around(&linked);
                    *ref_counts = step.build_models(around.as_ref());
                }
                step.propagate(linked, ref_counts, around.as_ref())
            }
        };
        let Stepped { before, mut next, followed, policies, edited } = stepped;
        let mut effects = effects(&before, &mut next, followed, ref_counts, contribution_counts);
        effects.concern(&before, &next, policies);
        for (model, ref_counts) in next.models.iter_mut().zip(ref_counts) {
            model.forget(ref_counts);
        }
        self.free_parts = edited.into_free();
        Ok(Followed { sides: [before, Arc::new(next)], effects, around })
    }
}
