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

mod census;
mod effects;
mod gates;
mod kinds;
mod lookers;
mod looking;
mod names;
mod report;
mod respread;
mod restack;
mod rivals;
mod step;
mod supports;
mod touched;

use std::sync::Arc;

use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::engine::Engine;
use crate::kinds::{PolicyKind, Settings};
use crate::model::Ledger;
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::topology::{Edited, Unfollowable};
use census::Census;
use effects::{Effects, effects};
use lookers::Lookers;
use step::{Step, Stepped};
use supports::Supports;
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
        let Some(was) = objects.find(self.id()).map(|id| objects.get(id)) else { return matches!(self, Edit::Put(_)) };
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
pub struct Living {
    now: Arc<Engine>,
    built_in: Vec<PolicyKind>,
    settings: Settings,
    lookers: Lookers,
    census: Census,
    /// Whether, and how, each target is affected.
    supports: Option<Supports>,
    /// In the order of the models.
    ledgers: Vec<Ledger>,
    /// Ids of objects, and places of parts, that nobody has any more.
    free_ids: Vec<ObjectId>,
    free_parts: Vec<(u32, u32)>,
}

impl Living {
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> Living {
        let now = Engine::new(objects, built_in, settings);
        Living::around(now, built_in.to_vec(), settings, true)
    }

    /// For a batch or two: it is there sooner, and takes longer to tell which targets others affect.
    pub fn for_a_while(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> Living {
        let now = Engine::new(objects, built_in, settings);
        Living::around(now, built_in.to_vec(), settings, false)
    }

    fn around(engine: Engine, built_in: Vec<PolicyKind>, settings: Settings, for_long: bool) -> Living {
        if for_long {
            engine.tally();
        }
        let ledgers = || engine.models().par_iter().map(|model| Ledger::of(model, engine.world())).collect();
        let beside = || (Census::of(&engine), for_long.then(|| Supports::of(&engine)));
        let (lookers, (ledgers, (census, supports))) =
            rayon::join(|| Lookers::of(&engine), || rayon::join(ledgers, beside));
        Living {
            lookers,
            census,
            supports,
            ledgers,
            free_ids: Vec::new(),
            free_parts: Vec::new(),
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
        let was = self.with_models(&before, &touched);
        next.models = was.models.clone();
        let Ok((after, effects)) = self.follow(&was, next, &touched) else {
            self.rebuild(&objects);
            return Report::between(before, Arc::clone(&self.now));
        };
        let is = Arc::new(after);
        self.now = self.without_models(&is, &touched);
        self.free_ids.extend(gone);
        let report = Report::of(before, Arc::clone(&self.now), [was, is], effects);
        if self.now.objects().is_sparse() {
            let objects = self.now.objects().clone();
            self.rebuild(&objects);
        }
        report
    }

    /// Builds everything anew, with ids that have no gaps.
    fn rebuild(&mut self, objects: &Objects) {
        let engine = Engine::new(objects.tidy(), &self.built_in, self.settings);
        *self = Living::around(engine, std::mem::take(&mut self.built_in), self.settings, self.supports.is_some());
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
    fn follow(
        &mut self,
        before: &Engine,
        next: Engine,
        touched: &[Touched],
    ) -> Result<(Engine, Effects), Unfollowable> {
        let edited = Edited::new(std::mem::take(&mut self.free_parts));
        let (lookers, census) = (&mut self.lookers, &mut self.census);
        let step = Step { before, next, lookers, census, touched, edited };
        let Stepped { mut next, followed, policies, edited } = step.run(&mut self.ledgers)?;
        let mut effects = effects(before, &mut next, followed, &mut self.ledgers, self.supports.as_mut());
        effects.concern(before, &next, policies);
        for (model, ledger) in next.models.iter_mut().zip(&mut self.ledgers) {
            model.forget(ledger);
        }
        self.free_parts = edited.into_free();
        Ok((next, effects))
    }
}
