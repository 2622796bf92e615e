//! A model that lives: objects go in and out, and after each batch it knows what is different.

mod effects;
mod lookers;
mod report;
mod step;
mod touched;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::Engine;
use crate::kinds::{PolicyKind, Settings};
use crate::model::Ledger;
use crate::object::{Object, ObjectId, ObjectRef, Objects};
use crate::topology::{Edited, Unfollowable};
use effects::{Effects, Supports, effects};
use lookers::Lookers;
use step::{Census, Step, Stepped};
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

/// What is kept for the next batch.
#[derive(Debug)]
pub struct Living {
    now: Arc<Engine>,
    built_in: Vec<PolicyKind>,
    settings: Settings,
    lookers: Lookers,
    census: Census,
    supports: Supports,
    /// In the order of the models.
    ledgers: Vec<Ledger>,
    /// Ids of objects, and places of parts, that nobody has any more.
    free_ids: Vec<ObjectId>,
    free_parts: Vec<(u32, u32)>,
}

impl Living {
    pub fn new(objects: Objects, built_in: &[PolicyKind], settings: Settings) -> Living {
        let now = Engine::new(objects, built_in, settings);
        Living::around(now, built_in.to_vec(), settings)
    }

    fn around(engine: Engine, built_in: Vec<PolicyKind>, settings: Settings) -> Living {
        engine.fold_all();
        engine.tallies();
        Living {
            lookers: Lookers::of(&engine),
            census: Census::of(&engine),
            supports: Supports::of(&engine),
            ledgers: engine.models().iter().map(Ledger::of).collect(),
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
        let mut next = Engine::clone(&before);
        let touched = self.edit(&before, &mut next, batch);
        if touched.is_empty() {
            return Report::nothing(before);
        }
        let gone: Vec<ObjectId> = touched.iter().filter(|it| it.after.is_none()).map(|it| it.id).collect();
        let objects = next.objects.clone();
        let Ok((after, effects)) = self.follow(&before, next, &touched) else {
            self.rebuild(&objects);
            return Report::between(before, Arc::clone(&self.now));
        };
        self.now = Arc::new(after);
        self.free_ids.extend(gone);
        let report = Report::of(before, Arc::clone(&self.now), effects);
        if self.now.objects().is_sparse() {
            let objects = self.now.objects().clone();
            self.rebuild(&objects);
        }
        report
    }

    /// Builds everything anew, with ids that have no gaps.
    fn rebuild(&mut self, objects: &Objects) {
        let engine = Engine::new(objects.tidy(), &self.built_in, self.settings);
        *self = Living::around(engine, std::mem::take(&mut self.built_in), self.settings);
    }

    /// Edits the objects, and tells which of them are others than before.
    fn edit(&mut self, before: &Engine, next: &mut Engine, batch: impl IntoIterator<Item = Edit>) -> Vec<Touched> {
        // What is deleted and put again is the same object.
        let edits: BTreeMap<ObjectRef, Edit> = batch.into_iter().map(|edit| (edit.id().clone(), edit)).collect();
        let mut ids: Vec<ObjectId> = Vec::new();
        for edit in edits.into_values() {
            match edit {
                Edit::Put(object) => {
                    let free = &mut self.free_ids;
                    ids.push(next.objects.put(Arc::new(object), || free.pop()));
                }
                Edit::Delete(name) => {
                    if let Some(id) = next.objects.find(&name) {
                        next.objects.remove(id);
                        ids.push(id);
                    }
                }
            }
        }
        ids.sort_unstable();
        let touched = ids.into_iter().filter_map(|id| {
            let (was, is) = (before.objects.shared(id), next.objects.shared(id));
            let what = match (was, is) {
                (Some(was), Some(is)) => What::between(was, is),
                _ => What::exists(),
            };
            let same = what == What::default() && was.zip(is).is_some_and(|(was, is)| was.source == is.source);
            (!same).then(|| Touched { id, before: was.cloned(), after: is.cloned(), what })
        });
        touched.collect()
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
        let mut effects = effects(before, &mut next, &followed, &mut self.supports);
        effects.concern(before, &next, policies);
        for (model, ledger) in next.models.iter_mut().zip(&mut self.ledgers) {
            model.forget(ledger);
        }
        self.free_parts = edited.into_free();
        Ok((next, effects))
    }
}
