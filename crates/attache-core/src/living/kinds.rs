//! Kinds whose first policy comes, or whose last one goes: only their own models are made, or dropped.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Living;
use super::touched::Touched;
use crate::chain::Hierarchy;
use crate::engine::Engine;
use crate::kinds::KindId;
use crate::model::{Ledger, Model};

impl Living {
    /// The state before, with an empty model for each kind of which there are policies only after.
    pub(super) fn with_models(&mut self, before: &Arc<Engine>, touched: &[Touched]) -> Arc<Engine> {
        let after = touched.iter().filter_map(|touched| Some(&touched.after.as_ref()?.id));
        let kinds = after.filter_map(|id| before.kinds.find(&id.group, &id.kind));
        let kinds: BTreeSet<KindId> = kinds.map(|kind| before.kinds.leader(kind)).collect();
        let new: Vec<KindId> = kinds.into_iter().filter(|kind| before.model(*kind).is_none()).collect();
        if new.is_empty() {
            return Arc::clone(before);
        }
        let mut models = before.models().to_vec();
        for id in new {
            let kind = before.kinds.get(id);
            let known = models.iter().find(|model| model.kind.shape() == kind.shape());
            let hierarchy = match known {
                Some(model) => Arc::clone(model.hierarchy()),
                None => Arc::new(Hierarchy::new(&before.objects, &before.topology, kind.shape())),
            };
            let model = Model::new(before.world(), id, kind, hierarchy, before.build_stacks(id));
            let at = models.partition_point(|model| model.id < id);
            self.ledgers.insert(at, Ledger::of(&model, before.world()));
            models.insert(at, model);
        }
        let mut with = Engine::clone(before);
        with.models.put(models);
        Arc::new(with)
    }

    /// The state after, without the models of kinds of which there are no policies any more.
    pub(super) fn without_models(&mut self, after: &Arc<Engine>, touched: &[Touched]) -> Arc<Engine> {
        let kinds = &after.kinds;
        let gone = touched.iter().filter(|it| it.after.is_none()).filter_map(Touched::name);
        if !gone.into_iter().any(|id| kinds.find(&id.group, &id.kind).is_some()) {
            return Arc::clone(after);
        }
        let used = kinds.iter().filter(|(_, kind)| self.census.count(&kind.group, &kind.kind) > 0);
        let used: BTreeSet<KindId> = used.map(|(kind, _)| kinds.leader(kind)).collect();
        if after.models().iter().all(|model| used.contains(&model.id)) {
            return Arc::clone(after);
        }
        let models = after.models().iter().cloned().zip(std::mem::take(&mut self.ledgers));
        let (models, ledgers) = models.filter(|(model, _)| used.contains(&model.id)).unzip();
        self.ledgers = ledgers;
        let mut without = Engine::clone(after);
        without.models.put(models);
        Arc::new(without)
    }
}
